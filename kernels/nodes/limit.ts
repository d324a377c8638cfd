import { limitSpec } from '../gen/layouts.js';
import { block } from '../memory/layout.js';
import type { NodeKind } from './node.js';

export const limit: NodeKind<'limit'> = {
  spec({ count }) {
    if (!(Number.isInteger(count) && count >= 0))
      throw new RangeError(`LIMIT must be a whole number from 0, not ${count}`);
    return block(limitSpec, { count: Math.min(count, 0xffffffff) });
  },
};
