/**
 * Functions whose states the engine keeps as bytes: aggregates with `save` and `load`, functions that look back. Each
 * batch loads the states of its groups into the guest, works on the rows in order, and saves the states. So a restart
 * of the guest loses only the work of a batch.
 */
import type { DirectColumns, HostColumns } from '../../../../kernels/api.js';
import { CellState, Cells } from '../../../../kernels/calls/cells.js';
import { Tag } from '../../../../kernels/gen/layouts.js';
import type { Convention, PluginFunction, StateExports } from '../../manifest.js';
import type { Lowered, LoweredResult } from '../adapters/cell-caller.js';
import type { Signature } from '../binary/types.js';
import { GuestArea, isText, putMade } from '../guest/area.js';
import type { Guest } from '../guest/guest.js';
import { type CallResults, CutOff, ExportCall, type GuestColumn, numbersColumn, takeNumbers } from './export-call.js';
import { jsonOf } from './json-values.js';
import { type LoweredArgument, lowered, misfit } from './lowering.js';
import { ResultReader } from './results.js';

type Culprit = { readonly row: number } | { readonly group: number };

/** Work for rows, each of which belongs to a group. */
interface Job {
  readonly columns: HostColumns;
  readonly cells: Cells;
  /** Number of rows. */
  readonly count: number;
  /** Rows that failed or are done. */
  readonly isDone: Uint8Array;
  /** Notes that a row, or its group, has failed. */
  fail(culprit: Culprit, reason: string): void;
  /** Does the work for rows in their order; throws Stopped. `isLast`: no rows follow. */
  work(rows: readonly number[], isLast: boolean): void;
}

/** Rows of groups. */
interface GroupedJob extends Job {
  readonly args: number;
  readonly groupOf: Int32Array;
  /** States after earlier rows, null for none; undefined: the state that the kernel has. */
  readonly states: (Buffer | null | undefined)[];
  /** Groups that have had their state in the result. */
  readonly isGiven: Uint8Array;
}

/** Thrown when a call for a row or group was cut off. */
class Stopped extends Error {
  constructor(
    readonly cut: CutOff,
    /** Place of the row or group; undefined: none of them. */
    readonly culprit: Culprit | undefined,
  ) {
    super('a call was cut off');
  }
}

export class StateFunction {
  readonly #args: readonly LoweredArgument[];
  readonly #area: GuestArea;
  readonly #values: ResultReader;
  readonly #states: ResultReader;
  readonly #init: ExportCall;
  readonly #load: ExportCall;
  readonly #save: ExportCall;
  readonly #accumulate: ExportCall;
  readonly #merge: ExportCall | undefined;
  readonly #finish: ExportCall | undefined;
  readonly #isAggregate: boolean;
  /** Fuel left for the batch. */
  #left = 0n;

