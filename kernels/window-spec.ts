/**
 * Binary descriptions of the stateful operators: window, eventTime and sort nodes of a plan as
 * assembly/window/ reads them. Operands must already be those of the batch the node reads (see `relocateOperand`).
 */
import {
  aggregateSpec,
  dedupSpec,
  eventTimeSpec,
  operandConst as firstConst,
  maxInputs,
  sortKey,
  sortSpec,
  WindowFlag,
  WindowKind,
  windowSpec,
} from './gen/layouts.js';
import { aggregates } from './gen/ops.js';
import { col, NONE, type NodePlan, type Operand, type WindowPlan } from './ir.js';
import { put } from './layout.js';

type WindowNode = Extract<NodePlan, { kind: 'window' }>;

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
  unitMs: number;
  lengthMs: number;
  stepMs: number;
  countLength: number;
  countStep: number;
}

function timesOf(window: WindowPlan): Times {
  const none = { unitMs: 1, lengthMs: 0, stepMs: 0, countLength: 0, countStep: 0 };
  switch (window.kind) {
    case 'tumbling':
      return { ...none, unitMs: window.unitMs, lengthMs: positive(window.lengthMs, 'length') };
    case 'hopping':
      return {
        ...none,
        unitMs: window.unitMs,
        lengthMs: positive(window.lengthMs, 'length'),
        stepMs: positive(window.hopMs, 'hop'),
      };
    case 'sliding':
      return { ...none, lengthMs: window.lengthMs, stepMs: window.delayMs };
    case 'session': {
      const lengthMs = positive(window.maxMs, 'longest duration');
      const unitMs = window.unitMs ?? naturalUnitMs(lengthMs);
      return { ...none, unitMs, lengthMs, stepMs: positive(window.timeoutMs, 'timeout') };
    }
    case 'count': {
      const { length, step, ttlMs = 0 } = window;
      return { ...none, countLength: positive(length, 'count'), countStep: positive(step, 'step'), stepMs: ttlMs };
    }
    case 'state':
      return { ...none, stepMs: window.ttlMs ?? 0 };
    case 'row':
    case 'message':
      return none;
    default:
      return window satisfies never;
  }
}

function positive(value: number, what: string): number {
  if (!(value > 0 && Number.isFinite(value)))
    throw new RangeError(`${what} of a window must be positive, not ${value}`);
  return value;
}

/** What a window reads of its rows, each operand once, and where its parts stand among these. */
function readBy(plan: WindowNode) {
  const { window } = plan;
  const inputs = new Inputs();
  const keys = plan.grouped ? plan.keys.map((operand) => inputs.index(operand)) : [];
  const keeps = plan.keep.map((operand) => inputs.index(operand));
  const isMessage = window.kind === 'message';
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
  const trigger = inputs.index(
    window.kind === 'sliding' || isMessage ? window.trigger : window.kind === 'state' ? window.begin : undefined,
  );
  const start = inputs.index(isMessage ? window.start : undefined);
  const end = inputs.index(isMessage ? window.end : undefined);
  const [partition = NONE, ...further] = partitionOf(window).map((operand) => inputs.index(operand));
  const emit = inputs.index(window.kind === 'state' ? window.emit : undefined);
  const where = inputs.index(plan.where);
  return { inputs, keys, keeps, folded, aggs, trigger, start, end, partition, further, emit, where };
}

/** The columns of rows that a window keeps: what it reads of them, without constants. */
export function keptColumns(plan: WindowNode): Operand[] {
  return readBy(plan).inputs.operands.filter((operand) => operand < firstConst);
}

/**
 * Describes a window node.
 * @param zone number of the time zone (zones.ts), 0 UTC: windows of days end at its midnight
 */
export function encodeWindow(plan: WindowNode, zone: number): Uint8Array {
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
    unit: times.unitMs,
    length: times.lengthMs,
    step: times.stepMs,
    countLength: times.countLength,
    countStep: times.countStep,
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

/**
 * Describes an eventTime node. `columnMap`: where column i of the rule stands in the batch, null when there. `streams`:
 * branches of the merge node above, whose rows it keeps apart for the watermark; 0: the inputs tell how far time has come.
 */
export function encodeEventTime(
  plan: Extract<NodePlan, { kind: 'eventTime' }>,
  columnMap: readonly number[] | null,
  streams = 1,
): Uint8Array {
  const bytes = new Uint8Array((eventTimeSpec.size + 2 * plan.columns + 3) & ~3);
  const view = new DataView(bytes.buffer);
  put(view, 0, eventTimeSpec, {
    timestamp: plan.timestamp,
    columns: plan.columns,
    streams,
    tolerance: plan.lateToleranceMs,
    skew: plan.maxFutureSkewMs ?? 0,
    idle: plan.idleTimeoutMs ?? 0,
  });
  for (let i = 0; i < plan.columns; i++) {
    view.setUint16(eventTimeSpec.size + 2 * i, col(columnMap?.[i] ?? i), true);
  }
  return bytes;
}

/** Describes a dedup node. */
export function encodeDedup(
  { columns, begin, end, now, expireMs }: Extract<NodePlan, { kind: 'dedup' }>,
  operand: (value: Operand) => Operand,
): Uint8Array {
  const bytes = new Uint8Array((dedupSpec.size + 2 * columns.length + 3) & ~3);
  const view = new DataView(bytes.buffer);
  const times = { begin: operand(begin), end: operand(end), now: operand(now) };
  put(view, 0, dedupSpec, { columns: columns.length, ...times, expire: expireMs });
  columns.forEach((column, i) => {
    view.setUint16(dedupSpec.size + 2 * i, operand(column), true);
  });
  return bytes;
}

/** Describes a sort node. */
export function encodeSort(plan: Extract<NodePlan, { kind: 'sort' }>): Uint8Array {
  const carried = plan.carried ?? [];
  const carriedAt = sortSpec.size + sortKey.size * plan.keys.length;
  const bytes = new Uint8Array((carriedAt + 2 * carried.length + 3) & ~3);
  const view = new DataView(bytes.buffer);
  put(view, 0, sortSpec, { keys: plan.keys.length, columns: plan.columns, carried: carried.length });
  carried.forEach((operand, i) => {
    view.setUint16(carriedAt + 2 * i, operand, true);
  });
  plan.keys.forEach(({ operand, descending }, i) => {
    put(view, sortSpec.size + i * sortKey.size, sortKey, { operand, descending: descending ? 1 : 0 });
  });
  return bytes;
}
