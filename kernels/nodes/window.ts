/** Windows as assembly/window/ reads them. */
import {
  aggregateSpec,
  operandConst as firstConst,
  maxInputs,
  WindowFlag,
  WindowKind,
  windowSpec,
} from '../gen/layouts.js';
import { type AggregateName, aggregates } from '../gen/ops.js';
import { put } from '../memory/layout.js';
import { windowFields } from '../plan/gen/windows.js';
import { NONE, type NodeInput, type NodePlan, type Operand, type Program, type WindowPlan } from '../plan/ir.js';
import type { NodeKind } from './node.js';

declare module '../plan/ir.js' {
  interface NodePlans {
    /**
     * Collects rows. Output columns: with `grouped`, a row for each group: `keep` (values of the group's first row),
     * then `aggs`; otherwise all rows of the window with `keep`, then `aggs` over all of them in each row (of a
     * `message` only). In both, three more columns follow: window start, window end (epoch ms, I64; event time or
     * clock) and the time of the triggering row or tick. `program` is evaluated on arriving rows and computes what
     * keys, keep and aggs refer to.
     *
     * A window is one message (a `row` window: each row). Rows that failed above pass at once as messages of their own;
     * an error in `where`, keys, kept values or arguments fails the message of the window and no other. `grouped`
     * without keys is one group. FILTER (WHERE) of the window is a filter node above it, HAVING one below.
     *
     * `sendEmpty`: windows of time, of counts and of messages without content send a message as well, grouped as one
     * row in which kept values and aggregates are MISSING and `collect` is NULL, otherwise as no rows; wrong with keys
     * or WHERE. After 1,000 empty windows in a row the rest of a gap is skipped. Aggregates take operands as in
     * `aggregates` (gen/ops.ts); one that `takesRow` a further one: the row to give in place of the value.
     */
    window: {
      input: NodeInput;
      program: Program | null;
      window: WindowPlan;
      isEventTime: boolean;
      /**
       * Timestamp of a row, epoch ms; needed with event time. Below an eventTime node its added column is read instead.
       */
      timestamp?: Operand;
      /**
       * WHERE of a window that must see all rows: rows for which it is not true count, trigger and open windows but are
       * not part of them; an error in it is an error of the window's message.
       */
      where?: Operand;
      grouped: boolean;
      keys: Operand[];
      keep: Operand[];
      aggs: AggregatePlan[];
      /** Windows without rows send a message too (see the SQL semantics about empty windows). */
      sendEmpty: boolean;
    };
  }
}

export interface AggregatePlan {
  fn: AggregateName;
  /** Operands over the window's input rows; constants for parameters such as a percentile. */
  args: Operand[];
  /** Number of the host function, for `fold` and `foldJoined`. */
  call?: number;
  /** `FILTER (WHERE …)` of the aggregate: operand that must be true. */
  filter?: Operand;
}

type WindowNode = Extract<NodePlan, { kind: 'window' }>;

export const window: NodeKind<'window'> = {
  traits: {
    passesColumns: false,
    passesRows: false,
    keepsRows: ({ window: { kind } }) => kind !== 'row',
    worksOnMany: true,
    keepsPartitions: ({ window: plan }) => partitionOf(plan).length > 0,
  },
  spec: (plan, { operand, zone }) => encodeWindow(linkWindow(plan, operand), zone),
};

function linkWindow(plan: WindowNode, operand: (value: Operand) => Operand): WindowNode {
  const optional = (value: Operand | undefined): Operand | undefined => (value === undefined ? value : operand(value));
  const { window } = plan;
  return {
    ...plan,
    window: linkTriggers(window, operand),
    timestamp: optional(plan.timestamp),
    where: optional(plan.where),
    keys: plan.keys.map(operand),
    keep: plan.keep.map(operand),
    aggs: plan.aggs.map((agg) => ({ ...agg, args: agg.args.map(operand), filter: optional(agg.filter) })),
  };
}

/** The window with each operand replaced. */
function linkTriggers(window: WindowPlan, operand: (value: Operand) => Operand): WindowPlan {
  const linked = windowFields[window.kind].operands.flatMap(([name]) => {
    const value = memberOf(window, name);
    return value === undefined ? [] : [[name, operand(value)] as const];
  });
  const partition = 'partition' in window ? { partition: window.partition?.map(operand) ?? [] } : {};
  return { ...window, ...Object.fromEntries(linked), ...partition };
}

/** A number or operand of the window. */
function memberOf(window: WindowPlan, name: string): number | undefined {
  return (window as Readonly<Record<string, unknown>>)[name] as number | undefined;
}

const naturalUnitsMs = [86_400_000, 3_600_000, 60_000, 1000];

/** Largest natural unit that divides the time: the alignment of windows whose unit the plan does not give. */
function naturalUnitMs(ms: number): number {
  return naturalUnitsMs.find((unit) => ms % unit === 0) ?? 1;
}

/** Values that rows are partitioned by. */
export function partitionOf(window: WindowPlan): readonly Operand[] {
  return ('partition' in window ? window.partition : undefined) ?? [];
}

/** Distinct operands in the order of their first use. */
class Inputs {
  readonly operands: Operand[] = [];

  index(operand: Operand | undefined): number {
    if (operand === undefined || operand === NONE) return NONE;
    const at = this.operands.indexOf(operand);
    if (at >= 0) return at;
    if (this.operands.length === maxInputs)
      throw new RangeError(`a window reads at most ${maxInputs} different values`);
    return this.operands.push(operand) - 1;
  }
}

