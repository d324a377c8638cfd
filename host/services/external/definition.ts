/** The definition of an external service as its archive holds it: interfaces, schemas, the functions they make. */

import { type HaumeaError, reasonOf } from '../../base/errors.js';
import type { AllowedPaths } from '../../base/files/allowed-paths.js';
import type { Archive } from '../../base/files/archive.js';
import type { ServiceMethod, ServiceOptions, ServiceProtocol, ServiceTypes } from '../../plugins/service-code.js';
import { objectOf, textOf } from '../body/fields.js';
import { installErrors } from '../errors/installed.js';
import type { ReadMethods } from './methods.js';
import { serviceOptions } from './options.js';

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

/** Schemes of addresses by protocol. */
const schemes: Readonly<Record<ServiceProtocol, readonly string[]>> = {
  rest: ['http', 'https'],
  grpc: ['tcp', 'http', 'grpc', 'https', 'grpcs', 'tls'],
  'msgpack-rpc': ['tcp', 'tls'],
};
const schemaFolders = ['schemas', 'schema'];
/** Most bytes of a file of a schema, and of all of an archive. */
const maxProtoBytes = 1 << 20;
const maxProtosBytes = 8 << 20;
/** Most functions of an interface. */
const maxFunctions = 1000;

/** What calls of an interface need to know of it. */
export interface CalledInterface {
  readonly protocol: ServiceProtocol;
  readonly options: ServiceOptions;
  /** Methods by function; without those that can't be called. */
  readonly methods: Readonly<Record<string, ServiceMethod>>;
  readonly types: ServiceTypes;
}

export interface ReadService {
  readonly definition: ServiceDefinition;
  readonly functions: ServiceFunction[];
  readonly called: Record<string, CalledInterface>;
}

/** Reads and checks `<name>.json` of an archive with the schemas it names. */
export async function readService(name: string, archive: Archive, paths: AllowedPaths): Promise<ReadService> {
  const main = `${name}.json`;
  if (!hasFile(archive, main)) throw installErrors.noFile(main);
  const json = objectOf((await archive.read(main)).toString(), main);
  const declared = memberObject(json, 'interfaces', main);
  if (Object.keys(declared).length === 0) throw refusal(main, 'it declares no interfaces');
  const interfaces: Record<string, ServiceInterface> = {};
  const functions: ServiceFunction[] = [];
  const called: Record<string, CalledInterface> = {};
  for (const id of Object.keys(declared)) {
    const where = `${main}: interface ${id}`;
    const read = await readInterface(id, memberObject(declared, id, where), where, { archive, paths });
    interfaces[id] = read.described;
    const { Addr } = read.described;
    const methods: Record<string, ServiceMethod> = {};
    for (const [FuncName, method] of read.methods) {
      if (read.protocol !== 'grpc' || method.streams !== true) methods[FuncName] = method;
      functions.push({ FuncName, ServiceName: name, InterfaceName: id, Addr, MethodName: method.name });
    }
    called[id] = { protocol: read.protocol, options: read.options, methods, types: read.types };
  }
  return { definition: { About: memberObject(json, 'about', main), Interfaces: interfaces }, functions, called };
}

interface ReadInterface extends Omit<CalledInterface, 'methods'> {
  readonly described: ServiceInterface;
  /** Methods by the names of their functions. */
  readonly methods: ReadonlyMap<string, ServiceMethod>;
}

async function readInterface(
  id: string,
  json: Json,
  where: string,
  { archive, paths }: { readonly archive: Archive; readonly paths: AllowedPaths },
): Promise<ReadInterface> {
  const protocol = textOf(json, 'protocol');
  if (!isProtocol(protocol)) throw refusal(where, `protocol must be one of ${Object.keys(schemes).join(', ')}`);
  const address = textOf(json, 'address');
  checkAddress(address, protocol, where);
  const given = memberObject(json, 'options', where);
  const options = serviceOptions(given, `${where}: options`, paths);
  const isSchemaless = json.schemaless === true;
  const schemaType = textOf(json, 'schemaType');
  const schemaFile = textOf(json, 'schemaFile');
  const mapped = mappingOf(json, where);
  let methods: ReadonlyMap<string, ServiceMethod>;
  let types: ServiceTypes = { messages: {}, enums: {} };
  if (isSchemaless) {
    if (protocol !== 'rest') throw refusal(where, 'schemaless is only possible with the protocol rest');
    methods = withoutSchema(id, mapped, where);
  } else {
    if (schemaType !== 'protobuf') {
      throw refusal(where, `schemaType must be protobuf, not ${JSON.stringify(schemaType)}`);
    }
    const read = await methodsOf(schemaFile, where, archive);
    methods = named(read.methods, mapped, where);
    types = read.types;
  }
  if (methods.size === 0) throw refusal(where, 'it has no functions');
  if (methods.size > maxFunctions) throw refusal(where, `it has more than ${maxFunctions} functions`);
  return {
    described: {
      Desc: textOf(json, 'description'),
      Addr: address,
      Protocol: protocol,
      Schema: { SchemaType: schemaType, SchemaFile: schemaFile, Schemaless: isSchemaless },
      Functions: [...methods.keys()],
      Options: given,
    },
    protocol,
    options,
    methods,
    types,
  };
}

