import { portSpec } from '../gen/layouts.js';
import { blockWithOperands } from '../memory/layout.js';
import { NONE } from '../plan/ir.js';
import { checkColumns } from './columns.js';
import type { NodeKind } from './node.js';

export const port: NodeKind<'port'> = {
  spec({ branch, timestamp, columns }, { operand, target }) {
    checkColumns(columns.length);
    const fixed = { target, branch, timestamp: operand(timestamp ?? NONE), columns: columns.length };
    return blockWithOperands(portSpec, fixed, columns.map(operand));
  },
};
