import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openBroker } from '../../support/brokers/broker.js';
import { eventually, freePort, startServer } from '../../support/harness.js';
import { startControlPlane } from '../../support/rest/control-plane.js';
import { type Refusal, wrongAnswer } from '../../support/rest/given-files.js';

const plane = await startControlPlane();
const server = await startServer();
const broker = await openBroker();
const nobody = `tcp://127.0.0.1:${await freePort()}`;
test.after(async () => {
  await plane.close();
  await server.stop();
  await broker.close();
});

const path = '/connections';
const mqtt = (id: string, props: Record<string, unknown> = { server: nobody }) => ({ id, typ: 'mqtt', props });

test('creates, lists, describes, replaces and deletes a connection', async () => {
  const created = await plane.request('POST', path, mqtt('one'));
  assert.equal([created.status, created.text], [201, 'success']);
  const { status, err, ...described } = (await plane.request('GET', `${path}/one`)).json;
  assert.equal(described, { ...mqtt('one'), isNamed: true });
  assert.is(status, 'disconnected');
  assert.match(err, /ECONNREFUSED/);
  assert.is((await plane.request('PUT', `${path}/one`, mqtt('one', { server: broker.url }))).text, 'success');
  const live = (await plane.request('GET', path)).json;
  assert.equal([live.length, live[0].status, live[0].err], [1, 'connected', undefined]);
  assert.is((await plane.request('DELETE', `${path}/one`)).text, 'success');
  assert.equal((await plane.request('GET', path)).json, []);
});

test('takes all types of connections; those it can not open are shown as such', async () => {
  for (const typ of ['nng', 'httppush', 'websocket', 'edgex', 'sql', 'kafka', 'sse']) {
    assert.is((await plane.request('POST', path, { id: typ, typ, props: {} })).status, 201);
    const { isNamed, status } = (await plane.request('GET', `${path}/${typ}`)).json;
    assert.equal([isNamed, ['connecting', 'connected', 'disconnected'].includes(status)], [true, true]);
    await plane.request('DELETE', `${path}/${typ}`);
  }
});

test('a connection whose other side comes to the server is connected', async () => {
  await plane.request('POST', path, { id: 'pushed', typ: 'httppush', props: { method: 'POST' } });
  const { status, err } = (await plane.request('GET', `${path}/pushed`)).json;
  assert.equal([status, err], ['connected', undefined]);
  await plane.request('DELETE', `${path}/pushed`);
});

test('masks secrets and keeps them when the mask comes back', async () => {
  const props = { server: nobody, username: 'me', password: 'hidden', token: 'env://TOKEN' };
  await plane.request('POST', path, mqtt('safe', props));
  const shown = (await plane.request('GET', `${path}/safe`)).json.props;
  assert.equal(shown, { ...props, password: '******' });
  await plane.request('PUT', `${path}/safe`, mqtt('safe', { ...shown, username: 'you' }));
  const exported = (await plane.request('GET', '/data/export')).json.connectionConfig?.mqtt;
  assert.is(JSON.parse(exported).safe.password, 'hidden');
  await plane.request('DELETE', `${path}/safe`);
});

test('is there after a restart', async () => {
  const first = await startControlPlane();
  await first.request('POST', path, mqtt('kept'));
  await first.close();
  const second = await startControlPlane(first.data);
  assert.equal((await second.request('GET', `${path}/kept`)).json.props, { server: nobody });
  await second.close();
});

test('a connection that running rules use is neither changed nor deleted', async () => {
  await plane.request('POST', path, mqtt('used'));
  await plane.request('POST', '/streams', { sql: 'CREATE STREAM s () WITH (DATASOURCE="a", TYPE="memory")' });
  const actions = [{ mqtt: { connectionSelector: 'used', topic: 'a' } }];
  await plane.request('POST', '/rules', { id: 'user', sql: 'SELECT * FROM s', actions });
  assert.is((await plane.request('GET', `${path}/used`)).json.refCount, 1);
  for (const [method, body] of [
    ['PUT', mqtt('used')],
    ['DELETE', undefined],
  ] as const) {
    const refused = await plane.request(method, `${path}/used`, body);
    assert.equal([refused.status, refused.json.error], [400, 1000]);
    assert.match(refused.json.message, /due to rule references: user/);
  }
  await plane.request('POST', '/rules/user/stop');
  assert.is((await plane.request('GET', `${path}/used`)).json.refCount, undefined);
  assert.is((await plane.request('DELETE', `${path}/used`)).status, 200);
});

test('checks whether a broker answers', async () => {
  for (const part of ['sources', 'sinks']) {
    const check = `/metadata/${part}/connection/mqtt`;
    const good = await plane.request('POST', check, { server: broker.url, topic: 'a' });
    assert.equal([good.status, good.text], [200, '']);
    const bad = await plane.request('POST', check, { server: nobody, topic: 'a' });
    assert.equal([bad.status, bad.json.error], [400, 1003]);
    assert.ok(bad.json.message.includes(nobody.slice('tcp://'.length)));
  }
  await plane.request('POST', path, mqtt('selected', { server: broker.url }));
  const selected = await plane.request('POST', '/metadata/sources/connection/mqtt', { connectionSelector: 'selected' });
  assert.is(selected.status, 200);
  await plane.request('DELETE', `${path}/selected`);
});

