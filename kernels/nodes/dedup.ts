import { dedupSpec } from '../gen/layouts.js';
import { put } from '../memory/layout.js';
import type { NodeKind } from './node.js';

export const dedup: NodeKind<'dedup'> = {
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
