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

/** Payload of an entry: the value of the field, or without one a JSON object of all fields. */
export function payloadOf(fields: readonly Buffer[], field: string): Buffer {
  if (field === '') {
    const row: [string, string][] = [];
    for (let i = 0; i + 1 < fields.length; i += 2) row.push([fields[i]!.toString(), fields[i + 1]!.toString()]);
    return Buffer.from(JSON.stringify(Object.fromEntries(row)));
  }
  for (let i = 0; i + 1 < fields.length; i += 2) if (fields[i]!.toString() === field) return fields[i + 1]!;
  return none;
}

/** The entries of a stream in an answer to XREAD or XREADGROUP. */
export function entriesIn(answer: unknown): readonly Entry[] {
  const [first] = (answer ?? []) as [unknown, readonly Entry[]][];
  return first?.[1] ?? [];
}
