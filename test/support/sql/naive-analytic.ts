/** Functions that look back, as plain as they can be: one row after the other, a map of states. */

export type Row = Readonly<Record<string, unknown>>;

/** A condition on a column: false where there is no value. */
export interface Condition {
  column: string;
  above: number;
}

export interface Call {
  fn:
    | 'lag'
    | 'latest'
    | 'had_changed'
    | 'changed_col'
    | 'acc_sum'
    | 'acc_count'
    | 'acc_min'
    | 'acc_max'
    | 'acc_avg'
    | 'acc_max_by'
    | 'acc_collect'
    | 'acc_distinct_collect'
    | 'acc_map_agg';
  /** A column, or what another function gives. */
  arg: string | Call;
  /** Of had_changed and acc_max_by. */
  other: string;
  offset: number;
  otherwise: number | null;
  ignoresNull: boolean;
  /** Of accumulations. */
  begin: Condition | null;
  reset: Condition | null;
  partition: readonly string[];
  when: Condition | null;
}

const isNull = (value: unknown): value is null | undefined => value === null || value === undefined;

function holds({ column, above }: Condition, row: Row): boolean {
  const value = row[column];
  return typeof value === 'number' && value > above;
}

export function textOfCall(call: Call): string {
  const { fn, offset, otherwise, ignoresNull, other, begin, reset, partition, when } = call;
  const arg = typeof call.arg === 'string' ? call.arg : textOfCall(call.arg);
  const shown = ({ column, above }: Condition) => `${column} > ${above}`;
  const args: string[] = [arg];
  if (fn === 'lag') args.push(String(offset), String(otherwise ?? 'null'), String(ignoresNull));
  else if (fn === 'latest') args.push(String(otherwise ?? 'null'));
  else if (fn === 'had_changed') args.splice(0, 1, String(ignoresNull), arg, other);
  else if (fn === 'changed_col') args.unshift(String(ignoresNull));
  else if (fn === 'acc_max_by') args.push(other);
  else if (fn === 'acc_map_agg') args.unshift('k');
  else if (!fn.endsWith('collect') && begin !== null && reset !== null) args.push(shown(begin), shown(reset));
  const by = partition.length === 0 ? '' : `PARTITION BY ${partition.join(', ')}`;
  const over = `${by} ${when === null ? '' : `WHEN ${shown(when)}`}`.trim();
  return `${fn}(${args.join(', ')})${over === '' ? '' : ` OVER (${over})`}`;
}

const keyOf = (row: Row, partition: readonly string[]): string =>
  JSON.stringify(partition.map((column) => (isNull(row[column]) ? null : String(row[column]))));

interface State {
  values: unknown[];
  otherwise: unknown;
  others: unknown[];
  sum: number;
  count: number;
  isOpen: boolean;
}

/** Runs the rows through the calls; what each gives by the text of the call, or null for a row in which one failed. */
export function run(calls: readonly Call[], rows: readonly Row[]): (Map<string, unknown> | null)[] {
  const ordered = inOrder(calls);
  const states = new Map<string, State>();
  return rows.map((row) => {
    const given = new Map<string, unknown>();
    for (const call of ordered) {
      const text = textOfCall(call);
      const key = `${text} ${keyOf(row, call.partition)}`;
      let state = states.get(key);
      if (state === undefined) {
        state = { values: [], otherwise: call.otherwise, others: [null, null], sum: 0, count: 0, isOpen: false };
        states.set(key, state);
      }
      const value = typeof call.arg === 'string' ? row[call.arg] : given.get(textOfCall(call.arg));
      const result = step(call, state, value ?? null, row);
      if (result === failed) return null;
      given.set(text, result);
    }
    return given;
  });
}

const failed = Symbol('failed');

/** Each call once, those that others are made of before these. */
function inOrder(calls: readonly Call[]): Call[] {
  const found = new Map<string, Call>();
  const visit = (call: Call): void => {
    if (typeof call.arg !== 'string') visit(call.arg);
    found.set(textOfCall(call), found.get(textOfCall(call)) ?? call);
  };
  calls.forEach(visit);
  return [...found.values()];
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);

function step(call: Call, state: State, value: unknown, row: Row): unknown {
  const isTaken = call.when === null || holds(call.when, row);
  switch (call.fn) {
    case 'lag': {
      const { values } = state;
      const result =
        call.offset > 0 && values.length >= call.offset ? values[values.length - call.offset] : state.otherwise;
      if (isTaken && !(call.ignoresNull && value === null)) values.push(value);
      return call.offset === 0 ? null : result;
    }
    case 'latest':
      if (isTaken && value !== null) state.values = [value];
      return state.values[0] ?? call.otherwise;
    case 'had_changed': {
      if (!isTaken) return false;
      let changed = false;
      for (const [i, one] of [value, row[call.other] ?? null].entries()) {
        if ((call.ignoresNull && one === null) || same(one, state.others[i])) continue;
        state.others[i] = one;
        changed = true;
      }
      return changed;
    }
    case 'changed_col':
      if (!isTaken || (call.ignoresNull && value === null) || same(value, state.values[0])) return null;
      state.values = [value];
      return value;
    case 'acc_collect':
      if (isTaken) state.values = [...state.values, value];
      return state.values;
    case 'acc_distinct_collect':
      if (isTaken && !state.values.some((one) => same(one, value))) state.values = [...state.values, value];
      return state.values;
    case 'acc_map_agg': {
      const key = row.k;
      const [before = {}] = state.values as [Row?];
      if (isTaken && !isNull(key)) state.values = [{ ...before, [String(key)]: value }];
      return state.values[0] ?? before;
    }
    case 'acc_max_by': {
      const key = row[call.other];
      if (isTaken && !isNull(key)) {
        if (typeof key !== 'number') return failed;
        if (state.count++ === 0 || key > state.sum) {
          state.sum = key;
          state.values = [value];
        }
      }
      return state.values[0] ?? null;
    }
    default:
      return accumulate(call, state, value, row, isTaken);
  }
}

function accumulate({ fn, begin, reset }: Call, state: State, value: unknown, row: Row, isTaken: boolean): unknown {
  const isBounded = begin !== null && reset !== null;
  if (isBounded && !state.isOpen) {
    state.sum = 0;
    state.count = 0;
  }
  const isOpen = !isBounded || state.isOpen || holds(begin, row);
  if (isOpen) {
    if (isTaken && value !== null) {
      if (fn !== 'acc_count') {
        if (typeof value !== 'number') return failed;
        if (fn === 'acc_sum' || fn === 'acc_avg') state.sum += value;
        else if (state.count === 0) state.sum = value;
        else state.sum = fn === 'acc_min' ? Math.min(state.sum, value) : Math.max(state.sum, value);
      }
      state.count++;
    }
    state.isOpen = isBounded && !holds(reset, row);
  }
  if (fn === 'acc_count') return state.count;
  return fn === 'acc_avg' && state.count > 0 ? state.sum / state.count : state.sum;
}
