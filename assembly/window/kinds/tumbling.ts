// Tumbling windows: one after the other, by the clock.
import { Kind } from './kind';
import { fillAligned } from './aligned';

export function tumblingWindow(kind: Kind): void {
  fillAligned(kind);
}
