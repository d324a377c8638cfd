/**
 * Variables of guests of Extism's development kits as states that the engine keeps: for each partition of each rule,
 * over traps, bounded.
 */
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withManifest } from '../../../host/plugins/wasm/exports/embed.js';
import { startServer } from '../../support/harness.js';
import { RowsThrough } from '../../support/rest/rows-through.js';

const server = await startServer();
test.after(async () => {
  await server.stop();
});
const rule = new RowsThrough(server);

async function install(name: string, guest: string, functions: object[]): Promise<void> {
  const module = readFileSync(new URL(`../../guests/${guest}.wasm`, import.meta.url));
  const bytecode = Buffer.from(withManifest(module, JSON.stringify({ abi: 1, functions }))).toString('base64');
  const { status, text } = await server.request('POST', '/plugins/wasm', { name, bytecode });
  assert.is(status, 201, text);
}

const text = { args: ['string'], result: 'string' };
await install('kit', 'kit', [
  { name: 'tally', export: 'trips', ...text, result: 'any', analytic: true },
  { name: 'times', export: 'times', ...text, result: 'any' },
]);

test('each partition of each rule has variables of its own, plain functions those of the instance', async () => {
  const rows = ['a', 'b', 'a', 'a', 'b'].map((k) => ({ k }));
  const select = 'SELECT k, tally(k) OVER (PARTITION BY k) AS own, tally(k) AS every FROM s';
  for (const _round of [1, 2]) {
    assert.equal(await rule.results(select, rows), [
      { k: 'a', own: 1, every: 1 },
      { k: 'b', own: 1, every: 2 },
      { k: 'a', own: 2, every: 3 },
      { k: 'a', own: 3, every: 4 },
      { k: 'b', own: 2, every: 5 },
    ]);
  }
  assert.equal(await rule.results('SELECT times(k) AS n FROM s', rows.slice(3)), [{ n: 1 }, { n: 2 }]);
});

test('rows keep their states over many batches and nulls', async () => {
  const rows = Array.from({ length: 6000 }, (_, i) => ({ i, k: i % 700, t: i % 10 === 7 ? null : 'x' }));
  const counted = (await rule.results('SELECT i, tally(t) OVER (PARTITION BY k) AS n FROM s', rows)) as {
    i: number;
    n: number | null;
  }[];
  const counts = new Map<number, number>();
  for (const { i, n } of counted) {
    const k = i % 700;
    if (i % 10 === 7) assert.is(n ?? null, null);
    else {
      counts.set(k, (counts.get(k) ?? 0) + 1);
      assert.is(n, counts.get(k), `row ${i}`);
    }
  }
  assert.is(counted.length, 6000);
});

test('a call that traps is taken back, one that fails is not, and what was forgotten begins anew', async () => {
  const rows = ['x', 'x', 't', 'x', 'f', 'x', 'c', 'x'].map((t) => ({ t }));
  assert.equal(await rule.results('SELECT tally(t) AS n FROM s', rows), [
    { n: 1 },
    { n: 2 },
    'function tally of kit: unreachable',
    { n: 3 },
    'function tally of kit: it failed and did not say why',
    { n: 5 },
    { n: 6 },
    { n: 1 },
  ]);
});

test('a guest that others made, which sets a variable in each call, works as it is', async () => {
  await install('vowels', 'third-party/count-vowels', [
    { name: 'count_vowels', ...text, result: 'object', analytic: true },
  ]);
  const rows = ['Ada', 'Bo', 'Ada'].map((name) => ({ name }));
  const select = 'SELECT count_vowels(name)->count AS n FROM s';
  assert.equal(await rule.results(select, rows), [{ n: 2 }, { n: 1 }, { n: 2 }]);
});

test('a manifest with aggregates of such a guest is refused, with its field', async () => {
  const module = readFileSync(new URL('../../guests/kit.wasm', import.meta.url));
  const functions = [{ name: 'sum_up', ...text, aggregate: true }];
  const bytecode = Buffer.from(withManifest(module, JSON.stringify({ abi: 1, functions }))).toString('base64');
  const { status, json } = await server.request('POST', '/plugins/wasm', { name: 'no', bytecode });
  assert.is(status, 400);
  assert.match(json.message, /functions\[0\]\.aggregate: guests of Extism have no aggregates/);
});

test.run();
