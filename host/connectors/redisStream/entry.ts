/** Entries of streams, as the server sends them. */

/** Id, and names and values of the fields in turns; null for an entry that was removed meanwhile. */
export type Entry = readonly [id: Buffer, fields: readonly Buffer[] | null];

/** Number of the entry's time, and its number within the millisecond. */
const idForm = /^(\d{1,20})-(\d{1,20})$/;

export function isId(id: string): boolean {
  return idForm.test(id);
}

/** Below 0 when the first id stands before the second. */
export function compareIds(a: string, b: string): number {
  const [, aTime = '0', aNumber = '0'] = idForm.exec(a) ?? [];
  const [, bTime = '0', bNumber = '0'] = idForm.exec(b) ?? [];
  const diff = BigInt(aTime) - BigInt(bTime) || BigInt(aNumber) - BigInt(bNumber);
  return diff < 0n ? -1 : diff > 0n ? 1 : 0;
}

const none = Buffer.alloc(0);
/** Room for the id of an entry and the end of its metadata. */
const idRoom = 64;

/** Payloads and metadata of the entries of a stream. */
export class EntryReader {
  readonly #field: Buffer;
  readonly #meta: Buffer;
  readonly #idAt: number;

  /** @param field whose value is the payload; empty: a JSON object of all fields is */
  constructor(stream: string, field: string) {
    this.#field = Buffer.from(field);
    const head = Buffer.from(`{"stream":${JSON.stringify(stream)},"id":"`);
    this.#idAt = head.length;
    this.#meta = Buffer.concat([head, Buffer.alloc(idRoom)]);
  }

  payloadOf(fields: readonly Buffer[]): Buffer {
    if (this.#field.length === 0) {
      const row: [string, string][] = [];
      for (let i = 0; i + 1 < fields.length; i += 2) row.push([fields[i]!.toString(), fields[i + 1]!.toString()]);
      return Buffer.from(JSON.stringify(Object.fromEntries(row)));
    }
    for (let i = 0; i + 1 < fields.length; i += 2) if (this.#field.equals(fields[i]!)) return fields[i + 1]!;
    return none;
  }

  /** Metadata of an entry as JSON, valid until the next call: an id is digits and a dash. */
  metaOf(id: Buffer): Buffer {
    const end = this.#idAt + id.copy(this.#meta, this.#idAt);
    this.#meta.write('"}', end, 'latin1');
    return this.#meta.subarray(0, end + 2);
  }
}

/** The entries of a stream in an answer to XREAD or XREADGROUP. */
export function entriesIn(answer: unknown): readonly Entry[] {
  const [first] = (answer ?? []) as [unknown, readonly Entry[]][];
  return first?.[1] ?? [];
}
