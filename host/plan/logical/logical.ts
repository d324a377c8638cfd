/**
 * The logical plan: what a rule does, as operators from the streams up to the output rows. A statement is one chain; a
 * graph has a root for each sink, and roots share the operators that they have in common (the same object). Rules of
 * optimisation (rules/) turn such plans into others with the same meaning.
 */

import type { WindowOf } from '../../../kernels/plan/gen/windows.js';
import type { Relation } from '../values/source.js';
import type { Value } from '../values/value.js';

/** A named value of the output row. */
export interface OutputEntry {
  name: string;
  value: Value;
  /** A column named by itself: its null is sent as null. */
  isPlain: boolean;
  /** A column as `*` brings it: rows that have none go out without it, even where nulls are sent for absent columns. */
  isBrought: boolean;
  /** An expression without an alias: its null is never sent. */
  isUnnamed: boolean;
}

/** The output row before sinks pick from it. */
export interface OutputRow {
  /** In the order of the SELECT; names are unique. */
  entries: OutputEntry[];
  /**
   * `*` over streams without schema: all members of `row` but these and those that entries replace. `sources`: whose
   * members the row has, in the order in which they are searched for a name; none: the names are members of the row
   * alone.
   */
  star: { sources: Relation[]; row: Value; except: string[] } | null;
  /**
   * An object whose members are set in the row last: what a function of several rows gives. `name`: its column where
   * that is no object, null where it always is.
   */
  set?: { value: Value; name: string | null };
}

/** Windows of a statement; `message` is above a join, where what a window gave is a window again. */
export type WindowSpec = WindowOf<Value>;

/** A column of a lookup table and the value that it must be equal to. */
export interface LookupKey {
  name: string;
  value: Value;
}

/** One step of a join: the rows so far with those of one more source. */
export interface JoinSpec {
  type: 'inner' | 'left' | 'right' | 'full' | 'cross';
  source: number;
  /** Null: every pair matches. */
  condition: Value | null;
}

/** Values that rows are partitioned by. */
export function partitionOf(window: WindowSpec): readonly Value[] {
  return 'partition' in window ? window.partition : [];
}

/** Nodes of a rule's graph that the operator does the work of. */
interface Labelled {
  labels?: readonly string[];
}

/**
 * Forms of the operators of each kind, without their kind. Each file of `operators/` declares its own here, beside its
 * record for the planner.
 */
// biome-ignore lint/suspicious/noEmptyInterface: its members stand in the files of the kinds
export interface LogicalOperators {}

export type Logical = Labelled &
  { [K in keyof LogicalOperators]: { kind: K } & LogicalOperators[K] }[keyof LogicalOperators];

export type WindowNode = Extract<Logical, { kind: 'window' }>;

/** Operator that gives the rule's output rows to some of its sinks. */
export interface Root {
  node: Extract<Logical, { kind: 'project' }>;
  /** Indexes of the actions in the rule. */
  actions: readonly number[];
}

/** Operators below. */
export function inputsOf(node: Logical): readonly Logical[] {
  if (node.kind === 'source') return [];
  return node.kind === 'merge' ? node.inputs : [node.input];
}

/** Operators from the one that has no single input, a source or a merge, up to the root. */
export function chainOf(root: Logical): Logical[] {
  const chain: Logical[] = [];
  for (let node: Logical | undefined = root; node !== undefined; ) {
    chain.push(node);
    node = node.kind === 'source' || node.kind === 'merge' ? undefined : node.input;
  }
  return chain.reverse();
}

/** The operators of one SELECT: those of `chainOf` above the last derived table. */
export function levelOf(root: Logical): Logical[] {
  const chain = chainOf(root);
  return chain.slice(
    Math.max(
      0,
      chain.findLastIndex(({ kind }) => kind === 'derive'),
    ),
  );
}

/** True where rows come in the order of their times. */
export function hasWatermark(node: Logical): boolean {
  return chainOf(node).some(({ kind }) => kind === 'watermark');
}

/** True where rows are parts of messages. */
export function isOfMessages(node: Logical): boolean {
  if (node.kind === 'pattern') return node.rows !== 'one';
  return node.kind === 'window' || node.kind === 'join' || inputsOf(node).some(isOfMessages);
}

/** True above rows of several streams. */
export function isOfMerge(node: Logical): boolean {
  return levelOf(node)[0]?.kind === 'merge';
}

/** All operators of a plan, each once, those below before those above. */
export function operatorsOf(roots: readonly Root[]): Logical[] {
  const found = new Set<Logical>();
  const visit = (node: Logical): void => {
    if (found.has(node)) return;
    for (const input of inputsOf(node)) visit(input);
    found.add(node);
  };
  for (const { node } of roots) visit(node);
  return [...found];
}

/**
 * Rebuilds a plan from the streams up: `change` gets every operator once, with its new inputs and as it was before.
 * Roots stay roots.
 */
export function mapOperators(roots: readonly Root[], change: (node: Logical, before: Logical) => Logical): Root[] {
  const done = new Map<Logical, Logical>();
  const visit = (node: Logical): Logical => {
    const before = done.get(node);
    if (before !== undefined) return before;
    const result = change(withInputs(node, inputsOf(node).map(visit)), node);
    done.set(node, result);
    return result;
  };
  return roots.map(({ node, actions }) => {
    const root = visit(node);
    if (root.kind !== 'project') throw new Error('the root of a plan is not its output');
    return { node: root, actions };
  });
}

/** Operators whose rows one other reads only. */
export function soleInputsOf(roots: readonly Root[]): ReadonlySet<Logical> {
  const sole = new Set<Logical>();
  const seen = new Set<Logical>();
  for (const input of operatorsOf(roots).flatMap(inputsOf)) {
    if (seen.has(input)) sole.delete(input);
    else sole.add(input);
    seen.add(input);
  }
  return sole;
}

function withInputs(node: Logical, inputs: Logical[]): Logical {
  if (node.kind === 'source') return node;
  if (node.kind === 'merge') return { ...node, inputs };
  const [input] = inputs;
  return input === undefined ? node : { ...node, input };
}