  constructor(
    private readonly guest: Guest,
    private readonly fn: PluginFunction,
    convention: Convention,
    exports: StateExports,
    signatureOf: (name: string) => Signature,
    /** Name of the function in errors: `function spread of reading`. */
    private readonly title: string,
  ) {
    const step = signatureOf(exports.step);
    const { finish } = exports;
    this.#isAggregate = finish !== undefined;
    const { args } = lowered(fn, convention, step, 1);
    const { result } = lowered({ ...fn, args: [] }, convention, finish === undefined ? step : signatureOf(finish));
    const bytes = convention === 'assemblyscript' ? 'buffer' : 'span';
    this.#args = args;
    this.#area = new GuestArea(guest, convention);
    this.#values = new ResultReader(guest, result, title);
    this.#states = new ResultReader(guest, { type: 'bytea', lowered: bytes, cell: 'bytes' }, 'its state');
    const call = (name: string, params: readonly Lowered[], what: LoweredResult) =>
      new ExportCall(guest, convention, this.#area, name, params, what);
    this.#init = call(exports.init, [], 'i32');
    this.#load = call(exports.load, [bytes], 'i32');
    this.#save = call(exports.save, ['i32'], bytes);
    const params = ['i32' as const, ...args.map((one) => one.lowered)];
    this.#accumulate = call(exports.step, params, finish === undefined ? result.lowered : 'none');
    this.#merge = exports.merge === undefined ? undefined : call(exports.merge, ['i32', 'i32'], 'none');
    this.#finish = finish === undefined ? undefined : call(finish, ['i32'], result.lowered);
  }

  /** Forgets what belonged to an instance that was replaced. */
  reset(): void {
    for (const one of [this.#init, this.#load, this.#save, this.#accumulate, this.#merge, this.#finish]) one?.reset();
    this.#area.reset();
  }

  call(columns: HostColumns, direct: DirectColumns): void {
    this.#left = this.guest.startBatch();
    this.#values.begin();
    this.#states.begin();
    const cells = new Cells(direct);
    if (columns.part === 'step') this.#step(columns, cells, direct);
    else if (columns.part === 'merge') this.#run(this.#merging(columns, cells));
    else this.#run(this.#finishing(columns, cells));
  }

  /**
   * Does a job. After a call that was cut off the guest begins anew with the former states: the rows before that call
   * are done by themselves, its row or group fails, and the job goes on with the next.
   */
  #run(job: Job): void {
    const { guest, fn } = this;
    let to = job.count;
    for (let from = 0; from < job.count; ) {
      try {
        const rows: number[] = [];
        for (let row = from; row < to; row++) if (job.isDone[row] === 0) rows.push(row);
        if (rows.length > 0) job.work(rows, to === job.count);
        for (const row of rows) job.isDone[row] = 1;
        from = to;
        to = job.count;
      } catch (error) {
        if (!(error instanceof Stopped)) throw error;
        const { cut, culprit } = error;
        this.#left = guest.leftAfter(cut.cause, cut.left);
        const reason = guest.reasonOf(cut.cause, this.#left);
        if (guest.isExhausted(cut.cause)) guest.host.fault(`function ${fn.name}: ${reason}`);
        this.#left -= guest.restart();
        if (culprit !== undefined) job.fail(culprit, reason);
        // Further calls without fuel would only be further faults.
        if (culprit === undefined || this.#left <= 0n) {
          for (let row = from; row < job.count; row++) if (job.isDone[row] === 0) job.fail({ row }, reason);
          return;
        }
        if ('row' in culprit && culprit.row > from) to = culprit.row;
      }
    }
  }

  /** Rows come first in the columns, then groups (assembly/ops/call/states.ts). */
  #step(columns: HostColumns, cells: Cells, direct: DirectColumns): void {
    const { fn } = this;
    const args = columns.argCount - 1;
    if (fn.args.length !== args) {
      throw new Error(`function ${fn.name} takes ${fn.args.length} arguments since it was replaced, not ${args}`);
    }
    const tags = cells.tagsOf(args, columns.count);
    const firstGroup = tags.findIndex((tag) => tag !== Tag.i64);
    const count = firstGroup < 0 ? columns.count : firstGroup;
    const job = this.#grouped(columns, cells, count);
    if (this.#isAggregate) direct.written(0, count);
    this.#select(job);
    this.#run(job);
    job.isGiven.forEach((isGiven, group) => {
      // The state stays as it was.
      if (isGiven === 0) columns.set(count + group, true);
    });
  }

  #grouped(columns: HostColumns, cells: Cells, count: number): GroupedJob {
    const args = columns.argCount - 1;
    const groupOf = cells.numbersOf(args, count);
    const isGiven = new Uint8Array(columns.count - count);
    const isDone = new Uint8Array(count);
    const states: GroupedJob['states'] = new Array(isGiven.length).fill(undefined);
    const failGroup = (group: number, reason: string) => {
      isGiven[group] = 0;
      if (this.#isAggregate) {
        isGiven[group] = 1;
        columns.fail(count + group, `${this.title}: ${reason}`);
      } else if (states[group] !== undefined) {
        isGiven[group] = 1;
        columns.set(count + group, states[group]);
      }
      for (let row = 0; row < count; row++) {
        if (groupOf[row] !== group || isDone[row] !== 0) continue;
        isDone[row] = 1;
        if (!this.#isAggregate) columns.fail(row, `${this.title}: ${reason}`);
      }
    };
    const job: GroupedJob = {
      columns,
      cells,
      count,
      args,
      groupOf,
      states,
      isGiven,
      isDone,
      fail: (culprit, reason) => {
        if ('group' in culprit) failGroup(culprit.group, reason);
        else if (this.#isAggregate) failGroup(groupOf[culprit.row] as number, reason);
        else {
          isDone[culprit.row] = 1;
          columns.fail(culprit.row, `${this.title}: ${reason}`);
        }
      },
      work: (rows, isLast) => this.#takeIn(job, rows, isLast),
    };
    return job;
  }

  /** Drops rows whose arguments do not fit, or are null where nulls are skipped. */
  #select(job: GroupedJob): void {
    const { columns, cells, count, args, isDone } = job;
    for (let i = 0; i < args; i++) {
      const arg = this.#args[i] as LoweredArgument;
      const tags = cells.tagsOf(i, count);
      for (let row = 0; row < count; row++) {
        const tag = tags[row] as number;
        if (tag === arg.usual || isDone[row] !== 0) continue;
        if (tag <= Tag.null) {
          if (this.fn.nulls === 'pass') continue;
          isDone[row] = 1;
          if (!this.#isAggregate) cells.takeNull(row);
          continue;
        }
        const why = misfit(arg, tag, () => (tag === Tag.f64 ? cells.double(i, row) : Number(columns.get(i, row))));
        if (why !== undefined) job.fail({ row }, `argument ${i + 1} ${why}`);
      }
    }
  }

  /** Adds rows to the states of their groups; with functions that look back each row has a result. */
  #takeIn(job: GroupedJob, rows: readonly number[], isLast: boolean): void {
    const { columns, cells, count, args, groupOf, states } = job;
    const groups: number[] = [];
    const placeOf = new Int32Array(states.length).fill(-1);
    for (const row of rows) {
      const group = groupOf[row] as number;
      if ((placeOf[group] as number) < 0) placeOf[group] = groups.push(group) - 1;
    }
    const placeOfRow = (row: number) => placeOf[groupOf[row] as number] as number;
    const stateOf = (i: number) => states[groups[i] as number];
    const ofGroup = (i: number): Culprit => ({ group: groups[i] as number });
    const resultOf = (i: number) => count + (groups[i] as number);
    const failed = new Map<number, string>();
    const isNew = (i: number) => stateOf(i) === null || (stateOf(i) === undefined && cells.isAbsent(args, resultOf(i)));
    const bring = (some: readonly number[]) => bytesColumn(cells, args, some.map(resultOf), some.map(stateOf));
    const handles = this.#handles(groups.length, isNew, bring, ofGroup, failed);
    const going = failed.size === 0 ? rows : rows.filter((row) => !failed.has(placeOfRow(row)));
    const tags = this.#args.map((_arg, i) => cells.tagsOf(i, count));
    this.#call(
      this.#accumulate,
      going.length,
      [
        numbersColumn(going.map((row) => handles[placeOfRow(row)] as number)),
        ...this.#args.map((_arg, i) => this.#argumentColumn(job, i, going)),
      ],
      (results) => {
        if (this.#isAggregate) {
          forFailed(results, (i, reason) => failed.set(placeOfRow(going[i] as number), reason));
        } else this.#values.take(columns, cells, { ...results, rows: going }, results.messages);
      },
      (i) => ({ row: going[i] as number }),
      (argument, i) => (tags[argument]?.[going[i] as number] ?? Tag.null) <= Tag.null,
    );
    // States of groups that failed are saved as well, since saving ends a state.
    this.#saveAll(job, handles, resultOf, ofGroup, failed);
    groups.forEach((group, i) => {
      const reason = failed.get(i);
      if (reason !== undefined) job.fail({ group }, reason);
      else {
        job.isGiven[group] = 1;
        if (!isLast) states[group] = cells.bytesAt(count + group);
      }
    });
  }

  /** Adds the second state of each row to the first. */
  #merging(columns: HostColumns, cells: Cells): Job {
    const merge = this.#merge;
    if (merge === undefined) throw new Error(`${this.title} joins no states since it was replaced`);
    const job: Job = this.#pairs(columns, cells, (rows) => {
      const failed = new Map<number, string>();
      const ofRow = (i: number): Culprit => ({ row: rows[i] as number });
      const states = this.#handlesOf(cells, 0, rows, failed);
      const later = this.#handlesOf(cells, 1, rows, failed);
      const going = rows.map((_row, i) => i).filter((i) => !failed.has(i));
      const pick = (handles: readonly number[]) => numbersColumn(going.map((i) => handles[i] as number));
      const note = (results: CallResults) => forFailed(results, (i, why) => failed.set(going[i] as number, why));
      this.#call(merge, going.length, [pick(states), pick(later)], note, (i) => ofRow(going[i] as number));
      this.#saveAll(job, states, (i) => rows[i] as number, ofRow, failed);
      for (const [i, reason] of failed) job.fail(ofRow(i), reason);
    });
    return job;
  }

  /** Finishes the state of each row. */
  #finishing(columns: HostColumns, cells: Cells): Job {
    const finish = this.#finish;
    if (finish === undefined) throw new Error(`${this.title} is no aggregate since it was replaced`);
    const job: Job = this.#pairs(columns, cells, (rows) => {
      const failed = new Map<number, string>();
      const handles = this.#handlesOf(cells, 0, rows, failed);
      const going = rows.map((_row, i) => i).filter((i) => !failed.has(i));
      const ofGoing = going.map((i) => rows[i] as number);
      this.#call(
        finish,
        going.length,
        [numbersColumn(going.map((i) => handles[i] as number))],
        (results) => this.#values.take(columns, cells, { ...results, rows: ofGoing }, results.messages),
        (i) => ({ row: ofGoing[i] as number }),
      );
      for (const [i, reason] of failed) job.fail({ row: rows[i] as number }, reason);
    });
    cells.tagsOf(0, columns.count).forEach((tag, row) => {
      if (tag !== Tag.error) return;
      job.isDone[row] = 1;
      columns.set(row, columns.get(0, row));
    });
    return job;
  }

  /** A job over groups, one a row. */
  #pairs(columns: HostColumns, cells: Cells, work: (rows: readonly number[]) => void): Job {
    const isDone = new Uint8Array(columns.count);
    const fail = (culprit: Culprit, reason: string) => {
      const row = 'row' in culprit ? culprit.row : culprit.group;
      isDone[row] = 1;
      columns.fail(row, `${this.title}: ${reason}`);
    };
    return { columns, cells, count: columns.count, isDone, fail, work };
  }

  /** Loads the states that rows have as an argument. */
  #handlesOf(cells: Cells, argument: number, rows: readonly number[], failed: Map<number, string>): number[] {
    const isNew = (i: number) => cells.isAbsent(argument, rows[i] as number);
    const bring = (some: readonly number[]) =>
      bytesColumn(
        cells,
        argument,
        some.map((i) => rows[i] as number),
      );
    return this.#handles(rows.length, isNew, bring, (i) => ({ row: rows[i] as number }), failed);
  }

  /** Loads the states of groups, or makes new ones; notes those that can't be loaded. */
  #handles(
    count: number,
    isNew: (i: number) => boolean,
    bring: (some: readonly number[]) => GuestColumn,
    culprit: (i: number) => Culprit,
    failed: Map<number, string>,
  ): number[] {
    const handles: number[] = new Array(count).fill(0);
    const fresh: number[] = [];
    const known: number[] = [];
    for (let i = 0; i < count; i++) (isNew(i) ? fresh : known).push(i);
    const noting = (of: readonly number[], given: number[]) => (results: CallResults) => {
      takeNumbers(results, given);
      forFailed(results, (n, reason) => failed.set(of[n] as number, reason));
    };
    const loaded: number[] = [];
    const columns = known.length === 0 ? [] : [bring(known)];
    this.#call(this.#load, known.length, columns, noting(known, loaded), (n) => culprit(known[n] as number));
    let refused = 0;
    known.forEach((i, n) => {
      handles[i] = loaded[n] as number;
      if (handles[i] !== 0 || failed.has(i)) return;
      refused++;
      fresh.push(i);
    });
    if (refused > 0) {
      this.guest.host.log(`${this.title}: ${refused} states that it can't read begin anew`);
    }
    const made: number[] = [];
    this.#call(this.#init, fresh.length, [], noting(fresh, made), (n) => culprit(fresh[n] as number));
    fresh.forEach((i, n) => {
      handles[i] = made[n] as number;
    });
    return handles;
  }

  /** Saves the states into the rows of the result, which ends them in the guest; notes those that fail. */
  #saveAll(
    { columns, cells }: Job,
    handles: readonly number[],
    rowOf: (i: number) => number,
    culprit: (i: number) => Culprit,
    failed: Map<number, string>,
  ): void {
    const there = handles.map((_handle, i) => i).filter((i) => handles[i] !== 0 || !failed.has(i));
    const rows = there.map(rowOf);
    const given = numbersColumn(there.map((i) => handles[i] as number));
    this.#call(
      this.#save,
      there.length,
      [given],
      (results) => this.#states.take(columns, cells, { ...results, rows }, results.messages),
      (n) => culprit(there[n] as number),
    );
    for (const i of there) {
      const reason = cells.errorAt(rowOf(i));
      if (reason !== undefined && !failed.has(i)) failed.set(i, reason);
    }
  }

  #argumentColumn({ columns, cells }: Job, i: number, rows: readonly number[]): GuestColumn {
    const { cell, isMade } = this.#args[i] as LoweredArgument;
    const count = rows.length;
    if (isMade) {
      const texts = rows.map((row) => Buffer.from(jsonOf(columns.get(i, row))));
      return madeColumn(texts, cell);
    }
    if (!isText(cell)) {
      return {
        textBytes: 0,
        put: (to, at, end) => {
          cells.putNumbers(i, rows, count, cell, to, at);
          return end;
        },
      };
    }
    return {
      textBytes: cells.textBytes(i, rows, count) * (cell === 'utf16' ? 2 : 1),
      put: (to, at, end) => cells.putTexts(i, rows, count, cell, to, at, end),
    };
  }

  #call(
    of: ExportCall,
    count: number,
    columns: readonly GuestColumn[],
    take: (results: CallResults) => void,
    culprit: (at: number) => Culprit,
    isNull?: (argument: number, at: number) => boolean,
  ): void {
    try {
      this.#left = of.run(count, columns, this.#left, take, isNull);
    } catch (error) {
      if (!(error instanceof CutOff)) throw error;
      throw new Stopped(error, error.at < 0 ? undefined : culprit(error.at));
    }
  }
}

