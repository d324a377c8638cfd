/**
 * Answers of scripts and modules that were made to do harm: whatever they say, each row has a result or an error,
 * nothing outside of the columns is written or read, and code that works does what it did before.
 * `HAUMEA_HOSTILE_FUZZ_ROUNDS` sets how many of each kind are tried, `HAUMEA_HOSTILE_FUZZ_SEED` which.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { QuickJSContext } from 'quickjs-emscripten-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { CodeHost, LoadedCode, ScriptLimits } from '../../../host/plugins/define.js';
import { loadScript } from '../../../host/plugins/javascript/load.js';
import { newEngine } from '../../../host/plugins/javascript/quickjs.js';
import type { PluginFunction, PluginManifest } from '../../../host/plugins/manifest.js';
import { BatchMemory } from '../../../host/plugins/wasm/isolate/batch-memory.js';
import { loadModule } from '../../../host/plugins/wasm/load.js';
import { prepare } from '../../../host/plugins/wasm/prepare/prepare.js';
import { MessageCalls } from '../../../kernels/calls/message-calls.js';
import { column, HostPart, Tag } from '../../../kernels/gen/layouts.js';
import { col } from '../../../kernels/plan/ir.js';
import { CarriedColumn, type CarriedColumns, carry, checkCarried } from '../../../kernels/values/carried.js';
import { Instant, type Value, ValueError } from '../../../kernels/values/value.js';
import { VmKernel } from '../../support/kernel/vm-kernel.js';
import { hostileAnswer, hostileScript } from '../../support/plugins/hostile-scripts.js';
import { type Random, randomFrom } from '../../support/plugins/programs.js';
import { Watch } from '../../support/plugins/watched-call.js';
import { wildGuest } from '../../support/plugins/wild-guests.js';

const rounds = Number(process.env.HAUMEA_HOSTILE_FUZZ_ROUNDS ?? 20);
const firstSeed = Number(process.env.HAUMEA_HOSTILE_FUZZ_SEED ?? 1);
const limits = { callMs: 5000, batchMs: 20_000, memoryBytes: 8 << 20, stackBytes: 256 << 10 };
/** For scripts that may not end. */
const tight = { ...limits, callMs: 20, batchMs: 100 };
const host: CodeHost = { log: () => {}, fault: () => {} };
const watch = new Watch();
const under: { code?: LoadedCode | undefined; entry: string } = { entry: 'f' };
const kernel = new VmKernel((_fn, columns) => watch.call(columns, () => under.code?.call(under.entry, columns)));
const folder = mkdtempSync(join(tmpdir(), 'hostile-answers-'));
test.after(() => {
  rmSync(folder, { recursive: true });
});
let versions = 0;

/** Calls the function under test over columns, of which each second row counts; its results from row `from` on. */
function called(columns: readonly (readonly Value[])[], part: number = HostPart.value, from = 0): Value[] {
  const rows = Math.max(...columns.map(({ length }) => length), 1);
  // Rows that are not selected are nobody's.
  const selected = Array.from({ length: rows }, (_, k) => 2 * k + 1);
  const spread = columns.map((values) => selected.flatMap((_row, k) => [null, values[k]] as Value[]));
  kernel.setBatch(spread, 2 * rows, selected);
  const args = columns.map((_values, i) => col(i));
  const program = kernel.load({ ops: [{ op: 'call.host', dst: 0, args, imm: part }], consts: [] });
  kernel.exports.vmRun(program);
  kernel.exports.programFree(program);
  return kernel.register(0, selected.slice(from));
}

function loadedScript(script: string, within: ScriptLimits = limits): Promise<LoadedCode> {
  return loadScript({ kind: 'javascript', name: 'f', version: ++versions, script, limits: within }, host);
}

/** Results of a script whose function `f` gets each of the values. */
async function resultsOf(script: string, values: readonly Value[]): Promise<Value[]> {
  under.entry = 'f';
  under.code = await loadedScript(script);
  try {
    return called([values]);
  } finally {
    under.code.close();
  }
}

for (const row of [-2_706_484, -1000, -1, 3, 0.5, 1e300, 'x']) {
  test(`a script that replaces how lists are written does not say what is written where: row ${row}`, async () => {
    const forged = `[this[0], [${JSON.stringify(row)}, 'outside'], false]`;
    const results = await resultsOf(
      `Array.prototype.toJSON = function () { return typeof this[2] === "boolean" ? ${forged} : this; };
      function f(v) { return v; }`,
      [1n, 2n, 3n],
    );
    assert.equal(watch.take(), []);
    assert.equal(results, [1n, 2n, 3n]);
  });
}

