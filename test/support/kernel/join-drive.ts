/**
 * Rules of joins on the kernel: streams whose rows have id, v and ts; ports, merge, a window of 10 s, join, output.
 * Columns of the merge: 0 branch, 1 timestamp, then id and v of each branch; the window adds start, end and trigger.
 */
import type { KernelOptions } from '../../../kernels/index.js';
import type { JoinStep } from '../../../kernels/nodes/join.js';
import { col, constant, type NodePlan, type Program, reg, type WindowPlan } from '../../../kernels/plan/ir.js';
import { type Driver, drive, encode, f64, linked } from './drive.js';
import { field, lines } from './streams.js';

/** Column of the id of a branch; that of v follows. */
export const idOf = (branch: number) => col(2 + 2 * branch);
const vOf = (branch: number) => col(3 + 2 * branch);

/**
 * How the condition of a step is written: the ids are equal, in front of or behind `right.v > 2`, or after arithmetic.
 */
export type Condition = 'id' | 'id and v' | 'v and id' | 'id + 1';

/** A step that joins `branch` by its id; `withKey`: the equality is told as a key. */
export function onId(
  type: JoinStep['type'],
  { branch = 1, leftBranch = 0, withKey = true, condition = 'id' as Condition } = {},
): JoinStep {
  if (type === 'cross') return { type, branch, program: null, condition: null, keys: [] };
  const [left, right] = [idOf(leftBranch), idOf(branch)];
  const plus = (dst: number, a: number): Program['ops'][number] => ({ op: 'arith.add', dst, a, b: constant(1) });
  const isComputed = condition === 'id + 1';
  const base = 100 + 10 * branch;
  const ops: Program['ops'] = isComputed ? [plus(base, left), plus(base + 1, right)] : [];
  const [a, b] = isComputed ? [reg(base), reg(base + 1)] : [left, right];
  ops.push({ op: 'compare.eq', dst: base + 2, a, b });
  if (condition === 'id and v' || condition === 'v and id') {
    ops.push({ op: 'compare.gt', dst: base + 3, a: vOf(branch), b: constant(0) });
    const [first, second] = condition === 'id and v' ? [base + 2, base + 3] : [base + 3, base + 2];
    ops.push({ op: 'logic.and', dst: base + 4, a: reg(first), b: reg(second) });
  }
  const result = ops[ops.length - 1]?.dst ?? 0;
  const key = isComputed
    ? { leftBranch, left: reg(computedKey(leftBranch)), right: reg(computedKey(branch)) }
    : { leftBranch, left, right };
  return {
    type,
    branch,
    program: { ops, consts: [f64(2), f64(1)] },
    condition: reg(result),
    keys: withKey ? [key] : [],
  };
}

/** Register in which the join's own program has `id + 1` of a branch. */
const computedKey = (branch: number): number => 80 + branch;

export function joinPlan(steps: JoinStep[], branches = 2): Extract<NodePlan, { kind: 'join' }> {
  return {
    kind: 'join',
    input: { node: 0 },
    program: {
      ops: Array.from({ length: branches }, (_, b) => ({
        op: 'arith.add',
        dst: computedKey(b),
        a: idOf(b),
        b: constant(0),
      })),
      consts: [f64(1)],
    },
    branch: col(0),
    branches: Array.from({ length: branches }, (_, b) => [2 + 2 * b, 3 + 2 * b]),
    steps,
    columns: 2 + 2 * branches + 3,
    name: 'join',
  };
}

type WindowNode = Extract<NodePlan, { kind: 'window' }>;

/** The window over the merge: keeps all columns. */
function collecting(branches: number, window: WindowPlan, eventTime: boolean): WindowNode {
  return {
    kind: 'window',
    input: { node: 0 },
    program: null,
    window,
    isEventTime: eventTime,
    ...(eventTime ? { timestamp: col(1) } : {}),
    grouped: false,
    keys: [],
    keep: Array.from({ length: 2 + 2 * branches }, (_, i) => col(i)),
    aggs: [],
    sendEmpty: false,
    name: 'window',
  };
}

export interface JoinWishes {
  branches?: number;
  eventTime?: boolean;
  toleranceMs?: number;
  window?: WindowPlan;
  /** Nodes between join and output, and the columns to send. */
  below?: NodePlan[];
  fields?: Record<string, number>;
  kernel?: KernelOptions;
  /** A kernel that is there already. */
  driver?: Driver;
}

/** Opens streams and nodes. */
export function openJoin(steps: JoinStep[], wishes: JoinWishes = {}) {
  const { branches = 2, eventTime = false, toleranceMs = 0 } = wishes;
  const driver = wishes.driver ?? drive(wishes.kernel);
  const { kernel } = driver;
  const streams = Array.from({ length: branches }, () => kernel.openStream(lines));
  const maps = streams.map((stream) => kernel.useColumns(stream, [field('id'), field('v'), field('ts')]));
  const common = { sendError: true, now: 0 };
  const merge = kernel.addNode(
    null,
    linked({ kind: 'merge', input: null, branches: streams.map(() => 2), name: 'merge' }, common),
  );
  const ports = streams.map((stream, branch) => {
    const plan: NodePlan = {
      kind: 'port',
      input: { source: branch },
      into: 0,
      branch,
      program: null,
      timestamp: col(2),
      columns: [col(0), col(1)],
      name: 'port',
    };
    return kernel.addNode({ stream }, linked(plan, { columnMap: maps[branch] as number[], target: merge, ...common }));
  });
  const nodes = [merge];
  const add = (plan: NodePlan): number => {
    const parent = nodes[nodes.length - 1] as number;
    const node = kernel.addNode({ node: parent }, linked(plan, common));
    nodes.push(node);
    return node;
  };
  if (eventTime) {
    add({
      kind: 'eventTime',
      input: { node: 0 },
      timestamp: col(1),
      lateToleranceMs: toleranceMs,
      columns: 2 + 2 * branches,
      name: 'watermark',
    });
  }
  add(collecting(branches, wishes.window ?? { kind: 'tumbling', unitMs: 1000, lengthMs: 10_000 }, eventTime));
  const join = add(joinPlan(steps, branches));
  for (const plan of wishes.below ?? []) add(plan);
  const all: Record<string, number> = {};
  for (let b = 0; b < branches; b++) {
    all[`id${b}`] = 2 + 2 * b;
    all[`v${b}`] = 3 + 2 * b;
  }
  const out = add(encode(wishes.fields ?? all, { sendSingle: false, sendError: true }));
  kernel.tick(0);
  return {
    driver,
    kernel,
    streams,
    merge,
    ports,
    join,
    out,
    nodes,
    /** Messages since the last call: rows, or the text of an error. */
    taken: (): (object[] | string)[] =>
      driver
        .of(out)
        .splice(0)
        .map((message) => (message.startsWith('[') ? JSON.parse(message) : message)),
    close: (): void => {
      for (const port of ports) kernel.releaseNode(port);
      for (const node of nodes.slice().reverse()) kernel.releaseNode(node);
      streams.forEach((stream, i) => {
        kernel.releaseColumns(stream, maps[i] as number[]);
        kernel.closeStream(stream);
      });
    },
  };
}

export const text = (rows: object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
