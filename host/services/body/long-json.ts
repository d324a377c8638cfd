/** JSON of lists as long as there are rules, in pieces: other requests are answered between two of them. */

/** Time of a piece, ms. */
const pieceMs = 5;
/** Items between two looks at the clock. */
const itemsPerLook = 20;

/** An answer that is JSON already. */
export class LongJson {
  constructor(readonly bytes: Buffer) {}
}

/** A list of what `itemOf` gives for each of the keys; a key without an item is left out. */
export async function longList<K>(keys: Iterable<K>, itemOf: (key: K) => unknown): Promise<LongJson> {
  const text = (key: K) => {
    const item = itemOf(key);
    return item === undefined ? undefined : JSON.stringify(item);
  };
  return new LongJson(await joined('[', ']', keys, text));
}

/** An object with a member for each of the keys that has one. */
export async function longObject(keys: Iterable<string>, memberOf: (key: string) => unknown): Promise<LongJson> {
  const text = (key: string) => {
    const member = memberOf(key);
    return member === undefined ? undefined : `${JSON.stringify(key)}:${JSON.stringify(member)}`;
  };
  return new LongJson(await joined('{', '}', keys, text));
}

async function joined<K>(
  open: string,
  close: string,
  keys: Iterable<K>,
  textOf: (key: K) => string | undefined,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let texts: string[] = [];
  let count = 0;
  let looked = 0;
  let since = performance.now();
  const take = (): void => {
    if (texts.length > 0) pieces.push(Buffer.from((count > texts.length ? ',' : '') + texts.join(',')));
    texts = [];
  };
  for (const key of keys) {
    const text = textOf(key);
    if (text !== undefined) {
      texts.push(text);
      count++;
    }
    if (++looked % itemsPerLook !== 0 || performance.now() - since < pieceMs) continue;
    take();
    await new Promise((resolve) => setImmediate(resolve));
    since = performance.now();
  }
  take();
  return Buffer.concat([Buffer.from(open), ...pieces, Buffer.from(close)]);
}
