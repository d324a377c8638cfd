/**
 * Binary descriptions of the stateful operators: window, eventTime and sort nodes of a plan as assembly/agg/spec.ts and
 * assembly/window/ read them. Operands must already be those of the batch the node reads (see `relocateOperand`).
 */
import { aggregates } from './gen/ops.js';
import { col, NONE, type NodePlan, type Operand, type WindowPlan } from './ir.js';

type WindowNode = Extract<NodePlan, { kind: 'window' }>;

const kinds = { tumbling: 0, hopping: 1, sliding: 2, session: 3, count: 4, row: 5, state: 6, message: 7 } as const;
const flagEventTime = 1;
const flagGrouped = 2;
const flagSendEmpty = 4;
const tablesAt = 88;
const aggregateSize = 20;
const maxInputs = 1024;
const naturalUnitsMs = [86_400_000, 3_600_000, 60_000, 1000];

/** Largest natural unit that divides the time: the alignment of windows whose unit the plan does not give. */
function naturalUnitMs(ms: number): number {
  return naturalUnitsMs.find((unit) => ms % unit === 0) ?? 1;
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
    case 'count':
      return { ...none, countLength: positive(window.length, 'count'), countStep: positive(window.step, 'step') };
    case 'row':
    case 'state':
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

/**
 * Describes a window node.
 * @param zoneMs offset of local time from UTC: windows of days end at local midnight
 */
export function encodeWindow(plan: WindowNode, zoneMs: number): Uint8Array {
  const { window } = plan;
  const times = timesOf(window);
  const inputs = new Inputs();
  const keys = plan.grouped ? plan.keys.map((operand) => inputs.index(operand)) : [];
  const keeps = plan.keep.map((operand) => inputs.index(operand));
  const isMessage = window.kind === 'message';
  const aggs = plan.aggs.map(({ fn, args, filter }) => ({
    fn: aggregates[fn].code,
    indexes: [inputs.index(args[0]), inputs.index(args[1]), inputs.index(args[2]), inputs.index(filter)],
  }));
  const trigger = inputs.index(
    window.kind === 'sliding' || isMessage ? window.trigger : window.kind === 'state' ? window.begin : undefined,
  );
  // A window that is a message counts nothing: the fields of the counts hold the inputs with its start and end.
  if (isMessage) {
    times.countLength = inputs.index(window.start);
    times.countStep = inputs.index(window.end);
  }
  // A state window counts nothing either.
  if (window.kind === 'state') times.countLength = inputs.index(window.partition);
  const isEventTime = plan.isEventTime && !isMessage;
  const emit = inputs.index(window.kind === 'state' ? window.emit : undefined);
  const where = inputs.index(plan.where);

  const aggsAt = (tablesAt + 2 * (inputs.operands.length + keys.length + keeps.length) + 3) & ~3;
  const bytes = new Uint8Array(aggsAt + aggs.length * aggregateSize);
  const view = new DataView(bytes.buffer);
  const u16 = (at: number, value: number) => view.setUint16(at, value, true);
  const u32 = (at: number, value: number) => view.setUint32(at, value, true);
  const f64 = (at: number, value: number) => view.setFloat64(at, value, true);
  u32(0, kinds[window.kind]);
  u32(4, (isEventTime ? flagEventTime : 0) | (plan.grouped ? flagGrouped : 0) | (plan.sendEmpty ? flagSendEmpty : 0));
  f64(8, times.unitMs);
  f64(16, times.lengthMs);
  f64(24, times.stepMs);
  u32(32, times.countLength);
  u32(36, times.countStep);
  f64(40, zoneMs);
  if (isEventTime && plan.timestamp === undefined) throw new RangeError('a window of event time needs a timestamp');
  u16(48, isMessage ? NONE : (plan.timestamp ?? NONE));
  u16(50, trigger);
  u16(52, where);
  u16(54, emit);
  u32(56, inputs.operands.length);
  u32(60, keys.length);
  u32(64, keeps.length);
  u32(68, aggs.length);
  u32(84, bytes.length);
  [...inputs.operands, ...keys, ...keeps].forEach((value, i) => {
    u16(tablesAt + 2 * i, value);
  });
  aggs.forEach(({ fn, indexes }, i) => {
    const at = aggsAt + i * aggregateSize;
    u16(at, fn);
    indexes.forEach((index, k) => {
      u16(at + 2 + 2 * k, index);
    });
  });
  return bytes;
}

/**
 * Describes an eventTime node. `columnMap`: where column i of the rule stands in the batch, null when there. `streams`:
 * branches of the merge node above, whose rows it keeps apart for the watermark.
 *
 *     timestamp u16 | columns u16 | streams u32 | lateToleranceMs f64 | maxFutureSkewMs f64 | u16[columns] operands
 */
export function encodeEventTime(
  plan: Extract<NodePlan, { kind: 'eventTime' }>,
  columnMap: readonly number[] | null,
  streams = 1,
): Uint8Array {
  const bytes = new Uint8Array((24 + 2 * plan.columns + 3) & ~3);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, plan.timestamp, true);
  view.setUint16(2, plan.columns, true);
  view.setUint32(4, streams, true);
  view.setFloat64(8, plan.lateToleranceMs, true);
  view.setFloat64(16, plan.maxFutureSkewMs ?? 0, true);
  for (let i = 0; i < plan.columns; i++) view.setUint16(24 + 2 * i, col(columnMap?.[i] ?? i), true);
  return bytes;
}

/**
 * Describes a sort node.
 *
 *     keys u32 | columns u32 | {operand u16, descending u16}[keys]
 */
export function encodeSort(plan: Extract<NodePlan, { kind: 'sort' }>): Uint8Array {
  const bytes = new Uint8Array(8 + 4 * plan.keys.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, plan.keys.length, true);
  view.setUint32(4, plan.columns, true);
  plan.keys.forEach(({ operand, descending }, i) => {
    view.setUint16(8 + 4 * i, operand, true);
    view.setUint16(10 + 4 * i, descending ? 1 : 0, true);
  });
  return bytes;
}
