/**
 * Memory of rules: what the kernel holds for their nodes and sources, to the byte, and output that sinks have not taken.
 * What rules share is divided among them.
 */
import type { NodeHandle } from '../../kernels/api.js';
import type { RuleRun } from './rule-run.js';

/** Returns the bytes of each run that is not ending. */
export function memoryOf(rules: Iterable<RuleRun>): [run: number, bytes: number][] {
  const running = [...rules].filter(({ isEnding }) => !isEnding);
  const sharers = new Map<number, number>();
  for (const { nodes } of running) {
    for (const { handle } of nodes) sharers.set(handle, (sharers.get(handle) ?? 0) + 1);
  }
  return running.map(({ run, host, nodes, sources, sinks }) => {
    let bytes = 0;
    for (const { handle } of nodes) bytes += host.kernel.counters(handle).memoryBytes / (sharers.get(handle) ?? 1);
    // A stream that is joined with itself may be one source.
    for (const source of new Set(sources)) bytes += source.counters.memoryBytes / Math.max(1, source.users.size);
    for (const sink of sinks) bytes += sink.waitingBytes;
    return [run, Math.round(bytes)];
  });
}

/** Why a rule ends whose operator had no memory for what it must keep. */
export function exhaustionOf(rule: RuleRun, node: NodeHandle, operator: string): string {
  const { kernel } = rule.host;
  const held = kernel.counters(node).memoryBytes;
  const { inUse, max } = kernel.memory();
  return (
    `memory is exhausted: operator ${operator} holds ${inMb(held)} and can't keep more; ` +
    `all rules together hold ${inMb(inUse)}, the bound is ${inMb(max)} (basic.maxDataMemory)`
  );
}

function inMb(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
