/** Output of the kernel as a cache keeps it: messages that belong together, with a copy of their bytes. */
import type { SinkChunk } from '../../../connectors/running.js';

export interface Item {
  readonly bytes: Buffer;
  /** Ends of the messages, as in the chunk; null for lines or one message. */
  readonly ends: Uint32Array | null;
  readonly errors: ReadonlySet<number>;
  readonly messages: number;
  readonly rows: number;
  readonly values: Readonly<Record<string, unknown>> | undefined;
  /** Time of arrival, as of `performance.now`. */
  readonly since: number;
  /** Ticket of messages that were not read from disk. */
  readonly ticket: Ticket | undefined;
}

/** Bytes that are given back when all parts of an item are safe. */
export interface Ticket {
  readonly bytes: number;
  parts: number;
}

const lineFeed = 0x0a;
const noErrors: ReadonlySet<number> = new Set();

export function itemOf(chunk: SinkChunk, since: number): Item {
  const { bytes, ends, errors, messages, rows, values } = chunk;
  return {
    bytes: Buffer.from(bytes),
    ends: ends === null ? null : ends.slice(),
    errors: errors.size === 0 ? noErrors : new Set(errors),
    messages,
    rows,
    values,
    since,
    ticket: { bytes: bytes.length, parts: 1 },
  };
}

/** The chunk that a sink gets. */
export function chunkOf(item: Item): SinkChunk {
  const { bytes, ends, errors, messages, rows, values } = item;
  return { node: 0, host: 0, bytes, ends, errors, messages, rows, ...(values === undefined ? {} : { values }) };
}

/** Parts it behind so many messages, fewer than it has. */
export function split(item: Item, messages: number): [first: Item, rest: Item] {
  const { bytes, ends, errors, rows } = item;
  const at = ends === null ? lineAt(bytes, messages) : (ends[messages - 1] ?? 0);
  const rowsBefore = Math.min(rows, Math.round((rows * messages) / item.messages));
  return [
    {
      ...item,
      bytes: bytes.subarray(0, at),
      ends: ends === null ? null : ends.slice(0, messages),
      errors: shifted(errors, 0, messages),
      messages,
      rows: rowsBefore,
    },
    {
      ...item,
      bytes: bytes.subarray(at),
      ends: ends === null ? null : ends.slice(messages).map((end) => end - at),
      errors: shifted(errors, messages, item.messages),
      messages: item.messages - messages,
      rows: rows - rowsBefore,
    },
  ];
}

/** Parts items into groups of at most so many messages and, where that is possible, so many bytes. */
export function groupsOf(items: readonly Item[], messages: number, bytes: number): Item[][] {
  const groups: Item[][] = [];
  let group: Item[] = [];
  let left = messages;
  let room = bytes;
  const next = () => {
    if (group.length > 0) groups.push(group);
    group = [];
    left = messages;
    room = bytes;
  };
  for (const one of items) {
    let item = one;
    if (item.bytes.length > room) next();
    while (item.messages > left) {
      const [first, rest] = split(item, left);
      group.push(first);
      next();
      item = rest;
    }
    group.push(item);
    left -= item.messages;
    room -= item.bytes.length;
    if (left === 0 || room <= 0) next();
  }
  next();
  return groups;
}

/** Offset at which the given number of lines ends. */
function lineAt(bytes: Buffer, lines: number): number {
  let at = 0;
  for (let i = 0; i < lines; i++) {
    const feed = bytes.indexOf(lineFeed, at);
    if (feed < 0) return bytes.length;
    at = feed + 1;
  }
  return at;
}

function shifted(errors: ReadonlySet<number>, from: number, to: number): ReadonlySet<number> {
  if (errors.size === 0) return noErrors;
  return new Set([...errors].filter((place) => place >= from && place < to).map((place) => place - from));
}

export function messagesOf(items: readonly Item[]): number {
  let messages = 0;
  for (const item of items) messages += item.messages;
  return messages;
}
