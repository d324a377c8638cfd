/**
 * Cost of fuel for guests that compute: ns of one run without and with it, in turns, the least of all rounds.
 *
 *     npx tsx bench/micro/fuel.ts [ROUNDS]
 */
import asc from 'assemblyscript/asc';
import { fuelExport, meter } from '../../host/plugins/wasm/passes/meter.js';

const scanned = '{"device":"dev-0042","temp":21.5,"tags":["a","b c","d\\"e"],"at":1700000000123,"ok":true}';

/** Each exports `run(n)`, which returns something that depends on all it did. */
const guests: Readonly<Record<string, { readonly text: string; readonly n: number }>> = {
  sha256: {
    n: 2_000,
    text: `
      const K = memory.data<u32>([
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2]);
      const W = memory.data(256, 16);
      function block(seed: u32): u32 {
        for (let i: u32 = 0; i < 16; i++) store<u32>(W + (i << 2), seed * (i + 1));
        for (let i: u32 = 16; i < 64; i++) {
          const p = W + (i << 2);
          const a = load<u32>(p - 60), b = load<u32>(p - 8);
          const s0 = rotr(a, 7) ^ rotr(a, 18) ^ (a >>> 3), s1 = rotr(b, 17) ^ rotr(b, 19) ^ (b >>> 10);
          store<u32>(p, load<u32>(p - 64) + s0 + load<u32>(p - 28) + s1);
        }
        let a: u32 = 0x6a09e667, b: u32 = 0xbb67ae85, c: u32 = 0x3c6ef372, d: u32 = 0xa54ff53a;
        let e: u32 = 0x510e527f, f: u32 = 0x9b05688c, g: u32 = 0x1f83d9ab, h: u32 = 0x5be0cd19;
        for (let i: u32 = 0; i < 64; i++) {
          const S1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25);
          const t1 = h + S1 + ((e & f) ^ (~e & g)) + load<u32>(K + (i << 2)) + load<u32>(W + (i << 2));
          const S0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22);
          const t2 = S0 + ((a & b) ^ (a & c) ^ (b & c));
          h = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
        }
        return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
      }
      export function run(n: i32): f64 {
        let x: u32 = 1;
        for (let i = 0; i < n; i++) x ^= block(x + i);
        return x;
      }`,
  },
  mandelbrot: {
    n: 60,
    text: `
      export function run(n: i32): f64 {
        let sum = 0;
        for (let y = 0; y < n; y++) {
          for (let x = 0; x < n; x++) {
            const cr = 3.0 * x / n - 2.0, ci = 2.0 * y / n - 1.0;
            let zr = 0.0, zi = 0.0, i = 0;
            while (i < 200 && zr * zr + zi * zi < 4) {
              const t = zr * zr - zi * zi + cr;
              zi = 2 * zr * zi + ci;
              zr = t;
              i++;
            }
            sum += i;
          }
        }
        return sum;
      }`,
  },
  sieve: {
    n: 200_000,
    text: `
      const AT = memory.data(262144);
      export function run(n: i32): f64 {
        memory.fill(AT, 1, n);
        let count = 0;
        for (let i = 2; i < n; i++) {
          if (!load<u8>(AT + i)) continue;
          count++;
          for (let j = i + i; j < n; j += i) store<u8>(AT + j, 0);
        }
        return count;
      }`,
  },
  'json scan': {
    n: 400,
    text: `
      const TEXT = memory.data<u8>([${[...Buffer.from(scanned)].join()}]);
      const LENGTH: u32 = 86;
      function space(p: usize): usize { while (load<u8>(p) == 0x20) p++; return p; }
      function text(p: usize): usize {
        p++;
        for (let c = load<u8>(p); c != 0x22; c = load<u8>(p)) p += c == 0x5c ? 2 : 1;
        return p + 1;
      }
      let numbers: f64 = 0;
      function value(p: usize): usize {
        p = space(p);
        const c = load<u8>(p);
        if (c == 0x22) return text(p);
        if (c == 0x7b || c == 0x5b) {
          p = space(p + 1);
          if (load<u8>(p) == 0x7d || load<u8>(p) == 0x5d) return p + 1;
          for (; ; p++) {
            if (c == 0x7b) p = space(text(space(p))) + 1;
            p = space(value(p));
            if (load<u8>(p) != 0x2c) break;
          }
          return p + 1;
        }
        if (c == 0x74 || c == 0x6e) return p + 4;
        if (c == 0x66) return p + 5;
        let x: f64 = 0;
        let scale: f64 = 1;
        let isFraction = false;
        for (; ; p++) {
          const d = load<u8>(p);
          if (d == 0x2e) isFraction = true;
          else if (d >= 0x30 && d <= 0x39) { x = x * 10 + (d - 0x30); if (isFraction) scale *= 10; }
          else break;
        }
        numbers += x / scale;
        return p;
      }
      export function run(n: i32): f64 {
        let sum: f64 = 0;
        for (let i = 0; i < n; i++) { numbers = 0; sum += <f64>(value(TEXT) - TEXT) + numbers; }
        return sum;
      }`,
  },
  calls: {
    n: 24,
    text: `
      function fib(n: i32): i32 { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
      export function run(n: i32): f64 { return fib(n); }`,
  },
};

