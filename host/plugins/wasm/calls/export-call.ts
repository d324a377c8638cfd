/** Calls of an export for rows, whose arguments are columns of cells in the memory of the guest. */
import { aligned, type CellMemory } from '../../../../kernels/calls/cells.js';
import type { Convention } from '../../manifest.js';
import {
  type CellCallerExports,
  type CellCallerShape,
  cellCallerFor,
  type Lowered,
  type LoweredResult,
} from '../adapters/cell-caller.js';
import { freeName } from '../exports/functions.js';
import type { GuestArea } from '../guest/area.js';
import type { Guest } from '../guest/guest.js';

const cellBytes = 8;
/** Bytes for texts of results, beside the bytes for arguments. */
const outBytes = 64 << 10;

/** A column of arguments. */
export interface GuestColumn {
  /** Most bytes of the texts of the column. */
  readonly textBytes: number;
  /** Writes its cells to `at` and their texts to `end`; returns the end of the texts. */
  put(to: CellMemory, at: number, end: number): number;
}

/** Results of the calls `from` to `to` (exclusive). */
export interface CallResults {
  readonly from: number;
  readonly to: number;
  readonly memory: CellMemory;
  /** Addresses of the first cell and the first state. */
  readonly cells: number;
  readonly states: number;
  /** Texts of calls that failed, by their places. */
  readonly messages: ReadonlyMap<number, string>;
}

/** A call was cut off. */
export class CutOff extends Error {
  constructor(
    override readonly cause: unknown,
    /** Place of the call; -1: it failed before the first. */
    readonly at: number,
    /** Fuel left for the batch, without that of the call. */
    readonly left: bigint,
  ) {
    super('a call was cut off');
  }
}

export class ExportCall {
  #caller: CellCallerExports | undefined;

  constructor(
    private readonly guest: Guest,
    private readonly convention: Convention,
    private readonly area: GuestArea,
    private readonly name: string,
    private readonly params: readonly Lowered[],
    private readonly result: LoweredResult,
  ) {}

  /** Forgets what belonged to an instance that was replaced. */
  reset(): void {
    this.#caller = undefined;
  }

  /**
   * Calls the export `count` times; `take` gets the results, in several parts where texts have no room. Returns what is
   * left of the fuel `left`; throws CutOff.
   * @param isNull tells whether an argument of a call is null
   */
  run(
    count: number,
    columns: readonly GuestColumn[],
    left: bigint,
    take: (results: CallResults) => void,
    isNull: (argument: number, at: number) => boolean = () => false,
  ): bigint {
    if (count === 0) return left;
    const { guest } = this;
    const { outcome } = guest;
    let caller: CellCallerExports | undefined;
    guest.enter();
    try {
      const made = this.#callerOf();
      const staged = this.#stage(count, columns);
      made.callFuel.value = guest.firstFuel;
      made.batchFuel.value = left;
      const messages = new Map<number, string>();
      outcome.failed = (message) => messages.set(made.at.value, message);
      outcome.isNull = (argument) => isNull(argument, made.at.value);
      caller = made;
      guest.begin({ call: () => made.at.value, batch: made.batchFuel });
      for (let done = 0; done < count; ) {
        guest.pause(made);
        const to = made.run(done, count, staged.table, staged.out, staged.outEnd);
        const { cells, states } = staged;
        take({ from: done, to, memory: this.area.memory(), cells, states, messages });
        done = to;
      }
      return made.batchFuel.value;
    } catch (error) {
      throw caller === undefined
        ? new CutOff(error, -1, left)
        : new CutOff(error, caller.at.value, caller.batchFuel.value);
    }
  }

  /** Writes the batch into the guest: a table of addresses, cells of arguments and results, states, texts. */
  #stage(count: number, columns: readonly GuestColumn[]) {
    const texts = columns.reduce((sum, { textBytes }) => sum + textBytes, 0);
    const table = (columns.length + 2) * 4;
    const fixed = table + 2 * cellBytes + (columns.length + 1) * count * cellBytes + count;
    const room = isTextResult(this.result) ? outBytes + 2 * texts : 0;
    const base = this.area.reserve(fixed + texts + room + 4 * cellBytes);
    const to = this.area.memory();
    let at = aligned(base + table);
    const addresses = [...columns, null].map(() => {
      const from = at;
      at += count * cellBytes;
      return from;
    });
    const states = at;
    to.bytes.fill(0, states, states + count);
    let end = aligned(states + count);
    columns.forEach((column, i) => {
      end = column.put(to, addresses[i] as number, end);
    });
    [...addresses, states].forEach((address, i) => {
      to.view.setUint32(base + i * 4, address, true);
    });
    return { table: base, cells: addresses.at(-1) as number, states, out: end, outEnd: end + room };
  }

  #callerOf(): CellCallerExports {
    if (this.#caller !== undefined) return this.#caller;
    const { guest, convention, params, result } = this;
    const frees = convention === 'pointers' && isTextResult(result) && freeName in guest.exports;
    const shape: CellCallerShape = { kind: convention, params, result, frees };
    this.#caller = guest.caller(cellCallerFor(shape), this.name, shape);
    return this.#caller;
  }
}

function isTextResult(result: LoweredResult): boolean {
  return result === 'span' || result === 'string' || result === 'buffer';
}

/** A column of whole numbers of 32 bits, such as handles of states. */
export function numbersColumn(numbers: readonly number[]): GuestColumn {
  return {
    textBytes: 0,
    put(to, at, end) {
      numbers.forEach((number, i) => {
        to.view.setUint32(at + i * cellBytes, number, true);
        to.view.setUint32(at + i * cellBytes + 4, 0, true);
      });
      return end;
    },
  };
}

/** Reads results that are numbers of 32 bits; 0 for calls that failed. */
export function takeNumbers({ from, to, memory, cells, states }: CallResults, numbers: number[]): void {
  for (let i = from; i < to; i++) {
    numbers[i] = memory.bytes[states + i] === 0 ? memory.view.getUint32(cells + i * cellBytes, true) : 0;
  }
}
