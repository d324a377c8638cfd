import { mergeBranch, mergeFirst, mergeSpec } from '../gen/layouts.js';
import { put } from '../memory/layout.js';
import { checkColumns } from './columns.js';
import type { NodeKind } from './node.js';

export const merge: NodeKind<'merge'> = {
  spec({ branches }) {
    const columns = mergeFirst + branches.reduce((sum, count) => sum + count, 0);
    checkColumns(columns);
    const bytes = new Uint8Array(mergeSpec.size + branches.length * mergeBranch.size);
    const view = new DataView(bytes.buffer);
    put(view, 0, mergeSpec, { branches: branches.length, columns });
    let first = mergeFirst;
    branches.forEach((count, i) => {
      put(view, mergeSpec.size + i * mergeBranch.size, mergeBranch, { first, columns: count });
      first += count;
    });
    return bytes;
  },
};
