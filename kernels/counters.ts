/** Reads what a node counts; the root of a stream counts as one. */
import type { NodeCounters } from './api.js';
import type { Arena } from './arena.js';
import { node as nodeLayout } from './gen/layouts.js';

const nodeAt = nodeLayout.at;

export function countersAt(arena: Arena, at: number): NodeCounters {
  const textAt = arena.u32(at + nodeAt.excOff);
  return {
    recordsIn: arena.u64(at + nodeAt.in),
    recordsOut: arena.u64(at + nodeAt.out),
    exceptions: arena.u64(at + nodeAt.exceptions),
    lastException: textAt === 0 ? '' : arena.text(textAt, arena.u32(at + nodeAt.excLen)),
    lastExceptionAt: arena.f64(at + nodeAt.excAt),
    lastInvocation: arena.f64(at + nodeAt.last),
    memoryBytes: arena.u64(at + nodeAt.memory),
    busyUs: arena.f64(at + nodeAt.busy),
    tickUs: arena.f64(at + nodeAt.tick),
  };
}
