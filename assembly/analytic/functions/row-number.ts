// row_number(): the number of the row in its message, or in its partition of the message, from 1. A row that does not
// belong to a message has the number 1.
import { Tag } from '../../mem/layout';
import { message, put, rowAt, selLen, stateOf } from '../run';

const ROWS: usize = 0;
const MESSAGE: usize = 4;

export function rowNumberRows(): void {
  for (let i: u32 = 0; i < selLen; i++) {
    const row = rowAt(i);
    const state = changetype<usize>(stateOf(row));
    const before: u32 = message != 0 && load<u32>(state, MESSAGE) == message ? load<u32>(state, ROWS) : 0;
    store<u32>(state, before + 1, ROWS);
    store<u32>(state, message, MESSAGE);
    put(row, Tag.I64, before + 1);
  }
}
