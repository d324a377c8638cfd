import { portSpec } from '../gen/layouts.js';
import { blockWithOperands } from '../memory/layout.js';
import { NONE, type NodeInput, type Operand, type Program } from '../plan/ir.js';
import { checkColumns } from './columns.js';
import type { NodeKind } from './node.js';

declare module '../plan/ir.js' {
  interface NodePlans {
    /**
     * Gives the rows of its input to the merge (or join, see there) node `into` (index of an earlier node) as branch
     * `branch`: `columns` are the values of the branch's columns. Rows that failed above travel on as error rows.
     */
    port: {
      input: NodeInput;
      into: number;
      branch: number;
      program: Program | null;
      timestamp?: Operand;
      columns: Operand[];
    };
  }
}

export const port: NodeKind<'port'> = {
  traits: { passesColumns: false, passesRows: false, keepsRows: true, worksOnMany: false },
  spec({ branch, timestamp, columns }, { operand, target }) {
    checkColumns(columns.length);
    const fixed = { target, branch, timestamp: operand(timestamp ?? NONE), columns: columns.length };
    return blockWithOperands(portSpec, fixed, columns.map(operand));
  },
};
