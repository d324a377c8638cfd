/**
 * Aggregates without saved states: the engine keeps the arguments of a group, as it does for `collect`. When the result
 * is wanted, the guest runs `init`, `accumulate` for each row, and `finish`.
 */
import type { DirectColumns, HostColumns } from '../../../../kernels/api.js';
import { aligned, Cells } from '../../../../kernels/calls/cells.js';
import { Tag } from '../../../../kernels/gen/layouts.js';
import { Instant, ValueError } from '../../../../kernels/values/value.js';
import type { AggregateExports, Convention, PluginFunction } from '../../manifest.js';
import { type CellCallerExports, type CellCallerShape, cellCallerFor } from '../adapters/cell-caller.js';
import type { Signature } from '../binary/types.js';
import { freeName } from '../exports/functions.js';
import { GuestArea, isText, putMade } from '../guest/area.js';
import type { Guest } from '../guest/guest.js';
import { jsonOf } from './json-values.js';
import { type LoweredFunction, lowered, misfit } from './lowering.js';
import { ResultReader } from './results.js';

const cellBytes = 8;
const outBytes = 64 << 10;

export class AggregateFunction {
  readonly #how: LoweredFunction;
  readonly #area: GuestArea;
  readonly #results: ResultReader;
  #accumulate: CellCallerExports | undefined;
  #finish: CellCallerExports | undefined;

  constructor(
    private readonly guest: Guest,
    private readonly fn: PluginFunction & { readonly aggregate: AggregateExports },
    private readonly convention: Convention,
    signatures: { readonly accumulate: Signature; readonly finish: Signature },
    private readonly title: string,
  ) {
    const { args } = lowered(fn, convention, signatures.accumulate, 1);
    const { result } = lowered({ ...fn, args: [] }, convention, signatures.finish);
    this.#how = { args, result };
    this.#area = new GuestArea(guest, convention);
    this.#results = new ResultReader(guest, this.#how.result, title);
  }

  /** Forgets what belonged to an instance that was replaced. */
  reset(): void {
    this.#accumulate = undefined;
    this.#finish = undefined;
    this.#area.reset();
  }

  call(columns: HostColumns, direct: DirectColumns): void {
    const { guest } = this;
    const cells = new Cells(direct);
    let left = guest.startBatch();
    this.#results.begin();
    for (let k = 0; k < columns.count; k++) {
      guest.enter();
      try {
        left = this.#group(columns, cells, k, left);
      } catch (error) {
        const reason = guest.reasonOf(error, left);
        columns.fail(k, `${this.title}: ${reason}`);
        left = guest.leftAfter(error, left - guest.limits.callFuel);
        if (guest.isExhausted(error)) guest.host.fault(`function ${this.fn.name}: ${reason}`);
        left -= guest.restart();
        // Further calls without fuel would only be further faults.
        for (; left <= 0n && k + 1 < columns.count; k++) columns.fail(k + 1, `${this.title}: ${reason}`);
      }
    }
  }

