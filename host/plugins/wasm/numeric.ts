/**
 * Functions over numbers, called row by row by a wrapper that is WebAssembly as well (binary/wrapper.ts): JavaScript
 * sees a batch, and the rows whose call failed.
 */
import type { DirectColumns, HostColumns } from '../../../kernels/api.js';
import { eight, resultExport, rowExport, spentExport } from './binary/eights.js';
import type { PureFunction } from './binary/pure.js';
import type { Signature } from './binary/types.js';
import { wrapperFor } from './binary/wrapper.js';
import { Misfit, markOf, type WrapperExports } from './binary/wrapper-form.js';
import type { Guest } from './guest.js';

export class NumericFunction {
  #wrapper: WrapperExports | undefined;

  constructor(
    private readonly guest: Guest,
    private readonly entry: string,
    private readonly exportName: string,
    private readonly signature: Signature,
    private readonly how: {
      readonly pure: PureFunction | undefined;
      readonly isFree: boolean;
      /** The export that takes eight rows. */
      readonly eight: string | undefined;
    },
    /** How errors name it: `function scale of numbers`. */
    private readonly title: string,
  ) {}

  /** The guest begins anew. */
  reset(): void {
    this.#wrapper = undefined;
  }

  call(columns: HostColumns, direct: DirectColumns): void {
    const { guest, entry } = this;
    let left = guest.startBatch();
    for (let from = 0; from < columns.count; ) {
      const wrapper = this.#wrapperOf(direct.memory);
      wrapper.callFuel.value = guest.firstFuel;
      wrapper.batchFuel.value = left;
      guest.enter();
      guest.begin({ call: () => this.#callUnderWay(wrapper), batch: wrapper.batchFuel });
      try {
        while (from < columns.count) {
          guest.pause(wrapper);
          const marked = wrapper.run(from, columns.count, direct.sel, direct.table, direct.vals, direct.tags);
          const to = wrapper.at.value;
          direct.written(from, to);
          if (marked > 0) this.#explain(columns, direct, from, to);
          from = to;
        }
      } catch (error) {
        direct.written(from, wrapper.at.value);
        this.#explain(columns, direct, from, wrapper.at.value);
        const { row, fuel } = this.#stopped(wrapper, columns);
        left = guest.leftAfter(error, fuel);
        const reason = guest.reasonOf(error, left);
        columns.fail(row, `${this.title}: ${reason}`);
        if (guest.isExhausted(error)) guest.host.fault(`function ${entry}: ${reason}`);
        left -= guest.restart();
        from = row + 1;
        // Without fuel each further row would only be a further fault.
        if (left <= 0n) {
          for (; from < columns.count; from++) columns.fail(from, `${this.title}: ${reason}`);
        }
      }
    }
  }

  #callUnderWay(wrapper: WrapperExports): number {
    const first = wrapper.at.value * eight;
    if (wrapper.inEight.value === 0) return first;
    return first + ((this.guest.exports[rowExport] as { readonly value: unknown }).value as number);
  }

  /**
   * The row that was cut off, and the fuel of the batch without what its call was given. Of eight rows those before it
   * have their results.
   */
  #stopped(wrapper: WrapperExports, columns: HostColumns): { row: number; fuel: bigint } {
    const { exports, firstFuel } = this.guest;
    const first = wrapper.at.value;
    const fuel = wrapper.batchFuel.value;
    if (wrapper.inEight.value === 0) return { row: first, fuel };
    const global = (name: string) => (exports[name] as { readonly value: unknown }).value;
    const done = global(rowExport) as number;
    for (let row = 0; row < done; row++) columns.set(first + row, this.#resultOf(global(resultExport(row)) as bigint));
    if (this.how.isFree) return { row: first + done, fuel };
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

  #wrapperOf(memory: WebAssembly.Memory): WrapperExports {
    if (this.#wrapper === undefined) {
      const { guest, signature } = this;
      const { pure, isFree, eight: sister } = this.how;
      const imports: Record<string, unknown> = { call: guest.exported(this.exportName), fuel: guest.fuel };
      if (sister !== undefined) {
        imports.eight = guest.exported(sister);
        for (let row = 0; row < eight; row++) imports[`result${row}`] = guest.exports[resultExport(row)];
      }
      const bytes = wrapperFor(signature, { pure, isFree, hasEight: sister !== undefined });
      const made = new WebAssembly.Instance(new WebAssembly.Module(bytes), {
        kernel: { memory },
        guest: imports as Record<string, never>,
      });
      this.#wrapper = made.exports as unknown as WrapperExports;
    }
    return this.#wrapper;
  }
}
