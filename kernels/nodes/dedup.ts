import { dedupSpec } from '../gen/layouts.js';
import { put } from '../memory/layout.js';
import type { NodeInput, Operand, Program } from '../plan/ir.js';
import type { NodeKind } from './node.js';

declare module '../plan/ir.js' {
  interface NodePlans {
    /**
     * Rows wait until time has come to `end`, as rows say by `now`, and the clock between them; then their output has
     * `columns` and the parts of `begin` to `end` that no row before was given: a list of objects with start_key and
     * end_key as texts, or no list, which is sent as null. All times are integers; nobody is given what lies more than
     * `expireMs` before `now`. Rows of a stream only.
     */
    dedup: {
      input: NodeInput;
      program: Program | null;
      columns: Operand[];
      begin: Operand;
      end: Operand;
      now: Operand;
      expireMs: number;
    };
  }
}

export const dedup: NodeKind<'dedup'> = {
  traits: { passesColumns: false, passesRows: true, keepsRows: true, worksOnMany: false },
  spec({ columns, begin, end, now, expireMs }, { operand }) {
    const bytes = new Uint8Array((dedupSpec.size + 2 * columns.length + 3) & ~3);
    const view = new DataView(bytes.buffer);
    const times = { begin: operand(begin), end: operand(end), now: operand(now) };
    put(view, 0, dedupSpec, { columns: columns.length, ...times, expire: expireMs });
    columns.forEach((column, i) => {
      view.setUint16(dedupSpec.size + 2 * i, operand(column), true);
    });
    return bytes;
  },
};
