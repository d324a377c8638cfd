import { keyedSpec } from '../gen/layouts.js';
import { put } from '../memory/layout.js';
import type { NodeInput, Operand, Program } from '../plan/ir.js';
import type { NodeKind } from './node.js';

declare module '../plan/ir.js' {
  interface NodePlans {
    /**
     * Keeps the newest row of a stream for each value of `key`, for lookups that name the node as their `table`.
     * Nothing stands below it. `row`: the row as an object; `kindName` and `keyName`, texts or null: where the object
     * `sent` has the kind of change (insert, update, upsert, delete; without it the row is set) and the key of what is
     * deleted. Equal ones of a stream are one node.
     */
    keyedTable: {
      input: NodeInput;
      program: Program | null;
      key: string;
      row: Operand;
      sent: Operand;
      kindName: Operand;
      keyName: Operand;
    };
  }
}

export const keyedTable: NodeKind<'keyedTable'> = {
  traits: { passesColumns: false, passesRows: false, keepsRows: true, worksOnMany: false },
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
