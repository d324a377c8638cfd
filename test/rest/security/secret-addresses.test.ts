/** A secret goes to the address it was given for: whoever names another one gives the secrets as well. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort, startServer, type TestServer } from '../../support/harness.js';

let server: TestServer;
let home: string;
const away = 'tcp://127.0.0.1:9';

test.before(async () => {
  // Nobody listens there: what is refused is refused before anybody is called.
  home = `tcp://127.0.0.1:${await freePort()}`;
  server = await startServer({
    env: { MQTT_SOURCE__DEFAULT__PASSWORD: 'pw-of-operator', MQTT_SOURCE__DEFAULT__SERVER: home },
  });
  await server.request('POST', '/connections', {
    id: 'c1',
    typ: 'mqtt',
    props: { server: home, password: 'pw-of-c1' },
  });
  await server.request('POST', '/connections', { id: 'bare', typ: 'mqtt', props: { password: 'pw-of-bare' } });
  await server.request('POST', '/connections', { id: 'open', typ: 'mqtt', props: { server: away } });
  const key = (name: string, props: object) => server.request('PUT', `/metadata/sources/mqtt/confKeys/${name}`, props);
  await key('full', { server: away, password: 'pw-of-key' });
  await key('moved', { server: away });
  await key('none', { server: away, password: '' });
  await key('chosen', { connectionSelector: 'open', password: 'pw-of-key' });
  await server.request('POST', '/streams', { sql: 'CREATE STREAM sim () WITH (TYPE="simulator", FORMAT="json")' });
});
test.after(async () => void (await server.stop()));

let count = 0;

/** Answers to a rule that reads a stream with these options. */
async function read(confKey: string, extra: object, dataSource = 't') {
  const id = `r${++count}`;
  const key = confKey === '' ? '' : `, CONF_KEY="${confKey}"`;
  const more = Object.keys(extra).length === 0 ? '' : `, EXTRA=${JSON.stringify(JSON.stringify(extra))}`;
  const sql = `CREATE STREAM ${id} () WITH (TYPE="mqtt", DATASOURCE="${dataSource}", FORMAT="json"${key}${more})`;
  const made = await server.request('POST', '/streams', { sql });
  assert.is(made.status, 201, made.text);
  return server.request('POST', '/rules', { id, sql: `SELECT * FROM ${id}`, actions: [{ log: {} }], triggered: false });
}

test('a stream that names another server gets no secret of a connection, a key or the configuration', async () => {
  for (const [key, extra, reason] of [
    ['', { connectionSelector: 'c1', server: away }, 'is given by connection c1 for another server'],
    ['', { connectionSelector: 'c1', url: away }, 'is given by connection c1 for another server'],
    ['', { connectionSelector: 'c1', SERVERS: away }, 'is given by connection c1 for another server'],
    ['moved', { connectionSelector: 'bare' }, 'is given by connection bare for another server'],
    ['', { server: away }, 'is given by the configuration of the server for another server'],
    ['moved', {}, 'is given by the configuration of the server for another server'],
    ['full', { server: home }, 'is given by configuration key full for another server'],
    ['full', { connectionSelector: 'bare', server: 'tcp://127.0.0.1:10' }, 'for another server'],
  ] as const) {
    const answer = await read(key, extra);
    const what = `${key} ${JSON.stringify(extra)}: ${answer.text}`;
    assert.is(answer.status, 400, what);
    assert.match(answer.text, 'property password');
    assert.match(answer.text, reason, what);
    assert.match(answer.text, 'give it with the server, empty for none', what);
    assert.not.match(answer.text, 'pw-of');
  }
});

test('what is usual goes on: other topics, the same server, secrets that come with their server', async () => {
  for (const [key, extra] of [
    ['', {}],
    ['', { qos: 0 }],
    ['', { server: home }],
    ['', { server: away, password: 'own' }],
    ['', { server: away, password: '' }],
    ['full', { qos: 0, clientid: 'x' }],
    ['full', { password: 'own' }],
    ['none', {}],
    ['', { connectionSelector: 'c1' }],
    ['', { connectionSelector: 'c1', server: home }],
    ['', { connectionSelector: 'c1', server: away, password: 'own' }],
    // A connection is whole: the password of the configuration is left out.
    ['', { connectionSelector: 'open' }],
    ['', { connectionSelector: 'bare' }],
    ['chosen', {}],
  ] as const) {
    const answer = await read(key, extra, 'another/topic');
    assert.is(answer.status, 201, `${key} ${JSON.stringify(extra)}: ${answer.text}`);
  }
});

test('actions and checks send the secrets of a connection to its own server', async () => {
  const action = (props: object) => {
    const actions = [{ mqtt: { topic: 't', ...props } }];
    return server.request('POST', '/rules', { id: `a${++count}`, sql: 'SELECT * FROM sim', actions, triggered: false });
  };
  for (const selected of ['c1', 'open']) assert.is((await action({ connectionSelector: selected })).status, 201);
  // The server of the connection wins, as ever.
  assert.is((await action({ connectionSelector: 'c1', server: away })).status, 201);
  const refused = await action({ connectionSelector: 'bare', server: away });
  assert.is(refused.status, 400);
  assert.match(refused.text, 'is given by connection bare for another server');
  const checked = await server.request('POST', '/metadata/sinks/connection/mqtt', {
    connectionSelector: 'bare',
    server: away,
  });
  assert.is(checked.status, 400);
  assert.match(checked.text, 'is given by connection bare for another server');
});

test('an import of a mask with another address names key and property, and changes nothing', async () => {
  const masked = (server: string) => JSON.stringify({ full: { server, password: '******' } });
  const send = (content: object) =>
    server.request('POST', '/data/import?partial=1', { content: JSON.stringify(content) });
  const moved = await send({ sourceConfig: { mqtt: masked('tcp://127.0.0.1:11') } });
  assert.is(moved.status, 400);
  assert.match(moved.text, 'full: property password: the mask ****** stands for what was given with another server');
  const connection = { c1: { server: 'tcp://127.0.0.1:11', password: '******' } };
  const named = await send({ connectionConfig: { mqtt: JSON.stringify(connection) } });
  assert.is(named.status, 400);
  assert.match(named.text, 'c1: property password: the mask ****** stands for what was given with another server');
  assert.is((await send({ sourceConfig: { mqtt: masked(away) } })).status, 200, 'the same address keeps its password');
  const kept = await server.request('GET', '/data/export');
  assert.match(JSON.parse(kept.json.sourceConfig.mqtt).full.password, 'pw-of-key');
  assert.is(JSON.parse(kept.json.connectionConfig.mqtt).c1.server, home);
});

test.run();
