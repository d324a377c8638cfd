/** The columns of bytes in messages of rows. */
import { Tag } from '../../../kernels/gen/layouts.js';
import { eachRow, RowCursor, textAt } from '../../../kernels/values/rows.js';

export interface Column {
  readonly name: string;
  readonly bytes: Buffer;
}

/** The columns of all rows, views of the message; or the name of one that has something else. Nulls are left out. */
export function imagesIn(message: Buffer): Column[] | string {
  const found: Column[] = [];
  const members = new RowCursor();
  let wrong: string | undefined;
  eachRow(message, (at) => {
    members.open(message, at);
    while (members.next()) {
      if (members.tag <= Tag.null) continue;
      const name = message.toString('utf8', members.keyFrom, members.keyTo);
      if (members.tag === Tag.bytes) found.push({ name, bytes: textAt(message, members.at) });
      else wrong ??= `column ${name} has no bytes`;
    }
  });
  if (wrong !== undefined) return wrong;
  return found.length === 0 ? 'the message has no image' : found;
}
