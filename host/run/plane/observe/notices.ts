/** Notices of the kernel about a node, told to the rules that have it. */
import type { NodeHandle } from '../../../../kernels/api.js';
import { KernelError } from '../../../../kernels/memory/error.js';
import type { Heartbeat } from '../../link/heartbeat.js';
import { exhaustionOf } from '../memory/memory.js';
import type { RunningRule } from '../running/running.js';

function rulesWith(node: NodeHandle, rules: Iterable<RunningRule>): RunningRule[] {
  return [...rules].filter((rule) => rule.nodes.some(({ handle }) => handle === node));
}

/** Rules whose operator cannot keep what it must end with that reason, and give back what they hold. */
export function endExhausted(node: NodeHandle, rules: Iterable<RunningRule>): void {
  for (const rule of rulesWith(node, rules)) rule.host.failed(rule, exhaustionOf(rule, node, operatorOf(rule, node)));
}

/** Name of the operator that a node of the rule belongs to. */
export function operatorOf(rule: RunningRule, node: NodeHandle): string {
  const index = rule.nodes.findIndex(({ handle }) => handle === node);
  const found = rule.operators.find(({ nodes, outputs }) => nodes.includes(index) || outputs?.includes(index) === true);
  return found?.name ?? rule.nodes[index]?.kind ?? String(node);
}

/** Leaves the rules whose operator was at work in the heartbeat, which outlives this thread. */
export function accuse(error: unknown, rules: Iterable<RunningRule>, heartbeat: Heartbeat): void {
  const suspects = rulesWith(error instanceof KernelError ? error.node : 0, rules);
  if (suspects[0] !== undefined) heartbeat.enter(suspects[0].run, suspects.length);
}
