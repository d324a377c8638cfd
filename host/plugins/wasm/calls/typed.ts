/**
 * Functions over texts, times, lists and the like, and functions that take a batch. Arguments are written as cells into
 * the memory of the guest (kernels/calls/cells.ts), results are read from others.
 */

import type { DirectColumns, HostColumns } from '../../../../kernels/api.js';
import { aligned, Cells } from '../../../../kernels/calls/cells.js';
import { Tag } from '../../../../kernels/gen/layouts.js';
import type { Convention, PluginFunction } from '../../manifest.js';
import { type CellCallerExports, type CellCallerShape, cellCallerFor } from '../adapters/cell-caller.js';
import type { Signature } from '../binary/types.js';
import { freeName } from '../exports/functions.js';
import { GuestArea, isText, putMade } from '../guest/area.js';
import type { Guest } from '../guest/guest.js';
import { KitVariables } from '../guest/kit-variables.js';
import { jsonOf } from './json-values.js';
import { hasPlainInput, type LoweredFunction, lowered, misfit } from './lowering.js';
import { ResultReader } from './results.js';

const cellBytes = 8;
/** Bytes of a column for functions that take a batch: address of the cells, address of a byte a row, 1 for null. */
const columnBytes = 16;
/** Bytes for texts of results, beside the bytes for arguments. */
const outBytes = 64 << 10;

/** Rows of a batch that are called, with their texts that the host has made. */
interface Selected {
  readonly rows: Int32Array;
  /** Texts that the host has made, by argument; guests of a development kit have one. */
  readonly made: readonly (readonly Buffer[] | undefined)[];
  /** Tags of all rows of the batch, by argument. */
  readonly tags: readonly Uint8Array[];
}

/** Addresses of a batch in the guest, from a row on. */
interface Staged {
  readonly table: number;
  readonly cells: number;
  readonly states: number;
  readonly out: number;
  readonly outEnd: number;
}

export class TypedFunction {
  readonly #how: LoweredFunction;
  readonly #isKit: boolean;
  #caller: CellCallerExports | undefined;
  /** Fuel left for the batch. */
  #left = 0n;
  readonly #area: GuestArea;
  readonly #results: ResultReader;

  constructor(
    private readonly guest: Guest,
    private readonly fn: PluginFunction,
    private readonly convention: Convention,
    signature: Signature,
    /** Name of the function in errors: `function slug of texts`. */
    private readonly title: string,
  ) {
    this.#how = lowered(fn, convention, signature);
    this.#isKit = convention === 'extism';
    this.#area = new GuestArea(guest, convention);
    this.#results = new ResultReader(guest, this.#how.result, title);
  }

  /** Forgets what belonged to an instance that was replaced. */
  reset(): void {
    this.#caller = undefined;
    this.#area.reset();
  }

  call(columns: HostColumns, direct: DirectColumns): void {
    const cells = new Cells(direct);
    const selected = this.#select(columns, cells, columns.argCount, columns.count);
    this.#left = this.guest.startBatch();
    this.#results.begin();
    if (this.fn.batch) this.#batch(columns, cells, selected);
    else this.#each(columns, cells, selected);
  }

  /**
   * Calls a guest of a development kit for rows of groups, which come first in the columns, then the groups
   * (assembly/ops/call/states.ts). The variables of the guest are the state of the group.
   */
  callGroups(columns: HostColumns, direct: DirectColumns): void {
    const { guest, title } = this;
    const cells = new Cells(direct);
    const args = columns.argCount - 1;
    const firstGroup = cells.tagsOf(args, columns.count).findIndex((tag) => tag !== Tag.i64);
    const count = firstGroup < 0 ? columns.count : firstGroup;
    const selected = this.#select(columns, cells, args, count);
    const groupOf = cells.numbersOf(args, count);
    const places: number[][] = Array.from({ length: columns.count - count }, () => []);
    selected.rows.forEach((row, i) => void places[groupOf[row] as number]?.push(i));
    this.#left = guest.startBatch();
    this.#results.begin();
    let refused = 0;
    places.forEach((some, group) => {
      const row = count + group;
      const bytes = cells.isAbsent(args, row) ? undefined : cells.argumentBytes(args, row);
      const variables = KitVariables.of(bytes) ?? new KitVariables();
      if (bytes !== undefined && variables.size === 0) refused++;
      guest.variables = variables;
      this.#each(columns, cells, picked(selected, some));
      // What was not changed stays as it was.
      columns.set(row, !variables.isChanged || (variables.size > 0 ? variables.bytes() : null));
    });
    guest.variables = undefined;
    if (refused > 0) guest.host.log(`${title}: ${refused} states that it can't read begin anew`);
  }

