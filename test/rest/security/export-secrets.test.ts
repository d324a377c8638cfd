/** Exports hold secrets, and say so; without them they can be shown around, and an import says what is missing. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, temporaryFolder } from '../../support/harness.js';
import { startControlPlane } from '../../support/rest/control-plane.js';
import { run } from '../../support/rest/fake-server.js';

const plane = await startControlPlane();
const other = await startControlPlane();
test.after(async () => {
  await plane.close();
  await other.close();
});

const { request } = plane;
const secrets = ['key-pass', 'conn-pass', 'rule-pass', 'extra-pass', 'MIIBfile'];
await request('PUT', '/metadata/sources/mqtt/confKeys/k', { server: 'tcp://h', password: 'key-pass' });
await request('POST', '/connections', {
  id: 'c',
  typ: 'mqtt',
  props: { server: 'tcp://127.0.0.1:1', password: 'conn-pass' },
});
await request('POST', '/streams', { sql: 'CREATE STREAM plain () WITH (TYPE="memory", DATASOURCE="t")' });
await request('POST', '/streams', {
  sql: `CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="t", EXTRA='{"password":"extra-pass"}')`,
});
const actions = [{ mqtt: { server: 'tcp://h', topic: 'x', password: 'rule-pass' } }];
await request('POST', '/rules', { id: 'r', sql: 'SELECT a FROM plain', actions, triggered: false });
await request('POST', '/config/uploads', { name: 'k.pem', content: '-----BEGIN PRIVATE KEY-----\nMIIBfile\n' });

const exports: [method: string, path: string, body: unknown, held: string[]][] = [
  ['GET', '/data/export', undefined, secrets],
  ['POST', '/data/export', ['r'], ['rule-pass']],
  ['GET', '/v2/data/export', undefined, secrets],
  ['POST', '/ruleset/export', undefined, ['rule-pass', 'extra-pass']],
];

for (const [method, path, body, held] of exports) {
  test(`${method} ${path} says that it holds secrets, and leaves them out on request`, async () => {
    const whole = await request(method, path, body);
    assert.is(whole.status, 200);
    for (const secret of held) assert.match(whole.text, secret);
    assert.match(
      whole.headers.get('warning') ?? '',
      /holds secrets as they are \(.*rules r.*secrets=omit leaves them out/,
    );
    const omitted = await request(method, `${path}?secrets=omit`, body);
    for (const secret of secrets) assert.not.match(omitted.text, secret);
    assert.match(omitted.headers.get('warning') ?? '', /^299 - "secrets were left out: .*rules r/);
    const wrong = await request(method, `${path}?secrets=ommit`, body);
    assert.is(wrong.status, 400);
    assert.match(wrong.json.message, /secrets is "ommit", expected omit or include/);
  });
}

test('an import of such a document names what is missing; where it is known it stays', async () => {
  const { text } = await request('GET', '/data/export?secrets=omit');
  const elsewhere = await other.request('POST', '/data/import', { content: text });
  assert.is(elsewhere.status, 200);
  assert.equal(elsewhere.json.MissingSecrets, [
    'streams s',
    'rules r: actions.0.mqtt.password',
    'sourceConfig mqtt: k.password',
    'connectionConfig mqtt: c.password',
  ]);
  const ruleset = (await request('POST', '/ruleset/export?secrets=omit')).text;
  await other.request('DELETE', '/rules/r');
  const again = await other.request('POST', '/ruleset/import', { content: ruleset });
  assert.match(
    again.text,
    new RegExp(
      /^imported 0 streams, 0 tables and 1 rules\n(Warning: .*\n)*/.source +
        /Warning: a secret of rules r: actions\.0\.mqtt\.password was left out/.source,
    ),
  );
  const here = await request('POST', '/data/import?partial=1', { content: text });
  assert.equal(here.json.MissingSecrets, ['streams s'], 'a statement is replaced as a whole');
  const kept = (await request('GET', '/data/export')).text;
  for (const secret of ['key-pass', 'conn-pass', 'rule-pass']) assert.match(kept, secret);
});

