import { expandSpec } from '../gen/layouts.js';
import { blockWithOperands } from '../memory/layout.js';
import type { NodeInput, Operand, Program } from '../plan/ir.js';
import type { NodeKind } from './node.js';

declare module '../plan/ir.js' {
  interface NodePlans {
    /**
     * Makes rows of what stands in one row. Output columns: `columns`, the same for each of these rows, then the
     * element. A row whose list is none, or has no elements, stays one row with an error as element.
     */
    expand: {
      input: NodeInput;
      program: Program | null;
      list: Operand;
      /** `elements` of a list, a row for each; `members`: the element is the object itself, which must have members. */
      of: 'elements' | 'members';
      /** Rows that are made of one row at most. */
      most: number;
      columns: Operand[];
    };
  }
}

export const expand: NodeKind<'expand'> = {
  traits: { passesColumns: false, passesRows: true, keepsRows: false, worksOnMany: true },
  isShareable: () => true,
  spec({ columns, list, of, most }, { operand }) {
    const fixed = { list: operand(list), members: of === 'members' ? 1 : 0, most: Math.min(most, 0xffffffff) };
    return blockWithOperands(expandSpec, { ...fixed, columns: columns.length }, columns.map(operand));
  },
};
