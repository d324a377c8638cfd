/** Methods of services as a protobuf schema declares them, with what it says of HTTP (google.api.http). */
import protobuf from 'protobufjs';
import { reasonOf } from '../../base/errors.js';
import type { ServiceField, ServiceMethod } from '../../plugins/define.js';
import { moduleErrors } from '../errors/wasm.js';

const verbs = ['get', 'put', 'post', 'delete', 'patch'] as const;
const httpOption = '(google.api.http)';

/** Messages of protobuf that stand for a single value, and the one that stands for nothing. */
const wrapper = /^\.?google\.protobuf\.(Double|Float|Int64|UInt64|Int32|UInt32|Bool|String|Bytes)Value$/;
const empty = /^\.?google\.protobuf\.Empty$/;

/** Reads the text of a schema; throws what is wrong with it. */
export async function readMethods(text: string): Promise<ReadonlyMap<string, ServiceMethod>> {
  let root: protobuf.Root;
  try {
    ({ root } = protobuf.parse(text, { keepCase: true }));
  } catch (error) {
    throw moduleErrors.notProtobuf(reasonOf(error), { cause: error });
  }
  const methods = new Map<string, ServiceMethod>();
  const collect = (item: protobuf.ReflectionObject): void => {
    if (item instanceof protobuf.Service) {
      for (const method of Object.values(item.methods)) methods.set(method.name, methodOf(method, item));
    } else if (item instanceof protobuf.Namespace) item.nestedArray.forEach(collect);
  };
  collect(root);
  return methods;
}

function methodOf(method: protobuf.Method, service: protobuf.Service): ServiceMethod {
  const { name, requestType, responseType } = method;
  const fields = fieldsOf(requestType, service) ?? [];
  const result = wrapper.test(responseType)
    ? 'value'
    : empty.test(responseType)
      ? 'nothing'
      : (fieldsOf(responseType, service) ?? 'value');
  const http = httpOf(method, fields);
  return { name, fields, result, ...(http === undefined ? {} : { http }) };
}

/** Fields of a message in the order of their numbers; undefined when the schema does not have it. */
function fieldsOf(type: string, service: protobuf.Service): ServiceField[] | undefined {
  if (empty.test(type)) return [];
  const single = wrapper.exec(type)?.[1];
  if (single !== undefined) return [{ name: 'value', type: single.toLowerCase() }];
  try {
    const { fieldsArray } = service.lookupType(type);
    return [...fieldsArray]
      .sort((a, b) => a.id - b.id)
      .map((field) => ({
        name: field.name,
        type: field.repeated || field.map ? 'list' : field.type,
      }));
  } catch {
    return undefined;
  }
}

function httpOf({ name, options = {} }: protobuf.Method, fields: readonly ServiceField[]): ServiceMethod['http'] {
  const found = options as Readonly<Record<string, unknown>>;
  for (const verb of verbs) {
    const path = found[`${httpOption}.${verb}`];
    if (path === undefined) continue;
    const refuse = (reason: string) => moduleErrors.method(name, reason);
    if (typeof path !== 'string' || !path.startsWith('/')) throw refuse(`its path must begin with a slash`);
    for (const [, field = ''] of path.matchAll(/\{([^}=]+)/g)) {
      if (!fields.some((one) => one.name === field.split('.', 1)[0])) throw refuse(`its path names no field ${field}`);
    }
    const body = String(found[`${httpOption}.body`] ?? '');
    if (body !== '' && body !== '*' && !fields.some((one) => one.name === body))
      throw refuse(`there is no field ${body} for its body`);
    return { verb: verb.toUpperCase(), path, body };
  }
  return undefined;
}
