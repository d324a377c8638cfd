/** Memory of the kernels: blocks never overlap, what is given back serves others, accounts are exact. */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { testModule, unreached } from './test-module.js';

interface Exports {
  memory: WebAssembly.Memory;
  alloc(size: number, account: number): number;
  free(block: number, size: number, account: number): void;
  bytesInUse(): bigint;
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

test.run();
