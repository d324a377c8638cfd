/** Memory of the kernels: blocks never overlap, what is given back serves others, accounts are exact. */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { testModule, unreached } from '../../support/kernel/test-module.js';

interface Exports {
  memory: WebAssembly.Memory;
  alloc(size: number, account: number): number;
  free(block: number, size: number, account: number): void;
  bytesInUse(): bigint;
  setMemoryLimit(bytes: number): void;
}

const module = testModule('kernel');

/** A kernel of its own for each test. */
function memoryOfItsOwn(): Exports {
  return new WebAssembly.Instance(module, unreached).exports as unknown as Exports;
}

test('blocks in use never overlap, whatever is asked for and given back', () => {
  const step = fc.record({
    size: fc.oneof(fc.integer({ min: 0, max: 2000 }), fc.integer({ min: 1, max: 300_000 })),
    release: fc.nat(),
    isRelease: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const kernel = memoryOfItsOwn();
      const before = kernel.bytesInUse();
      const held: { at: number; size: number }[] = [];
      for (const { size, release, isRelease } of steps) {
        if (isRelease && held.length > 0) {
          const [block] = held.splice(release % held.length, 1) as [{ at: number; size: number }];
          kernel.free(block.at, block.size, 0);
          continue;
        }
        const at = kernel.alloc(size, 0);
        assert.is.not(at, 0);
        assert.is(at % 16, 0);
        for (const other of held) {
          assert.ok(at + Math.max(size, 1) <= other.at || other.at + Math.max(other.size, 1) <= at, 'blocks overlap');
        }
        held.push({ at, size });
      }
      for (const block of held) kernel.free(block.at, block.size, 0);
      assert.is(kernel.bytesInUse(), before);
    }),
    { numRuns: 60 },
  );
});

test('memory that one rule gave back in large blocks serves requests of other sizes', () => {
  const kernel = memoryOfItsOwn();
  const large = Array.from({ length: 256 }, () => kernel.alloc(65_536, 0));
  for (const block of large) kernel.free(block, 65_536, 0);
  const size = kernel.memory.buffer.byteLength;
  for (let i = 0; i < 8000; i++) assert.is.not(kernel.alloc(1500, 0), 0);
  assert.is(kernel.memory.buffer.byteLength, size);
});

test(
  'whatever sizes were asked for and given back, up to the bound: all that is free then serves one large ' + 'block',
  () => {
    const limit = 64 << 20;
    const sizes = [
      fc.integer({ min: 0, max: 200 }),
      fc.integer({ min: 1, max: 5000 }),
      fc.integer({ min: 1, max: 3 << 20 }),
    ];
    const plan = fc.record({
      sizes: fc.array(fc.oneof(...sizes.map((arbitrary, i) => ({ arbitrary, weight: 4 - i }))), {
        minLength: 1,
        maxLength: 40,
      }),
      order: fc.array(fc.nat(), { minLength: 1, maxLength: 40 }),
      rounds: fc.integer({ min: 1, max: 4 }),
    });
    fc.assert(
      fc.property(plan, ({ sizes, order, rounds }) => {
        const kernel = memoryOfItsOwn();
        kernel.setMemoryLimit(limit);
        const before = kernel.bytesInUse();
        for (let round = 0; round < rounds; round++) {
          const held: { at: number; size: number }[] = [];
          for (let i = 0; held.length < 10_000; i++) {
            const size = sizes[(i * (round + 1)) % sizes.length] as number;
            const at = kernel.alloc(size, 0);
            if (at === 0) break;
            held.push({ at, size });
            if (i % 3 === 0) {
              const at = order[i % order.length] as number;
              const [block] = held.splice(at % held.length, 1) as [{ at: number; size: number }];
              kernel.free(block.at, block.size, 0);
            }
          }
          while (held.length > 0) {
            const at = order[held.length % order.length] as number;
            const block = held[at % held.length] as { at: number; size: number };
            held[at % held.length] = held[held.length - 1] as { at: number; size: number };
            held.pop();
            kernel.free(block.at, block.size, 0);
          }
        }
        assert.is(kernel.bytesInUse(), before);
        const large = 56 << 20;
        const at = kernel.alloc(large, 0);
        assert.is.not(at, 0, 'no large block');
        assert.ok(at + large <= kernel.memory.buffer.byteLength);
        assert.ok(kernel.memory.buffer.byteLength <= limit);
        kernel.free(at, large, 0);
      }),
      { numRuns: 12 },
    );
  },
);

test(
  'free blocks between others in use are joined for a request that would be refused, and those in use stay as they ' +
    'are',
  () => {
    const kernel = memoryOfItsOwn();
    kernel.setMemoryLimit(16 << 20);
    const size = 1040;
    const blocks: number[] = [];
    for (let at = kernel.alloc(size, 0); at !== 0; at = kernel.alloc(size, 0)) blocks.push(at);
    // Of 64 neighbours the first stays.
    const kept = blocks.filter((_, i) => i % 64 === 0);
    for (const at of kept) new Uint8Array(kernel.memory.buffer, at, size).fill(at >> 10);
    for (const [i, at] of blocks.entries()) if (i % 64 !== 0) kernel.free(at, size, 0);
    // The last neighbourhood may be a smaller one.
    for (let i = 1; i < kept.length; i++) {
      const at = kernel.alloc(60_000, 0);
      assert.is.not(at, 0);
      new Uint8Array(kernel.memory.buffer, at, 60_000).fill(0xff);
    }
    for (const at of kept) {
      const bytes = new Uint8Array(kernel.memory.buffer, at, size);
      assert.ok(bytes.every((byte) => byte === ((at >> 10) & 0xff)));
    }
  },
);

test.run();
