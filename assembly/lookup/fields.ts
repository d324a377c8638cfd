// Columns of a batch from rows of a table.
import * as ctx from '../batch/context';
import { Tag, setAt } from '../mem/layout';
import { plainError } from '../value/error';
import { placeIn } from './find';
import { Record, recordObject, recordTag, recordVal } from './record';
import { Look, LookupFieldKind, fieldAt, placeAt } from './spec';
import { LookupSpec } from '../gen/lookup-layouts';

/** Writes column `i` of the table at the rows `sel[0 … n)`; the record of row r is u32 `records[r]`, 0 none. */
export function fillField(
  spec: LookupSpec,
  state: Look,
  i: u32,
  block: usize,
  sel: usize,
  n: u32,
  records: usize,
): void {
  const field = fieldAt(spec, i);
  const kind = field.kind;
  if (kind == LookupFieldKind.FIELD) {
    const known = placeAt(state, i);
    const name = changetype<usize>(spec) + field.nameAt;
    const len = field.nameLen;
    for (let s: u32 = 0; s < n; s++) {
      const row = load<u32>(sel + ((<usize>s) << 2));
      const record = changetype<Record>(load<u32>(records + ((<usize>row) << 2)));
      const place = record ? placeIn(known, record, name, len) : -1;
      if (place < 0) setAt(block, row, Tag.MISSING, 0);
      else setAt(block, row, recordTag(record, place), recordVal(record, place));
    }
    return;
  }
  for (let s: u32 = 0; s < n; s++) {
    const row = load<u32>(sel + ((<usize>s) << 2));
    const record = changetype<Record>(load<u32>(records + ((<usize>row) << 2)));
    if (!record) setAt(block, row, Tag.MISSING, 0);
    else if (kind == LookupFieldKind.ARRIVAL) setAt(block, row, Tag.I64, <u64>(<i64>ctx.nowMs));
    else if (kind == LookupFieldKind.ROW) putObject(block, row, record);
    else setAt(block, row, Tag.NULL, 0);
  }
}

function putObject(block: usize, row: u32, record: Record): void {
  const object = recordObject(record, ctx.scratch);
  if (object) setAt(block, row, Tag.OBJECT, object);
  else setAt(block, row, Tag.ERROR, plainError('memory is exhausted'));
}
