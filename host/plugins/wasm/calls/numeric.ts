/**
 * Functions over numbers, which a row caller calls (adapters/row-caller.ts): JavaScript sees a batch, and the rows that
 * failed.
 */
import type { DirectColumns, HostColumns } from '../../../../kernels/api.js';
import { rowCallerFor } from '../adapters/row-caller.js';
import { Misfit, markOf, type RowCallerExports } from '../adapters/row-caller-form.js';
import type { Signature } from '../binary/types.js';
import type { Guest } from '../guest/guest.js';
import type { InlineFunction } from '../passes/pass.js';
import { resultExport, rowExport, spentExport, unrolledRows } from '../passes/unroll.js';

export class NumericFunction {
  #caller: RowCallerExports | undefined;

  constructor(
    private readonly guest: Guest,
    private readonly entry: string,
    private readonly exportName: string,
    private readonly signature: Signature,
    private readonly how: {
      readonly inlined: InlineFunction | undefined;
      readonly isUncharged: boolean;
      readonly hasDenseLoop: boolean;
      /** Name of the export that takes eight rows. */
      readonly unrolled: string | undefined;
    },
    /** Name of the function in errors: `function scale of numbers`. */
    private readonly title: string,
  ) {}

  /** Forgets what belonged to an instance that was replaced. */
  reset(): void {
    this.#caller = undefined;
  }

  call(columns: HostColumns, direct: DirectColumns): void {
    const { guest, entry } = this;
    let left = guest.startBatch();
    for (let from = 0; from < columns.count; ) {
      const caller = this.#callerOf(direct.memory);
      caller.callFuel.value = guest.firstFuel;
      caller.batchFuel.value = left;
      guest.enter();
      guest.begin({ call: () => this.#callUnderWay(caller), batch: caller.batchFuel });
      try {
        while (from < columns.count) {
          guest.pause(caller);
          const marked = caller.run(from, columns.count, direct.sel, direct.table, direct.vals, direct.tags);
          const to = caller.at.value;
          direct.written(from, to);
          if (marked > 0) this.#explain(columns, direct, from, to);
          from = to;
        }
      } catch (error) {
        direct.written(from, caller.at.value);
        this.#explain(columns, direct, from, caller.at.value);
        const { row, fuel } = this.#stopped(caller, columns);
        left = guest.leftAfter(error, fuel);
        const reason = guest.reasonOf(error, left);
        columns.fail(row, `${this.title}: ${reason}`);
        if (guest.isExhausted(error)) guest.host.fault(`function ${entry}: ${reason}`);
        left -= guest.restart();
        from = row + 1;
        // Further calls without fuel would only be further faults.
        if (left <= 0n) {
          for (; from < columns.count; from++) columns.fail(from, `${this.title}: ${reason}`);
        }
      }
    }
  }

  #callUnderWay(caller: RowCallerExports): number {
    const first = caller.at.value * unrolledRows;
    if (caller.inUnrolled.value === 0) return first;
    return first + ((this.guest.exports[rowExport] as { readonly value: unknown }).value as number);
  }

  /**
   * The row that was cut off, and the fuel of the batch without that of its call. Of eight rows in one call, those
   * before it get their results.
   */
  #stopped(caller: RowCallerExports, columns: HostColumns): { row: number; fuel: bigint } {
    const { exports, firstFuel } = this.guest;
    const first = caller.at.value;
    const fuel = caller.batchFuel.value;
    if (caller.inUnrolled.value === 0) return { row: first, fuel };
    const global = (name: string) => (exports[name] as { readonly value: unknown }).value;
    const done = global(rowExport) as number;
    for (let row = 0; row < done; row++) columns.set(first + row, this.#resultOf(global(resultExport(row)) as bigint));
    if (this.how.isUncharged) return { row: first + done, fuel };
    const spent = done === 0 ? 0n : (global(spentExport) as bigint);
    return { row: first + done, fuel: fuel - spent - firstFuel };
  }

  #resultOf(bits: bigint): number | bigint {
    const [type] = this.signature.results;
    if (type === 'i32' || type === 'i64') return bits;
    const view = new DataView(new ArrayBuffer(8));
    view.setBigInt64(0, bits);
    return view.getFloat64(0);
  }

  /** Writes the errors of rows whose arguments do not fit. */
  #explain(columns: HostColumns, direct: DirectColumns, from: number, to: number): void {
    for (let k = from; k < to; k++) {
      const mark = direct.mark(k);
      const found = mark === undefined ? undefined : markOf(mark);
      if (found === undefined) continue;
      const type = this.signature.params[found.argument] as string;
      const why =
        found.misfit === Misfit.fraction
          ? `is no whole number, which ${type} needs`
          : found.misfit === Misfit.range
            ? `does not fit ${type}`
            : `is no number for ${type}`;
      columns.fail(k, `function ${this.entry}: argument ${found.argument + 1} ${why}`);
    }
  }

  #callerOf(memory: WebAssembly.Memory): RowCallerExports {
    if (this.#caller === undefined) {
      const { guest, signature } = this;
      const { unrolled, ...how } = this.how;
      const imports: Record<string, unknown> = { call: guest.exported(this.exportName), fuel: guest.fuel };
      if (unrolled !== undefined) {
        imports.unrolled = guest.exported(unrolled);
        for (let row = 0; row < unrolledRows; row++) imports[`result${row}`] = guest.exports[resultExport(row)];
      }
      const bytes = rowCallerFor(signature, { ...how, isUnrolled: unrolled !== undefined });
      const made = new WebAssembly.Instance(new WebAssembly.Module(bytes), {
        kernel: { memory },
        guest: imports as Record<string, never>,
      });
      this.#caller = made.exports as unknown as RowCallerExports;
    }
    return this.#caller;
  }
}