test('what misses its secret says so in its state, and calls nobody with the mask', async () => {
  const isCalled = { count: 0 };
  const broker = createServer((socket) => {
    isCalled.count++;
    socket.destroy();
  });
  broker.listen(0, '127.0.0.1');
  await once(broker, 'listening');
  const { port } = broker.address() as AddressInfo;
  const from = await startServer();
  const to = await startServer();
  const address = { server: `tcp://127.0.0.1:${port}`, username: 'u', password: 'secret-word' };
  const sql = (rest: string) => ({ sql: `CREATE STREAM ${rest}` });
  await from.request('POST', '/streams', sql('plain () WITH (TYPE="memory", DATASOURCE="t")'));
  await from.request('POST', '/connections', { id: 'c', typ: 'mqtt', props: address });
  await from.request('PUT', '/metadata/sources/mqtt/confKeys/k', address);
  await from.request('POST', '/streams', sql('keyed () WITH (TYPE="mqtt", DATASOURCE="t", CONF_KEY="k")'));
  const rules = {
    sink: { sql: 'SELECT a FROM plain', actions: [{ mqtt: { ...address, topic: 'x' } }] },
    named: { sql: 'SELECT a FROM plain', actions: [{ mqtt: { connectionSelector: 'c', topic: 'x' } }] },
    source: { sql: 'SELECT a FROM keyed', actions: [{ nop: {} }] },
  };
  for (const [id, rule] of Object.entries(rules)) {
    assert.is((await from.request('POST', '/rules', { id, triggered: false, ...rule })).status, 201);
  }
  const { text } = await from.request('GET', '/data/export?secrets=omit');
  await from.stop();
  isCalled.count = 0;
  const imported = await to.request('POST', '/data/import', { content: text });
  assert.is(imported.status, 200, imported.text);
  const missing = 'property password: its secret is missing, ****** stands in its place: set it anew';
  for (const id of Object.keys(rules)) {
    await to.request('POST', `/rules/${id}/start`);
    const status = (await to.request('GET', `/rules/${id}/status`)).json;
    assert.ok(status.message.includes(missing), `${id}: ${JSON.stringify(status)}`);
  }
  const connection = (await to.request('GET', '/connections/c')).json;
  assert.is(connection.status, 'disconnected');
  assert.ok(connection.err.includes(missing), connection.err);
  assert.is(isCalled.count, 0);
  // With the secret in its place all goes on.
  const named = { id: 'c', typ: 'mqtt', props: address };
  assert.is((await to.request('PUT', '/connections/c', named)).status, 200);
  await to.request('POST', '/rules/named/start');
  await eventually('a call of the broker', () => isCalled.count > 0);
  assert.not.match((await to.request('GET', '/rules/named/status')).text, 'its secret is missing');
  await to.stop();
  broker.close();
});

test('an export without secrets says nothing', async () => {
  const bare = await startControlPlane();
  await bare.request('POST', '/streams', { sql: 'CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="t")' });
  for (const path of ['/data/export', '/data/export?secrets=omit']) {
    assert.is((await bare.request('GET', path)).headers.get('warning'), null);
  }
  await bare.close();
});

test('the command line says the same', async () => {
  const file = join(temporaryFolder(), 'all.json');
  const whole = await run(plane.base, ['export', 'data', file]);
  assert.match(whole.err, /^haumea: this export holds secrets as they are/);
  assert.match(readFileSync(file, 'utf8'), 'key-pass');
  const omitted = await run(plane.base, ['export', 'data', file, '--no-secrets']);
  assert.match(omitted.err, /^haumea: secrets were left out/);
  for (const secret of secrets) assert.not.match(readFileSync(file, 'utf8'), secret);
  const imported = await run(other.base, ['import', 'data', '-f', file]);
  assert.is(imported.code, 1, 'it does not work without them');
  assert.match(imported.err, /a secret of connectionConfig mqtt: c\.password was left out of the file and is missing/);
});

test.run();
