/** Joins the rows of each window with each other, and with the rows of tables. */

import type { JoinStep } from '../../../../kernels/nodes/join.js';
import { col, NONE, type NodePlan, type Operand } from '../../../../kernels/plan/ir.js';
import type { KeptList } from '../../../model/kept.js';
import { equalities, streamsOf, tablesOf } from '../../joins/join.js';
import { type JoinSpec, type Logical, levelOf } from '../../logical/logical.js';
import type { NodeKind } from '../../nodes/node.js';
import { Path, ProgramBuilder } from '../../program/program.js';
import type { Relation } from '../../values/source.js';
import { childrenOf, type Value } from '../../values/value.js';
import type { ExplainLine, Lowering, Of, OperatorKind } from '../operator.js';
import { planPort } from './merge.js';

declare module '../../logical/logical.js' {
  interface LogicalOperators {
    /**
     * Joins the rows of each window of the input with each other and with the rows of tables; `sources`: all of these.
     */
    join: { input: Logical; sources: Relation[]; steps: JoinSpec[] };
  }
}

export const join: OperatorKind<'join'> = {
  values: ({ steps }) => steps.map(({ condition }) => condition).filter((condition) => condition !== null),
  map: (node, map) => ({
    ...node,
    steps: node.steps.map((step) => ({ ...step, condition: step.condition === null ? null : map(step.condition) })),
  }),
  lower(node, at) {
    const into = at.next;
    const { plan, path, tables } = planned(node, into, at);
    if (tables.length > 0) at.addStep({ kind: 'join_aligner', nodes: [into] });
    at.record(plan, 'join');
    at.path = path;
    for (const { index, branch } of tables) {
      const columns = at.columns[index] ?? [];
      at.add(planPort(Path.ofSource(index, columns), columns, into, branch, null));
    }
  },
  explain({ steps, sources }, { show }) {
    const joins = steps.map(({ type, condition }) => {
      const on = condition === null ? '' : `, ${show(condition)}`;
      return `{ joinType:${type.toUpperCase()}_JOIN${on} }`;
    });
    const lines: ExplainLine[] = [['JoinPlan', `Joins:[ ${joins.join(', ')} ]`]];
    const tables = tablesOf(sources).map(({ name }) => name);
    if (tables.length > 0) lines.push(['JoinAlignPlan', `Emitters:[ ${tables.join(', ')} ]`]);
    return lines;
  },
  relations: ({ sources }) => sources,
  keeps({ sources }) {
    const kept = tablesOf(sources).map(({ ownName, retainRows }) =>
      retainRows > 0 ? `the newest ${retainRows} rows of ${ownName}` : `all rows of ${ownName}`,
    );
    return kept.length === 0 ? undefined : kept.join(', ');
  },
  growth: ({ steps, sources }) => steps.flatMap((step) => growthOf(step, sources)),
};

interface Planned {
  readonly plan: NodePlan;
  /** Behind the node. */
  readonly path: Path;
  /** The tables with their branches. */
  readonly tables: readonly { index: number; branch: number }[];
}

