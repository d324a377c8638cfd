import { FilterFlag, filterSpec } from '../gen/layouts.js';
import { block } from '../memory/layout.js';
import type { NodeInput, Operand, Program } from '../plan/ir.js';
import type { NodeKind } from './node.js';

declare module '../plan/ir.js' {
  interface NodePlans {
    /**
     * Keeps the rows for which `condition` is true. `isWhole`: the first row of each message decides on all of its
     * rows; with `meetsEmpty` one that has none is sent. Messages that lose all their rows are not sent; with
     * `keepsEmpty` they are.
     */
    filter: {
      input: NodeInput;
      program: Program;
      condition: Operand;
      isWhole?: boolean;
      meetsEmpty?: boolean;
      keepsEmpty?: boolean;
    };
  }
}

export const filter: NodeKind<'filter'> = {
  traits: { passesColumns: true, passesRows: true, keepsRows: false, worksOnMany: false },
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
