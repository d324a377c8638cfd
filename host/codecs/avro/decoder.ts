/** Messages of Avro as JSON: what stands before them says by which schema they were written. */
import { reasonOf } from '../../base/errors.js';
import type { MessageDecoder } from '../define.js';
import { fingerprintOf } from './fingerprint.js';
import type { DecodeSettings, NamedSchema } from './props.js';
import { Cursor, type Read, readerOf } from './reader.js';
import { registryAt, type SchemaRegistry } from './registry.js';
import { type Type, typeOf } from './schema.js';

const singleHead = 10;
const confluentHead = 5;

export class AvroDecoder implements MessageDecoder {
  readonly #cursor = new Cursor();
  readonly #reads: readonly Read[];
  readonly #byPrint = new Map<bigint, Read>();
  readonly #byId = new Map<number, Read>();
  readonly #registry: SchemaRegistry | undefined;
  readonly needs: MessageDecoder['needs'];

  constructor(private readonly settings: DecodeSettings) {
    const types = settings.schemas.map(typeOfNamed);
    this.#reads = types.map(readerOf);
    if (settings.framing === 'single') {
      for (const [i, type] of types.entries()) this.#byPrint.set(fingerprintOf(type), this.#reads[i] as Read);
    }
    for (const [id, place] of Object.entries(settings.ids)) this.#byId.set(Number(id), this.#reads[place] as Read);
    const registry = settings.registry === null ? undefined : registryAt(settings.registry);
    this.#registry = registry;
    this.needs = registry && ((message) => this.#needs(message, registry));
  }

  #needs(message: Uint8Array, registry: SchemaRegistry): (() => Promise<void>) | undefined {
    if (message.length < confluentHead || message[0] !== 0) return undefined;
    const id = numberAt(message, 1);
    return this.#byId.has(id) || !registry.isUnknown(id) ? undefined : () => registry.load(id);
  }

  decode(message: Uint8Array): Uint8Array {
    const [read, at] = this.#readerFor(message);
    const cursor = this.#cursor;
    cursor.begin(message, at);
    read(cursor);
    const rest = message.length - cursor.at;
    if (rest > 0) throw new Error(`${rest} bytes follow the value`);
    return cursor.out.bytes;
  }

  /** What reads the message, and where it begins. */
  #readerFor(message: Uint8Array): [read: Read, at: number] {
    switch (this.settings.framing) {
      case 'single':
        return [this.#single(message), singleHead];
      case 'confluent':
        return [this.#numbered(message), confluentHead];
      default:
        return [this.#reads[0] as Read, 0];
    }
  }

  #single(message: Uint8Array): Read {
    if (message.length < singleHead || message[0] !== 0xc3 || message[1] !== 1) {
      throw new Error('it does not begin with the mark of single objects, c3 01');
    }
    const print = Buffer.from(message.buffer, message.byteOffset + 2, 8).readBigUInt64LE();
    const read = this.#byPrint.get(print);
    if (read === undefined) {
      const names = this.settings.schemas.map(({ name }) => name).join(', ');
      throw new Error(
        `its schema has the fingerprint ${print.toString(16).padStart(16, '0')}, which is none of ${names}`,
      );
    }
    return read;
  }

  #numbered(message: Uint8Array): Read {
    if (message.length < confluentHead || message[0] !== 0) {
      throw new Error('it does not begin with a zero and the number of its schema');
    }
    const id = numberAt(message, 1);
    const known = this.#byId.get(id);
    if (known !== undefined) return known;
    if (this.#registry === undefined) {
      if (this.#byId.size > 0) throw new Error(`its schema has the number ${id}, which schemaIds does not have`);
      return this.#reads[0] as Read;
    }
    const read = readerOf(ofRegistry(this.#registry.schema(id), id));
    this.#byId.set(id, read);
    return read;
  }
}

export function typeOfNamed({ name, type, text }: NamedSchema): Type {
  try {
    return typeOf([text], type);
  } catch (error) {
    throw new Error(`schema ${name}: ${reasonOf(error)}`);
  }
}

function ofRegistry(texts: readonly string[], id: number): Type {
  try {
    return typeOf(texts);
  } catch (error) {
    throw new Error(`schema ${id} of the registry: ${reasonOf(error)}`);
  }
}

function numberAt(message: Uint8Array, at: number): number {
  return new DataView(message.buffer, message.byteOffset, message.length).getUint32(at);
}