const refusals: Refusal[] = [
  ['POST', path, { typ: 'mqtt', props: {} }, 400, 1000, /id cannot be empty/],
  ['POST', path, { id: 'a b', typ: 'mqtt', props: {} }, 400, 1000, /a b/],
  ['POST', path, { id: 'x', props: {} }, 400, 1000, /typ is required/],
  ['POST', path, { id: 'x', typ: 5 }, 400, 1000, /typ must be a text/],
  ['POST', path, { id: 'x', typ: 'nosuch', props: {} }, 400, 1000, /unknown connection type nosuch/],
  ['POST', path, { id: 'x', typ: 'mqtt', props: 'text' }, 400, 1000, /props must be an object/],
  ['POST', path, mqtt('x', { keepAlive: 'soon' }), 400, 1000, /keepAlive must be a duration/],
  ['POST', path, mqtt('x', { server: 'http://a b' }), 400, 1000, /server/],
  ['POST', path, '{bad', 400, 1000, /no JSON/],
  ['POST', path, '', 400, 1000, /empty/],
  ['PUT', `${path}/none`, mqtt('none'), 400, 1000, /none is not found/],
  ['PUT', `${path}/none`, mqtt('other'), 400, 1000, /path says none/],
  ['GET', `${path}/none`, undefined, 400, 1000, /none is not found/],
  ['POST', '/metadata/sinks/connection/nosuch', {}, 400, 1000, /nosuch is not known/],
  ['POST', '/metadata/sinks/connection/log', {}, 400, 1000, /log doesn't support ping/],
  ['POST', '/metadata/lookups/connection/memory', {}, 400, 1000, /memory doesn't support ping/],
  ['POST', '/metadata/sources/connection/mqtt', [], 400, 1000, /object was expected/],
  ['POST', '/metadata/sources/connection/mqtt', { connectionSelector: 'none' }, 400, 1000, /none is not found/],
];

for (const refusal of refusals) {
  test(`${refusal[0]} ${refusal[1]} is refused: ${refusal[5].source}`, async () => {
    const before = (await plane.request('GET', path)).json;
    assert.is(await wrongAnswer(plane, refusal), undefined);
    assert.equal((await plane.request('GET', path)).json, before);
  });
}

test('a rule without its connection stops, and starts when the connection is there', async () => {
  const status = async () => (await server.request('GET', '/rules/late/status')).json;
  await server.request('PUT', '/metadata/sources/mqtt/confKeys/late', { connectionSelector: 'later' });
  const sql = 'CREATE STREAM late () WITH (DATASOURCE="t", TYPE="mqtt", FORMAT="json", CONF_KEY="late")';
  await server.request('POST', '/streams', { sql });
  const rule = { id: 'late', sql: 'SELECT * FROM late', actions: [{ log: {} }] };
  assert.is((await server.request('POST', '/rules', rule)).status, 201);
  const stopped = await status();
  assert.is(stopped.status, 'Stopped: canceled by error.');
  assert.match(stopped.message, /connection later not found/);
  await server.request('POST', path, mqtt('later', { server: broker.url }));
  assert.is((await server.request('POST', '/rules/late/start')).status, 200);
  await eventually('the connection of the rule', async () => {
    const metrics = await status();
    return metrics.status === 'Running' && metrics.source_late_0_connection_status === 1;
  });
  const { refCount, status: state } = (await server.request('GET', `${path}/later`)).json;
  assert.equal([refCount, state], [1, 'connected']);
});

test('lists the connections that rules have made for themselves on request', async () => {
  await server.request('POST', '/streams', { sql: 'CREATE STREAM m () WITH (DATASOURCE="m", TYPE="memory")' });
  const actions = [{ mqtt: { server: nobody, topic: 'o', password: 'hidden' } }];
  await server.request('POST', '/rules', { id: 'own', sql: 'SELECT * FROM m', actions });
  const unnamed = async () => {
    const all = (await server.request('GET', `${path}?forceAll=true`)).json as Record<string, unknown>[];
    return all.find(({ isNamed }) => isNamed === false);
  };
  const found = await eventually('a failed attempt', async () => {
    const one = await unnamed();
    return one?.status === 'disconnected' ? one : undefined;
  });
  assert.equal([found.typ, found.props], ['mqtt', { server: nobody, password: '******' }]);
  const named = (await server.request('GET', path)).json as Record<string, unknown>[];
  assert.equal(
    named.map(({ isNamed }) => isNamed),
    [true],
  );
  await server.request('DELETE', '/rules/own');
  assert.is(await unnamed(), undefined);
});

test.run();
