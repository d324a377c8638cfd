/**
 * Guests that nobody wrote: modules that work are damaged and called over a batch, again and again. Whatever they do,
 * each row has a result or an error, and the next guest does what it did before. `HAUMEA_GUEST_FUZZ_ROUNDS` sets how
 * many are damaged, `HAUMEA_GUEST_FUZZ_SEED` which.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../../host/base/errors.js';
import type { CodeHost, LoadedCode } from '../../../host/plugins/define.js';
import type { PluginManifest } from '../../../host/plugins/manifest.js';
import { withManifest } from '../../../host/plugins/wasm/exports/embed.js';
import { loadModule } from '../../../host/plugins/wasm/load.js';
import { prepare } from '../../../host/plugins/wasm/prepare/prepare.js';
import { col } from '../../../kernels/plan/ir.js';
import { Instant, type Value, ValueError } from '../../../kernels/values/value.js';
import { VmKernel } from '../../support/kernel/vm-kernel.js';
import { damage, ofScript } from '../../support/plugins/damage.js';
import { randomFrom } from '../../support/plugins/programs.js';
import { Watch } from '../../support/plugins/watched-call.js';

const rounds = Number(process.env.HAUMEA_GUEST_FUZZ_ROUNDS ?? 90);
const seed = Number(process.env.HAUMEA_GUEST_FUZZ_SEED ?? 430_043);
const folder = mkdtempSync(join(tmpdir(), 'guest-fuzz-'));
test.after(() => {
  rmSync(folder, { recursive: true });
});
const limits = { callFuel: 200_000n, batchFuel: 1_000_000n };
const guestOf = (name: string) => new Uint8Array(readFileSync(new URL(`../../guests/${name}.wasm`, import.meta.url)));

/** What functions are called with, by type. */
const samples: Readonly<Record<string, readonly Value[]>> = {
  bigint: [1n, 7n, 3n, -5n],
  float: [1.5, 13, 14, -0.25],
  boolean: [true, false, true, false],
  datetime: [new Instant(0n), new Instant(10n ** 18n), new Instant(-1n), new Instant(5n)],
  string: ['', 'some text', 'é\u{1f600}', 'x'.repeat(300)],
  bytea: [Uint8Array.of(), Uint8Array.of(255, 0), Uint8Array.of(1), new Uint8Array(100)],
  array: [[], [1n, 'a'], [[null]], [2.5]],
  object: [{}, { a: 1n }, { b: [true] }, { c: { d: null } }],
  any: [null, 1n, 'a', [1n]],
};
const rows = 4;
const all = [0, 1, 2, 3];

const calls: { run: (columns: Parameters<LoadedCode['call']>[1]) => void } = { run: () => {} };
const watch = new Watch();
const kernel = new VmKernel((_fn, columns) => watch.call(columns, () => calls.run(columns)));

/** Calls all functions of a module over the samples; each row has to have a result or an error. */
function callAll(code: LoadedCode, { functions }: PluginManifest, what: string): string[] {
  const seen: string[] = [];
  for (const fn of functions) {
    const args = fn.args.length === 0 ? [] : fn.args.map(({ type }) => samples[type] as readonly Value[]);
    const columns = args.map((values) =>
      fn.aggregate === undefined ? [...values] : [[...values], [], [...values], []],
    );
    kernel.setBatch(columns as Value[][], rows, all);
    calls.run = (given) => code.call(fn.name, given);
    const results = kernel.run(
      { ops: [{ op: 'call.host', dst: 0, args: columns.map((_column, i) => col(i)), imm: 0 }], consts: [] },
      all,
      0,
    );
    assert.is(results.length, rows, what);
    assert.equal(watch.take(), [], what);
    for (const value of results) {
      seen.push(`${fn.name} ${value instanceof ValueError ? value.message : JSON.stringify(value, shown)}`);
    }
  }
  return seen;
}

function shown(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

test('damaged guests give results or errors and end, and the others do what they did', async () => {
  const random = randomFrom(seed);
  const bases = [guestOf('texts'), guestOf('kit'), withManifest(guestOf('strings'), JSON.stringify(ofScript))];
  const host: CodeHost = { log: () => {}, fault: () => {} };
  let version = 0;
  const load = async (bytes: Uint8Array): Promise<[LoadedCode, PluginManifest]> => {
    const { ready, manifest } = prepare(bytes);
    const path = join(folder, `${++version}.wasm`);
    writeFileSync(path, ready);
    const code = await loadModule({ kind: 'wasm', name: 'guest', version, path, manifest, limits }, host);
    rmSync(path);
    return [code, manifest];
  };
  const whole = await Promise.all(bases.map((bytes) => load(bytes)));
  const expected = whole.map(([code, manifest]) => callAll(code, manifest, 'whole'));
  let ran = 0;
  let refused = 0;
  for (let round = 0; round < rounds; round++) {
    const damaged = damage(bases[round % bases.length] as Uint8Array, random);
    const what = `round ${round}: ${Buffer.from(damaged).toString('base64')}`;
    let loaded: [LoadedCode, PluginManifest];
    try {
      loaded = await load(damaged);
    } catch (error) {
      const isStart = error instanceof Error && /the start function failed|segment|LinkError/.test(String(error));
      assert.ok(error instanceof HaumeaError || isStart, `${what}: ${error instanceof Error ? error.stack : error}`);
      refused++;
      continue;
    }
    ran++;
    callAll(loaded[0], loaded[1], what);
    loaded[0].close();
  }
  assert.ok(ran > rounds / 10 && refused > rounds / 10, `${ran} ran, ${refused} were refused`);
  whole.forEach(([code, manifest], i) => {
    assert.equal(callAll(code, manifest, 'whole, again').length, expected[i]?.length);
  });
});

test.run();
