// What is said of rows that do not fit the message, in the words of the recorded engine.
import { fail } from '../batch/failure';
import { lenOf, offOf, Tag } from '../mem/layout';
import { putKind } from '../value/error';
import { textBegin, textBytes, textLiteral, textTakeError } from '../value/text';
import { FieldFlag, FieldKind, MessageField } from '../gen/protobuf-layouts';

/** Fails for a value that can't be that of the field; returns false. */
export function failValue(types: usize, field: MessageField, tag: u8, val: u64): bool {
  if (tag == Tag.ERROR) {
    fail(offOf(val), lenOf(val));
    return false;
  }
  const isList = (field.flags & FieldFlag.REPEATED) != 0 && !(field.flags & FieldFlag.MAP);
  textBegin();
  if (isList) textLiteral("failed to encode field '");
  else {
    textLiteral('invalid type for ');
    textLiteral(nameOf(field.kind));
    textLiteral(" type field '");
  }
  textBytes(types + field.nameOff, field.nameLen);
  textLiteral(isList ? "':cannot convert " : "': cannot convert ");
  putKind(tag, val);
  textLiteral(' to ');
  textLiteral(goalOf(field.kind));
  if (isList) textLiteral(' slice');
  failText();
  return false;
}

/** Fails for a row without a field that a message must have; returns false. */
export function failRequired(types: usize, field: MessageField): bool {
  textBegin();
  textLiteral('field ');
  textBytes(types + field.nameOff, field.nameLen);
  textLiteral(' not found');
  failText();
  return false;
}

function failText(): void {
  const error = textTakeError();
  fail(offOf(error), lenOf(error));
}

function nameOf(kind: u8): string {
  switch (<i32>kind) {
    case FieldKind.DOUBLE:
    case FieldKind.FLOAT:
      return 'float';
    case FieldKind.BOOL:
      return 'bool';
    case FieldKind.STRING:
      return 'string';
    case FieldKind.BYTES:
      return 'bytes';
    case FieldKind.MESSAGE:
      return 'map';
    case FieldKind.UINT32:
    case FieldKind.FIXED32:
    case FieldKind.UINT64:
    case FieldKind.FIXED64:
      return 'uint';
    default:
      return 'int';
  }
}

function goalOf(kind: u8): string {
  switch (<i32>kind) {
    case FieldKind.DOUBLE:
    case FieldKind.FLOAT:
      return 'float64';
    case FieldKind.INT64:
    case FieldKind.SINT64:
    case FieldKind.SFIXED64:
      return 'int64';
    default:
      return nameOf(kind);
  }
}
