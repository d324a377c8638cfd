/** Makes HTTP requests of arguments, and values of answers. */

import type { Value } from '../../../kernels/values/value.js';
import { HaumeaError } from '../../base/errors.js';
import { isObject } from '../../base/structures/is-object.js';
import type { ServiceField, ServiceMethod } from '../define.js';

export interface ServiceRequest {
  readonly verb: string;
  /** Path behind the address, with a slash in front. */
  readonly path: string;
  readonly body: string | undefined;
}

type Json = Record<string, unknown>;

/** Throws a HaumeaError when the arguments are not those of the method. */
export function requestOf(method: ServiceMethod, args: readonly unknown[]): ServiceRequest {
  const { name, fields, http } = method;
  if (fields === null) return withoutSchema(args);
  if (fields === undefined) throw new Error(`method ${name} has no fields`);
  const message = messageOf(name, fields, args);
  if (http === undefined) return { verb: 'POST', path: `/${name}`, body: JSON.stringify(message) };
  const left = { ...message };
  const path = http.path.replace(/\{([^}=]+)(?:=([^}]*))?\}/g, (_all, field: string, pattern = '') => {
    const value = text(memberOf(message, field), field);
    const prefix = pattern.endsWith('*') ? pattern.slice(0, -1) : '';
    if (!value.startsWith(prefix)) throw refuse(`${field} must begin with ${prefix}, it is ${value.slice(0, 60)}`);
    delete left[field.split('.', 1)[0] as string];
    return value.split('/').map(encodeURIComponent).join('/');
  });
  if (http.body === '*') return { verb: http.verb, path, body: JSON.stringify(left) };
  const body = http.body === '' ? undefined : JSON.stringify(left[http.body] ?? {});
  delete left[http.body];
  const query = queryOf(left, '');
  const joined = query.length === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${query.join('&')}`;
  return { verb: http.verb, path: joined, body };
}

/** Reads verb and path from the first two arguments; others are sent, several as a list. */
function withoutSchema(args: readonly unknown[]): ServiceRequest {
  const [verb, path, ...rest] = args;
  if (typeof verb !== 'string' || !/^(get|head|post|put|patch|delete)$/i.test(verb)) {
    throw refuse('the first argument must be a method of HTTP, such as post');
  }
  if (typeof path !== 'string' || !path.startsWith('/')) {
    throw refuse('the second argument must be a path that begins with a slash');
  }
  const body = rest.length === 0 ? undefined : JSON.stringify(rest.length === 1 ? rest[0] : rest);
  return { verb: verb.toUpperCase(), path, body };
}

/** Makes the message: a single object, or arguments as fields. */
function messageOf(name: string, fields: readonly ServiceField[], args: readonly unknown[]): Json {
  const [first] = args;
  if (args.length === 1 && isObject(first) && fields.some((field) => Object.hasOwn(first, field.name))) {
    return Object.fromEntries(
      fields.flatMap((field) => (first[field.name] == null ? [] : [[field.name, coerced(first[field.name], field)]])),
    );
  }
  if (args.length !== fields.length) {
    throw refuse(
      `${name} takes ${fields.length} arguments (${fields.map((field) => field.name).join(', ')}), not ${args.length}`,
    );
  }
  return Object.fromEntries(
    fields.flatMap((field, i) => (args[i] == null ? [] : [[field.name, coerced(args[i], field)]])),
  );
}

const numbers = /^(double|float|u?int(32|64)|sint(32|64)|s?fixed(32|64))$/;

function coerced(value: unknown, { name, type }: ServiceField): unknown {
  if (type === 'string') return typeof value === 'object' ? JSON.stringify(value) : String(value);
  if (numbers.test(type) && typeof value !== 'number') {
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
    if (Number.isNaN(number)) throw refuse(`${name} must be a number, not ${JSON.stringify(value)?.slice(0, 60)}`);
    return number;
  }
  if (type === 'bool' && typeof value !== 'boolean') throw refuse(`${name} must be true or false`);
  return value;
}

function queryOf(message: Json, prefix: string): string[] {
  return Object.entries(message).flatMap(([name, value]) => {
    if (value === null || value === undefined) return [];
    if (isObject(value)) return queryOf(value, `${prefix}${name}.`);
    const values = Array.isArray(value) ? value : [value];
    return values.map((one) => `${encodeURIComponent(prefix + name)}=${encodeURIComponent(text(one, name))}`);
  });
}

function memberOf(message: Json, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), message);
}

function text(value: unknown, name: string): string {
  if (value === null || value === undefined) throw refuse(`${name} is missing`);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Value of an answer. */
export function resultOf({ name, fields, result }: ServiceMethod, contentType: string, body: string): Value {
  if (result === 'nothing') return null;
  const isJson = /^application\/(?:[\w.+-]+\+)?json\b/i.test(contentType);
  if (!isJson && !/^text\/plain\b/i.test(contentType)) {
    throw refuse(`the answer has the content type ${contentType || 'that is missing'}, which is neither JSON nor text`);
  }
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    if (isJson || (fields !== null && result !== 'value')) throw refuse(`the answer to ${name} is no JSON`);
    return body;
  }
  if (fields === null || result === 'value') return kernelValue(json);
  if (!isObject(json)) throw refuse(`the answer to ${name} is no object`);
  const answer = json;
  return Object.fromEntries(
    result.flatMap((field) =>
      Object.hasOwn(answer, field.name) ? [[field.name, typed(answer[field.name], field)]] : [],
    ),
  );
}

/** Reads 64-bit integers, which are texts in the JSON of protobuf. */
function typed(value: unknown, { type }: ServiceField): Value {
  if (/int|fixed/.test(type) && numbers.test(type) && typeof value === 'string' && /^-?\d{1,18}$/.test(value)) {
    return BigInt(value);
  }
  const plainValue = kernelValue(value);
  return (type === 'double' || type === 'float') && typeof plainValue === 'bigint' ? Number(plainValue) : plainValue;
}

/** Makes ints of whole numbers. */
function kernelValue(value: unknown): Value {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(kernelValue);
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, kernelValue(item)]));
  return value as Value;
}

function refuse(reason: string): HaumeaError {
  return new HaumeaError('general', reason);
}
