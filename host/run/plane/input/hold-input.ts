/**
 * Who keeps input unacknowledged when the kernel has worked it off, besides sinks: nodes that gather or wait,
 * checkpoints.
 */
import type { Kernel, NodeHandle, StreamHandle } from '../../../../kernels/api.js';
import type { Barrier } from '../acknowledge/barrier.js';
import type { Gathering } from '../acknowledge/gathering.js';
import type { Keepers } from '../acknowledge/keepers.js';
import type { RunningRule } from '../running/running.js';

interface Input {
  readonly stream: StreamHandle;
  readonly users: ReadonlySet<RunningRule>;
  readonly keepers: Keepers;
  readonly gatherings: ReadonlyMap<NodeHandle, Gathering>;
  readonly host: {
    readonly kernel: Kernel;
    gathers(gathering: Gathering): void;
    holdWaiting(barrier: Barrier, rules: ReadonlySet<RunningRule>): void;
  };
}

/** All of them hold the barrier; returns whether it waits for a batch. */
export function holdInput({ stream, users, keepers, gatherings, host }: Input, barrier: Barrier): boolean {
  let isGathered = false;
  for (const node of host.kernel.gathering(stream)) {
    const gathering = gatherings.get(node);
    if (gathering?.hold(barrier) !== true) continue;
    host.gathers(gathering);
    isGathered = true;
  }
  keepers.hold(barrier);
  host.holdWaiting(barrier, users);
  return isGathered;
}

/** Sends what is gathered. */
export function flushGathered({ stream, gatherings, host: { kernel } }: Input): void {
  for (const node of kernel.gathering(stream)) if (gatherings.get(node)?.isHolding) kernel.flush(node);
}
