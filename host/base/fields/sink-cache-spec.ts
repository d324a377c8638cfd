/** Properties of the cache of a sink; the section `sink` of the configuration changes the defaults for all sinks. */
import { field } from './field.js';

export const sinkCacheSpec = {
  enableCache: field.bool().default(false).doc('Messages that the sink cannot take yet wait on disk'),
  memoryCacheThreshold: field
    .int()
    .min(0)
    .default(1024)
    .doc('Messages that may wait in memory, for a moment; more are written to disk at once'),
  maxDiskCache: field.int().min(0).default(1_024_000).doc('Messages that may wait on disk'),
  bufferPageSize: field.int().min(1).max(65_536).default(256).doc('Messages of a page, which is written as a whole'),
  resendInterval: field
    .duration()
    .min(0)
    .default(0)
    .doc('Time between two messages that waited; 0 sends them as fast as the sink takes them'),
  cleanCacheAtStop: field.bool().default(false).doc('What waits is forgotten when the rule stops'),
  resendAlterQueue: field
    .bool()
    .default(false)
    .doc('New messages overtake those that waited; otherwise all go out in their order'),
  resendPriority: field
    .int()
    .min(-1)
    .max(1)
    .default(0)
    .doc('With resendAlterQueue: 1 sends messages that waited first, -1 when there are no new ones, 0 in turn'),
  resendIndicatorField: field
    .string()
    .default('')
    .doc('With resendAlterQueue: rows of messages that waited have this field more, with the value true'),
  cacheFullPolicy: field
    .string()
    .oneOf('block', 'dropOldest')
    .default('block')
    .doc('With maxDiskCache messages on disk the sources of the rule wait, or the oldest page is dropped and counted'),
  cacheSync: field
    .string()
    .oneOf('always', 'never')
    .default('always')
    .doc(
      'always: pages are synced to disk (fsync) before they count as safe; never: the system writes them in its ' +
        'own time',
    ),
};
