import { expandSpec } from '../gen/layouts.js';
import { blockWithOperands } from '../memory/layout.js';
import type { NodeKind } from './node.js';

export const expand: NodeKind<'expand'> = {
  isShareable: () => true,
  spec({ columns, list, of, most }, { operand }) {
    const fixed = { list: operand(list), members: of === 'members' ? 1 : 0, most: Math.min(most, 0xffffffff) };
    return blockWithOperands(expandSpec, { ...fixed, columns: columns.length }, columns.map(operand));
  },
};
