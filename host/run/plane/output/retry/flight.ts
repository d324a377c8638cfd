/** Messages in flight: on their way through a spill queue. */
import type { Item } from '../../queue/item.js';

/** Messages that the sink has got, or would be next if they were not to be left out. */
export interface Flight {
  /** Messages that are not out. */
  left: number;
  /** Where they are in memory. */
  item: Item | undefined;
  isStored: boolean;
  /** The messages are dropped. */
  isDropped: boolean;
  /** On disk there was no more room for them: the sink alone has them. */
  isReleased?: boolean;
}
