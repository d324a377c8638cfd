/** Secrets: masked in answers, kept on a masked round trip, exported, resolved from references when a rule starts. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { field } from '../../../host/base/fields/field.js';
import { isAddressName } from '../../../host/base/fields/secret-fields.js';
import { allConnectors } from '../../../host/connectors/index.js';
import { resolveProps } from '../../../host/run/props/secret-props.js';
import { temporaryFolder } from '../../support/harness.js';
import { type ControlPlane, startControlPlane } from '../../support/rest/control-plane.js';

let server: ControlPlane;
test.before(async () => {
  server = await startControlPlane();
  await server.request('POST', '/streams', { sql: 'CREATE STREAM s () WITH (DATASOURCE="t", TYPE="memory")' });
});
test.after(() => server.close());

const actions = (password: string, more = {}) => [{ log: {} }, { mqtt: { server: 'tcp://h:1', password, ...more } }];

/** The action as it is stored: exports hold secrets, otherwise they could not be imported again. */
async function storedPassword(id: string): Promise<unknown> {
  const { rules } = (await server.request('GET', '/data/export')).json;
  return JSON.parse(rules[id]).actions.at(-1).mqtt.password;
}

test('secrets of a rule are masked in its description but not in the export', async () => {
  const rule = { id: 'm1', sql: 'SELECT * FROM s', actions: actions('pw1'), triggered: false };
  assert.is((await server.request('POST', '/rules', rule)).status, 201);
  const described = (await server.request('GET', '/rules/m1')).json;
  assert.equal(described.actions, actions('******'));
  assert.is(await storedPassword('m1'), 'pw1');
});

test('a description sent back keeps the secrets, a new value replaces them', async () => {
  const rule = { id: 'm2', sql: 'SELECT * FROM s', actions: actions('pw2'), triggered: false };
  await server.request('POST', '/rules', rule);
  const described = (await server.request('GET', '/rules/m2')).json;
  assert.is((await server.request('PUT', '/rules/m2', described)).status, 200);
  assert.is(await storedPassword('m2'), 'pw2');
  const moved = { ...described, actions: [described.actions[1]] };
  assert.is((await server.request('PUT', '/rules/m2', moved)).status, 200);
  assert.is(await storedPassword('m2'), 'pw2');
  await server.request('PUT', '/rules/m2', { ...described, actions: actions('new') });
  assert.is(await storedPassword('m2'), 'new');
});

test('what a rule sends for a token is masked, given as a text or as an object, and kept on a round trip', async () => {
  for (const body of ['{"pw":"hidden"}', { pw: 'hidden' }]) {
    const oauth = { access: { url: 'http://127.0.0.1:1/token', body }, refresh: { url: '', body } };
    const rule = { id: 'm4', sql: 'SELECT * FROM s', actions: actions('pw4', { oauth }) };
    const made = await server.request('POST', '/rules', { ...rule, triggered: false });
    assert.is(made.status, 201, made.text);
    const described = (await server.request('GET', '/rules/m4')).json;
    assert.not.match(JSON.stringify(described), /hidden/);
    assert.is(described.actions[1].mqtt.oauth.access.body, '******');
    assert.is((await server.request('PUT', '/rules/m4', described)).status, 200);
    const { rules } = (await server.request('GET', '/data/export')).json;
    assert.equal(JSON.parse(rules.m4).actions, rule.actions);
    await server.request('DELETE', '/rules/m4');
  }
});

test('references to secrets are shown as they are', async () => {
  const rule = { id: 'm3', sql: 'SELECT * FROM s', actions: actions('env://MQTT_PASSWORD'), triggered: false };
  await server.request('POST', '/rules', rule);
  assert.equal((await server.request('GET', '/rules/m3')).json.actions, actions('env://MQTT_PASSWORD'));
});

test('configuration keys and connections: masked, and kept on a masked round trip', async () => {
  const props = { server: 'tcp://h:1', password: 'pw', token: 't' };
  await server.request('PUT', '/metadata/sources/mqtt/confKeys/k', props);
  const shown = (await server.request('GET', '/metadata/sources/yaml/mqtt')).json.k;
  assert.equal(shown, { ...props, password: '******', token: '******' });
  await server.request('PUT', '/metadata/sources/mqtt/confKeys/k', { ...shown, qos: 1 });
  await server.request('POST', '/connections', {
    id: 'c',
    typ: 'mqtt',
    props: { server: 'tcp://h:1', password: 'pw' },
  });
  const connection = (await server.request('GET', '/connections/c')).json;
  assert.is(connection.props.password, '******');
  await server.request('PUT', '/connections/c', { id: 'c', typ: 'mqtt', props: connection.props });
  const all = (await server.request('GET', '/data/export')).text;
  assert.match(all, 'pw');
  assert.not.match(all, '******');
  for (const path of [
    '/connections',
    '/metadata/resources',
    '/metadata/resource?sourceType=mqtt',
    '/rules',
    '/rules/m1',
  ]) {
    assert.not.match((await server.request('GET', path)).text, /"pw\d?"/, path);
  }
});

