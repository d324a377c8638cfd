/** Reads the counters of a node; the root of a stream is one, too. */

import type { NodeCounters, NodeHandle, StreamCounters, StreamHandle, Timeliness, Waiting } from '../api.js';
import { exceptionText, failures, histogram, NodeKind, node as nodeLayout } from '../gen/layouts.js';
import type { KernelExports } from '../memory/abi.js';
import type { Arena } from '../memory/arena.js';
import { type Histogram, latencyBounds } from '../values/histogram.js';

const nodeAt = nodeLayout.at;

export function countersAt(exports: KernelExports, arena: Arena, at: number): NodeCounters {
  const textAt = arena.u32(at + nodeAt.excOff);
  const last = textAt + exceptionText;
  return {
    recordsIn: Number(exports.recordsIn(at)),
    recordsOut: Number(exports.recordsOut(at)),
    exceptions: arena.u64(at + nodeAt.exceptions),
    lastException: textAt === 0 ? '' : arena.text(textAt, arena.u32(last + failures.at.lastLen)),
    lastExceptionAt: textAt === 0 ? 0 : arena.f64(last + failures.at.lastAt),
    lastInvocation: exports.lastInvocation(at),
    memoryBytes: arena.u64(at + nodeAt.memory),
    busyUs: arena.f64(at + nodeAt.busy),
    tickUs: arena.f64(at + nodeAt.tick),
  };
}

export function streamCountersAt(exports: KernelExports, arena: Arena, stream: StreamHandle): StreamCounters {
  const counters = countersAt(exports, arena, stream);
  const { recordsIn, recordsOut, exceptions, lastException, lastExceptionAt, lastInvocation } = counters;
  const { memoryBytes, busyUs, tickUs } = counters;
  // Written out: each rule keeps such an object, and a copy by spreading has a shape of its own every time.
  return {
    recordsIn,
    recordsOut,
    exceptions,
    lastException,
    lastExceptionAt,
    lastInvocation,
    memoryBytes,
    busyUs,
    tickUs,
    messages: Number(exports.sourceMessages(stream)),
    bytes: Number(exports.sourceBytes(stream)),
    decodeErrors: Number(exports.sourceDecodeErrors(stream)),
    oversized: Number(exports.sourceOversized(stream)),
  };
}

/** Watermark and counters of an `eventTime` node. */
export function timelinessOf(exports: KernelExports, node: NodeHandle): Timeliness {
  return {
    late: Number(exports.eventTimeDropped(node)),
    ahead: Number(exports.eventTimeAhead(node)),
    watermark: Math.round(exports.eventTimeWatermark(node)),
    waiting: exports.eventTimeWaiting(node) >>> 0,
  };
}

/** Waiting rows and requests of a node; for a `dedup` node, only the number of rows that wait. */
export function waitingIn(exports: KernelExports, arena: Arena, node: NodeHandle): Waiting {
  if (arena.u32(node + nodeAt.kind) === NodeKind.dedup) {
    const rows = exports.dedupWaiting(node) >>> 0;
    const any = rows > 0 ? 1 : 0;
    return { batches: 0, rows, first: any, last: any, found: 0, asked: 0 };
  }
  return {
    batches: exports.waitingBatches(node),
    rows: exports.waitingRows(node) >>> 0,
    first: exports.waitingFirst(node) >>> 0,
    last: exports.waitingLast(node) >>> 0,
    found: Number(exports.answersFound(node)),
    asked: Number(exports.answersAsked(node)),
  };
}

/** Times of a node or stream; null while nothing was measured. */
export function latenciesAt(arena: Arena, of: number): Histogram | null {
  const at = arena.u32(of + nodeAt.hist);
  if (at === 0) return null;
  return {
    sumUs: arena.f64(at + histogram.at.sum),
    counts: Array.from({ length: latencyBounds.length + 1 }, (_, i) => arena.u64(at + histogram.at.counts + 8 * i)),
  };
}

/** Partitions, or keys of an as-of join, that a node keeps, and that it has forgotten since nothing came for them. */
export function partitionsAt(
  exports: KernelExports,
  arena: Arena,
  handle: NodeHandle,
): { kept: number; forgotten: number } {
  const kind = arena.u32(handle + nodeAt.kind);
  if (kind === NodeKind.asof) {
    return { kept: Number(exports.asofKept(handle)), forgotten: Number(exports.asofForgotten(handle)) };
  }
  if (kind === NodeKind.window) {
    return { kept: exports.windowPartitions(handle) >>> 0, forgotten: Number(exports.windowForgotten(handle)) };
  }
  if (kind === NodeKind.ask) {
    return { kept: exports.askPartitions(handle) >>> 0, forgotten: Number(exports.askForgotten(handle)) };
  }
  return { kept: Number(exports.analyticPartitions(handle)), forgotten: Number(exports.analyticForgotten(handle)) };
}
