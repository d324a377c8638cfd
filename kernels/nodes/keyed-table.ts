import { keyedSpec } from '../gen/layouts.js';
import { put } from '../memory/layout.js';
import type { NodeKind } from './node.js';

export const keyedTable: NodeKind<'keyedTable'> = {
  isShareable: () => true,
  keepsErrors: true,
  spec({ key, row, sent, kindName, keyName }, { operand }) {
    const name = Buffer.from(key);
    const head = Buffer.alloc(keyedSpec.size);
    put(new DataView(head.buffer, head.byteOffset, head.length), 0, keyedSpec, {
      row: operand(row),
      sent: operand(sent),
      kindName: operand(kindName),
      keyName: operand(keyName),
      keyLen: name.length,
    });
    return Buffer.concat([head, name]);
  },
};
