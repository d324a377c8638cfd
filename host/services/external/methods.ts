/** Methods of services as a protobuf schema declares them, with what it says of HTTP (google.api.http). */
import type { Method, Root, Service } from 'protobufjs';
import { HaumeaError, reasonOf } from '../../base/errors.js';
import { isObject } from '../../base/structures/is-object.js';
import type { HttpRule, ServiceField, ServiceMethod, ServiceTypes } from '../../plugins/service-code.js';
import { moduleErrors } from '../errors/wasm.js';
import { readSchema, servicesIn } from '../schemas/proto-files.js';
import { TypeCollector } from './types.js';

/** A file of the archive with what it may import. */
export interface ProtoText {
  readonly content: string;
  readonly imported: (path: string) => string | undefined;
}

export interface ReadMethods {
  readonly methods: ReadonlyMap<string, ServiceMethod>;
  readonly types: ServiceTypes;
}

/** Most stars of the pattern of a path: matching takes longer with each. */
const mostStars = 6;
const verbs = ['get', 'put', 'post', 'delete', 'patch'] as const;
/** Files that every schema may import: nothing of them but the names of options is needed. */
const api = /^google\/api\/(annotations|http|client|field_behavior|resource)\.proto$/;
/** Types that schemas may use without their import. */
const commonTypes: readonly (readonly [file: string, type: RegExp])[] = [
  ['wrappers', /\bgoogle\.protobuf\.(Double|Float|U?Int(64|32)|Bool|String|Bytes)Value\b/],
  ['empty', /\bgoogle\.protobuf\.Empty\b/],
];

/** Reads the text of a schema; throws what is wrong with it. */
export function readMethods({ content, imported }: ProtoText): ReadMethods {
  let root: Root;
  try {
    // On the line of the text, so that lines keep their numbers.
    const more = commonTypes.filter(([, type]) => type.test(content)).map(([file]) => commonImport(file));
    root = readSchema({
      content: more.join('') + content,
      imported: (path) => imported(path) ?? (api.test(path) ? '' : undefined),
    });
  } catch (error) {
    throw moduleErrors.notProtobuf(reasonOf(error), { cause: error });
  }
  const collector = new TypeCollector();
  const methods = new Map<string, ServiceMethod>();
  for (const service of servicesIn(root)) {
    for (const method of service.methodsArray) {
      const { name } = method;
      const other = methods.get(name);
      if (other !== undefined) {
        throw moduleErrors.method(name, `the services ${other.service} and ${nameOf(service)} both have it`);
      }
      methods.set(name, methodOf(method, service, collector));
    }
  }
  return { methods, types: collector.types };
}

function commonImport(file: string): string {
  return `import "google/protobuf/${file}.proto";`;
}

function nameOf({ fullName }: Service): string {
  return fullName.replace(/^\./, '');
}

function methodOf(method: Method, service: Service, collector: TypeCollector): ServiceMethod {
  method.resolve();
  const { name, resolvedRequestType, resolvedResponseType } = method;
  if (resolvedRequestType === null || resolvedResponseType === null) {
    throw moduleErrors.method(name, 'its messages are not there');
  }
  try {
    const input = collector.add(resolvedRequestType);
    const output = collector.add(resolvedResponseType);
    const { messages } = collector.types;
    const http = httpOf(method, messages[input] ?? [], messages[output] ?? []);
    const streams = method.requestStream || method.responseStream ? true : undefined;
    return { name, service: nameOf(service), input, output, http, streams };
  } catch (error) {
    if (error instanceof HaumeaError) throw error;
    throw moduleErrors.method(name, reasonOf(error), { cause: error });
  }
}

/** What the schema says of HTTP; undefined when it says nothing. */
function httpOf(
  { name, parsedOptions }: Method,
  input: readonly ServiceField[],
  output: readonly ServiceField[],
): HttpRule | undefined {
  const options = (parsedOptions as unknown as Record<string, unknown>[] | null) ?? [];
  const rules = options.map((option) => option['(google.api.http)']).filter(isObject);
  if (rules.length === 0) return undefined;
  const rule: Record<string, unknown> = Object.assign({}, ...rules);
  const refuse = (reason: string) => moduleErrors.method(name, reason);
  const custom = isObject(rule.custom) ? rule.custom : undefined;
  const verb = verbs.find((one) => rule[one] !== undefined);
  if (verb === undefined && custom === undefined) throw refuse('google.api.http names no verb');
  const path = verb === undefined ? custom?.path : rule[verb];
  const kind = verb === undefined ? String(custom?.kind ?? '') : verb;
  if (!/^[A-Za-z]+$/.test(kind)) throw refuse('the kind of its custom rule must be a verb of HTTP');
  if (typeof path !== 'string' || !path.startsWith('/')) throw refuse('its path must begin with a slash');
  const names = new Set(input.map((field) => field.name));
  for (const [, inside = ''] of path.matchAll(/\{([^}]*)\}?/g)) {
    const field = inside.split('=', 1)[0] as string;
    if (!names.has(field.split('.', 1)[0] as string)) throw refuse(`its path names no field ${field}`);
    if ((inside.match(/\*/g)?.length ?? 0) > mostStars)
      throw refuse(`${field} has more than ${mostStars} * in its path`);
  }
  if (/\{[^}]*$/.test(path)) throw refuse('a brace of its path is not closed');
  const body = String(rule.body ?? '');
  if (body !== '' && body !== '*' && !names.has(body)) throw refuse(`there is no field ${body} for its body`);
  const answer = String(rule.response_body ?? '');
  if (answer !== '' && !output.some((field) => field.name === answer)) {
    throw refuse(`there is no field ${answer} for the body of its answer`);
  }
  return { verb: kind.toUpperCase(), path, body, answer };
}
