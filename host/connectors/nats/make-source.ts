/** Chooses how a source reads: subjects as they come, or a stream. */
import type { Source, SourceContext } from '../running.js';
import { DurableSource } from './durable.js';
import { PositionedSource } from './positioned.js';
import { NatsSource, type NatsSourceConf } from './source.js';
import type { NatsStreamConf } from './stream-source.js';

export function makeNatsSource(conf: NatsSourceConf & NatsStreamConf, context: SourceContext): Source {
  if (conf.stream === '' && conf.bucket === '') return new NatsSource(conf, context);
  return conf.durable === '' ? new PositionedSource(conf, context) : new DurableSource(conf, context);
}
