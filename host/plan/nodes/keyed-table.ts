import type { NodeKind } from './node.js';

export const keyedTableNode: NodeKind<'keyedTable'> = {
  keeps({ input, key: by, row, sent, kindName, keyName }, at) {
    const values = at.valuesOf([row, sent, kindName, keyName]);
    const key = at.together('keyedTable', at.rowsOf(input).key, by, values);
    return { key, what: 'a lookup table', rows: [], lists: [], isSilent: true };
  },
};
