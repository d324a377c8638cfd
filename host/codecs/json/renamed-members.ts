/** Gives members of rows other names (`colAliasMapping`); values stay as they are written. */
import { partsOf } from '../../base/text/json-parts.js';
import type { MessageDecoder } from '../define.js';

const [colon, openBrace, openBracket] = Buffer.from(':{[') as unknown as [number, number, number];

export class RenamedMembers implements MessageDecoder {
  readonly #names: ReadonlyMap<string, Buffer>;

  /** @param names new names by those in the messages */
  constructor(names: Readonly<Record<string, string>>) {
    const written = (name: string) => Buffer.from(`${JSON.stringify(name)}:`);
    this.#names = new Map(Object.entries(names).map(([from, to]) => [from, written(to)]));
  }

  decode(message: Uint8Array): Uint8Array {
    if (this.#names.size === 0) return message;
    const json = Buffer.from(message.buffer, message.byteOffset, message.length);
    // The parts of a text are told for valid JSON only.
    JSON.parse(json.toString());
    const first = json.find((byte) => byte > 0x20);
    if (first === openBrace) return this.#renamed(json);
    if (first !== openBracket) return message;
    const items = partsOf(json).map(({ from, to }) => json.subarray(from, to));
    return wrapped(
      '[',
      items.map((item) => (item[0] === openBrace ? this.#renamed(item) : item)),
      ']',
    );
  }

  #renamed(object: Buffer): Buffer {
    const members = partsOf(object).map(({ name, from, to }) => {
      const member = object.subarray(from, to);
      const known = this.#names.get(JSON.parse(name) as string);
      if (known === undefined) return member;
      return Buffer.concat([known, member.subarray(member.indexOf(colon, Buffer.byteLength(name)) + 1)]);
    });
    return wrapped('{', members, '}');
  }
}

function wrapped(open: string, parts: readonly Buffer[], close: string): Buffer {
  const between = parts.flatMap((part, i) => (i === 0 ? [part] : [Buffer.from(','), part]));
  return Buffer.concat([Buffer.from(open), ...between, Buffer.from(close)]);
}
