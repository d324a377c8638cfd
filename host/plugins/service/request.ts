/** Makes HTTP requests of arguments, and values of answers. */

import type { Value } from '../../../kernels/values/value.js';
import { isObject } from '../../base/structures/is-object.js';
import { readExactJson, writeExactJson } from '../../base/text/exact-json.js';
import type { HttpRule, ServiceMethod } from '../service-code.js';
import { refuse } from './faults.js';
import { type Given, givenFields } from './schema/arguments.js';
import { fieldJson, jsonOf, plainValue, valueOfJson } from './schema/json.js';
import type { Field, Message, Types } from './schema/types.js';

export interface ServiceRequest {
  readonly verb: string;
  /** Path behind the address, with a slash in front. */
  readonly path: string;
  readonly body: string | undefined;
}

/** A part of a path: a text, or a field that stands in it. */
type Piece = string | { readonly field: string; readonly pattern: string };

type Json = Record<string, unknown>;

/** A method whose schema is linked. */
export class RestMethod {
  readonly name: string;
  readonly #input: Message | null;
  readonly #output: Message | null;
  readonly #http: HttpRule | undefined;
  readonly #pieces: readonly Piece[];

  constructor({ name, input, output, http }: ServiceMethod, types: Types) {
    this.name = name;
    this.#input = input === null ? null : types.message(input);
    this.#output = output === null ? null : types.message(output);
    this.#http = http;
    this.#pieces = http === undefined ? [] : piecesOf(http.path);
  }

  /** Throws a HaumeaError when the arguments are not those of the method. */
  requestOf(args: readonly unknown[]): ServiceRequest {
    const input = this.#input;
    if (input === null) return withoutSchema(args);
    const given = givenFields(this.name, input, args);
    if (this.#http !== undefined) return this.#byRule(this.#http, given);
    return { verb: 'POST', path: `/${this.name}`, body: bodyOf(input, given) };
  }

  #byRule(http: HttpRule, given: Given): ServiceRequest {
    const used = new Set<string>();
    const path = this.#pieces
      .map((piece) => {
        if (typeof piece === 'string') return piece;
        used.add(piece.field.split('.', 1)[0] as string);
        return segments(text(memberOf(given, piece.field), piece.field), piece.field, piece.pattern);
      })
      .join('');
    const left = given.filter(([field]) => !used.has(field.name));
    if (http.body === '*') return { verb: http.verb, path, body: writeExactJson(jsonOf(left)) };
    const ofBody = left.find(([field]) => field.name === http.body);
    const content = ofBody === undefined ? {} : fieldJson(...ofBody);
    const body = http.body === '' ? undefined : writeExactJson(content);
    const query = queryOf(left.filter(([field]) => field.name !== http.body));
    const joined = query.length === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${query.join('&')}`;
    return { verb: http.verb, path: joined, body };
  }

  /** Value of an answer. */
  resultOf(contentType: string, body: string): Value {
    const output = this.#output;
    if (output?.stands === 'empty') return null;
    const isJson = /^application\/(?:[\w.+-]+\+)?json\b/i.test(contentType);
    if (!isJson && !/^text\/plain\b/i.test(contentType)) {
      throw refuse(
        `the answer has the content type ${contentType || 'that is missing'}, which is neither JSON nor text`,
      );
    }
    let json: unknown;
    try {
      json = readExactJson(body);
    } catch {
      if (isJson || (output !== null && output.stands === undefined)) {
        throw refuse(`the answer to ${this.name} is no JSON`);
      }
      json = body;
    }
    if (output === null) return plainValue(json);
    const answer = this.#http?.answer ?? '';
    if (answer !== '') json = { [answer]: json };
    if (output.stands === undefined && !isObject(json)) throw refuse(`the answer to ${this.name} is no object`);
    try {
      return valueOfJson(output, json);
    } catch (error) {
      throw refuse(`the answer to ${this.name} does not fit: ${(error as Error).message}`);
    }
  }
}

/** The message as JSON; a text in the place of a message is JSON already. */
function bodyOf(input: Message, given: Given): string {
  switch (input.stands) {
    case 'wrapper': {
      const [first] = given;
      if (first === undefined) return 'null';
      return first[0].type === 'string' ? String(first[1]) : writeExactJson(fieldJson(...first));
    }
    default:
      return writeExactJson(jsonOf(given));
  }
}

function piecesOf(path: string): Piece[] {
  return path.split(/(\{[^}]*\})/).map((part) => {
    if (!part.startsWith('{')) return part;
    const [field = '', pattern = '*'] = part.slice(1, -1).split('=', 2);
    return { field, pattern };
  });
}

/** A value as segments of a path, if the pattern allows it. */
function segments(value: string, field: string, pattern: string): string {
  if (value === '') throw refuse(`${field} is empty, it stands in the path`);
  const prefix = pattern.replace(/\*\*?$/, '');
  if (prefix.includes('*')) {
    const parts = pattern
      .split(/(\*\*?)/)
      .map((part) => (part === '*' ? '[^/]+' : part === '**' ? '.*' : quoted(part)));
    if (!new RegExp(`^${parts.join('')}$`).test(value))
      throw refuse(`${field} must be like ${pattern}, it is ${value.slice(0, 60)}`);
  } else if (!value.startsWith(prefix)) {
    throw refuse(`${field} must begin with ${prefix}, it is ${value.slice(0, 60)}`);
  }
  const parts = value.split('/');
  if (parts.some((part) => part === '.' || part === '..')) {
    throw refuse(`${field} must not lead to another path, it is ${value.slice(0, 60)}`);
  }
  return parts.map(encodeURIComponent).join('/');
}

function quoted(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
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
  const body = rest.length === 0 ? undefined : writeExactJson(rest.length === 1 ? rest[0] : rest);
  return { verb: verb.toUpperCase(), path, body };
}

function queryOf(given: Given): string[] {
  return given.flatMap(([field, value]) => pairs(field.name, fieldJson(queried(field), value), field));
}

/** Fields of a query have the names of the schema, also those of messages in it. */
function queried(field: Field): Field {
  return { ...field, json: field.name, message: field.message && byOwnNames(field.message) };
}

const ownNames = new WeakMap<Message, Message>();

function byOwnNames(message: Message): Message {
  const known = ownNames.get(message);
  if (known !== undefined) return known;
  const fields: Field[] = [];
  const own: Message = { ...message, fields };
  ownNames.set(message, own);
  fields.push(...message.fields.map(queried));
  return own;
}

function pairs(name: string, value: unknown, field: Field): string[] {
  if (value === null || value === undefined) return [];
  if (isObject(value)) {
    return Object.entries(value).flatMap(([member, one]) => pairs(`${name}.${member}`, one, field));
  }
  const values = Array.isArray(value) ? value : [value];
  return values.map((one) => `${encodeURIComponent(name)}=${encodeURIComponent(text(one, name))}`);
}

/** Value of the field of a path, that may lie in messages. */
function memberOf(given: Given, path: string): unknown {
  const [first, ...names] = path.split('.');
  const found = given.find(([field]) => field.name === first);
  if (found === undefined) return undefined;
  const value = fieldJson(queried(found[0]), found[1]);
  return names.reduce<unknown>((one, name) => (isObject(one) ? (one as Json)[name] : undefined), value);
}

function text(value: unknown, name: string): string {
  if (value === null || value === undefined) throw refuse(`${name} is missing`);
  return typeof value === 'object' ? writeExactJson(value) : String(value);
}
