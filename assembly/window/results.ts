// How much waits to be sent in nodes that have deferred work (node/deferred.ts).
import { N_KIND, N_STATE, NodeKind } from '../node/node';
import { eventTimeResults } from '../order/event-time';
import { keyedResults } from './partitions/keyed';
import { outboxCount } from './content/outbox';

/**
 * Results of a node that wait to be sent: windows, of many partitions at most so many; or watermarks and failures
 * behind rows that wait.
 */
export function deferredResults(node: usize): u32 {
  if (!load<u32>(node, N_STATE)) return 0;
  switch (load<u32>(node, N_KIND)) {
    case NodeKind.WINDOW:
      return outboxCount(node) + keyedResults(node);
    case NodeKind.EVENT_TIME:
      return eventTimeResults(node);
    default:
      return 0;
  }
}
