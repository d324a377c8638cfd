/** What the machine has. */
import { totalmem } from 'node:os';

/** Memory of the machine, or what a container lets the process have of it. */
export function machineBytes(): number {
  // In a container without a bound that is 0, or more than there is.
  const bound = process.constrainedMemory?.() ?? 0;
  return bound > 0 ? Math.min(bound, totalmem()) : totalmem();
}
