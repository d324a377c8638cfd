/** Notes of EXPLAIN on an operator: where it works, the state that it keeps, and whether other rules may share it. */
import { hostFunctionName } from '../../functions/registry.js';
import { chainOf, inputsOf, type Logical } from '../logical/logical.js';
import { kindOf, valuesOf } from '../operators/index.js';
import { childrenOf, type Value } from '../values/value.js';

/**
 * Notes on an operator; absent ones have nothing to tell. An operator without notes works in the kernel and keeps
 * nothing.
 */
export interface Notes {
  /** Functions that the host computes, over whole columns. */
  host?: string;
  /** State that stays in memory between two rows or messages, and what it grows with. */
  keeps?: string;
  /** Rules with an equal operator on the stream use one for all. */
  shared?: string;
  /** Reason for which rows wait: for other rows, for a time or for an answer. */
  waits?: string;
}

/**
 * Null where there is nothing to say.
 * @param values what the operator computes
 * @param above what the operators above it compute
 */
export function notesOf(node: Logical, values: readonly Value[], above: readonly Value[]): Notes | null {
  const called = hostFunctionsIn(values);
  const kind = kindOf(node);
  const keeps = kind.keeps?.(node, above);
  const waits = kind.waits?.(node);
  const notes: Notes = {
    ...(called.length === 0 ? {} : { host: called.join(', ') }),
    ...(keeps === undefined ? {} : { keeps }),
    ...(waits === undefined ? {} : { waits }),
    ...(isShareable(node) ? { shared: 'with rules that have the same here' } : {}),
  };
  return Object.keys(notes).length === 0 ? null : notes;
}

/** Names of functions that the host computes. */
function hostFunctionsIn(values: readonly Value[]): string[] {
  const found = new Set<string>();
  const seen = new Set<Value>();
  const visit = (value: Value): void => {
    if (seen.has(value)) return;
    seen.add(value);
    if (value.kind === 'op' && value.op === 'call.host') found.add(hostFunctionName(value.imm));
    childrenOf(value).forEach(visit);
  };
  values.forEach(visit);
  return [...found].sort();
}

/** True for operators that keep nothing, on the way from a shared stream to the first that does. */
function isShareable(node: Logical): boolean {
  const chain = chainOf(node);
  const [bottom] = chain;
  if (bottom?.kind !== 'source' || !bottom.source.definition.options.shared) return false;
  return chain.every((one) => kindOf(one).isStateless === true);
}

/** Values that the operators above in the same SELECT compute from each node's output. */
export function valuesAboveOf(root: Logical): ReadonlyMap<Logical, readonly Value[]> {
  const found = new Map<Logical, readonly Value[]>();
  const visit = (node: Logical, above: readonly Value[]): void => {
    found.set(node, above);
    const own = node.kind === 'derive' ? valuesOf(node) : [...above, ...valuesOf(node)];
    for (const input of inputsOf(node)) visit(input, own);
  };
  visit(root, []);
  return found;
}
