/** Turns messages that each begin with a header into lines under one header in the file. */
import { MessageCutter } from '../../messages/frames.js';
import type { SinkChunk } from '../../running.js';

/** Neighbouring lines of a chunk that have the same header. */
export interface HeadedLines {
  /** Header with its line feed; undefined when none of the lines needs one. */
  readonly header: Buffer | undefined;
  readonly lines: Buffer;
  readonly messages: number;
  /** Bytes of the messages, headers included. */
  readonly bytes: number;
}

const lineFeed = 0x0a;
const cutter = new MessageCutter();

/**
 * Takes the headers off the messages. Errors have no header and keep that of the line before, at first `latest`. With
 * `isEach` each message stands alone.
 */
export function headedLines(chunk: SinkChunk, latest: Buffer | undefined, isEach = false): HeadedLines[] {
  const parts: { header: Buffer | undefined; taken: Uint8Array[]; length: number; bytes: number }[] = [];
  cutter.cut(chunk, (message, place) => {
    const last = parts.at(-1);
    const before = last === undefined ? latest : last.header;
    const own = chunk.errors.has(place) ? 0 : message.indexOf(lineFeed) + 1;
    const header = own === 0 ? before : headerOf(message.subarray(0, own), before);
    const isSame = last !== undefined && last.header === header && !isEach;
    const part = isSame ? last : { header, taken: [], length: 0, bytes: 0 };
    if (!isSame) parts.push(part);
    part.taken.push(message.subarray(own));
    part.length += message.length - own + 1;
    part.bytes += message.length;
  });
  return parts.map(({ header, taken, length, bytes }) => {
    const lines = Buffer.allocUnsafe(length);
    let at = 0;
    for (const text of taken) {
      lines.set(text, at);
      at += text.length;
      lines[at++] = lineFeed;
    }
    return { header, lines, messages: taken.length, bytes };
  });
}

/** The header, as the object `before` when both are equal. A row without columns has none and keeps `before`. */
function headerOf(line: Uint8Array, before: Buffer | undefined): Buffer | undefined {
  if (line.length === 1) return before;
  return before !== undefined && Buffer.compare(line, before) === 0 ? before : Buffer.from(line);
}
