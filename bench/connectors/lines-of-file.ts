/** Reads a file line by line, as plain programs do. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

export async function eachLine(file: string, take: (text: string, n: number) => Promise<void> | void): Promise<void> {
  let n = 0;
  for await (const text of createInterface({ input: createReadStream(file) })) {
    const waits = take(text, ++n);
    if (waits !== undefined) await waits;
  }
}
