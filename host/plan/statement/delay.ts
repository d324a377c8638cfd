/**
 * delay(), and functions that answer later: rows wait in an operator of their own, below the lowest one that reads the
 * result: WHERE has decided on them before, unless it asks for the result itself. Several follow one another.
 */
import { checkPlace, isAnswered } from '../logical/call.js';
import { inputsOf, type Logical, levelOf, mapOperators, type Root } from '../logical/logical.js';
import { valuesOf } from '../operators/index.js';
import { conjuncts } from '../values/joined-row.js';
import { childrenOf, sourcesIn, type Value, type Values } from '../values/value.js';

/** The plan with the operators in which rows wait. */
export function withDelays(roots: readonly Root[], values: Values): Root[] {
  const { delays, waiting } = values;
  if (delays.size === 0 && waiting.size === 0) return [...roots];
  const isWaitedFor = (value: Value): boolean => delays.has(value) || isAnswered(value, waiting);
  const aggregated = waitedFor(
    roots.flatMap(({ node }) => [...operators(node)].flatMap(valuesOf)),
    isWaitedFor,
    true,
  );
  /** Values that the output rows of each operator have waited for. */
  const waited = new Map<Logical, ReadonlySet<Value>>();
  return mapOperators(roots, (node) => {
    const inputs = inputsOf(node);
    const done = new Set(inputs.flatMap((input) => [...(waited.get(input) ?? [])]));
    const [input] = inputs;
    if (input === undefined || node.kind === 'merge' || node.kind === 'source') {
      waited.set(node, done);
      return node;
    }
    const read = waitedFor(valuesOf(node), isWaitedFor, false);
    checkPlace(node, read, values);
    // A window has the arguments of the aggregates that others read.
    const ofWindow = node.kind === 'window' ? [...aggregated].filter((value) => isKnownIn(input, value)) : [];
    const { first, rest } = decidedBefore(node, input, isWaitedFor, values);
    let below = first;
    for (const value of new Set([...read, ...ofWindow])) {
      if (done.has(value)) continue;
      done.add(value);
      const until = delays.get(value);
      if (until !== undefined) below = { kind: 'delay', input: below, until };
      else if (value.kind === 'op') below = { kind: 'call', input: below, call: value };
    }
    const result = below === input ? node : { ...rest, input: below };
    waited.set(result, done);
    return result;
  });
}

/** Splits a filter: terms that need no wait come first, so that the rows they drop do not wait. */
function decidedBefore(
  node: Logical,
  input: Logical,
  isWaitedFor: (value: Value) => boolean,
  values: Values,
): { first: Logical; rest: Logical } {
  if (node.kind !== 'filter') return { first: input, rest: node };
  const terms = conjuncts(node.condition);
  const waits = (term: Value) => waitedFor([term], isWaitedFor, false).size > 0;
  const [early, late] = [terms.filter((term) => !waits(term)), terms.filter(waits)];
  if (early.length === 0 || late.length === 0) return { first: input, rest: node };
  const all = (some: readonly Value[]) => some.reduce((one, other) => values.op('logic.and', [one, other]));
  return { first: { ...node, input, condition: all(early) }, rest: { ...node, condition: all(late) } };
}

function operators(root: Logical, found = new Set<Logical>()): Set<Logical> {
  if (!found.has(root)) {
    found.add(root);
    for (const input of inputsOf(root)) operators(input, found);
  }
  return found;
}

/** Finds the values that rows wait for among `roots` and their operands: those inside aggregates, or all others. */
function waitedFor(roots: readonly Value[], isWaitedFor: (value: Value) => boolean, ofAggregates: boolean): Set<Value> {
  const found = new Set<Value>();
  const seen: [Set<Value>, Set<Value>] = [new Set(), new Set()];
  const visit = (value: Value, isInside: boolean): void => {
    const known = seen[isInside ? 1 : 0];
    if (known.has(value)) return;
    known.add(value);
    if (isInside === ofAggregates && isWaitedFor(value)) found.add(value);
    // Rows wait for a value in an argument first.
    for (const child of childrenOf(value)) visit(child, isInside || value.kind === 'aggregate');
  };
  for (const root of roots) visit(root, false);
  return new Set([...found].sort((a, b) => a.id - b.id));
}

/** True where the rows have all columns that the value is computed of. */
function isKnownIn(node: Logical, value: Value): boolean {
  const [bottom] = levelOf(node);
  if (bottom === undefined) return false;
  const sources = bottom.kind === 'merge' ? bottom.sources : bottom.kind === 'source' ? [bottom.source] : [];
  const known = bottom.kind === 'derive' ? [bottom.table] : sources;
  return sourcesIn(value).every((source) => known.some(({ index }) => index === source));
}
