/** What the properties of a source mean for its consumer. */
import { type ConsumerConfig, DeliverPolicy } from '@nats-io/jetstream';
import { subjectsOf } from './source.js';
import type { NatsStreamConf } from './stream-source.js';

const policies: Readonly<Record<string, DeliverPolicy>> = {
  all: DeliverPolicy.All,
  new: DeliverPolicy.New,
  last: DeliverPolicy.Last,
  lastpersubject: DeliverPolicy.LastPerSubject,
  startsequence: DeliverPolicy.StartSequence,
  starttime: DeliverPolicy.StartTime,
};

/** Which messages the consumer brings, and from where on. */
export function consumerStart(conf: NatsStreamConf, dataSource: string): Partial<ConsumerConfig> {
  const { bucket, startSequence, startTime } = conf;
  const given = subjectsOf(dataSource);
  const subjects = bucket === '' ? given : (given.length === 0 ? ['>'] : given).map((key) => `$KV.${bucket}.${key}`);
  const policy = conf.deliverPolicy === '' && bucket !== '' ? 'lastpersubject' : conf.deliverPolicy.toLowerCase();
  const deliver = policies[policy] ?? DeliverPolicy.All;
  return {
    deliver_policy: deliver,
    ...(deliver === DeliverPolicy.StartSequence ? { opt_start_seq: startSequence } : {}),
    ...(deliver === DeliverPolicy.StartTime ? { opt_start_time: new Date(startTime).toISOString() } : {}),
    ...filterOf(subjects, deliver),
  };
}

function filterOf(subjects: string[], deliver: DeliverPolicy): Partial<ConsumerConfig> {
  const [only] = subjects;
  // The server wants a filter with this policy.
  if (only === undefined) return deliver === DeliverPolicy.LastPerSubject ? { filter_subject: '>' } : {};
  return subjects.length === 1 ? { filter_subject: only } : { filter_subjects: subjects };
}