/** Plans the node. Tables are the branches after those of the streams, their columns stand behind the window's. */
function planned(node: Of<'join'>, into: number, at: Lowering): Planned {
  const { path, columns } = at;
  const { sources, steps } = node;
  const tables = tablesOf(sources);
  const [bottom] = levelOf(node);
  const order = [...(bottom?.kind === 'merge' ? bottom.sources : streamsOf(sources)), ...tables];
  const branchOf = (source: number): number => order.findIndex(({ index }) => index === source);
  const [from] = sources;
  if (from === undefined) throw new Error('a join of no sources');
  const all = [...path.columnValues, ...tables.flatMap(({ index }) => columns[index] ?? [])];
  let pairs = path;
  const operandOf = (value: Value): Operand => {
    const operand = pairs.find(value);
    if (operand === undefined) throw new Error(`value ${value.id} is not in the batch`);
    return operand;
  };
  const plans = steps.map((step): JoinStep => {
    // Pairs are a batch of their own: what an earlier step computed does not stand in it.
    pairs = pairs.afterNew(into, all);
    const keys = equalities(step).map(({ left, right }) => ({
      leftBranch: branchOf(left.source),
      left: operandOf(left),
      right: operandOf(right),
    }));
    const { type } = step;
    const branch = branchOf(step.source);
    if (step.condition === null) return { type, branch, program: null, condition: null, keys };
    const builder = new ProgramBuilder(pairs);
    const condition = builder.operand(step.condition);
    return { type, branch, program: builder.finish(), condition, keys };
  });
  const plan: NodePlan = {
    kind: 'join',
    input: path.input,
    program: null,
    branch: order.length - tables.length > 1 ? col(0) : NONE,
    branches: order.map(({ index }) =>
      all.flatMap((value, i) => (value !== null && at.ownerOf(value) === index ? [i] : [])),
    ),
    first: branchOf(from.index),
    steps: plans,
    columns: all.length,
    tables: tables.map(({ index, retainRows }) => ({ branch: branchOf(index), retainRows })),
    name: 'join',
  };
  return {
    plan,
    path: pairs.afterNew(into, all),
    tables: tables.map(({ index }) => ({ index, branch: branchOf(index) })),
  };
}

function growthOf({ type, source, condition }: JoinSpec, sources: readonly Relation[]): string[] {
  if (condition !== null && hasEquality(condition)) return [];
  const name = sources.find(({ index }) => index === source)?.ownName ?? 'a stream';
  return [
    condition === null
      ? `the ${type} join with ${name} makes a row of each pair of rows: its output grows with the square of its input`
      : `the ${type} join with ${name} has no equality of its columns: it compares each pair of rows, so that its ` +
        'work ' +
        'grows with the square of its input',
  ];
}

/** One of the parts that must all hold is an equality between columns of two sources. */
function hasEquality(condition: Value): boolean {
  if (condition.kind !== 'op') return false;
  const [left, right] = condition.operands;
  if (left == null || right == null) return false;
  if (condition.op === 'logic.and') return hasEquality(left) || hasEquality(right);
  if (condition.op !== 'compare.eq') return false;
  const [a, b] = [readBy(left), readBy(right)];
  return a.size > 0 && b.size > 0 && [...a].every((source) => !b.has(source));
}

/** Sources whose columns the value reads. */
function readBy(value: Value, found = new Set<number>()): Set<number> {
  if (value.kind === 'column') found.add(value.source);
  for (const child of childrenOf(value)) readBy(child, found);
  return found;
}

export const joinNode: NodeKind<'join'> = {
  gives: ({ branches, tables = [] }, { input, portColumn, derived }) =>
    derived((i) => {
      for (const { branch } of tables) {
        const place = branches[branch]?.indexOf(i) ?? -1;
        if (place >= 0) return portColumn(branch, place);
      }
      return input.columnAt(i);
    }),
  rows(node, at) {
    const steps = node.steps.flatMap(({ type, branch, program, condition }) => [
      type,
      branch,
      condition === null ? null : at.conditionBelow(program, condition),
    ]);
    const tables = at.ports().map(({ input }) => at.sourceOf(input));
    return at.added(node.input, at.together('join', at.rowsOf(node.input).key, ...steps, ...tables), 'JOIN');
  },
  /** The tables; rows of messages leave nothing. */
  keeps({ tables = [], branches }, at) {
    const ports = at.ports();
    // In the order of the branches, as the kernel has them.
    const lists = branches.flatMap((_columns, branch): KeptList[] => {
      const isTable = tables.some((table) => table.branch === branch);
      const port = isTable ? ports.find((one) => one.branch === branch) : undefined;
      return port === undefined ? [] : [at.list('values', at.valuesAt(port.at, port.columns))];
    });
    const names = ports.map(({ input }) => at.sourceOf(input)).filter((name) => name !== '');
    const key = at.together('join', ...names, ...tables.map(({ retainRows }) => retainRows));
    const found = { key, what: `rows of table ${names.join(', ')}`, rows: [], lists };
    return tables.length > 0 ? found : { ...found, isSilent: true };
  },
};
