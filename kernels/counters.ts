/** Reads what a node counts; the root of a stream counts as one. */
import type { KernelExports } from './abi.js';
import type { NodeCounters } from './api.js';
import type { Arena } from './arena.js';
import { node as nodeLayout } from './gen/layouts.js';

const nodeAt = nodeLayout.at;

export function countersAt(exports: KernelExports, arena: Arena, at: number): NodeCounters {
  const textAt = arena.u32(at + nodeAt.excOff);
  return {
    recordsIn: Number(exports.recordsIn(at)),
    recordsOut: arena.u64(at + nodeAt.out),
    exceptions: arena.u64(at + nodeAt.exceptions),
    lastException: textAt === 0 ? '' : arena.text(textAt, arena.u32(at + nodeAt.excLen)),
    lastExceptionAt: arena.f64(at + nodeAt.excAt),
    lastInvocation: exports.lastInvocation(at),
    memoryBytes: arena.u64(at + nodeAt.memory),
    busyUs: arena.f64(at + nodeAt.busy),
    tickUs: arena.f64(at + nodeAt.tick),
  };
}
