/** The client as programs import it: haumea/client, with its types. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { HaumeaClient as Client, QueryEvent, Refusal as RefusalType } from '../../host/sdk/client.js';
import { freePort, startServer, type TestServer, temporaryFolder } from '../support/harness.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
// Where the exports of the package lead: tests that are compiled have none of their own.
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const built = new URL(exports['./client'].default, pathToFileURL(root)).href;
const { HaumeaClient, Refusal, Unreachable } = (await import(built)) as typeof import('../../host/sdk/client.js');

let server: TestServer;
let client: Client;

test.before(async () => {
  server = await startServer();
  client = new HaumeaClient({ base: server.base });
  const sql = 'CREATE STREAM demo (a BIGINT, b BIGINT) WITH (TYPE="simulator", FORMAT="json")';
  await client.ask('POST /streams', { body: { sql } });
});
test.after(async () => {
  await server.stop();
});

const failed = (work: Promise<unknown>): Promise<unknown> =>
  work.then(() => undefined).catch((error: unknown) => error);

test('routes answer with objects, texts and files', async () => {
  const rule = { id: 'r1', sql: 'SELECT a FROM demo', actions: [{ nop: {} }] };
  assert.match(await client.ask('POST /rules', { body: rule }), 'r1');
  const [found] = await client.ask('GET /rules', { query: { trouble: 'true' } });
  assert.equal([found?.id, found?.tags], ['r1', null]);
  assert.is((await client.ask('GET /rules/{id}', { path: { id: 'r1' } })).sql, rule.sql);
  const document = JSON.parse(await (await client.ask('GET /data/export', { query: { secrets: 'omit' } })).text());
  assert.equal(Object.keys(document.rules), ['r1']);
  assert.match(await client.ask('DELETE /rules/{id}', { path: { id: 'r1' } }), 'r1');
});

test('refusals have status and sentence of the server, silence is told apart', async () => {
  const refused = (await failed(client.ask('GET /rules/{id}', { path: { id: 'none' } }))) as RefusalType;
  assert.instance(refused, Refusal);
  assert.equal([refused.status, refused.code], [404, 1002]);
  assert.match(refused.message, 'none');
  const away = new HaumeaClient({ base: `http://127.0.0.1:${await freePort()}` });
  assert.instance(await failed(away.ask('GET /ping')), Unreachable);
  const ended = await failed(client.ask('GET /ping', { signal: AbortSignal.abort(new Error('enough')) }));
  assert.is((ended as Error).message, 'enough');
});

test('a query gives rows, and errors in the place of rows, until its input ends', async () => {
  const rows = {
    demo: [
      { a: 4, b: 2 },
      { a: 1, b: 0 },
      { a: 9, b: 3 },
    ],
  };
  const found: QueryEvent[] = [];
  for await (const one of client.query('SELECT a / b AS q FROM demo', { rows })) {
    if (!('note' in one)) found.push(one);
    if (found.length === 3) break;
  }
  assert.equal(found[0], { row: { q: 2 } });
  assert.match((found[1] as { error: string }).error, 'divided by zero');
  assert.equal(found[2], { row: { q: 3 } });
});

test('headers and token go with each request', async () => {
  const sent: Record<string, string>[] = [];
  const fetch = (_url: unknown, init?: RequestInit) => {
    sent.push(init?.headers as Record<string, string>);
    return Promise.resolve(new Response('', { status: 200 }));
  };
  const own = new HaumeaClient({ base: 'http://x', token: () => 'Bearer abc', headers: { 'x-plant': '7' }, fetch });
  await own.ask('GET /ping');
  assert.equal(sent, [{ 'x-plant': '7', Authorization: 'Bearer abc' }]);
});

test('the examples of the page compile, what the routes do not take does not', () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules/haumea'), 'dir');
  writeFileSync(
    join(folder, 'program.ts'),
    [
      "import { HaumeaClient, type Rule } from 'haumea/client';",
      "const client = new HaumeaClient({ base: '' });",
      "const rule: Rule = await client.ask('GET /rules/{id}', { path: { id: 'r' } });",
      'console.log(rule.sql?.length);',
      "await client.ask('GET /rulez');",
      "await client.ask('GET /rules/{id}');",
    ].join('\n'),
  );
  const page = readFileSync(join(root, 'docs/sdk.md'), 'utf8');
  const examples = [...page.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, text]) => text);
  assert.is(examples.length, 3);
  writeFileSync(join(folder, 'examples.ts'), examples.join('\n'));
  const compilerOptions = { module: 'NodeNext', target: 'ES2022', lib: ['ES2023', 'DOM'], strict: true, noEmit: true };
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { ...compilerOptions, types: [] }, files: ['program.ts', 'examples.ts'] }),
  );
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [tsc, '--pretty', 'false', '-p', folder], { encoding: 'utf8' });
  const places = [...stdout.matchAll(/(\w+\.ts\(\d+),/g)].map(([, place]) => place);
  assert.equal(places, ['program.ts(5', 'program.ts(6'], stdout);
});

test.run();
