/** Arguments of a call as fields of its message, and their values as the types of the fields want them. */
import { isObject } from '../../../base/structures/is-object.js';
import { refuse } from '../faults.js';
import type { Field, Message } from './types.js';

/** A field with its value, which is not null. */
export type Given = readonly (readonly [field: Field, value: unknown])[];

/** Deepest nesting of values that are sent. */
const maxDepth = 64;

/** Throws when a message within others is too deep to be sent. */
export function checkDepth(depth: number): void {
  if (depth > maxDepth) throw refuse('it is nested too deeply');
}

/** Reads the arguments: one object that has fields of the message, or a value for each field. */
export function givenFields(name: string, { fields }: Message, args: readonly unknown[]): Given {
  const [first] = args;
  if (args.length === 1 && isObject(first) && fields.some((field) => valueIn(first, field) != null)) {
    return membersOf(fields, first);
  }
  if (args.length !== fields.length) {
    const names = fields.map((field) => field.name).join(', ');
    throw refuse(`${name} takes ${fields.length} arguments (${names}), not ${args.length}`);
  }
  return fields.flatMap((field, i) => (args[i] == null ? [] : [[field, args[i]] as const]));
}

/** The fields of a message that an object has, by their names or those in JSON. */
export function membersOf(fields: readonly Field[], object: Readonly<Record<string, unknown>>): Given {
  return fields.flatMap((field) => {
    const value = valueIn(object, field);
    return value == null ? [] : [[field, value] as const];
  });
}

function valueIn(object: Readonly<Record<string, unknown>>, { name, json }: Field): unknown {
  if (Object.hasOwn(object, name)) return object[name];
  return Object.hasOwn(object, json) ? object[json] : undefined;
}

/** The object that stands for a message. */
export function objectIn(value: unknown, { name }: Field): Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw refuse(`${name} must be an object, not ${shown(value)}`);
  return value;
}

/** The values of a repeated field: a single one is a list of one. */
export function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function shown(value: unknown): string {
  return String(JSON.stringify(value, (_name, one) => (typeof one === 'bigint' ? String(one) : one))).slice(0, 60);
}

export function textIn(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

export function boolIn(value: unknown, { name }: Field): boolean {
  if (typeof value !== 'boolean') throw refuse(`${name} must be true or false, not ${shown(value)}`);
  return value;
}

export function numberIn(value: unknown, { name }: Field): number {
  if (typeof value === 'number') return value;
  const isText = typeof value === 'string' && value.trim() !== '';
  const number = isText || typeof value === 'bigint' ? Number(value) : Number.NaN;
  if (Number.isNaN(number)) throw refuse(`${name} must be a number, not ${shown(value)}`);
  return number;
}

const ranges: Readonly<Record<string, readonly [least: number | bigint, most: number | bigint]>> = {
  '32': [-0x80000000, 0x7fffffff],
  u32: [0, 0xffffffff],
  '64': [-(1n << 63n), (1n << 63n) - 1n],
  u64: [0n, (1n << 64n) - 1n],
};

function rangeOf(type: string): readonly [least: number | bigint, most: number | bigint] {
  const isUnsigned = type.startsWith('u') || type.startsWith('fixed');
  return ranges[`${isUnsigned ? 'u' : ''}${type.endsWith('64') ? '64' : '32'}`]!;
}

/** A whole number of the type; digits of a text count as well. */
export function wholeIn(value: unknown, { name, type }: Field): number | bigint {
  const number = typeof value === 'bigint' ? value : wholeOf(value);
  if (number === undefined) throw refuse(`${name} must be a number, not ${shown(value)}`);
  if (typeof number === 'number' && !Number.isInteger(number)) {
    throw refuse(`${name} must be a whole number, not ${shown(value)}`);
  }
  const [least, most] = rangeOf(type);
  if (number < least || number > most) throw refuse(`${name} is out of the range of ${type}: ${shown(value)}`);
  return number;
}

function wholeOf(value: unknown): number | bigint | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  if (/^-?\d{1,40}$/.test(value)) return BigInt(value);
  const number = Number(value);
  return Number.isNaN(number) ? undefined : number;
}

/** The number of an enum; names are taken as well. */
export function enumIn(value: unknown, { name, numbers }: Field): number {
  if (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= 0x7fffffff) return value;
  const number = typeof value === 'string' ? numbers?.get(value) : undefined;
  if (number !== undefined) return number;
  const names = [...(numbers?.keys() ?? [])].slice(0, 10).join(', ');
  throw refuse(`${name} must be one of ${names}, not ${shown(value)}`);
}

/** Bytes as base64 in JSON. */
export function base64In(value: unknown, { name }: Field): string {
  if (typeof value !== 'string' || !/^[A-Za-z0-9+/_-]*={0,2}$/.test(value)) {
    throw refuse(`${name} must be bytes, or a text in base64, not ${shown(value)}`);
  }
  return value;
}

/** The key of a map as a value of its type. */
export function keyIn(key: string, type: string): string | boolean {
  return type === 'bool' ? key === 'true' : key;
}
