/** Base64 of the kernel beside that of Node. */

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadTextKernel } from '../../support/kernel/text-kernel.js';

const kernel = loadTextKernel();
const capacity = 1024;
const slack: number = kernel.BASE64_SLACK.value ?? kernel.BASE64_SLACK;
const from: number = kernel.alloc(capacity + 64, 0);
const to: number = kernel.alloc(2 * capacity, 0);
const memory = () => new Uint8Array(kernel.memory.buffer);

function print(bytes: Uint8Array): string {
  // Behind the bytes stand others, and behind the room for the text something that stays.
  memory()
    .fill(0xa5, from, from + bytes.length + 64)
    .set(bytes, from);
  memory().fill(0x23, to, to + 2 * capacity);
  const end = kernel.printBase64(to, from, bytes.length) >>> 0;
  assert.ok(
    memory()
      .subarray(end + slack, to + 2 * capacity)
      .every((byte) => byte === 0x23),
    'writes within its slack',
  );
  return Buffer.from(memory().subarray(to, end)).toString('latin1');
}

test('prints what Node prints, for bytes of each length', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      assert.is(print(bytes), Buffer.from(bytes).toString('base64'));
    }),
    { numRuns: 2000 },
  );
});

test('prints each of the 64 letters at each place', () => {
  for (let value = 0; value < 64; value++) {
    const text = String.fromCharCode(
      ...Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/').subarray(value, value + 1),
    ).repeat(16);
    assert.is(print(Buffer.from(text, 'base64')), text);
  }
});

test('reads what it prints', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 100 }), (bytes) => {
      const text = Buffer.from(print(bytes), 'latin1');
      memory().set(text, from);
      const end = kernel.parseBase64(to, from, text.length) >>> 0;
      assert.equal(Buffer.from(memory().subarray(to, end)), Buffer.from(bytes));
    }),
  );
});

test.run();