  #each(columns: HostColumns, cells: Cells, selected: Selected): void {
    const count = selected.rows.length;
    for (let from = 0; from < count; ) {
      const part = partOf(selected, from, count);
      if (this.#left <= 0n) {
        this.#failAll(columns, part.rows, 'the calls for a batch took more fuel than they may');
        return;
      }
      let staged: Staged;
      try {
        staged = this.#stage(cells, part);
      } catch (error) {
        this.#failAll(columns, part.rows, this.#ended(error, this.#left));
        return;
      }
      from += this.#rows(columns, cells, part, staged);
    }
  }

  /** Calls the guest row by row until a call is cut off; returns the number of rows done, that one included. */
  #rows(columns: HostColumns, cells: Cells, part: Selected, staged: Staged): number {
    const { guest } = this;
    const { outcome } = guest;
    guest.variables?.settle();
    const count = part.rows.length;
    const messages = new Map<number, string>();
    const caller = this.#callerOf();
    caller.callFuel.value = guest.firstFuel;
    caller.batchFuel.value = this.#left;
    outcome.isNull = (i) => {
      const tag = part.tags[i]?.[part.rows[caller.at.value] as number];
      return tag !== undefined && tag <= Tag.null;
    };
    outcome.failed = (message) => messages.set(caller.at.value, message);
    for (let done = 0; done < count; ) {
      let next: number;
      guest.enter();
      guest.begin({ call: () => caller.at.value, batch: caller.batchFuel });
      try {
        guest.pause(caller);
        next = caller.run(done, count, staged.table, staged.out, staged.outEnd);
      } catch (error) {
        const row = Math.max(done, caller.at.value);
        this.#take(columns, cells, part, staged, done, row, messages);
        this.#left = guest.leftAfter(error, caller.batchFuel.value);
        guest.variables?.undo(row);
        const reason = this.#ended(error, this.#left);
        // Further calls without fuel would only be further faults.
        const failed = this.#left <= 0n ? count : row + 1;
        this.#failAll(columns, part.rows.subarray(row, failed), reason);
        return failed;
      }
      this.#take(columns, cells, part, staged, done, next, messages);
      done = next;
      if (this.#isKit) guest.kit.io.reset(staged.outEnd);
    }
    return count;
  }

  /** Calls the guest for all rows at once; a row that ends the call is found by calling for fewer. */
  #batch(columns: HostColumns, cells: Cells, part: Selected): void {
    const { guest, fn } = this;
    const count = part.rows.length;
    if (count === 0) return;
    const { callFuel } = guest.limits;
    // The search needs fuel as well.
    const most = count === 1 ? callFuel : this.#left >> 2n;
    const given = most < this.#left ? most : this.#left;
    try {
      const staged = this.#stage(cells, part);
      const { outcome } = guest;
      let message = '';
      outcome.failed = (text) => {
        message = text;
      };
      outcome.isNull = () => false;
      guest.give(given);
      guest.enter();
      const answer = guest.exported(fn.export)(count, staged.table, staged.table + fn.args.length * columnBytes);
      this.#left -= guest.used;
      if (outcome.state.value === 0 && answer === 0) {
        this.#take(columns, cells, part, staged, 0, count, new Map());
        return;
      }
      outcome.state.value = 0;
      this.#failAll(columns, part.rows, message === '' ? `it gave code ${answer}` : message);
    } catch (error) {
      this.#left = guest.leftAfter(error, this.#left - given);
      if (count === 1 || this.#left <= 0n) {
        this.#failAll(columns, part.rows, this.#ended(error, this.#left));
        return;
      }
      this.#left -= guest.restart();
      const half = count >> 1;
      this.#batch(columns, cells, partOf(part, 0, half));
      this.#batch(columns, cells, partOf(part, half, count));
    }
  }

  /** Fills the rows that are not called; returns the others. */
  #select(columns: HostColumns, cells: Cells, argCount: number, rowCount: number): Selected {
    const { fn } = this;
    const args = this.#argumentsOf(argCount);
    const passesNulls = fn.nulls === 'pass';
    const rows = new Int32Array(rowCount);
    const isOneText = this.#isKit && !hasPlainInput(fn);
    const made = isOneText ? [[] as Buffer[]] : args.map(({ isMade }) => (isMade ? ([] as Buffer[]) : undefined));
    const tags = args.map((_arg, i) => cells.tagsOf(i, rowCount));
    let count = 0;
    next: for (let k = 0; k < rowCount; k++) {
      let hasNull = false;
      for (let i = 0; i < args.length; i++) {
        const arg = args[i] as (typeof args)[number];
        const tag = (tags[i] as Uint8Array)[k] as number;
        if (tag === arg.usual) continue;
        if (tag === Tag.error) {
          columns.set(k, columns.get(i, k));
          continue next;
        }
        if (tag <= Tag.null) {
          hasNull = true;
          continue;
        }
        const why = misfit(arg, tag, () => (tag === Tag.f64 ? cells.double(i, k) : Number(columns.get(i, k))));
        if (why !== undefined) {
          columns.fail(k, `${this.title}: argument ${i + 1} ${why}`);
          continue next;
        }
      }
      if (hasNull && !passesNulls) {
        cells.takeNull(k);
        continue;
      }
      if (isOneText) {
        const values = args.map((_arg, i) => columns.get(i, k));
        const [only] = values;
        made[0]?.push(inputOf(args.length === 1 ? only : values));
      } else {
        args.forEach(({ isMade }, i) => {
          if (isMade) made[i]?.push(Buffer.from(jsonOf(columns.get(i, k))));
        });
      }
      rows[count++] = k;
    }
    return { rows: rows.subarray(0, count), made, tags };
  }

  /** Arguments of guests of a development kit may be many. */
  #argumentsOf(count: number): LoweredFunction['args'] {
    const { args } = this.#how;
    const last = args.at(-1);
    if (count <= args.length || last === undefined) return args.slice(0, count);
    return [...args, ...new Array<typeof last>(count - args.length).fill(last)];
  }

  /** Writes a batch into the memory of the guest. */
  #stage(cells: Cells, { rows, made, tags }: Selected): Staged {
    const args = this.#isKit ? this.#how.args.slice(0, 1) : this.#how.args;
    const count = rows.length;
    const { batch } = this.fn;
    const wide = (i: number) => (args[i]?.cell === 'utf16' ? 2 : 1);
    const inputs = Math.max(args.length, this.#isKit ? 1 : 0);
    let texts = 0;
    for (let i = 0; i < inputs; i++) {
      const list = made[i];
      if (list !== undefined) for (const bytes of list) texts += bytes.length * wide(i);
      else if (isText(args[i]?.cell)) texts += cells.textBytes(i, rows, count) * wide(i);
    }
    const tables = (inputs + 1) * columnBytes + cellBytes;
    const nulls = batch ? count * inputs : 0;
    const fixed = tables + (inputs + 1) * count * cellBytes + count + nulls;
    const room = this.#isKit || batch ? 0 : outBytes + 2 * texts;
    const base = this.#area.reserve(fixed + texts + room + 4 * cellBytes);
    const to = this.#area.memory();
    let at = aligned(base + tables);
    const columnsAt: number[] = [];
    for (let i = 0; i <= inputs; i++) {
      columnsAt.push(at);
      at += count * cellBytes;
    }
    const states = at;
    to.bytes.fill(0, states, states + count + nulls);
    const nullsAt = states + count;
    let end = aligned(nullsAt + nulls);
    for (let i = 0; i < inputs; i++) {
      const cell = args[i]?.cell ?? 'bytes';
      const list = made[i];
      if (list !== undefined) end = putMade(list, cell, to, columnsAt[i] as number, end);
      else if (isText(cell)) end = cells.putTexts(i, rows, count, cell, to, columnsAt[i] as number, end);
      else cells.putNumbers(i, rows, count, cell, to, columnsAt[i] as number);
      if (!batch) continue;
      for (let n = 0; n < count; n++) {
        if ((tags[i]?.[rows[n] as number] as number) <= Tag.null) to.bytes[nullsAt + i * count + n] = 1;
      }
    }
    if (batch) {
      columnsAt.forEach((column, i) => {
        to.view.setUint32(base + i * columnBytes, column, true);
        to.view.setUint32(base + i * columnBytes + 4, i < inputs ? nullsAt + i * count : states, true);
        to.view.setBigUint64(base + i * columnBytes + 8, 0n, true);
      });
    } else {
      [...columnsAt, states].forEach((address, i) => {
        to.view.setUint32(base + i * 4, address, true);
      });
    }
    if (this.#isKit) this.guest.kit.io.reset(aligned(end));
    const outEnd = this.#isKit ? aligned(end) : end + room;
    return { table: base, cells: columnsAt.at(-1) as number, states, out: end, outEnd };
  }

  /** Reads the results of rows `from` to `to` (exclusive). */
  #take(
    columns: HostColumns,
    cells: Cells,
    { rows }: Selected,
    staged: Staged,
    from: number,
    to: number,
    messages: ReadonlyMap<number, string>,
  ): void {
    const { cells: first, states } = staged;
    const memory = this.#area.memory();
    this.#results.take(columns, cells, { rows, from, to, memory, cells: first, states }, messages);
  }

  /** Restarts the guest after a call that was cut off; returns the text of its error. */
  #ended(error: unknown, left: bigint): string {
    const { guest } = this;
    const reason = guest.reasonOf(error, left);
    if (guest.isExhausted(error)) guest.host.fault(`function ${this.fn.name}: ${reason}`);
    this.#left -= guest.restart();
    return reason;
  }

  #failAll(columns: HostColumns, rows: Int32Array, reason: string): void {
    for (const k of rows) columns.fail(k, `${this.title}: ${reason}`);
  }

  #callerOf(): CellCallerExports {
    if (this.#caller !== undefined) return this.#caller;
    const { guest, fn, convention } = this;
    const frees = convention === 'pointers' && freeName in guest.exports;
    const params = convention === 'extism' ? ['span' as const] : this.#how.args.map((one) => one.lowered);
    const shape: CellCallerShape = { kind: convention, params, result: this.#how.result.lowered, frees };
    this.#caller = guest.caller(cellCallerFor(shape), fn.export, shape);
    return this.#caller;
  }
}

/** Some of the rows, by their places. */
function picked({ rows, made, tags }: Selected, places: readonly number[]): Selected {
  const pick = (list: readonly Buffer[]) => places.map((i) => list[i] as Buffer);
  return {
    rows: Int32Array.from(places, (i) => rows[i] as number),
    made: made.map((list) => list && pick(list)),
    tags,
  };
}

function partOf({ rows, made, tags }: Selected, from: number, to: number): Selected {
  return { rows: rows.subarray(from, to), made: made.map((list) => list?.slice(from, to)), tags };
}

/** Input of a guest of a development kit: a text as it is, bytes likewise, all else as JSON. */
function inputOf(value: unknown): Buffer {
  if (typeof value === 'string') return Buffer.from(value);
  if (value instanceof Uint8Array) return Buffer.from(value);
  return Buffer.from(jsonOf(value));
}
