/** Chooses how a stream is read. */
import type { Source, SourceContext } from '../running.js';
import { GroupedRedisStream } from './grouped.js';
import { PositionedRedisStream } from './positioned.js';
import type { RedisStreamConf } from './reader.js';

export function makeRedisStream(conf: RedisStreamConf, context: SourceContext): Source {
  return conf.group === '' ? new PositionedRedisStream(conf, context) : new GroupedRedisStream(conf, context);
}
