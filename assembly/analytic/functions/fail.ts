// Arguments that fail a row.
import { Tag } from '../../mem/layout';
import { kindName, putKind } from '../../value/error';
import { textBegin, textLiteral, textTakeError } from '../../value/text';
import { argTag, argVal, failRow } from '../run';

/** True when the argument is an error, which becomes the error of the row. */
// @ts-ignore: decorator
@inline export function argumentFails(i: u32, row: u32): bool {
  if (argTag(i, row) != Tag.ERROR) return false;
  failRow(row, argVal(i, row));
  return true;
}

/** True when the argument is not a boolean; the row then has an error. */
// @ts-ignore: decorator
@inline export function flagFails(name: string, i: u32, row: u32): bool {
  if (argTag(i, row) == Tag.BOOL) return false;
  failRow(row, kindFault(name, i, 'a boolean', row));
  return true;
}

/** Text of the error of an argument of the wrong kind. */
export function kindFault(name: string, i: u32, wanted: string, row: u32): u64 {
  const tag = argTag(i, row);
  if (tag == Tag.ERROR) return argVal(i, row);
  textBegin();
  textLiteral('call func ');
  textLiteral(name);
  textLiteral(' error: argument ');
  textLiteral(ordinal(i));
  textLiteral(' must be ');
  textLiteral(wanted);
  textLiteral(' but is ');
  if (tag <= Tag.NULL) textLiteral(kindName(Tag.NULL));
  else putKind(tag, argVal(i, row));
  return textTakeError();
}

function ordinal(i: u32): string {
  return i == 0 ? '1' : i == 1 ? '2' : i == 2 ? '3' : '4';
}
