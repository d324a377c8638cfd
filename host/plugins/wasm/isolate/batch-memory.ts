/** A memory with the columns of a batch from another thread, laid out as in the memory of a kernel. */
import type { HostColumns } from '../../../../kernels/api.js';
import { aligned } from '../../../../kernels/calls/cells.js';
import { hostCallImport } from '../../../../kernels/calls/host-call.js';
import { argument } from '../../../../kernels/gen/layouts.js';
import { type CarriedColumns, carriedBase, carriedPlace, carry } from '../../../../kernels/values/carried.js';
import { ValueAccess } from '../../../../kernels/values/value.js';

const pageBytes = 65_536;
/** Bound of the values of a batch, in longest values. */
const maxValues = 4;
const tableAt = 64;

export class BatchMemory {
  readonly memory = new WebAssembly.Memory({ initial: 2 });
  #end = 0;
  #counted = 0;
  #longest = Number.POSITIVE_INFINITY;

  /**
   * Has `call` fill a column of results. The memory holds a table, the selection, the results, and then arguments.
   * @param part HostPart of the call, 0 for a plain one
   */
  run(args: CarriedColumns, call: (columns: HostColumns) => void, part = 0): CarriedColumns {
    const { count, columns, bytes, longest } = args;
    this.#longest = longest;
    this.#counted = 0;
    this.#end = carriedBase;
    if (this.#reserve(bytes.length, false) === 0) throw new Error('there is no memory for the arguments of a batch');
    new Uint8Array(this.memory.buffer).set(bytes, carriedBase);
    const access = new ValueAccess(this.memory, (size, isCounted) => this.#reserve(size, isCounted), longest);
    const view = access.view();
    const sel = tableAt + columns * argument.size;
    const vals = aligned(sel + 4 * count);
    const tags = vals + 8 * count;
    for (let i = 0; i < columns; i++) {
      const place = carriedPlace(args, i);
      const entry = tableAt + i * argument.size;
      view.setUint32(entry + argument.at.vals, carriedBase + place.vals, true);
      view.setUint32(entry + argument.at.tags, carriedBase + place.tags, true);
      view.setUint32(entry + argument.at.stride, 1, true);
    }
    for (let k = 0; k < count; k++) view.setUint32(sel + 4 * k, k, true);
    const run = hostCallImport(
      () => access,
      (_fn, given) => call(given),
    );
    run(part, tableAt, columns, sel, count, vals, tags);
    return carry(access, [{ vals, tags }], count);
  }

  #reserve(size: number, isCounted: boolean): number {
    if (isCounted) this.#counted += size;
    if (this.#counted > maxValues * this.#longest) return 0;
    const at = this.#end;
    const next = aligned(at + size);
    const missing = next - this.memory.buffer.byteLength;
    try {
      if (missing > 0) this.memory.grow(Math.ceil(missing / pageBytes));
    } catch {
      return 0;
    }
    this.#end = next;
    return at;
  }
}
