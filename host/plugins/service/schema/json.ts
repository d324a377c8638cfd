/** Messages as JSON (the JSON of protobuf), and values of answers. */
import type { Value } from '../../../../kernels/values/value.js';
import { isObject } from '../../../base/structures/is-object.js';
import { refuse } from '../faults.js';
import {
  base64In,
  boolIn,
  checkDepth,
  enumIn,
  type Given,
  listIn,
  membersOf,
  numberIn,
  objectIn,
  textIn,
  wholeIn,
} from './arguments.js';
import type { Field, Message } from './types.js';

/** JSON of a message with these fields. */
export function jsonOf(given: Given, depth = 0): Record<string, unknown> {
  checkDepth(depth);
  const json: Record<string, unknown> = {};
  for (const [field, value] of given) setMember(json, field.json, fieldJson(field, value, depth));
  return json;
}

/** A name like __proto__ is a member as others are. */
function setMember<T>(object: Record<string, T>, name: string, value: T): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
}

/** JSON of the value of a field. */
export function fieldJson(field: Field, value: unknown, depth = 0): unknown {
  if (field.key !== undefined) {
    const entries = Object.entries(objectIn(value, field));
    return Object.fromEntries(entries.map(([key, one]) => [key, singleJson(field, one, depth)]));
  }
  if (field.repeated === undefined) return singleJson(field, value, depth);
  return listIn(value).map((one) => singleJson(field, one, depth));
}

function singleJson(field: Field, value: unknown, depth: number): unknown {
  if (value === null) return null;
  const { type, message, names } = field;
  if (message !== undefined) {
    switch (message.stands) {
      case 'wrapper':
        return singleJson(message.fields[0]!, value, depth);
      case 'struct':
      case 'value':
      case 'list':
        return value;
      default:
        // A time or a duration is a text.
        if (typeof value === 'string' && message.name.startsWith('google.protobuf.')) return value;
        return jsonOf(membersOf(message.fields, objectIn(value, field)), depth + 1);
    }
  }
  switch (type) {
    case 'string':
      return textIn(value);
    case 'bool':
      return boolIn(value, field);
    case 'bytes':
      return base64In(value, field);
    case 'double':
    case 'float':
      return numberIn(value, field);
    case 'enum': {
      const number = enumIn(value, field);
      return names?.get(number) ?? number;
    }
    default: {
      const whole = wholeIn(value, field);
      return type.endsWith('64') ? String(whole) : Number(whole);
    }
  }
}

/** The value that a message is, from its JSON: with the fields that are declared. */
export function valueOfJson(message: Message, json: unknown): Value {
  switch (message.stands) {
    case 'empty':
      return null;
    case 'wrapper':
      return singleValue(message.fields[0]!, isObject(json) && !(json instanceof Uint8Array) ? json.value : json);
    case 'struct':
    case 'value':
    case 'list':
      return plainValue(json);
    default:
      return membersValue(message, json, 0);
  }
}

function membersValue(message: Message, json: unknown, depth: number): Value {
  if (!isObject(json)) {
    if (typeof json === 'string' && message.name.startsWith('google.protobuf.')) return json;
    throw refuse('it is no object');
  }
  checkDepth(depth);
  const members: Record<string, Value> = {};
  for (const field of message.fields) {
    const name = Object.hasOwn(json, field.name) ? field.name : field.json;
    if (Object.hasOwn(json, name)) setMember(members, field.name, fieldValue(field, json[name], depth));
  }
  return members;
}

function fieldValue(field: Field, json: unknown, depth: number): Value {
  if (json === null) return null;
  if (field.key !== undefined) {
    if (!isObject(json)) throw refuse(`${field.name} is no object`);
    return Object.fromEntries(Object.entries(json).map(([key, one]) => [key, singleValue(field, one, depth)]));
  }
  if (field.repeated === undefined) return singleValue(field, json, depth);
  if (!Array.isArray(json)) throw refuse(`${field.name} is no list`);
  return json.map((one) => singleValue(field, one, depth));
}

function singleValue(field: Field, json: unknown, depth = 0): Value {
  if (json === null || json === undefined) return null;
  const { message, type, name } = field;
  if (message !== undefined) {
    return message.stands === undefined ? membersValue(message, json, depth + 1) : valueOfJson(message, json);
  }
  switch (type) {
    case 'string':
      return textIn(json);
    case 'bool':
      if (typeof json === 'string' && /^(true|false)$/.test(json)) return json === 'true';
      return boolIn(json, field);
    case 'bytes':
      return json instanceof Uint8Array ? json : Buffer.from(base64In(json, field), 'base64');
    case 'double':
    case 'float':
      if (json === 'Infinity' || json === '-Infinity') return Number(json);
      if (json === 'NaN') return Number.NaN;
      return numberIn(json, field);
    case 'enum':
      return BigInt(enumIn(json, field));
    default: {
      const whole = wholeIn(json, field);
      if (typeof whole === 'bigint' || Number.isSafeInteger(whole)) return wholeValue(BigInt(whole));
      throw refuse(`${name} is a number that is not exact`);
    }
  }
}

/** A whole number as the kernel has it: beyond its integers as a double. */
export function wholeValue(number: bigint): Value {
  return BigInt.asIntN(64, number) === number ? number : Number(number);
}

/** Makes ints of whole numbers. */
export function plainValue(value: unknown): Value {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value === 'bigint') return wholeValue(value);
  if (Array.isArray(value)) return value.map(plainValue);
  if (isObject(value) && !(value instanceof Uint8Array)) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, plainValue(item)]));
  }
  return value as Value;
}
