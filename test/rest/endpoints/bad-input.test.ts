/**
 * What no client should send, to every operation: bodies of the wrong kind, members of wrong types, unusual ids, bodies
 * that are too large, no token. Each is refused with a reason, or does nothing it should not; nothing changes.
 */

import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { temporaryFolder, within } from '../../support/harness.js';
import { portablePlugin, service, wasmModule } from '../../support/rest/archives.js';
import { type ControlPlane, startControlPlane } from '../../support/rest/control-plane.js';
import type { Json } from '../../support/rest/schema-check.js';
import { runningRule } from './given.js';
import { CaseRunner, openServer } from './run.js';

interface Operation {
  readonly op: string;
  readonly method: string;
  readonly path: string;
  /** Schema of a JSON body; undefined when none is taken. */
  readonly body: Json | undefined;
  readonly hasBody: boolean;
}

const { server, document, runner, close } = await openServer();
test.after(close);

const operations: readonly Operation[] = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
  Object.entries<Json>(methods).map(([method, operation]) => ({
    op: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path,
    body: resolved(operation.requestBody?.content['application/json']?.schema),
    hasBody: operation.requestBody !== undefined,
  })),
);
/** Those that may be tried with anything: the others end the server. */
const harmless = operations.filter(({ path }) => path !== '/stop');

function resolved(schema: Json): Json {
  const name = schema?.$ref?.replace('#/components/schemas/', '');
  return name === undefined ? schema : document.components.schemas[name];
}

/** Ids that are there, so that the body is what is wrong; schemas are of a type that exists. */
function pathOf(path: string, id = 'r'): string {
  const known = path.startsWith('/schemas/') && id === 'r' ? path.replace('{type}', 'protobuf') : path;
  return known.replace(/\{\w+\}/g, id);
}

/**
 * Sends what must be refused, and looks for changes at the end: one that is found is searched for request by request.
 */
async function refuseAll(
  requests: readonly { operation: Operation; path: string; body?: unknown }[],
): Promise<string[]> {
  await runner.prepare([...runningRule]);
  const wrong: string[] = [];
  let before = await runner.snapshot();
  for (const { operation, path, body } of requests) {
    const name = `${operation.method} ${path.slice(0, 60)} ${String(JSON.stringify(body)).slice(0, 80)}`;
    const answer = await runner.send(operation.method, path, body).catch((error: Error) => error.message);
    if (typeof answer === 'string') wrong.push(`${name}: ${answer}`);
    else if (answer.status >= 500) wrong.push(`${name}: ${answer.status} ${answer.text}`);
    else if (answer.status < 400 && !isHarmlessSuccess(operation)) wrong.push(`${name}: ${answer.status}`);
    else {
      const reason = isUnknownPath(answer) ? undefined : runner.answerMisfit(operation.op, answer);
      if (reason !== undefined) wrong.push(`${name}: ${reason}`);
    }
    const after = operation.method === 'GET' ? before : await runner.snapshot();
    if (after !== before) wrong.push(`${name}: something changed`);
    before = after;
  }
  return wrong;
}

/** An id that is split by a slash, or is one of the fixed words, may be the path of nothing. */
function isUnknownPath({ status, text }: { status: number; text: string }): boolean {
  return (status === 404 && text === '404 page not found\n') || status === 405;
}

/** Orders that do nothing when there is nothing to do them to, and questions. */
function isHarmlessSuccess({ op }: Operation): boolean {
  const orders = ['DELETE /ruletest/{id}', 'POST /ruletest/{id}/start', 'DELETE /connections/{id}'];
  return op.startsWith('GET ') || orders.includes(op);
}

test('bodies that are no JSON, or JSON of the wrong kind, are refused by every operation that takes one', async () => {
  const requests = operations
    .filter(({ hasBody }) => hasBody)
    .flatMap((operation) => {
      const path = pathOf(operation.path);
      const kinds: unknown[] = ['', '{', '{"a":1}}', '\u0000', 'null', '5', '"text"', 'true', '[5]', '[[]]', '[null]'];
      // A list is what these take.
      if (operation.body?.type !== 'array') kinds.push('[]');
      else kinds.push('{}');
      return kinds.map((body) => ({ operation, path, body }));
    });
  assert.ok(requests.length > 400, `${requests.length} requests`);
  assert.equal(await refuseAll(requests), []);
});