  /** Makes the result of one group; returns the fuel that is left. */
  #group(columns: HostColumns, cells: Cells, k: number, left: bigint): bigint {
    const { fn, guest } = this;
    const lists: unknown[][] = [];
    for (let i = 0; i < fn.args.length; i++) {
      const list = columns.get(i, k);
      if (list instanceof ValueError) {
        columns.set(k, list);
        return left;
      }
      lists.push(Array.isArray(list) ? list : []);
    }
    const rows = this.#rowsOf(lists);
    if (typeof rows === 'string') {
      columns.fail(k, `${this.title}: ${rows}`);
      return left;
    }
    const { outcome } = guest;
    let message: string | undefined;
    outcome.failed = (text) => {
      message ??= text;
    };
    outcome.isNull = () => false;
    const { callFuel } = guest.limits;
    const state = guest.call(fn.aggregate.init);
    const forInit = guest.used;
    const accumulate = this.#callerOf('accumulate');
    guest.give(callFuel);
    const staged = this.#stage(lists, rows, state as number);
    accumulate.batchFuel.value = left - forInit - guest.used;
    outcome.isNull = (i) => {
      const value = lists[i]?.[rows[accumulate.at.value] as number];
      return value === null || value === undefined;
    };
    this.#calls(accumulate, (from) => accumulate.run(from, rows.length, staged.table, 0, 0), rows.length);
    if (message !== undefined) {
      columns.fail(k, `${this.title}: ${message}`);
      return accumulate.batchFuel.value;
    }
    const finish = this.#callerOf('finish');
    finish.batchFuel.value = accumulate.batchFuel.value;
    this.#calls(finish, () => finish.run(0, 1, staged.last, staged.out, staged.out + outBytes), 1);
    const memory = this.#area.memory();
    const result = { rows: [k], from: 0, to: 1, memory, cells: staged.result, states: staged.state };
    this.#results.take(columns, cells, result, new Map(message === undefined ? [] : [[0, message]]));
    return finish.batchFuel.value;
  }

  /** Calls the guest for rows, in parts with a check of the time after each. */
  #calls(caller: CellCallerExports, run: (from: number) => number, count: number): void {
    const { guest } = this;
    caller.callFuel.value = guest.firstFuel;
    guest.begin({ call: () => caller.at.value, batch: caller.batchFuel });
    for (let done = 0; done < count; ) {
      guest.pause(caller);
      done = run(done);
    }
  }

  /** Rows of the group that are called, or why one of them can't be. */
  #rowsOf(lists: readonly (readonly unknown[])[]): number[] | string {
    const rows: number[] = [];
    const count = Math.max(0, ...lists.map((list) => list.length));
    for (let j = 0; j < count; j++) {
      let hasNull = false;
      for (const [i, arg] of this.#how.args.entries()) {
        const value = lists[i]?.[j];
        if (value === null || value === undefined) hasNull = true;
        else {
          const why = misfit(arg, tagOf(value), () => Number(value));
          if (why !== undefined) return `argument ${i + 1} ${why}`;
        }
      }
      if (!hasNull || this.fn.nulls === 'pass') rows.push(j);
    }
    return rows;
  }

  #stage(
    lists: readonly (readonly unknown[])[],
    rows: readonly number[],
    state: number,
  ): { table: number; last: number; out: number; result: number; state: number } {
    const { args } = this.#how;
    const count = rows.length;
    const texts = args.map(({ cell, type }, i) =>
      isText(cell) ? rows.map((j) => textOf(lists[i]?.[j], type === 'string' || type === 'bytea')) : undefined,
    );
    const textBytes = texts.reduce(
      (sum, list, i) =>
        sum + (list ?? []).reduce((all, one) => all + one.length, 0) * (args[i]?.cell === 'utf16' ? 2 : 1),
      0,
    );
    // Two tables of addresses, a column for the state and one for each argument, states, a result.
    const tables = (args.length + 3 + 3) * 4 + cellBytes;
    const needed = tables + (args.length + 2) * (count + 1) * cellBytes + 2 * count + 64 + textBytes + outBytes;
    const base = this.#area.reserve(needed);
    const to = this.#area.memory();
    let at = aligned(base + tables);
    const take = (bytes: number) => {
      const from = at;
      at = aligned(at + bytes);
      return from;
    };
    const stateAt = take((count + 1) * cellBytes);
    for (let n = 0; n <= count; n++) to.view.setBigInt64(stateAt + n * cellBytes, BigInt(state), true);
    const columnsAt = args.map(() => take(count * cellBytes));
    const result = take(cellBytes);
    const states = take(count + 1);
    to.bytes.fill(0, states, states + count + 1);
    const resultState = states + count;
    let end = at;
    args.forEach(({ cell }, i) => {
      const list = texts[i];
      const column = columnsAt[i] as number;
      if (list !== undefined) end = putMade(list, cell, to, column, end);
      else {
        rows.forEach((j, n) => {
          to.view.setBigInt64(column + n * cellBytes, bitsOf(lists[i]?.[j], cell), true);
        });
      }
    });
    [stateAt, ...columnsAt, result, states, stateAt, result, resultState].forEach((address, i) => {
      to.view.setUint32(base + i * 4, address, true);
    });
    return { table: base, last: base + (args.length + 3) * 4, out: end, result, state: resultState };
  }

  #callerOf(step: 'accumulate' | 'finish'): CellCallerExports {
    const known = step === 'finish' ? this.#finish : this.#accumulate;
    if (known !== undefined) return known;
    const { guest, fn, convention } = this;
    const { args, result } = this.#how;
    const frees = step === 'finish' && convention === 'pointers' && freeName in guest.exports;
    const shape: CellCallerShape = {
      kind: convention,
      params: ['i32', ...(step === 'finish' ? [] : args.map((one) => one.lowered))],
      result: step === 'finish' ? result.lowered : 'none',
      frees,
    };
    const made = guest.caller(cellCallerFor(shape), fn.aggregate[step], shape);
    if (step === 'finish') this.#finish = made;
    else this.#accumulate = made;
    return made;
  }
}

function tagOf(value: unknown): number {
  switch (typeof value) {
    case 'bigint':
      return Tag.i64;
    case 'number':
      return Tag.f64;
    case 'boolean':
      return Tag.bool;
    case 'string':
      return Tag.str;
    default:
      break;
  }
  if (value instanceof Uint8Array) return Tag.bytes;
  if (value instanceof Instant) return Tag.time;
  if (value instanceof ValueError) return Tag.error;
  return Array.isArray(value) ? Tag.array : Tag.object;
}

function textOf(value: unknown, isPlain: boolean): Buffer {
  if (isPlain && typeof value === 'string') return Buffer.from(value);
  if (isPlain && value instanceof Uint8Array) return Buffer.from(value);
  if (isPlain) return Buffer.alloc(0);
  return Buffer.from(jsonOf(value));
}

const bits = new DataView(new ArrayBuffer(8));

/** Writes a value into a cell. */
function bitsOf(value: unknown, cell: string): bigint {
  if (value === null || value === undefined) return 0n;
  if (value instanceof Instant) return BigInt.asIntN(64, value.nanos / 1000n);
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (cell === 'float') {
    bits.setFloat64(0, Number(value));
    return bits.getBigInt64(0);
  }
  return BigInt(value as number | bigint);
}
