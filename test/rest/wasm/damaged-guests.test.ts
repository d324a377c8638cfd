/**
 * Damaged modules in a whole server: they are uploaded again and again in the place of those that rules call, beside a
 * rule that must not miss a row. `HAUMEA_SERVER_FUZZ_ROUNDS` sets how many are damaged.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { PluginManifest } from '../../../host/plugins/manifest.js';
import { withManifest } from '../../../host/plugins/wasm/exports/embed.js';
import { eventually, startServer } from '../../support/harness.js';
import { damage, ofScript } from '../../support/plugins/damage.js';
import { randomFrom } from '../../support/plugins/programs.js';

const rounds = Number(process.env.HAUMEA_SERVER_FUZZ_ROUNDS ?? 36);
const limits = { callFuel: 200_000, batchFuel: 1_000_000 };
const server = await startServer();
test.after(async () => {
  await server.stop();
});

const guest = (name: string) => new Uint8Array(readFileSync(new URL(`../../guests/${name}.wasm`, import.meta.url)));
const guests: Readonly<Record<string, Uint8Array>> = {
  texts: guest('texts'),
  kit: guest('kit'),
  strings: withManifest(guest('strings'), JSON.stringify(ofScript)),
};

/** What functions are called with, by type, of the rows of the stream. */
const argumentOf: Readonly<Record<string, string>> = {
  bigint: 'n',
  float: 'f',
  boolean: 'f > 1',
  datetime: 'cast(n, "datetime")',
  string: 'a',
  bytea: 'cast(a, "bytea")',
  array: 'l',
  object: 'o',
  any: 'o',
};

async function send(method: string, path: string, body: object, ...statuses: number[]): Promise<number> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(statuses.includes(status), `${method} ${path}: ${status} ${text}`);
  return status;
}

const bodyOf = (name: string, bytes: Uint8Array, isolate: boolean) => ({
  name,
  bytecode: Buffer.from(bytes).toString('base64'),
  limits,
  isolate,
});
const statusOf = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json;

/** A stream with a row each few ms. */
async function stream(name: string, data: readonly object[]): Promise<void> {
  await send('PUT', `/metadata/sources/simulator/confKeys/${name}`, { data, interval: '3ms', loop: true }, 200);
  const sql = `CREATE STREAM ${name} () WITH (TYPE="simulator", CONF_KEY="${name}")`;
  await send('POST', '/streams', { sql }, 201);
}

const cycle = 100;
const output = join(server.data, 'rows', 'healthy.out');

async function startHealthy(): Promise<void> {
  mkdirSync(join(server.data, 'rows'), { recursive: true });
  await stream(
    'counter',
    Array.from({ length: cycle }, (_, n) => ({ n })),
  );
  const action = { file: { path: output, fileType: 'lines', sendSingle: true, interval: 100 } };
  await send('POST', '/rules', { id: 'healthy', sql: 'SELECT n, abs(n) AS m FROM counter', actions: [action] }, 201);
}

/** A rule for each guest that calls all its functions. */
async function startSufferers(isolate: boolean): Promise<void> {
  for (const [name, bytes] of Object.entries(guests)) {
    await send('POST', '/plugins/wasm', bodyOf(name, bytes, isolate), 201);
    const { manifest } = (await server.request('GET', `/plugins/wasm/${name}`)).json as { manifest: PluginManifest };
    const calls = manifest.functions.map(
      (fn, i) => `${fn.name}(${fn.args.map(({ type }) => argumentOf[type]).join()}) AS c${i}`,
    );
    const isAggregate = manifest.functions.some(({ aggregate }) => aggregate !== undefined);
    const sql = `SELECT ${calls.join(', ')} FROM mixed${isAggregate ? ' GROUP BY COUNTWINDOW(2)' : ''}`;
    const options = { sendError: true, restartStrategy: { attempts: 0 } };
    await send('POST', '/rules', { id: name, sql, actions: [{ nop: {} }], options }, 201);
  }
}

/** Resolves when the rule has got rows again, or has ended. */
async function goesOn(id: string): Promise<void> {
  const rows = async () => {
    const { status, source_mixed_0_records_in_total: count } = await statusOf(id);
    return /^stopped/i.test(status) ? Number.POSITIVE_INFINITY : (count as number);
  };
  const before = await rows();
  await eventually(`rows of ${id}`, async () => before === Number.POSITIVE_INFINITY || (await rows()) > before, 60_000);
}

test('whatever is uploaded, the server goes on and the rule beside it misses no row', async () => {
  const random = randomFrom(310_049);
  await startHealthy();
  await stream('mixed', [
    { n: 1, f: 1.5, a: 'some text', l: [1, 'a'], o: { x: 1 } },
    { n: 7, f: -0.25, a: 'é\u{1f600}', l: [], o: {} },
    { n: -5, f: 14, a: 'x'.repeat(300), l: [[null]], o: { c: { d: null } } },
  ]);
  const { lastStartTimestamp } = await statusOf('healthy');
  const taken = new Map<number, number>();
  for (const isolate of [false, true]) {
    await startSufferers(isolate);
    const names = Object.keys(guests);
    for (let round = 0; round < rounds / 2; round++) {
      const name = names[round % names.length] as string;
      const damaged = damage(guests[name] as Uint8Array, random);
      const status = await send('PUT', `/plugins/wasm/${name}`, bodyOf(name, damaged, isolate), 200, 400);
      taken.set(status, (taken.get(status) ?? 0) + 1);
      if (/^stopped/i.test((await statusOf(name)).status)) {
        // It was ended for its guest: the next one finds it running.
        await server.request('POST', `/rules/${name}/start`);
      }
      await goesOn(name);
    }
    for (const name of names) {
      await send('DELETE', `/rules/${name}`, {}, 200);
      await send('DELETE', `/plugins/wasm/${name}`, {}, 200);
    }
  }
  assert.ok((taken.get(200) ?? 0) > rounds / 8 && (taken.get(400) ?? 0) > rounds / 8, JSON.stringify([...taken]));
  assert.is(server.child.exitCode, null);
  const { status, lastStartTimestamp: last } = await statusOf('healthy');
  assert.equal([status, last], ['Running', lastStartTimestamp], 'it runs since the beginning');
  await send('POST', '/rules/healthy/stop', {}, 200);
  const seen = readFileSync(output, 'utf8').trimEnd().split('\n');
  assert.ok(seen.length > 20);
  seen.forEach((line, i) => {
    assert.is(line, `{"m":${i % cycle},"n":${i % cycle}}`, `line ${i}`);
  });
});

test.run();
