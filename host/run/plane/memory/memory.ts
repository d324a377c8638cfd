/**
 * Memory of rules: what the kernel holds for their nodes and sources, to the byte, and output that sinks have not
 * taken. What rules share is divided among them.
 */
import type { Kernel, NodeHandle } from '../../../../kernels/api.js';
import type { ThreadMemory, UserCodeMemory } from '../../../model/figures.js';
import type { RunningRule } from '../running/running.js';

/** Returns the bytes of each run that is not ending. */
export function memoryOf(rules: Iterable<RunningRule>): [run: number, bytes: number][] {
  const running = [...rules].filter(({ isEnding }) => !isEnding);
  const sharers = sharersOf(running);
  return running.map((rule) => {
    let bytes = kept(rule, sharers);
    for (const sink of rule.sinks) bytes += sink.waitingBytes;
    bytes += rule.lag?.memoryBytes ?? 0;
    return [rule.run, Math.round(bytes)];
  });
}

/** Memory of this thread and its kernel. */
export function threadMemoryOf(kernel: Kernel, userCode: UserCodeMemory): ThreadMemory {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  const { total, inUse } = kernel.memory();
  return { heapBytes: heapUsed, bufferBytes: arrayBuffers, kernelBytes: total, kernelUsedBytes: inUse, userCode };
}

function keptBy(rules: Iterable<RunningRule>): [rule: RunningRule, bytes: number][] {
  const running = [...rules].filter(({ isEnding }) => !isEnding);
  const sharers = sharersOf(running);
  return running.map((rule) => [rule, kept(rule, sharers)]);
}

/** Bytes of state that the operators of a rule keep, as `maxStateBytes` bounds them: lookup tables are no rule's. */
export function stateBytesOf({ host, nodes }: RunningRule): number {
  let bytes = 0;
  for (const { kind, handle } of nodes) if (kind !== 'keyedTable') bytes += host.kernel.counters(handle).memoryBytes;
  return bytes;
}

/** Bytes that running rules hold in the kernel, the largest first, and their sum. */
export interface Holders {
  readonly rules: readonly [rule: RunningRule, bytes: number][];
  readonly bytes: number;
}

export function holdersOf(rules: Iterable<RunningRule>): Holders {
  const held = keptBy(rules).sort(([, a], [, b]) => b - a);
  return { rules: held, bytes: held.reduce((sum, [, bytes]) => sum + bytes, 0) };
}

/**
 * Why the rule that holds the most is ended for others; undefined where it isn't rules that memory is used up for.
 * `need` says who lacks it.
 */
export function greedOf({ rules, bytes }: Holders, { inUse, max }: { inUse: number; max: number }, need: string) {
  const [largest] = rules;
  if (largest === undefined || bytes < max / 2) return undefined;
  const [rule, most] = largest;
  const reason =
    `memory is exhausted: the rule holds ${inMb(most)}, more than any other${need}; ` +
    `in use are ${inMb(inUse)} of ${inMb(max)} (basic.maxDataMemory)`;
  return { rule, bytes: most, reason };
}

function sharersOf(rules: readonly RunningRule[]): Map<NodeHandle, number> {
  const sharers = new Map<NodeHandle, number>();
  for (const { nodes } of rules) {
    for (const { handle } of nodes) sharers.set(handle, (sharers.get(handle) ?? 0) + 1);
  }
  return sharers;
}

function kept({ host, nodes, sources }: RunningRule, sharers: ReadonlyMap<NodeHandle, number>): number {
  let bytes = 0;
  for (const { handle } of nodes) bytes += host.kernel.counters(handle).memoryBytes / (sharers.get(handle) ?? 1);
  // A stream that is joined with itself may be one source.
  for (const source of new Set(sources)) bytes += source.counters.memoryBytes / Math.max(1, source.users.size);
  return bytes;
}

/** Why a rule ends whose operator had no memory for what it must keep. */
export function exhaustionOf(rule: RunningRule, node: NodeHandle, operator: string): string {
  const { kernel } = rule.host;
  const { memoryBytes: held, lastException } = kernel.counters(node);
  // A bound of the rule has a reason of its own.
  if (lastException !== '' && lastException !== 'out of memory') return `operator ${operator}: ${lastException}`;
  const { inUse, max } = kernel.memory();
  return (
    `memory is exhausted: operator ${operator} holds ${inMb(held)} and can't keep more; ` +
    `in use are ${inMb(inUse)} of ${inMb(max)} (basic.maxDataMemory)`
  );
}

export function inMb(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
