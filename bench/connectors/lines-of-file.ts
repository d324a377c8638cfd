/** Reads and writes files line by line, as plain programs do. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/** What it returns is waited for. */
type Take = (text: string, n: number) => unknown;

export function eachLine(file: string, take: Take): Promise<void> {
  return eachLineOf(createReadStream(file), take);
}

export async function eachLineOf(input: Readable, take: Take): Promise<void> {
  let n = 0;
  for await (const text of createInterface({ input })) {
    const waits = take(text, ++n);
    if (waits instanceof Promise) await waits;
  }
}

/** Writes a text; what is returned waits for a stream that takes no more. */
export function writeTo(out: Writable, text: string | Buffer): Promise<void> | undefined {
  return out.write(text) ? undefined : new Promise<void>((resolve) => out.once('drain', resolve));
}

/** Ends a stream; resolves when `last`, where it goes, has all of it. */
export function endOf(out: Writable, last = out): Promise<void> {
  return new Promise((resolve) => {
    last.on('finish', resolve);
    out.end();
  });
}