const plenty = 1n << 60n;
const rounds = Number(process.argv[2] ?? 40);
const repeats = 20;

async function compile(text: string): Promise<Uint8Array<ArrayBuffer>> {
  let binary: Uint8Array | undefined;
  const { error, stderr } = await asc.main(['module.ts', '--outFile', 'module.wasm', '-O3', '--runtime', 'stub'], {
    readFile: (name) => (name === 'module.ts' ? text : null),
    writeFile: (name, contents) => {
      if (name === 'module.wasm') binary = contents as Uint8Array;
    },
    listFiles: () => [],
  });
  if (error !== null || binary === undefined) throw new Error(stderr.toString());
  return Uint8Array.from(binary);
}

interface Guest {
  run(n: number): number;
  [fuelExport]?: { value: bigint };
}

function open(bytes: Uint8Array<ArrayBuffer>): Guest {
  const guest = new WebAssembly.Instance(new WebAssembly.Module(bytes), {}).exports as unknown as Guest;
  const fuel = guest[fuelExport];
  if (fuel !== undefined) fuel.value = plenty;
  return guest;
}

let worst = 0;
for (const [name, { text, n }] of Object.entries(guests)) {
  const plain = await compile(text);
  const guestsInTurn = [open(plain), open(meter(plain))];
  const results = guestsInTurn.map((guest) => guest.run(n));
  if (results[0] !== results[1]) throw new Error(`${name}: ${results.join(' is not ')}`);
  const best = guestsInTurn.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < rounds; round++) {
    guestsInTurn.forEach((guest, i) => {
      for (let repeat = 0; repeat < repeats; repeat++) {
        const began = performance.now();
        guest.run(n);
        best[i] = Math.min(best[i] ?? 0, performance.now() - began);
      }
    });
  }
  const [without = 0, metered = 0] = best;
  const [, guest] = guestsInTurn;
  const fuel = guest?.[fuelExport];
  if (guest === undefined || fuel === undefined) throw new Error(`${name} has no fuel`);
  fuel.value = plenty;
  guest.run(n);
  const used = Number(plenty - fuel.value);
  const more = (metered / without - 1) * 100;
  worst = Math.max(worst, more);
  const figures = `${(without * 1e3).toFixed(0)} → ${(metered * 1e3).toFixed(0)} µs`;
  console.log(
    `${name.padEnd(12)} ${figures.padEnd(20)} ${more.toFixed(1).padStart(6)} %   ` +
      `${((metered * 1e6) / used).toFixed(2)} ns for a unit of fuel`,
  );
}
console.log(`most: ${worst.toFixed(1)} %`);
