/** Topics between the rules of one worker; rows pass without being written as text. */
import { field } from '../../base/fields/field.js';
import { plainSink, plainSource } from '../common.js';
import { defineConnector } from '../define.js';
import { matches } from '../topics/matches.js';

export default defineConnector({
  name: 'memory',
  doc: 'Joins rules through topics in memory.',
  chinese: async () => (await import('./chinese.js')).chinese,
  topics: { property: 'topic', areRead: (filter, topic) => matches(filter.split('/'), topic.split('/')) },
  source: {
    dataSource: { doc: 'Topic that sinks of other rules write to; may have the wildcards + and #', isNeeded: true },
    props: { ...plainSource },
    absent: (_conf, topic) => filterReason(topic),
    form: () => ({ framing: 'frames', format: 'rows' }),
    rewinds: () => 'writers',
    load: async () => {
      const { MemorySource } = await import('./source.js');
      return ({ interval }, context) => new MemorySource(context, interval > 0);
    },
  },
  lookup: {
    isKept: true,
    refusal: (topic, key) => {
      if (topic === '') return 'the option DATASOURCE, a topic, is required for a lookup table of type memory';
      return key === null ? 'the option KEY is required for a lookup table of type memory' : undefined;
    },
  },
  sink: {
    props: {
      ...plainSink,
      topic: field
        .string()
        .required()
        .check(topicReason)
        .dynamic(topicReason)
        .doc('Topic that takes the rows, without wildcards'),
      rowkindField: field
        .string()
        .default('')
        .doc('Column with the kind of change for lookup tables on the topic: insert, update, upsert or delete'),
      keyField: field
        .string()
        .default('')
        .doc('Column with the key of a row that is deleted; needed with rowkindField'),
    },
    refusal: ({ rowkindField, keyField }) =>
      rowkindField !== '' && keyField === '' ? 'keyField is required when rowkindField is set' : undefined,
    resendsTo: 'topic',
    // Checkpoints of the rules on a topic are taken together.
    staysSent: () => undefined,
    form: { takes: 'rows', framing: 'messages' },
    load: async () => {
      const { MemorySink } = await import('./sink.js');
      return (conf, context) => new MemorySink(conf, context);
    },
  },
});

/** Reason why a source can't have the topic, which may have wildcards. */
function filterReason(filter: string): string | undefined {
  if (filter === '') return 'DATASOURCE is missing: the topic';
  return filter.split('/').slice(0, -1).includes('#')
    ? `DATASOURCE ${JSON.stringify(filter)} has # before its last level`
    : undefined;
}

function topicReason(topic: string): string | undefined {
  if (topic === '') return 'must not be empty';
  return /[+#]/.test(topic) ? `must not have wildcards, as ${JSON.stringify(topic)} has` : undefined;
}
