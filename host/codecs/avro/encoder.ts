/** JSON as messages of Avro, with what stands before them. */
import type { EncodeContext } from '../define.js';
import { MessageEncoder } from '../message-encoder.js';
import { ByteWriter } from './byte-writer.js';
import { typeOfNamed } from './decoder.js';
import { fingerprintOf } from './fingerprint.js';
import type { EncodeSettings, NamedSchema } from './props.js';
import { registryAt } from './registry.js';
import { type Write, writerOf } from './writer.js';

export class AvroEncoder extends MessageEncoder {
  readonly #out = new ByteWriter();
  readonly #write: Write;
  readonly #head: Uint8Array;

  constructor({ framing, schemas, number }: EncodeSettings, context: EncodeContext) {
    super('avro', context);
    const type = typeOfNamed(schemas[0] as NamedSchema);
    this.#write = writerOf(type);
    const head = Buffer.alloc(framing === 'single' ? 10 : framing === 'confluent' ? 5 : 0);
    if (framing === 'single') {
      head.writeUInt16BE(0xc301);
      head.writeBigUInt64LE(fingerprintOf(type), 2);
    } else if (framing === 'confluent') head.writeUInt32BE(number ?? 0, 1);
    this.#head = head;
  }

  protected bytesOf(message: unknown): Uint8Array {
    this.#out.begin();
    this.#out.bytes(this.#head);
    this.#write(this.#out, message);
    return this.#out.taken();
  }
}

/** Number of the schema: the one given, or that of the registry, which gets the schema if it lacks it. */
export async function numberOf({ number, registry, subject, schemas }: EncodeSettings): Promise<number | null> {
  const [schema] = schemas as readonly [NamedSchema];
  const type = typeOfNamed(schema);
  if (number !== null || registry === null) return number;
  const text = schema.type === '' ? schema.text : JSON.stringify(type.schema({ exportAttrs: true }));
  return registryAt(registry).register(subject, text);
}
