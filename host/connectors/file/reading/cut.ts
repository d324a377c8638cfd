/** Leaves out parts of a file while its chunks pass by. */

const lineFeed = 10;
/** Most bytes that are held back, since they may belong to the last lines. */
const mostHeld = 64 * 1024 * 1024;

/** The first messages are left out; `left` counts down. */
export function* without(messages: Iterable<Uint8Array>, left: { count: number }): Generator<Uint8Array> {
  for (const message of messages) {
    if (left.count > 0) left.count--;
    else yield message;
  }
}

export async function* withoutBytes(chunks: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  let left = bytes;
  for await (const chunk of chunks) {
    if (left < chunk.length) yield left === 0 ? chunk : chunk.subarray(left);
    left = Math.max(0, left - chunk.length);
  }
}

/** The chunks behind the first lines, none of them empty. Calls `skipped` with the number of bytes left out. */
export async function* withoutLines(
  chunks: AsyncIterable<Buffer>,
  lines: number,
  skipped: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  let left = lines;
  for await (const data of chunks) {
    let chunk = data;
    while (left > 0 && chunk.length > 0) {
      const end = chunk.indexOf(lineFeed);
      if (end >= 0) left--;
      chunk = chunk.subarray(end < 0 ? chunk.length : end + 1);
    }
    if (chunk.length < data.length) skipped(data.length - chunk.length);
    if (chunk.length > 0) yield chunk;
  }
}

/** The chunks before the last lines, which are held back until more come behind them. */
export async function* withoutLastLines(chunks: AsyncIterable<Buffer>, lines: number): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const all = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    const end = beforeLastLines(all, lines);
    // The chunk's memory is used again by the reader.
    held = Buffer.from(all.subarray(end));
    if (held.length > mostHeld) throw new Error(`its last ${lines} lines have more than ${mostHeld} bytes`);
    if (end > 0) yield all.subarray(0, end);
  }
}

/** Where the last lines begin, the last of which may have no end. */
function beforeLastLines(text: Buffer, lines: number): number {
  let from = text.length;
  for (let left = lines; left > 0; left--) {
    if (from === 0) return 0;
    // The line feed just before ends the line that is looked for.
    from = (from < 2 ? -1 : text.lastIndexOf(lineFeed, from - 2)) + 1;
  }
  return from;
}
