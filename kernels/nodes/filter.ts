import { FilterFlag, filterSpec } from '../gen/layouts.js';
import { block } from '../memory/layout.js';
import type { NodeKind } from './node.js';

export const filter: NodeKind<'filter'> = {
  isShareable: () => true,
  spec: ({ condition, isWhole, meetsEmpty, keepsEmpty }, { operand }) =>
    block(filterSpec, {
      condition: operand(condition),
      flags:
        (isWhole === true ? FilterFlag.whole : 0) |
        (meetsEmpty === true ? FilterFlag.meetsEmpty : 0) |
        (keepsEmpty === true ? FilterFlag.keepsEmpty : 0),
    }),
};