/** Runs something while all sandboxes answer what `change` makes of their answers. */
async function answering<T>(change: (text: string) => string, run: () => T | Promise<T>): Promise<T> {
  const { quick } = await newEngine();
  const context: QuickJSContext = Object.getPrototypeOf(quick.newContext());
  const { getString } = context;
  context.getString = function (handle) {
    return change(getString.call(this, handle));
  };
  try {
    return await run();
  } finally {
    context.getString = getString;
  }
}

test('a sandbox that answers what no runner writes costs its rows and nothing else', async () => {
  for (const [forged, reason] of [
    ['[[1,2,3],[-1,"x"],false]', /its sandbox is damaged: the answer has an error of no row: -1/],
    ['[[1,2,3],[0],false]', /its sandbox is damaged: the answer has no list of errors/],
    ['[[1,2],[],false]', /its sandbox is damaged: the answer has no 3 results/],
    ['[[1,2,3],[],1]', /its sandbox is damaged: the answer does not say whether it has marks/],
    ['[[1,{"\\u0000":"b","v":{"length":200000000}},3],[],true]', /the result is no value: a mark that nobody writes/],
    ['', /its sandbox is damaged/],
  ] as const) {
    const results = await answering(
      () => forged,
      () => resultsOf('function f(v) { return v; }', [1n, 2n, 3n]),
    );
    const reasons = results.flatMap((one) => (one instanceof ValueError ? [one.message] : []));
    assert.ok(
      reasons.some((one) => reason.test(one)),
      `${forged}: ${reasons}`,
    );
    assert.equal(watch.take(), []);
  }
});

const texts = ['', 'some text', '\u{1f600} \udc80 \0', 'x'.repeat(300)];
const objects: readonly Value[] = [
  {},
  { '\0': 'b', v: { length: 200_000_000n } },
  { '\0\0': 1n },
  { ['__proto__']: 5n },
];
/** What functions are called with, by type. */
const samples: Readonly<Record<string, readonly Value[]>> = {
  bigint: [1n, -(2n ** 63n), 2n ** 63n - 1n, undefined],
  float: [1.5, Number.NaN, Number.NEGATIVE_INFINITY, -0],
  boolean: [true, false, null, true],
  datetime: [new Instant(0n), new Instant(10n ** 18n, 60), new Instant(-1n), null],
  string: texts,
  bytea: [Uint8Array.of(), Uint8Array.of(255, 0), new Uint8Array(200), new ValueError('failed before')],
  array: [[], [1n, 'a'], [[null]], objects.slice()],
  object: objects,
  any: [null, 1n, 'a', [1n]],
};
const all = Object.values(samples).flat();

function mixed(random: Random): Value[] {
  return Array.from({ length: 4 }, () => all[random(all.length)] as Value);
}

