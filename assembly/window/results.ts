// How much waits to be sent in a window that has deferred work (node/deferred.ts).
import { keyedResults } from './partitions/keyed';
import { outboxCount } from './content/outbox';
import { Node } from '../gen/node-layouts';

/** Results of the window that wait to be sent, of many partitions at most so many. */
export function windowResults(node: Node): u32 {
  return outboxCount(node) + keyedResults(node);
}
