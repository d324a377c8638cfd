/** The definition of an external service as its archive holds it: interfaces, schemas, the functions they make. */

import { type HaumeaError, reasonOf } from '../../base/errors.js';
import type { Archive } from '../../base/files/archive.js';
import type { ServiceMethod, ServiceRequests } from '../../plugins/define.js';
import { objectOf, textOf } from '../body/fields.js';
import { installErrors } from '../errors/installed.js';
import { restOptionsOf } from './options.js';

export interface ServiceFunction {
  readonly FuncName: string;
  readonly ServiceName: string;
  readonly InterfaceName: string;
  readonly Addr: string;
  readonly MethodName: string;
}

export interface ServiceInterface {
  readonly Desc: string;
  readonly Addr: string;
  readonly Protocol: string;
  readonly Schema: { readonly SchemaType: string; readonly SchemaFile: string; readonly Schemaless: boolean };
  /** Names of the functions of the interface. */
  readonly Functions: readonly string[];
  readonly Options: Readonly<Record<string, unknown>>;
}

export interface ServiceDefinition {
  readonly About: Readonly<Record<string, unknown>>;
  readonly Interfaces: Readonly<Record<string, ServiceInterface>>;
}

type Json = Record<string, unknown>;

const protocols = ['rest', 'grpc', 'msgpack-rpc'];
const schemaFolders = ['schemas', 'schema'];

export interface ReadService {
  readonly definition: ServiceDefinition;
  readonly functions: ServiceFunction[];
  /** HTTP methods by function; empty for other protocols. */
  readonly methods: Record<string, ServiceMethod>;
  /** Request options by interface. */
  readonly requests: Record<string, ServiceRequests>;
}

/** Reads and checks `<name>.json` of an archive with the schemas it names. */
export async function readService(name: string, archive: Archive): Promise<ReadService> {
  const main = `${name}.json`;
  if (!hasFile(archive, main)) throw installErrors.noFile(main);
  const json = objectOf((await archive.read(main)).toString(), main);
  const declared = memberObject(json, 'interfaces', main);
  if (Object.keys(declared).length === 0) throw refusal(main, 'it declares no interfaces');
  const interfaces: Record<string, ServiceInterface> = {};
  const functions: ServiceFunction[] = [];
  const callable: Record<string, ServiceMethod> = {};
  const requests: Record<string, ServiceRequests> = {};
  for (const id of Object.keys(declared)) {
    const where = `${main}: interface ${id}`;
    const read = await readInterface(memberObject(declared, id, where), where, archive);
    interfaces[id] = read.described;
    if (read.requests !== undefined) requests[id] = read.requests;
    for (const [method, func] of read.methods) {
      const own = read.described.Protocol === 'rest' ? read.known.get(method) : undefined;
      if (own !== undefined) callable[func] = own;
      const Addr = read.described.Addr;
      functions.push({ FuncName: func, ServiceName: name, InterfaceName: id, Addr, MethodName: method });
    }
  }
  return {
    definition: { About: memberObject(json, 'about', main), Interfaces: interfaces },
    functions,
    methods: callable,
    requests,
  };
}

interface ReadInterface {
  readonly described: ServiceInterface;
  /** Methods with the names of their functions. */
  readonly methods: Map<string, string>;
  readonly known: ReadonlyMap<string, ServiceMethod>;
  readonly requests: ServiceRequests | undefined;
}

async function readInterface(json: Json, where: string, archive: Archive): Promise<ReadInterface> {
  const address = textOf(json, 'address');
  if (!URL.canParse(address)) throw refusal(where, `address must be a URL, not ${JSON.stringify(address)}`);
  const protocol = textOf(json, 'protocol');
  if (!protocols.includes(protocol)) throw refusal(where, `protocol must be one of ${protocols.join(', ')}`);
  if (protocol === 'rest' && !/^https?:/i.test(address)) {
    throw refusal(where, `address must begin with http:// or https://, not ${JSON.stringify(address)}`);
  }
  const options = memberObject(json, 'options', where);
  const requests = protocol === 'rest' ? restOptionsOf(options, `${where}: options`) : undefined;
  const isSchemaless = json.schemaless === true;
  const schemaType = textOf(json, 'schemaType');
  const schemaFile = textOf(json, 'schemaFile');
  const mapped = mappingOf(json, where);
  let methods: Map<string, string>;
  let known: ReadonlyMap<string, ServiceMethod>;
  if (isSchemaless) {
    if (protocol !== 'rest') throw refusal(where, 'schemaless is only possible with the protocol rest');
    methods = mapped;
    known = new Map([...mapped.keys()].map((method) => [method, { name: method, fields: null, result: 'value' }]));
  } else {
    if (schemaType !== 'protobuf')
      throw refusal(where, `schemaType must be protobuf, not ${JSON.stringify(schemaType)}`);
    known = await methodsOf(schemaFile, where, archive);
    methods = named([...known.keys()], mapped, where);
  }
  if (methods.size === 0) throw refusal(where, 'it has no functions');
  return {
    described: {
      Desc: textOf(json, 'description'),
      Addr: address,
      Protocol: protocol,
      Schema: { SchemaType: schemaType, SchemaFile: schemaFile, Schemaless: isSchemaless },
      Functions: [...methods.values()],
      Options: options,
    },
    methods,
    known,
    requests,
  };
}

/** Methods with the names under which SQL calls them. */
function mappingOf(json: Json, where: string): Map<string, string> {
  const given = json.functions ?? [];
  if (!Array.isArray(given)) throw refusal(where, 'functions must be a list');
  const mapped = new Map<string, string>();
  for (const item of given) {
    const entry = typeof item === 'object' && item !== null ? (item as Json) : {};
    const name = textOf(entry, 'name');
    const method = textOf(entry, 'serviceName') || name;
    if (!/^[A-Za-z_]\w*$/.test(name)) throw refusal(where, `${JSON.stringify(name)} can't be the name of a function`);
    if (mapped.has(method)) throw refusal(where, `the method ${method} has two names`);
    mapped.set(method, name);
  }
  return mapped;
}

function named(methods: readonly string[], mapped: Map<string, string>, where: string): Map<string, string> {
  for (const method of mapped.keys()) {
    if (!methods.includes(method)) throw refusal(where, `the schema has no method ${method}`);
  }
  return new Map(methods.map((method) => [method, mapped.get(method) ?? method]));
}

/** The methods of all services in a `.proto` file of the archive. */
async function methodsOf(file: string, where: string, archive: Archive): Promise<ReadonlyMap<string, ServiceMethod>> {
  if (file === '') throw refusal(where, 'schemaFile is required');
  const path = schemaFolders.map((folder) => `${folder}/${file}`).find((candidate) => hasFile(archive, candidate));
  if (path === undefined) throw refusal(where, `the archive has no file ${file} in ${schemaFolders.join(' or ')}`);
  try {
    const { readMethods } = await import('./methods.js');
    return await readMethods((await archive.read(path)).toString());
  } catch (error) {
    throw refusal(where, `${path}: ${reasonOf(error)}`, error);
  }
}

function hasFile(archive: Archive, name: string): boolean {
  return archive.entries.some((entry) => entry.name === name && !entry.isFolder);
}

function memberObject(json: Json, name: string, where: string): Json {
  const value = json[name] ?? {};
  if (typeof value !== 'object' || Array.isArray(value)) throw refusal(where, `${name} must be an object`);
  return value as Json;
}

function refusal(where: string, reason: string, cause?: unknown): HaumeaError {
  return installErrors.description(where, reason, { cause });
}