const wrongValues: Readonly<Record<string, readonly unknown[]>> = {
  string: [5, true, {}, [], [null]],
  boolean: ['yes', 5, {}, []],
  integer: ['many', true, {}, []],
  object: ['text', 5, true, []],
  array: ['text', 5, true, {}, [{}]],
};

test('members of a wrong type are refused by every operation that takes an object', async () => {
  const requests = operations.flatMap((operation) => {
    const properties: Record<string, Json> = operation.body?.properties ?? {};
    return Object.entries(properties).flatMap(([member, schema]) => {
      const type = schema.type ?? schema.anyOf?.find((one: Json) => one.type !== 'null')?.type;
      return (wrongValues[type] ?? []).map((value) => ({
        operation,
        path: pathOf(operation.path),
        body: { [member]: value },
      }));
    });
  });
  assert.ok(requests.length > 300, `${requests.length} requests`);
  assert.equal(await refuseAll(requests), []);
});

test('members that are null are no failure of the server', async () => {
  await runner.reset();
  const wrong: string[] = [];
  for (const { op, method, path, body } of harmless) {
    for (const member of Object.keys(body?.properties ?? {})) {
      const answer = await runner.send(method, pathOf(path), { [member]: null });
      const reason = isUnknownPath(answer) ? undefined : runner.answerMisfit(op, answer);
      if (answer.status >= 500 || reason !== undefined) wrong.push(`${op} ${member}: ${answer.status} ${answer.text}`);
    }
  }
  assert.equal(wrong, []);
});

const oddIds = {
  'letters beyond ASCII': '%C3%BC%F0%9F%98%80',
  'a slash in the id': 'a%2Fb',
  'a folder above': '..%2F..%2Fetc',
  'two dots': '..',
  'a control character': 'a%00b',
  'a line break': 'a%0Ab',
  'half of a percent sign': 'a%2',
  'half of a character': '%C3',
  '300 characters': 'x'.repeat(300),
  'a name that every object has': '__proto__',
  'another one': 'constructor',
};

for (const [what, id] of Object.entries(oddIds)) {
  test(`ids with ${what} are refused, or are of nothing`, async () => {
    const requests = harmless
      .filter(({ path }) => path.includes('{'))
      .map((operation) => ({
        operation,
        path: pathOf(operation.path, id),
        // Some of these ids are good: no body makes a configuration key of them.
        ...(operation.hasBody ? { body: operation.path.includes('/confKeys/') ? [] : {} } : {}),
      }));
    assert.ok(requests.length > 60, `${requests.length} requests`);
    const wrong = await refuseAll(requests);
    assert.equal(wrong, []);
  });
}

test('names in bodies that no file can have are refused', async () => {
  const name = 'x'.repeat(241);
  const content = 'syntax = "proto3";';
  const uploaded = JSON.stringify({ type: 'protobuf', name, content });
  const requests: readonly (readonly [op: string, path: string, body: unknown])[] = [
    ['POST /schemas/{type}', '/schemas/protobuf', { name, content }],
    ['PUT /schemas/{type}/{name}', `/schemas/protobuf/${name}`, { content }],
    ['POST /plugins/wasm', '/plugins/wasm', { name, bytecode: wasmModule('addUp') }],
    ['POST /plugins/portables', '/plugins/portables', { name, file: portablePlugin(name) }],
    ['POST /services', '/services', { name, file: service(name, 'itemPrice') }],
    [
      'POST /data/import',
      '/data/import?partial=1',
      { content: JSON.stringify({ Schema: { [`protobuf_${name}`]: uploaded } }) },
    ],
  ];
  await runner.reset();
  const before = await runner.snapshot();
  for (const [op, path, body] of requests) {
    const answer = await runner.send(op.split(' ')[0] ?? '', path, body);
    assert.is(answer.status, 400, `${op}: ${answer.text}`);
    assert.match(answer.json.message, 'is longer than 240 bytes');
    assert.is(runner.answerMisfit(op, answer), undefined);
  }
  assert.is(await runner.snapshot(), before);
});