/** Runs each round by a seed of its own; what goes wrong tells it. */
async function eachRound(base: number, run: (random: Random) => Promise<unknown>): Promise<void> {
  const begun = performance.now();
  for (let round = 0; round < rounds; round++) {
    const seed = base + firstSeed * 1_000_003 + round * 7919;
    try {
      await run(randomFrom(seed));
      assert.equal(watch.take(), []);
    } catch (error) {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.stack : error}`, { cause: error });
    }
  }
  console.log(`${rounds} rounds in ${((performance.now() - begun) / 1000).toFixed(1)} s`);
}

test('whatever scripts do to the language around them, their results stay where they belong', async () => {
  const good = await loadedScript('function f(v) { return [v, "good"]; }');
  let ran = 0;
  await eachRound(10, async (random) => {
    const script = hostileScript(random);
    const isDamaged = random(4) === 0;
    try {
      under.code = await loadedScript(script, tight);
    } catch (error) {
      // Its preludes may throw, or leave nothing that works.
      assert.instance(error, Error);
      return;
    }
    ran++;
    const { code } = under;
    await answering(
      (text) => (isDamaged ? hostileAnswer(random, text) : text),
      () => {
        for (let batch = 0; batch < 2; batch++) {
          const results = called(Array.from({ length: 1 + random(3) }, () => mixed(random)));
          assert.is(results.length, 4);
        }
        code.close();
      },
    );
    under.code = good;
    assert.equal(called([[1n, 'a']]), [
      [1n, 'good'],
      ['a', 'good'],
    ]);
  });
  good.close();
  assert.ok(ran > rounds / 3, `${ran} ran`);
});

const wasmLimits = { callFuel: 200_000n, batchFuel: 1_000_000n, callMs: 200, batchMs: 500 };

async function loadedModule(bytes: Uint8Array): Promise<[LoadedCode, PluginManifest]> {
  const { ready, manifest } = prepare(bytes);
  const version = ++versions;
  const path = join(folder, `${version}.wasm`);
  writeFileSync(path, ready);
  const code = { kind: 'wasm', name: 'guest', version, path, manifest, limits: wasmLimits } as const;
  try {
    return [await loadModule(code, host), manifest];
  } finally {
    rmSync(path);
  }
}

/** Calls a function in each way that the kernel calls it. */
function callAll(fn: PluginFunction, random: Random): void {
  under.entry = fn.name;
  const of = (type: string) => (random(5) === 0 ? mixed(random) : [...(samples[type] as readonly Value[])]);
  const args = fn.args.map(({ type }) => of(type));
  const { aggregate, analytic } = fn;
  const states: Value[] = [undefined, Uint8Array.of(1, 2, 3), new Uint8Array(500)];
  if (aggregate?.save !== undefined || analytic !== undefined) {
    // Rows of three groups, then the states of these.
    const columns = [...args.map((values) => [...values, null, null, null]), [0n, 2n, 1n, 0n, ...states]];
    // Rows have results where nothing finishes.
    called(columns, HostPart.step, aggregate === undefined ? 0 : 4);
    if (aggregate === undefined) return;
    called([[...states, new ValueError('failed before')]]);
    if (aggregate.merge !== undefined) called([states, [...states].reverse()], HostPart.merge);
    return;
  }
  called(aggregate === undefined ? args : args.map((values) => [values, [], values, [null]]));
}

const messages = new MessageCalls();
const payloads = ['', '{"a":1}', '\0\xff', 'x'.repeat(5000)].map((text) => Buffer.from(text));

/** Calls a codec both ways: over a column, as streams do, and over messages, as sinks do. */
function callCodec(code: LoadedCode): void {
  for (const [entry, kind, values] of [
    ['c.decode', 'bytes', samples.bytea],
    ['c.encode', 'text', samples.string],
  ] as const) {
    under.entry = entry;
    called([values as readonly Value[]]);
    const made = messages.run(payloads, kind, (columns) => watch.call(columns, () => code.call(entry, columns)));
    assert.is(made.length, payloads.length);
  }
}

test('whatever modules answer, and to whatever they are asked, their results stay where they belong', async () => {
  let refused = 0;
  await eachRound(20, async (random) => {
    const bytes = wildGuest(random);
    let loaded: [LoadedCode, PluginManifest];
    try {
      loaded = await loadedModule(bytes);
    } catch (error) {
      if (!/the start function failed/.test(String(error))) throw error;
      refused++;
      return;
    }
    const [code, manifest] = loaded;
    under.code = code;
    for (let again = 0; again < 2; again++) {
      for (const fn of manifest.functions) callAll(fn, random);
      callCodec(code);
    }
    code.close();
  });
  assert.ok(refused < rounds / 2, `${refused} were refused`);
});

/** Puts a column that came from a thread into the kernel, which works on it. */
function taken(results: CarriedColumns): void {
  kernel.setBatch([], 4, [0, 1, 2, 3]);
  const block = kernel.exports.columnAt(0);
  assert.ok(new CarriedColumn(results, 0).put(kernel.values, block + column.at.vals, block + column.at.tags, 0, 4));
  kernel.values.view().setUint8(block, Tag.mixed);
  for (const op of ['convert.toJson', 'cast.toString', 'cast.toDatetime'] as const) {
    const program = kernel.load({ ops: [{ op, dst: 0, args: [col(0)] }], consts: [] });
    kernel.exports.vmRun(program);
    kernel.exports.programFree(program);
    assert.is(kernel.register(0, [0, 1, 2, 3]).length, 4);
  }
}

test('columns that come back from a thread hold what they say, whatever the module on it does', async () => {
  const batches = new BatchMemory();
  await eachRound(30, async (random) => {
    const [code, manifest] = await loadedModule(wildGuest(random));
    for (const fn of manifest.functions) {
      if (fn.aggregate !== undefined || fn.analytic !== undefined) continue;
      const args = fn.args.map(() => mixed(random));
      kernel.setBatch(args, 4, [0, 1, 2, 3]);
      const places = args.map((_values, i) => {
        const block = kernel.exports.columnAt(i);
        return { vals: block + column.at.vals, tags: block + column.at.tags };
      });
      const given = carry(kernel.values, places, 4);
      checkCarried(given, args.length, 4);
      const results = batches.run(given, (columns) => {
        watch.call(columns, () => code.call(fn.name, columns));
      });
      checkCarried(results, 1, 4);
      taken(results);
      const damaged = { ...results, bytes: results.bytes.slice() };
      for (let left = random(4); left >= 0; left--) damaged.bytes[random(damaged.bytes.length)] = random(256);
      try {
        checkCarried(damaged, 1, 4);
      } catch (error) {
        assert.instance(error, RangeError);
        continue;
      }
      taken(damaged);
    }
    code.close();
  });
});

test.run();
