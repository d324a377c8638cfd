/** A schema registry of the kind of Confluent: schemas by number, numbers by schema. What it once said stays true. */
import { reasonOf } from '../../base/errors.js';
import { HttpClient } from '../../http/client.js';
import type { RegistryAddress } from './props.js';

/** How long a number that is not known is not asked for again, ms. */
const missedMs = 10_000;
const maxSchemas = 10_000;
const maxAtOnce = 8;
const notFound = 404;

/** Texts of a schema: those that it names stand before it. */
type Known = { readonly texts: readonly string[] } | { readonly missing: string; readonly at: number };

export class SchemaRegistry {
  readonly #known = new Map<number, Known>();
  readonly #asked = new Map<number, Promise<void>>();

  #client: HttpClient | undefined;

  constructor(private readonly address: RegistryAddress) {}

  /** Texts of the schema, if it was loaded; throws the reason when there are none. */
  schema(id: number): readonly string[] {
    const known = this.#known.get(id);
    if (known === undefined) throw new Error(`schema ${id} of the registry is not loaded`);
    if ('texts' in known) return known.texts;
    throw new Error(known.missing);
  }

  /** Whether it has to be loaded before `schema` knows of it. */
  isUnknown(id: number): boolean {
    const known = this.#known.get(id);
    return known === undefined || ('missing' in known && Date.now() - known.at > missedMs);
  }

  /** Asks for the schema; rejects with the reason when there is no answer, so that it may be asked again. */
  load(id: number): Promise<void> {
    let asked = this.#asked.get(id);
    if (asked === undefined) {
      asked = this.#load(id).finally(() => this.#asked.delete(id));
      this.#asked.set(id, asked);
    }
    return asked;
  }

  async #load(id: number): Promise<void> {
    const answer = await this.#ask('GET', `/schemas/ids/${id}`);
    if (this.#known.size >= maxSchemas) this.#known.clear();
    if (answer === undefined) {
      this.#known.set(id, { missing: `the registry has no schema ${id}`, at: Date.now() });
      return;
    }
    const { schema, schemaType = 'AVRO', references } = answer;
    const isPlain = schemaType === 'AVRO' && typeof schema === 'string';
    if (!isPlain) {
      this.#known.set(id, { missing: `schema ${id} of the registry is ${schemaType}, not AVRO`, at: Date.now() });
      return;
    }
    this.#known.set(id, { texts: [...(await this.#references(references, new Set())), schema] });
  }

  /** Texts of the schemas that a schema names, each behind those that it names itself. */
  async #references(references: unknown, seen: Set<string>): Promise<string[]> {
    if (!Array.isArray(references)) return [];
    const parts: string[] = [];
    for (const { subject, version } of references as { subject?: unknown; version?: unknown }[]) {
      const path = `/subjects/${encodeURIComponent(String(subject))}/versions/${encodeURIComponent(String(version))}`;
      if (seen.has(path)) continue;
      seen.add(path);
      const answer = await this.#ask('GET', path);
      if (typeof answer?.schema !== 'string') throw new Error(`the registry has no version ${version} of ${subject}`);
      parts.push(...(await this.#references(answer.references, seen)), answer.schema);
    }
    return parts;
  }

  /** Number of the schema in a subject, which gets it if it lacks it. */
  async register(subject: string, schema: string): Promise<number> {
    const path = `/subjects/${encodeURIComponent(subject)}`;
    const body = JSON.stringify({ schema });
    const found = (await this.#ask('POST', path, body)) ?? (await this.#ask('POST', `${path}/versions`, body));
    const id = found?.id;
    if (typeof id !== 'number') throw new Error(`the schema registry gave no number for the schema of ${subject}`);
    return id;
  }

  /** Answer of the registry; undefined when it does not have what was asked for. */
  async #ask(method: string, path: string, body?: string): Promise<Record<string, unknown> | undefined> {
    const { url, user, password, token, timeoutMs } = this.address;
    const headers: Record<string, string> = { accept: 'application/vnd.schemaregistry.v1+json, application/json' };
    if (body !== undefined) headers['content-type'] = 'application/vnd.schemaregistry.v1+json';
    if (token !== '') headers.authorization = `Bearer ${token}`;
    else if (user !== '') headers.authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
    const target = url.replace(/\/+$/, '') + path;
    let text: string;
    let status: number;
    try {
      this.#client ??= new HttpClient({ timeoutMs, maxAtOnce, tls: {} });
      const bytes = body === undefined ? undefined : Buffer.from(body);
      const answer = await this.#client.send({ method, url: target, headers, body: bytes });
      status = answer.status;
      text = answer.body.toString();
    } catch (error) {
      throw new Error(`the schema registry does not answer: ${reasonOf(error)}`);
    }
    if (status === notFound) return undefined;
    if (status >= 300) throw new Error(`the schema registry answered ${status}: ${text.slice(0, 200)}`);
    try {
      return JSON.parse(text) as Record<string, unknown>;
    } catch {
      throw new Error('the schema registry answered with what is no JSON');
    }
  }
}

/** Registries by address: all streams and actions of a worker share what they know. */
const registries = new Map<string, SchemaRegistry>();

export function registryAt(address: RegistryAddress): SchemaRegistry {
  const key = JSON.stringify(address);
  let registry = registries.get(key);
  if (registry === undefined) {
    registry = new SchemaRegistry(address);
    registries.set(key, registry);
  }
  return registry;
}
