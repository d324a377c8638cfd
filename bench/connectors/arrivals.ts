/** What arrives at the other side: counted, and in the checked turn read, each row once and with its values. */
import { isWorked, type Row } from './line.js';

type Read = (payload: string | Uint8Array) => Row;

export const readJson: Read = (payload) =>
  JSON.parse(typeof payload === 'string' ? payload : Buffer.from(payload).toString());

export class Arrivals {
  count = 0;
  #seen: Uint8Array | undefined;
  #wrong: string | undefined;

  constructor(
    readonly rows: number,
    readonly read: Read = readJson,
    readonly isRight = isWorked,
    /** Rows may be equal, and more may come. */
    readonly isEndless = false,
  ) {}

  begin(isChecked: boolean): void {
    this.count = 0;
    this.#seen = isChecked ? new Uint8Array(this.rows) : undefined;
    this.#wrong = undefined;
  }

  take(payload: string | Uint8Array): void {
    this.count++;
    if (this.#seen !== undefined) this.#look(this.read(payload));
  }

  /** Rows that are read already. */
  takeRows(rows: readonly Row[]): void {
    this.count += rows.length;
    if (this.#seen !== undefined) for (const row of rows) this.#look(row);
  }

  /** Throws what was wrong in the checked turn. */
  check(): void {
    if (this.#wrong !== undefined) throw new Error(this.#wrong);
    if (this.isEndless ? this.count < this.rows : this.count !== this.rows) {
      throw new Error(`${this.count} rows have arrived of ${this.rows}`);
    }
  }

  #look(row: Row): void {
    const id = Number(row.id);
    if (!this.isEndless && this.#seen![id] !== 0)
      this.#wrong ??= `row ${id} is there twice, or is none: ${JSON.stringify(row)}`;
    else if (!this.isRight(row, id)) this.#wrong ??= `row ${id} is ${JSON.stringify(row)}`;
    if (!this.isEndless) this.#seen![id] = 1;
  }
}