interface Times {
  unit: number;
  length: number;
  step: number;
  countLength: number;
  countStep: number;
}

/** The numbers of the window by their places in the spec. */
function timesOf(window: WindowPlan): Times {
  let isNatural = false;
  const times: Times = { unit: 1, length: 0, step: 0, countLength: 0, countStep: 0 };
  for (const [name, place, what] of windowFields[window.kind].numbers) {
    const value = memberOf(window, name);
    if (what !== undefined) times[place] = positive(value ?? 0, what);
    else if (value !== undefined) times[place] = value;
    else if (place === 'unit') isNatural = true;
  }
  if (isNatural) times.unit = naturalUnitMs(times.length);
  return times;
}

function positive(value: number, what: string): number {
  if (!(value > 0 && Number.isFinite(value)))
    throw new RangeError(`${what} of a window must be positive, not ${value}`);
  return value;
}

/** Operands that a window reads of its rows, each once, and the indexes of its parts among them. */
function readBy(plan: WindowNode) {
  const { window } = plan;
  const inputs = new Inputs();
  const keys = plan.grouped ? plan.keys.map((operand) => inputs.index(operand)) : [];
  const keeps = plan.keep.map((operand) => inputs.index(operand));
  const folded: number[] = [];
  const aggs = plan.aggs.map(({ fn, args, filter, call }) => {
    const shared = { fn: aggregates[fn].code, filter: inputs.index(filter), call: call ?? 0 };
    if (!aggregates[fn].takesBatch) {
      return { ...shared, a: inputs.index(args[0]), b: inputs.index(args[1]), c: inputs.index(args[2]) };
    }
    const first = folded.length;
    folded.push(...args.map((operand) => inputs.index(operand)));
    return { ...shared, a: first, b: args.length, c: NONE };
  });
  const own = (at: 'trigger' | 'start' | 'end' | 'emit'): number => {
    const found = windowFields[window.kind].operands.find(([, place]) => place === at);
    return inputs.index(found === undefined ? undefined : memberOf(window, found[0]));
  };
  const trigger = own('trigger');
  const start = own('start');
  const end = own('end');
  const [partition = NONE, ...further] = partitionOf(window).map((operand) => inputs.index(operand));
  const emit = own('emit');
  const where = inputs.index(plan.where);
  return { inputs, keys, keeps, folded, aggs, trigger, start, end, partition, further, emit, where };
}

/** The columns of rows that a window keeps: what it reads of them, without constants. */
export function keptColumns(plan: WindowNode): Operand[] {
  return readBy(plan).inputs.operands.filter((operand) => operand < firstConst);
}

/** The spec of a window of one group with one aggregate, for a node that hands it rows. */
export function encodeGroup(
  fn: AggregateName,
  args: readonly Operand[],
  filter: Operand | null,
  call: number,
): Uint8Array {
  const agg = { fn, args: [...args], call, ...(filter === null ? {} : { filter }) };
  const plan: WindowNode = {
    ...{ kind: 'window', name: '', input: { source: 0 }, program: null, window: { kind: 'message', ...noTimes } },
    ...{ isEventTime: false, grouped: true, keys: [], keep: [], aggs: [agg], sendEmpty: false },
  };
  return encodeWindow(plan, 0);
}

const noTimes = { start: NONE, end: NONE, trigger: NONE } as const;

function encodeWindow(plan: WindowNode, zone: number): Uint8Array {
  const { window } = plan;
  const times = timesOf(window);
  const { inputs, keys, keeps, folded, aggs, trigger, start, end, partition, further, emit, where } = readBy(plan);
  const isMessage = window.kind === 'message';
  const isEventTime = plan.isEventTime && !isMessage;
  if (isEventTime && plan.timestamp === undefined) throw new RangeError('a window of event time needs a timestamp');

  const aggsAt = (windowSpec.size + 2 * (inputs.operands.length + keys.length + keeps.length) + 3) & ~3;
  const foldedAt = aggsAt + aggs.length * aggregateSpec.size;
  const bytes = new Uint8Array((foldedAt + 2 * (folded.length + further.length) + 3) & ~3);
  const view = new DataView(bytes.buffer);
  put(view, 0, windowSpec, {
    kind: WindowKind[window.kind],
    flags:
      (isEventTime ? WindowFlag.eventTime : 0) |
      (plan.grouped ? WindowFlag.grouped : 0) |
      (plan.sendEmpty ? WindowFlag.sendEmpty : 0),
    ...times,
    zone,
    timestamp: isMessage ? NONE : (plan.timestamp ?? NONE),
    trigger,
    where,
    emit,
    start,
    end,
    partition,
    further: further.length,
    inputs: inputs.operands.length,
    keys: keys.length,
    keeps: keeps.length,
    aggs: aggs.length,
    size: bytes.length,
  });
  [...inputs.operands, ...keys, ...keeps].forEach((value, i) => {
    view.setUint16(windowSpec.size + 2 * i, value, true);
  });
  aggs.forEach((agg, i) => {
    put(view, aggsAt + i * aggregateSpec.size, aggregateSpec, agg);
  });
  folded.forEach((input, i) => {
    view.setUint16(foldedAt + 2 * i, input, true);
  });
  further.forEach((input, i) => {
    view.setUint16(bytes.length - 2 * (further.length - i), input, true);
  });
  return bytes;
}
