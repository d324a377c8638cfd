/** Thread entry: reads Parquet files, one at a time, and hands on their rows as they are asked for. */
import { parentPort } from 'node:worker_threads';
import { reasonOf } from '../../../../base/errors.js';
import { parquetGroups } from './groups.js';
import type { FromParquet, ParquetPart, ToParquet } from './thread.js';

/** Bytes of rows that are handed on together; a longer row goes alone. */
const partBytes = 256 * 1024;

let parts: AsyncGenerator<ParquetPart> | undefined;

parentPort!.on('message', (order: ToParquet) => {
  if (order !== 'more') parts = partsOf(parquetGroups(order.fd, order.size, order.from));
  void answer(parts!).then((given) => {
    const own = 'bytes' in given ? [given.bytes.buffer as ArrayBuffer, given.ends.buffer as ArrayBuffer] : [];
    parentPort!.postMessage(given, own);
  });
});

async function answer(from: AsyncGenerator<ParquetPart>): Promise<FromParquet> {
  try {
    const { value, done } = await from.next();
    return done === true ? { isOver: true } : value;
  } catch (error) {
    return { failure: reasonOf(error) };
  }
}

async function* partsOf(groups: AsyncIterable<Iterable<Uint8Array>>): AsyncGenerator<ParquetPart> {
  let bytes = new Uint8Array(partBytes);
  let ends: number[] = [];
  let at = 0;
  const part = (): ParquetPart => ({ bytes: bytes.slice(0, at), ends: Uint32Array.from(ends) });
  for await (const rows of groups) {
    for (const row of rows) {
      if (ends.length > 0 && at + row.length > bytes.length) {
        yield part();
        ends = [];
        at = 0;
      }
      if (row.length > bytes.length) bytes = new Uint8Array(row.length);
      bytes.set(row, at);
      at += row.length;
      ends.push(at);
    }
  }
  if (ends.length > 0) yield part();
}