/** Calls a function for each call that failed. */
function forFailed(
  { from, to, memory, states, messages }: CallResults,
  each: (i: number, reason: string) => void,
): void {
  for (let i = from; i < to; i++) {
    if (memory.bytes[states + i] === CellState.error) each(i, messages.get(i) ?? 'it failed and did not say why');
  }
}

/** A column of the bytes of an argument; `given` replaces those of some rows. */
function bytesColumn(
  cells: Cells,
  argument: number,
  rows: readonly number[],
  given: readonly (Buffer | null | undefined)[] = [],
): GuestColumn {
  if (given.some((bytes) => bytes !== undefined)) {
    return madeColumn(
      rows.map((row, i) => given[i] ?? cells.argumentBytes(argument, row)),
      'bytes',
    );
  }
  return {
    textBytes: cells.textBytes(argument, rows, rows.length),
    put: (to, at, end) => cells.putTexts(argument, rows, rows.length, 'bytes', to, at, end),
  };
}

/** A column of texts that the host has made. */
function madeColumn(texts: readonly Buffer[], cell: string): GuestColumn {
  return {
    textBytes: texts.reduce((sum, { length }) => sum + length, 0) * (cell === 'utf16' ? 2 : 1),
    put: (to, at, end) => putMade(texts, cell, to, at, end),
  };
}
