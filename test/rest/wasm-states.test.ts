/** Aggregates and functions that look back of WebAssembly plugins, whose states the engine keeps: what comes in and out, and what guests get wrong. */
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startServer } from '../harness.js';
import { RowsThrough } from './rows-through.js';

const server = await startServer();
test.after(async () => {
  await server.stop();
});
const rule = new RowsThrough(server);

async function install(name: string, path: string): Promise<void> {
  const bytecode = readFileSync(new URL(path, import.meta.url)).toString('base64');
  const answer = await server.request('POST', '/plugins/wasm', { name, bytecode });
  assert.is(answer.status, 201, answer.text);
}

test('states of groups go from batch to batch', async () => {
  await install('states', '../guests/states.wasm');
  const rows = Array.from({ length: 5000 }, (_, i) => ({ k: i % 3, a: i, b: i % 7, t: 'abcdefghij'[i % 10] }));
  const results = await rule.results(
    'SELECT k, total(a, b) AS sum, sum(a * b) AS same, total(a, b) FILTER (WHERE a < 100) AS few FROM s GROUP BY k, COUNTWINDOW(5000)',
    rows,
  );
  assert.is(results.length, 3);
  for (const { sum, same, few } of results as { sum: number; same: number; few: number }[]) {
    assert.is(sum, same);
    assert.ok(few < sum);
  }
});

test('a function that looks back has a state for each partition', async () => {
  const rows = [1, 2, 3, 4, 5, 6].map((v) => ({ v, k: v % 2, t: 'uvwxyz'[v - 1] }));
  assert.equal(
    await rule.results(
      'SELECT running(v) AS all, running(v) OVER (PARTITION BY k) AS own, trail(t) OVER (PARTITION BY k WHEN v != 3) AS seen FROM s',
      rows,
    ),
    [
      { all: 1, own: 1, seen: 'u' },
      { all: 3, own: 2, seen: 'v' },
      { all: 6, own: 4, seen: 'u' },
      { all: 10, own: 6, seen: 'vx' },
      { all: 15, own: 9, seen: 'uy' },
      { all: 21, own: 12, seen: 'vxz' },
    ],
  );
});

test.run();
