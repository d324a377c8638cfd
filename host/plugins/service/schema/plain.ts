/** Values of messages as MessagePack has them: bytes and numbers as such, messages as maps by the schema's names. */
import {
  base64In,
  boolIn,
  checkDepth,
  enumIn,
  keyIn,
  listIn,
  membersOf,
  numberIn,
  objectIn,
  textIn,
  wholeIn,
} from './arguments.js';
import type { Field } from './types.js';

export function fieldPlain(field: Field, value: unknown, depth = 0): unknown {
  checkDepth(depth);
  if (field.key !== undefined) {
    const entries = Object.entries(objectIn(value, field));
    return Object.fromEntries(
      entries.map(([key, one]) => [String(keyIn(key, field.key!)), singlePlain(field, one, depth)]),
    );
  }
  if (field.repeated === undefined) return singlePlain(field, value, depth);
  return listIn(value).map((one) => singlePlain(field, one, depth));
}

function singlePlain(field: Field, value: unknown, depth: number): unknown {
  if (value === null) return null;
  const { type, message } = field;
  if (message !== undefined) {
    if (message.stands === 'wrapper') return singlePlain(message.fields[0]!, value, depth);
    if (message.stands !== undefined && message.stands !== 'empty') return value;
    const members = membersOf(message.fields, objectIn(value, field));
    return Object.fromEntries(members.map(([own, one]) => [own.name, fieldPlain(own, one, depth + 1)]));
  }
  switch (type) {
    case 'string':
      return textIn(value);
    case 'bool':
      return boolIn(value, field);
    case 'bytes':
      return Buffer.from(base64In(value, field), 'base64');
    case 'double':
    case 'float':
      return numberIn(value, field);
    case 'enum':
      return enumIn(value, field);
    default: {
      const whole = wholeIn(value, field);
      return typeof whole === 'bigint' && Number.isSafeInteger(Number(whole)) ? Number(whole) : whole;
    }
  }
}
