/** Messages in flight: on their way through a spill queue. */
import type { Item } from '../../queue/item.js';

/** Messages that the sink has got, or that are skipped since they were dropped. */
export interface Flight {
  /** Messages that the sink has not sent yet. */
  left: number;
  /** The messages while they are in memory. */
  item: Item | undefined;
  isStored: boolean;
  /** The messages are dropped. */
  isDropped: boolean;
  /** The sink alone has the messages, since the disk had no room to keep them. */
  isReleased?: boolean;
}