function isProtocol(name: string): name is ServiceProtocol {
  return Object.hasOwn(schemes, name);
}

function checkAddress(address: string, protocol: ServiceProtocol, where: string): void {
  const refuse = (what: string) => refusal(where, `address must ${what}, not ${JSON.stringify(address)}`);
  if (!URL.canParse(address)) throw refuse('be a URL');
  const { protocol: scheme, hostname, port } = new URL(address);
  const known = schemes[protocol];
  if (!known.includes(scheme.slice(0, -1))) throw refuse(`begin with ${known.map((one) => `${one}://`).join(' or ')}`);
  if (hostname === '') throw refuse('name a host');
  if (port === '' && !['http:', 'https:'].includes(scheme)) throw refuse('have a port');
}

/** Functions of an interface without a schema: those of its list, or one of its own name. */
function withoutSchema(id: string, mapped: ReadonlyMap<string, string>, where: string): Map<string, ServiceMethod> {
  if (mapped.size === 0 && !isFunctionName(id)) {
    throw refusal(where, `functions are required: ${JSON.stringify(id)} can't be the name of one`);
  }
  const names = mapped.size === 0 ? [[id, id] as const] : [...mapped].map(([method, func]) => [func, method] as const);
  return new Map(names.map(([func, name]) => [func, { name, service: '', input: null, output: null }]));
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
    if (!isFunctionName(name)) throw refusal(where, `${JSON.stringify(name)} can't be the name of a function`);
    if (mapped.has(method)) throw refusal(where, `the method ${method} has two names`);
    mapped.set(method, name);
  }
  return mapped;
}

function isFunctionName(name: string): boolean {
  return /^[A-Za-z_]\w*$/.test(name);
}

function named(
  methods: ReadonlyMap<string, ServiceMethod>,
  mapped: ReadonlyMap<string, string>,
  where: string,
): Map<string, ServiceMethod> {
  for (const name of mapped.keys()) {
    if (!methods.has(name)) throw refusal(where, `the schema has no method ${name}`);
  }
  const found = new Map<string, ServiceMethod>();
  for (const [name, method] of methods) {
    const func = mapped.get(name) ?? name;
    if (found.has(func)) throw refusal(where, `two methods have the function ${func}`);
    found.set(func, method);
  }
  return found;
}

/** The methods of all services in a `.proto` file of the archive. */
async function methodsOf(file: string, where: string, archive: Archive): Promise<ReadMethods> {
  if (file === '') throw refusal(where, 'schemaFile is required');
  const path = schemaFolders.map((folder) => `${folder}/${file}`).find((candidate) => hasFile(archive, candidate));
  if (path === undefined) throw refusal(where, `the archive has no file ${file} in ${schemaFolders.join(' or ')}`);
  try {
    const texts = await protoTexts(path.slice(0, path.indexOf('/')), archive);
    const { readMethods } = await import('./methods.js');
    return readMethods({ content: texts.get(file) ?? '', imported: (wanted) => texts.get(wanted) });
  } catch (error) {
    throw refusal(where, `${path}: ${reasonOf(error)}`, error);
  }
}

/** The files of a schema by their paths in its folder: they may import each other. */
async function protoTexts(folder: string, archive: Archive): Promise<Map<string, string>> {
  const files = archive.entries.filter(({ name, isFolder }) => name.startsWith(`${folder}/`) && !isFolder);
  const texts = new Map<string, string>();
  let total = 0;
  for (const { name, sizeBytes } of files.filter(({ name }) => name.endsWith('.proto'))) {
    total += sizeBytes;
    if (sizeBytes > maxProtoBytes) throw new Error(`${name} has more than ${maxProtoBytes} bytes`);
    if (total > maxProtosBytes) throw new Error(`the files in ${folder} have more than ${maxProtosBytes} bytes`);
    texts.set(name.slice(folder.length + 1), (await archive.read(name)).toString());
  }
  return texts;
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
