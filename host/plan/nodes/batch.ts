/** A batch of a plan: the values in its columns and registers. */
import type { Value } from '../values/value.js';

/** The rows at one place of a plan: values by register, and by column. */
export class Batch {
  readonly #registers = new Map<number, Value>();

  constructor(
    private readonly column: (index: number) => Value,
    /** Batch above, whose registers are still valid; null: there is none. */
    private readonly above: Batch | null,
  ) {}

  /** Batch of the same rows for a node below that reads them. */
  below(): Batch {
    return new Batch(this.column, this);
  }

  set(register: number, value: Value): void {
    this.#registers.set(register, value);
  }

  columnAt(index: number): Value {
    return this.column(index);
  }

  register(index: number): Value | undefined {
    return this.#registers.get(index) ?? this.above?.register(index);
  }
}
