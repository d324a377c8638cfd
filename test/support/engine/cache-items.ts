/** Numbered messages for tests of caches. */
import { type Item, itemOf } from '../../../host/run/plane/queue/item.js';

/** Messages with the numbers from `first` on, as the kernel would hand them out. */
export function numbered(first: number, count: number, framing: 'lines' | 'messages' = 'messages'): Item {
  const texts = Array.from({ length: count }, (_, i) => JSON.stringify({ id: first + i }));
  const bytes = Buffer.from(framing === 'lines' ? texts.map((text) => `${text}\n`).join('') : texts.join(''));
  let end = 0;
  const ends = Uint32Array.from(texts, (text) => (end += text.length));
  const errors = new Set<number>();
  const chunk = {
    node: 1,
    host: 1,
    bytes,
    ends: framing === 'lines' ? null : ends,
    messages: count,
    rows: count,
    errors,
  };
  return itemOf(chunk, performance.now());
}

/** The numbers in items. */
export function numbersOf(items: readonly { readonly bytes: Uint8Array }[]): number[] {
  return items.flatMap(({ bytes }) =>
    [
      ...Buffer.from(bytes)
        .toString()
        .matchAll(/"id":(\d+)/g),
    ].map(([, id]) => Number(id)),
  );
}

export function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
}
