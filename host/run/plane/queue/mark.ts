/**
 * Marks rows that are sent again: each object of a JSON message, or of the lists that it is, gets a member more. What
 * the kernel wrote is taken apart no further than that.
 */
import { type Item, split } from './item.js';

const [quote, backslash, comma, openBrace, closeBrace, openBracket, closeBracket] = Buffer.from(
  '"\\,{}[]',
) as unknown as [number, number, number, number, number, number, number];
const lineFeed = 0x0a;

/** The item with `"field":true` at the end of each row; texts of errors stay as they are. */
export function marked(item: Item, member: Buffer): Item {
  const parts: Buffer[] = [];
  const ends: number[] = [];
  let length = 0;
  const put = (part: Buffer) => {
    parts.push(part);
    length += part.length;
  };
  for (const [place, message] of messagesIn(item).entries()) {
    if (item.errors.has(place)) put(message);
    else markRows(message, member, put);
    ends.push(length);
  }
  return { ...item, bytes: Buffer.concat(parts, length), ends: item.ends === null ? null : Uint32Array.from(ends) };
}

/** Member that `marked` writes for a field. */
export function memberOf(field: string): Buffer {
  return Buffer.from(`${JSON.stringify(field)}:true`);
}

function messagesIn(item: Item): Buffer[] {
  const messages: Buffer[] = [];
  let rest = item;
  while (rest.messages > 1) {
    const [first, others] = split(rest, 1);
    messages.push(first.bytes);
    rest = others;
  }
  messages.push(rest.bytes);
  return messages;
}

/** Copies a message; before the end of each object that is a row stands the member. */
function markRows(message: Buffer, member: Buffer, put: (part: Buffer) => void): void {
  let from = 0;
  let depth = 0;
  let isText = false;
  // Rows are objects outside of everything, within a list, or within the lists of a batch.
  let rowDepth = 1;
  while (message[rowDepth - 1] === openBracket) rowDepth++;
  for (let at = 0; at < message.length; at++) {
    const byte = message[at];
    if (isText) {
      if (byte === backslash) at++;
      else if (byte === quote) isText = false;
    } else if (byte === quote) isText = true;
    else if (byte === openBrace || byte === openBracket) depth++;
    else if (byte === closeBrace || byte === closeBracket) {
      if (byte === closeBrace && depth === rowDepth) {
        put(message.subarray(from, at));
        if (message[at - 1] !== openBrace) put(Buffer.of(comma));
        put(member);
        from = at;
      }
      depth--;
    } else if (byte === lineFeed && depth === 0) break;
  }
  put(message.subarray(from));
}