test('a mask stands for no secret when the address has changed', async () => {
  const props = { server: 'tcp://home:1', password: 'kept-pw' };
  await server.request('POST', '/connections', { id: 'home', typ: 'mqtt', props });
  await server.request('PUT', '/metadata/sources/mqtt/confKeys/home', props);
  const rule = { id: 'home', sql: 'SELECT * FROM s', actions: actions('kept-pw'), triggered: false };
  await server.request('POST', '/rules', rule);
  for (const moved of [
    { server: 'tcp://away:1' },
    { url: 'tcp://away:1' },
    { servers: 'tcp://away:1', server: props.server },
    {},
  ]) {
    const away = { ...moved, password: '******' };
    for (const [path, body] of [
      ['/connections/home', { id: 'home', typ: 'mqtt', props: away }],
      ['/metadata/sources/mqtt/confKeys/home', away],
      ['/rules/home', { ...rule, actions: [{ log: {} }, { mqtt: away }] }],
    ] as const) {
      const answer = await server.request('PUT', path, body);
      assert.is(answer.status, 400, `${path} ${JSON.stringify(moved)}: ${answer.text}`);
      assert.match(answer.text, /property password: the mask \*{6} stands for what was given with another \w+/);
      assert.not.match(answer.text, 'kept-pw');
    }
  }
  // With the secret given again, or none, the address may change; other properties may at any time.
  const next = { id: 'home', typ: 'mqtt', props: { server: 'tcp://away:1', password: 'next-pw' } };
  assert.is((await server.request('PUT', '/connections/home', next)).status, 200);
  const same = { ...next, props: { server: 'tcp://away:1', password: '******', username: 'u' } };
  assert.is((await server.request('PUT', '/connections/home', same)).status, 200);
  const { connectionConfig } = (await server.request('GET', '/data/export')).json;
  assert.match(JSON.stringify(connectionConfig), 'next-pw');
});

test('actions that change places keep the secrets of their addresses', async () => {
  const to = (host: string, password: string) => ({ mqtt: { server: `tcp://${host}:1`, topic: 't', password } });
  const rule = { id: 'two', sql: 'SELECT * FROM s', actions: [to('a', 'pw-a'), to('b', 'pw-b')], triggered: false };
  await server.request('POST', '/rules', rule);
  const turned = { ...rule, actions: [to('b', '******'), to('a', '******')] };
  assert.is((await server.request('PUT', '/rules/two', turned)).status, 200);
  const { rules } = (await server.request('GET', '/data/export')).json;
  assert.equal(JSON.parse(rules.two).actions, [to('b', 'pw-b'), to('a', 'pw-a')]);
});

test('every address that a connector declares is known by its name, where only names tell', async () => {
  let count = 0;
  for (const { connection, source, sink } of allConnectors()) {
    for (const [name, { declared }] of Object.entries({ ...connection?.props, ...source?.props, ...sink?.props })) {
      if (!declared.isAddress) continue;
      count++;
      for (const spelling of [name, ...(declared.aliases ?? [])]) assert.ok(isAddressName(spelling), spelling);
    }
  }
  assert.ok(count > 0);
});

test('references are resolved from allowed variables and folders, in secret properties', () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'secret'), 'from file\n');
  process.env.HAUMEA_SECRET_TEST = 'from env';
  const spec = { password: field.secret(), privateKeyRaw: field.secret(), certificationPath: field.string() };
  const sources = { variables: ['HAUMEA_SECRET_*'], folders: [folder] };
  const certificationPath = `file://${folder}/secret`;
  const props = { password: 'env://HAUMEA_SECRET_TEST', privateKeyRaw: 'file://secret', certificationPath, qos: 1 };
  const { value, redact } = resolveProps(props, 'stream s', spec, sources);
  assert.equal(value, { password: 'from env', privateKeyRaw: 'from file', certificationPath, qos: 1 });
  assert.is(redact('login with from env failed'), 'login with ****** failed');
  assert.throws(
    () => resolveProps({ password: 'env://HAUMEA_SECRET_MISSING' }, 'rule r, sink mqtt', spec, sources),
    new RegExp(
      'rule r, sink mqtt: property password: reference env://HAUMEA_SECRET_MISSING: ' +
        'the environment variable is not set',
    ),
  );
});

test.run();
