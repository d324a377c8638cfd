/** Resources of the machine. */
import { totalmem } from 'node:os';

/** Memory of the machine, or what a container lets the process have of it. */
export function machineBytes(): number {
  // Without a bound Node.js reports 0, or more than the machine has.
  const bound = process.constrainedMemory?.() ?? 0;
  return bound > 0 ? Math.min(bound, totalmem()) : totalmem();
}
