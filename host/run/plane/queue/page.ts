/**
 * A page: messages that are written together, and read together.
 *
 *     0        4             8              12          16           24          28         30         32
 *     | magic  | crc of the  | crc of the   | length of | number of  | number of | version  | place    | content
 *     |        | rest of the | content      | content   | its first  | messages  | u16      | u16      |
 *     |        | head        |              |           | message u64|           |          |          |
 *
 * The place is that among the pages of one write, from 0 on: what a loss of power left of a write is told from damage
 * by it. All numbers are little-endian. Numbers of messages count what was ever written to the cache: they have no
 * gaps, so that what is missing between two pages is known. The content is a list of items, each
 *
 *     | messages | rows | bytes | ends, or no list | errors | values | values (JSON) | ends … | errors … | bytes … |
 */
import { crc32 } from '../../../base/files/crc32.js';
import type { Item } from './item.js';

export const headBytes = 32;
const magic = 0x31_50_43_48;
const version = 1;
const maxPlace = 0xff_ff;
const itemHeadBytes = 24;
const noList = 0xff_ff_ff_ff;

export interface PageHead {
  /** Number of its first message. */
  readonly first: number;
  readonly messages: number;
  readonly length: number;
  readonly crc: number;
  readonly place: number;
}

/** The bytes of a page. */
export function encodePage(items: readonly Item[], first: number, messages: number, place = 0): Buffer {
  const values = items.map((item) => Buffer.from(item.values === undefined ? '' : JSON.stringify(item.values)));
  let length = headBytes;
  items.forEach(({ bytes, ends, errors }, i) => {
    length += itemHeadBytes + values[i]!.length + 4 * ((ends?.length ?? 0) + errors.size) + bytes.length;
  });
  const page = Buffer.allocUnsafe(length);
  let at = headBytes;
  const put = (value: number) => {
    at = page.writeUInt32LE(value, at);
  };
  items.forEach(({ bytes, ends, errors, messages: count, rows }, i) => {
    for (const value of [count, rows, bytes.length, ends?.length ?? noList, errors.size, values[i]!.length]) put(value);
    at += values[i]!.copy(page, at);
    for (const end of ends ?? []) put(end);
    for (const place of errors) put(place);
    at += bytes.copy(page, at);
  });
  page.writeUInt32LE(magic, 0);
  page.writeUInt32LE(crc32(page.subarray(headBytes)), 8);
  page.writeUInt32LE(length - headBytes, 12);
  page.writeBigUInt64LE(BigInt(first), 16);
  page.writeUInt32LE(messages, 24);
  page.writeUInt16LE(version, 28);
  page.writeUInt16LE(Math.min(place, maxPlace), 30);
  page.writeUInt32LE(crc32(page.subarray(8, headBytes)), 4);
  return page;
}

/** Reads the head of a page; undefined when none begins there. */
export function headAt(bytes: Buffer, at: number): PageHead | undefined {
  if (at + headBytes > bytes.length || bytes.readUInt32LE(at) !== magic) return undefined;
  if (bytes.readUInt32LE(at + 4) !== crc32(bytes.subarray(at + 8, at + headBytes))) return undefined;
  if (bytes.readUInt16LE(at + 28) !== version) return undefined;
  const first = Number(bytes.readBigUInt64LE(at + 16));
  if (!Number.isSafeInteger(first)) return undefined;
  return {
    crc: bytes.readUInt32LE(at + 8),
    length: bytes.readUInt32LE(at + 12),
    first,
    messages: bytes.readUInt32LE(at + 24),
    place: bytes.readUInt16LE(at + 30),
  };
}

/** The offset at which a page may begin, from `from` on; -1 when there is none. */
export function nextPage(bytes: Buffer, from: number): number {
  const mark = Buffer.alloc(4);
  mark.writeUInt32LE(magic);
  for (let at = bytes.indexOf(mark, from); at >= 0; at = bytes.indexOf(mark, at + 1)) {
    if (headAt(bytes, at) !== undefined) return at;
  }
  return -1;
}

/**
 * The content of a page; undefined when it is not what was written: its bytes are others, or do not add up to what its
 * head says.
 */
export function contentOf(head: PageHead, content: Buffer, since: number): Item[] | undefined {
  if (content.length < head.length || crc32(content) !== head.crc) return undefined;
  const items: Item[] = [];
  let left = head.messages;
  for (let at = 0; at < content.length; ) {
    if (at + itemHeadBytes > content.length) return undefined;
    const [messages, rows, length, listed, failed, valued] = [0, 4, 8, 12, 16, 20].map((i) =>
      content.readUInt32LE(at + i),
    ) as [number, number, number, number, number, number];
    at += itemHeadBytes;
    left -= messages;
    const count = listed === noList ? 0 : listed;
    if (at + valued + 4 * (count + failed) + length > content.length) return undefined;
    const values = valued === 0 ? undefined : valuesOf(content.toString('utf8', at, at + valued));
    if (values === null) return undefined;
    at += valued;
    const numbers = (size: number) => {
      const list = new Uint32Array(size);
      for (let i = 0; i < size; i++, at += 4) list[i] = content.readUInt32LE(at);
      return list;
    };
    const ends = listed === noList ? null : numbers(listed);
    const errors = new Set(numbers(failed));
    const bytes = content.subarray(at, at + length);
    items.push({ messages, rows, ends, errors, values, since, bytes, ticket: undefined });
    at += length;
  }
  return left === 0 ? items : undefined;
}

/** Null when the text is none of values. */
function valuesOf(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null;
  }
}
