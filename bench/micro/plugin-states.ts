/**
 * Aggregates and functions that look back of a plugin, beside the built-in ones: ns a row of lines of JSON through a
 * rule, and the bytes that the kernel holds before the window ends; the least of all rounds, in turns.
 *
 *     npx tsx bench/micro/plugin-states.ts [ROUNDS]
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { argumentCounts, callOf, type UserFunction } from '../../host/plugins/define.js';
import { loadCode } from '../../host/plugins/index.js';
import { newUserNumber, userFunctionName } from '../../host/plugins/numbers.js';
import { prepare } from '../../host/plugins/wasm/prepare/prepare.js';
import { createKernel } from '../../kernels/index.js';
import { openRule, textOf } from '../../test/support/engine/rule-kernel.js';

const rounds = Number(process.argv[2] ?? 5);
const count = 100_000;
const folder = mkdtempSync(join(tmpdir(), 'plugin-states-'));

const states = { init: 'state_init', save: 'state_save', load: 'state_load' };
const sum = { args: ['bigint', 'bigint'], result: 'bigint' };
const aggregate = { init: 'state_init', accumulate: 'total_accumulate', finish: 'total_finish' };
const manifest = JSON.stringify({
  abi: 1,
  functions: [
    { name: 'of_state', ...sum, aggregate: { ...aggregate, ...states } },
    { name: 'of_rows', ...sum, aggregate },
    { name: 'running', args: ['bigint'], result: 'bigint', analytic: { ...states, step: 'running_step' } },
  ],
});
const prepared = prepare(readFileSync(new URL('../../test/guests/states.wasm', import.meta.url)), manifest);
const path = join(folder, 'states.wasm');
writeFileSync(path, prepared.ready);
const limits = { callFuel: 100_000_000n, batchFuel: 1_000_000_000n };
const code = { kind: 'wasm', name: 'states', version: 1, path, manifest: prepared.manifest, limits } as const;
const functions = prepared.manifest.functions.map((fn): UserFunction => {
  const { name } = fn;
  return {
    name,
    owner: 'bench',
    number: newUserNumber(name),
    code,
    entry: name,
    ...callOf(fn),
    args: argumentCounts(fn),
  };
});
const loaded = await loadCode(code, { log: () => {}, fault: () => {} });

const rowsOf = (keys: number) =>
  textOf(Array.from({ length: count }, (_, i) => ({ k: (i * 7919) % keys, a: i, b: i % 9 })));
const inputs = new Map([1, 1000].map((keys) => [keys, rowsOf(keys)]));

function measure(sql: string, keys: number): { ns: number; bytes: number } {
  const kernel = createKernel({
    onOutput: () => {},
    onPacket: () => {},
    onAcknowledge: () => {},
    call: (fn, columns) => loaded.call(userFunctionName(fn) ?? '', columns),
  });
  const rule = openRule(['CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="s")'], sql, {
    kernel,
    brought: (name) => {
      const run = functions.find((one) => one.name === name);
      return run && { owner: run.owner, run };
    },
  });
  const before = kernel.memory();
  const started = performance.now();
  rule.feed('s', inputs.get(keys)!);
  const ns = ((performance.now() - started) * 1e6) / count;
  const after = kernel.memory();
  const bytes = after.inUse - after.workspace - (before.inUse - before.workspace);
  rule.close();
  return { ns, bytes };
}

// The window does not end: what is held then is told.
const windows = (call: string) => `SELECT k, ${call} AS r FROM s GROUP BY k, COUNTWINDOW(${count + 1})`;
const statements: readonly (readonly [name: string, sql: string])[] = [
  ['built-in aggregate', windows('sum(a * b)')],
  ['aggregate with state', windows('of_state(a, b)')],
  ['aggregate over kept rows', windows('of_rows(a, b)')],
  ['built-in acc_sum', 'SELECT acc_sum(a) OVER (PARTITION BY k) AS r FROM s'],
  ['looks back', 'SELECT running(a) OVER (PARTITION BY k) AS r FROM s'],
];
const least = new Map<string, { ns: number; bytes: number }>();
for (let round = 0; round < rounds; round++) {
  for (const keys of inputs.keys()) {
    for (const [name, sql] of statements) {
      const label = `${name}, ${keys} group${keys > 1 ? 's' : ''}`;
      const found = measure(sql, keys);
      const before = least.get(label);
      if (before === undefined || found.ns < before.ns) least.set(label, found);
    }
  }
}
for (const [label, { ns, bytes }] of least) {
  console.log(`${label.padEnd(42)} ${ns.toFixed(0).padStart(6)} ns/row ${(bytes / 1024).toFixed(0).padStart(8)} KiB`);
}
rmSync(folder, { recursive: true });
