/** Reads results of guests from cells into the column of a batch, and checks all that stands there. */
import type { HostColumns } from '../../../../kernels/api.js';
import { type CellMemory, CellState, type Cells, type Results } from '../../../../kernels/calls/cells.js';
import { reasonOf } from '../../../base/errors.js';
import { CallState } from '../adapters/cell-caller.js';
import { isText } from '../guest/area.js';
import type { Guest } from '../guest/guest.js';
import { valueOfJson } from './json-values.js';
import type { LoweredFunction } from './lowering.js';

const cellBytes = 8;
const maxMessageBytes = 1024;

const faults = {
  outside: 'lies outside of its memory',
  utf8: 'is no UTF-8',
  long: 'is longer than a value may be, or there is no room for it',
} as const;

/** Bound of the JSON of a batch, in longest values: parsing takes time that no fuel counts. */
const jsonValues = 4;

export class ResultReader {
  /** Bytes of JSON read in this batch. */
  #jsonBytes = 0;

  constructor(
    private readonly guest: Guest,
    private readonly result: LoweredFunction['result'],
    private readonly title: string,
  ) {}

  /** Starts a batch. */
  begin(): void {
    this.#jsonBytes = 0;
  }

  /** Reads the results of rows; `messages` has the texts of those that failed. */
  take(columns: HostColumns, cells: Cells, results: Results, messages: ReadonlyMap<number, string>): void {
    const { rows, memory } = results;
    const { type, cell: kind } = this.result;
    const fail = (n: number, reason: string) => columns.fail(rows[n] as number, `${this.title}: ${reason}`);
    if (!isText(kind)) {
      for (const n of cells.takeNumbers(results, kind)) fail(n, 'the result is a time beyond the years 0 to 9999');
    } else if (type === 'string' || type === 'bytea') {
      for (const [n, fault] of cells.takeTexts(results, kind, type === 'string'))
        fail(n, `the result ${faults[fault]}`);
    }
    const isJson = isText(kind) && type !== 'string' && type !== 'bytea';
    for (let n = results.from; n < results.to; n++) {
      const state = memory.bytes[results.states + n] as number;
      if (state === CellState.value) {
        if (isJson) this.#json(columns, rows[n] as number, memory, results.cells + n * cellBytes, cells.longest);
      } else if (state === CellState.null) cells.takeNull(rows[n] as number);
      else fail(n, messages.get(n) ?? this.#reasonOf(state, memory, results.cells + n * cellBytes));
    }
  }

  #json(columns: HostColumns, k: number, memory: CellMemory, cell: number, longest: number): void {
    const { type, cell: kind } = this.result;
    const fail = (reason: string) => {
      columns.fail(k, `${this.title}: the result ${reason}`);
    };
    const off = memory.view.getUint32(cell, true);
    const length = memory.view.getUint32(cell + 4, true);
    if (off + length > memory.bytes.length) {
      fail(faults.outside);
      return;
    }
    this.#jsonBytes += length;
    if (length > longest || this.#jsonBytes > jsonValues * longest) {
      fail(faults.long);
      return;
    }
    try {
      const text = memory.bytes.toString(kind === 'utf16' ? 'utf16le' : 'utf8', off, off + length);
      const value = valueOfJson(text, longest);
      const isOther =
        type !== 'any' && value !== null && (typeof value !== 'object' || Array.isArray(value) !== (type === 'array'));
      if (isOther) fail(`is JSON, but no ${type}`);
      else columns.set(k, value);
    } catch (error) {
      fail(error instanceof SyntaxError ? `is no JSON: ${reasonOf(error)}` : `is no value: ${reasonOf(error)}`);
    }
  }

  #reasonOf(state: number, memory: CellMemory, cell: number): string {
    switch (state) {
      case CellState.error: {
        const off = memory.view.getUint32(cell, true);
        const length = Math.min(memory.view.getUint32(cell + 4, true), maxMessageBytes);
        if (off + length > memory.bytes.length) return 'it failed with a message that lies outside of its memory';
        return memory.bytes.toString('utf8', off, off + length);
      }
      case CallState.outside:
        return `the result ${faults.outside}`;
      case CallState.kind:
        return `the result is no ${this.result.lowered === 'string' ? 'String' : 'ArrayBuffer'}`;
      case CallState.failed: {
        const message = this.guest.kit.errorText(memory.view.getBigUint64(cell, true));
        return message === '' ? 'it failed and did not say why' : message;
      }
      default:
        return `the result has the unknown state ${state}`;
    }
  }
}
