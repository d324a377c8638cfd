/** Pages whose checksums are right and whose numbers are not: they count as damaged, whatever wrote them. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { crc32 } from '../../../../../host/base/files/crc32.js';
import type { Item } from '../../../../../host/run/plane/queue/item.js';
import { contentOf, encodePage, headAt, headBytes } from '../../../../../host/run/plane/queue/page.js';

const item: Item = {
  bytes: Buffer.from('{"n":1}{"n":2}'),
  ends: Uint32Array.of(7, 14),
  errors: new Set([1]),
  messages: 2,
  rows: 2,
  values: { topic: 't' },
  since: 0,
  ticket: undefined,
};

/** The items of a page after a change of its bytes, whose checksums are made anew. */
function read(change: (page: Buffer) => void): Item[] | undefined {
  const page = encodePage([item, item], 5, 4);
  change(page);
  page.writeUInt32LE(crc32(page.subarray(headBytes)), 8);
  page.writeUInt32LE(crc32(page.subarray(8, headBytes)), 4);
  const head = headAt(page, 0);
  return head && contentOf(head, page.subarray(headBytes), 0);
}

test('a page is read as it was written', () => {
  assert.equal(
    read(() => {}),
    [item, item],
  );
});

test('numbers that do not add up are damage', () => {
  const wrong: [what: string, at: number, value: number][] = [
    ['messages of the head', 24, 0xff_ff_ff_ff],
    ['messages of the head', 24, 3],
    ['number of the first message', 20, 0x40_00_00_00],
    ['messages', headBytes, 1_000_000],
    ['bytes', headBytes + 8, 0xff_ff_ff_ff],
    ['bytes', headBytes + 8, 15],
    ['ends', headBytes + 12, 0xff_ff_ff_fe],
    ['errors', headBytes + 16, 0xff_ff_ff_ff],
    ['values', headBytes + 20, 0xff_ff_ff_ff],
    ['values', headBytes + 20, 3],
  ];
  for (const [what, at, value] of wrong) {
    const items = read((page) => page.writeUInt32LE(value, at));
    assert.is(items, undefined, `${what} ${value}`);
  }
});

test.run();
