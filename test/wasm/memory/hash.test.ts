/** Hashes of keys: equal for equal bytes, spread well, and keys made for one secret are nothing special for another. */
import { randomInt } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createKernel } from '../../../kernels/index.js';
import { testModule } from '../../support/kernel/test-module.js';

interface Hashes {
  memory: WebAssembly.Memory;
  alloc(size: number, account: number): number;
  setHashSeed(a: number, b: number, c: number, d: number, e: number, f: number): void;
  hashU64(x: bigint): number;
  hashShort(lo: bigint, hi: bigint, len: number): number;
  bytesHash(at: number, len: number): number;
}

const host = new Proxy({}, { get: () => () => 0 });
const hashes = new WebAssembly.Instance(testModule('vm'), {
  host,
  env: host,
} as never).exports as unknown as Hashes;

type Seed = Parameters<Hashes['setHashSeed']>;
const known: Seed = [0x2f1b65d3, 0x9a01c7e5, 0x61d20ab9, 0xc4e8913f, 0x7d5302b1, 0xe86f4a97];
const random = (): Seed => Array.from({ length: 6 }, () => randomInt(2 ** 32)) as Seed;

/** Looks that a hash table of twice as many places takes to find a place for each key, the next one being tried. */
function steps(keys: readonly bigint[], hash: (key: bigint) => number): number {
  let places = 16;
  while (places < keys.length * 2) places *= 2;
  const taken = new Uint8Array(places);
  let count = 0;
  for (const key of keys) {
    let i = (hash(key) >>> 0) & (places - 1);
    for (count++; taken[i] === 1; count++) i = (i + 1) & (places - 1);
    taken[i] = 1;
  }
  return count;
}

const kinds: [string, (key: bigint) => number][] = [
  ['numbers', (key) => hashes.hashU64(key)],
  ['texts of a group key', (key) => hashes.hashShort(key, 0n, 8)],
  [
    'texts',
    (key) => {
      new DataView(hashes.memory.buffer).setBigUint64(at, key, true);
      return hashes.bytesHash(at, 8);
    },
  ],
  [
    'long texts',
    (key) => {
      new DataView(hashes.memory.buffer).setBigUint64(at + 20, key, true);
      return hashes.bytesHash(at, 40);
    },
  ],
];
const at = hashes.alloc(64, 0);

for (const [name, hash] of kinds) {
  test(`${name}: keys that collide for one secret take a table near one look each under another`, () => {
    hashes.setHashSeed(...known);
    const keys: bigint[] = [];
    for (let key = 0n; keys.length < 500; key++) if ((hash(key) & 1023) === 7) keys.push(key);
    assert.ok(steps(keys, hash) > 100_000, 'they do collide');
    for (let i = 0; i < 10; i++) {
      hashes.setHashSeed(...random());
      const looks = steps(keys, hash);
      assert.ok(looks < 4 * keys.length, `${looks} looks for ${keys.length} keys`);
    }
  });

  test(`${name}: running numbers and doubles spread under any secret`, () => {
    const running = Array.from({ length: 2000 }, (_, i) => BigInt(i));
    const view = new DataView(new ArrayBuffer(8));
    const doubles = running.map((key) => {
      view.setFloat64(0, Number(key));
      return view.getBigUint64(0);
    });
    for (let i = 0; i < 10; i++) {
      hashes.setHashSeed(...random());
      for (const keys of [running, doubles]) {
        const looks = steps(keys, hash);
        assert.ok(looks < 6 * keys.length, `${looks} looks for ${keys.length} keys`);
      }
    }
  });
}

test('each kernel has a secret of its own', () => {
  const real = crypto.getRandomValues;
  const given: unknown[] = [];
  crypto.getRandomValues = ((array: Uint32Array<ArrayBuffer>) => {
    given.push(array);
    return real.call(crypto, array);
  }) as typeof real;
  try {
    for (let i = 0; i < 2; i++) createKernel({ onOutput() {}, onPacket() {}, onAcknowledge() {}, call() {} });
  } finally {
    crypto.getRandomValues = real;
  }
  assert.is(given.length, 2);
  assert.not.equal(given[0], given[1]);
});

test.run();
