// Number of results that wait in a window that has deferred work (node/deferred.ts).
import { keyedResults } from './partitions/keyed';
import { outboxCount } from './content/outbox';
import { Node } from '../gen/node-layouts';

/** Number of results of the window that wait to be sent; with many partitions an upper bound. */
export function windowResults(node: Node): u32 {
  return outboxCount(node) + keyedResults(node);
}
