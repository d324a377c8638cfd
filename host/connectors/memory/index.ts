/** Topics between the rules of one worker; rows pass without being written as text. */
import { field } from '../../base/field.js';
import { commonSink, commonSource, noTemplate } from '../common.js';
import { defineConnector } from '../define.js';
import { MemorySink } from './sink.js';
import { MemorySource } from './source.js';

const notYetUnlessEmpty = (value: string) => (value === '' ? undefined : 'is not supported yet');

export default defineConnector({
  name: 'memory',
  doc: 'Joins rules through topics in memory.',
  connection: {},
  source: {
    dataSource: 'Topic that sinks of other rules write to; may have the wildcards + and #',
    props: { ...commonSource },
    form: () => ({ framing: 'frames', format: 'rows' }),
    create: (_conf, context) => new MemorySource(context),
  },
  sink: {
    props: {
      ...commonSink,
      topic: field
        .string()
        .required()
        .check(topicReason)
        .notYet(noTemplate)
        .doc('Topic that takes the rows, without wildcards'),
      rowkindField: field.string().notYet(notYetUnlessEmpty).doc('Column with the kind of change').unlisted(),
      keyField: field.string().notYet(notYetUnlessEmpty).doc('Key of lookup tables on the topic').unlisted(),
    },
    create: (conf, context) => new MemorySink(conf.topic, context),
  },
});

function topicReason(topic: string): string | undefined {
  if (topic === '') return 'must not be empty';
  return /[+#]/.test(topic) ? 'must not have wildcards' : undefined;
}
