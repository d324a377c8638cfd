/** Contracts of routes: JSON schemas of requests and answers for the OpenAPI document. */

/** A JSON schema (draft 2020-12). */
export type Schema = { readonly [name: string]: unknown } | true;

/** JSON that goes under another media type. */
export class Media {
  constructor(
    readonly type: string,
    readonly schema: Schema,
  ) {}
}

/** A body in one form: a schema is JSON; a text names its media type. */
export type OneShape = Schema | string | Media;

/** Form of a body; a list means one of several media types. */
export type Shape = OneShape | readonly OneShape[];

export interface Contract {
  /** Query parameters with their meaning. */
  readonly query?: Readonly<Record<string, string>>;
  readonly request?: Shape;
  /** The body of a request may be left out. */
  readonly requestIsOptional?: boolean;
  /** Bodies of answers by status, for success and for failures without an error envelope. */
  readonly answers?: Readonly<Record<number, Shape>>;
  /** Statuses of refusals with the error envelope; by default 400 where a request has anything that can be wrong. */
  readonly errors?: readonly number[];
  /** Whether a success is kept on disk; the answer is 500 when the disk does not take the change. */
  readonly isKept?: boolean;
}

export const text = 'text/plain';
export const bytes = 'application/octet-stream';
export const multipart = 'multipart/form-data';
export const none = '';

export const string: Schema = { type: 'string' };
export const integer: Schema = { type: 'integer' };
export const number: Schema = { type: 'number' };
export const boolean: Schema = { type: 'boolean' };
export const anything: Schema = true;
export const objectOfAnything: Schema = { type: 'object' };

/** An array of any length. */
export function list(items: Schema): Schema {
  return { type: 'array', items };
}

/** An object with members of any names. */
export function map(values: Schema): Schema {
  return { type: 'object', additionalProperties: values };
}

/** Schema of values that fit at least one of the schemas. */
export function either(...schemas: Schema[]): Schema {
  return { anyOf: schemas };
}

/** Schema of null and of values that fit the given schema. */
export function orNull(schema: Schema): Schema {
  return either(schema, { type: 'null' });
}

/** An object; names that end with a question mark may be missing. Other members are allowed only when `isOpen`. */
export function object(members: Readonly<Record<string, Schema>>, isOpen = false): Schema {
  const properties: Record<string, Schema> = {};
  const required: string[] = [];
  for (const [name, schema] of Object.entries(members)) {
    const plain = name.replace(/\?$/, '');
    properties[plain] = schema;
    if (plain === name) required.push(name);
  }
  return {
    type: 'object',
    properties,
    ...(required.length > 0 ? { required } : {}),
    ...(isOpen ? {} : { additionalProperties: false }),
  };
}

/** Refers to a named schema of the document. */
export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

export const names = list(string);

/** JSON as a file to keep. */
export const asFile = (shape: Schema) => new Media(bytes, shape);

/** Makes something that is kept. */
export function made(request: Contract['request']): Contract {
  return { request, answers: { 201: text }, isKept: true };
}

/** Replaces something that is kept. */
export function changed(request: Contract['request']): Contract {
  return { request, answers: { 200: text }, isKept: true };
}

/** Answers a question. */
export function gives(shape: Shape, query?: Contract['query']): Contract {
  return { query, answers: { 200: shape } };
}

/** A route that answers 404 when nothing has the id; the others call that a mistake in the request. */
export function orMissing(contract: Contract): Contract {
  return { ...contract, errors: [400, 404] };
}

export const done: Contract = { answers: { 200: text } };
export const keptDone: Contract = { ...done, isKept: true };
export const empty: Contract = { answers: { 200: none } };
export const keptEmpty: Contract = { ...empty, isKept: true };