test('names that every object has are names like others', async () => {
  for (const name of ['__proto__', 'constructor', 'toString']) {
    await runner.reset();
    const before = await runner.snapshot();
    const key = `/metadata/sources/${name}/confKeys/${name}`;
    assert.is((await runner.send('GET', `/metadata/sources/yaml/${name}`)).status, 400, name);
    assert.is((await runner.send('PUT', key, { a: 1 })).status, 200, name);
    const shown = `{"${name}":{"a":1}}`;
    assert.is((await runner.send('GET', `/metadata/sources/yaml/${name}`)).text, shown);
    const all = (await runner.send('GET', '/metadata/resource')).text;
    assert.ok(all.includes(`"${name}":${shown}`), all);
    const exported = (await runner.send('GET', '/data/export')).text;
    await runner.reset();
    assert.is((await runner.send('POST', '/data/import', { content: exported })).status, 200);
    assert.is((await runner.send('GET', '/data/export')).text, exported);
    assert.is((await runner.send('DELETE', key)).status, 200, name);
    assert.is(await runner.snapshot(), before);
  }
});

test('of clients that change one thing at once each has an answer of its turn', async () => {
  await runner.reset();
  await runner.send('POST', '/streams', { sql: 'CREATE STREAM s (a BIGINT) WITH (TYPE="memory", DATASOURCE="t")' });
  const body = (i: number) => ({ id: 'q', sql: `SELECT a AS c${i} FROM s`, actions: [{ nop: {} }] });
  for (let round = 0; round < 10; round++) {
    const created = await Promise.all([0, 1, 2].map((i) => runner.send('POST', '/rules', body(i))));
    const winner = created.findIndex(({ status }) => status === 201);
    assert.equal(created.map(({ status }) => status).sort(), [201, 400, 400]);
    assert.is((await runner.send('GET', '/rules/q')).json.sql, body(winner).sql);
    const changed = await Promise.all([
      runner.send('PUT', '/rules/q', body(3)),
      runner.send('DELETE', '/rules/q'),
      runner.send('PUT', '/rules/q', body(4)),
      runner.send('DELETE', '/rules/q'),
      runner.send('POST', '/rules/q/stop'),
    ]);
    const [first, gone, second, goneToo, stopped] = changed.map(({ status }) => status);
    assert.equal([first, second], [200, 200]);
    // One of the deletions at least had something to delete; an order finds the rule, or not.
    assert.ok(
      [gone, goneToo].includes(200) && [gone, goneToo, stopped].every((status) => [200, 404].includes(status ?? 0)),
    );
    const left = await runner.send('GET', '/rules/q');
    if (left.status === 200) {
      assert.ok([body(3).sql, body(4).sql].includes(left.json.sql), left.text);
      const { status } = (await runner.send('GET', '/rules/q/status')).json;
      assert.is(status.startsWith('Stopped'), left.json.triggered === false, 'what runs is what is stored');
      assert.is((await runner.send('DELETE', '/rules/q')).status, 200);
    } else assert.is(left.status, 404);
  }
});

/** The first line of the answer to a request whose body is announced and never sent. */
async function announce(base: string, { method, path }: Operation, bytes: number): Promise<string> {
  const { port, hostname } = new URL(base);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.write(`${method} ${pathOf(path)} HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n`);
  const [chunk] = (await within(5000, `an answer to ${method} ${path}`, once(socket, 'data'))) as [Buffer];
  socket.destroy();
  return chunk.toString().split('\r\n', 1)[0] ?? '';
}

test('every operation refuses a body that is too large before it comes', async () => {
  for (const operation of operations) {
    assert.match(await announce(server.base, operation, 1 << 30), / 413 /, operation.op);
  }
});

test('with authentication every operation but the open ones wants a token, and nothing else is looked at', async () => {
  const data = temporaryFolder();
  mkdirSync(join(data, 'etc/mgmt'), { recursive: true });
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(join(data, 'etc/mgmt/client.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  const guarded: ControlPlane = await startControlPlane(data, { KUIPER__BASIC__AUTHENTICATION: 'true' });
  const outside = new CaseRunner(guarded.base, document);
  for (const { op, method, path } of operations) {
    const { status, text } = await outside.send(method, pathOf(path));
    const isOpen = document.paths[path][method.toLowerCase()].security?.length === 0;
    if (isOpen) assert.is(status, 200, op);
    else assert.equal([status, text], [401, 'missing_token'], op);
    assert.is(document.paths[path][method.toLowerCase()].responses['401'] === undefined, isOpen, op);
  }
  assert.is(guarded.stopRequests, 0);
  await guarded.close();
});

test.run();
