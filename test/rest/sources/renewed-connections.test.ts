/** Credentials of named connections that change while rules use them: nobody restarts a rule. */
import { execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { hasMosquitto, openMosquitto } from '../../support/brokers/mosquitto.js';
import { announceSkip, eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';
import { kafkaUser, needsKafka, sharedKafka } from '../../support/servers/kafka.js';
import { needsNats, openNats } from '../../support/servers/nats.js';
import { needsRabbit, rabbitLogin, sharedRabbit } from '../../support/servers/rabbitmq.js';
import { needsRedis, openRedis } from '../../support/servers/redis.js';

let server: TestServer;
test.before(async () => {
  server = await startServer();
  const key = { data: [{ a: 1 }], interval: 20 };
  await accepted('PUT', '/metadata/sources/simulator/confKeys/fast', key);
  const sql = 'CREATE STREAM s () WITH (TYPE="simulator", CONF_KEY="fast")';
  await accepted('POST', '/streams', { sql });
});
test.after(async () => {
  await server.stop();
});

async function accepted(method: string, path: string, body?: unknown): Promise<void> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
}

async function status(id: string) {
  return (await server.request('GET', `/rules/${id}/status`)).json;
}

/** Resolves when so many more messages are out. */
function goesOn(id: string): Promise<unknown> {
  let before: number | undefined;
  return eventually(`messages of ${id}`, async () => {
    const { sinkRecordsOutTotal } = await status(id);
    before ??= sinkRecordsOutTotal as number;
    return sinkRecordsOutTotal >= before + 5;
  });
}

if (needsRedis('credentials that change')) {
  test('two rules on one Redis connection go on with its new password', async () => {
    const redis = await openRedis(undefined, [], 'one');
    const props = (password: string) => ({ id: 'redis', typ: 'redis', props: { addr: redis.addr, password } });
    await accepted('POST', '/connections', props('one'));
    const rule = (id: string, action: object) => ({ id, sql: 'SELECT a FROM s', actions: [action] });
    await accepted('POST', '/rules', rule('first', { redis: { connectionSelector: 'redis', key: 'first' } }));
    await accepted('POST', '/rules', rule('second', { redis: { connectionSelector: 'redis', key: 'second' } }));
    await Promise.all([goesOn('first'), goesOn('second')]);
    const clients = async () =>
      String(await redis.client.sendCommand(['CLIENT', 'LIST']))
        .trim()
        .split('\n');
    // That of this test is the other one; the service looks whether the server answers for a moment.
    await eventually('one connection for both', async () => (await clients()).length === 2);
    const began = (await status('first')).lastStartTimestamp;
    await redis.client.sendCommand(['CONFIG', 'SET', 'requirepass', 'two']);
    await redis.client.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
    await eventually('the refusal', async () =>
      /WRONGPASS|NOAUTH/.test((await status('first')).sink_redis_0_0_connection_last_disconnected_message),
    );
    const other = await server.request('PUT', '/connections/redis', {
      ...props('two'),
      props: { addr: '127.0.0.1:1', password: 'two' },
    });
    assert.is(other.status, 400);
    assert.match(other.text, /can't be changed due to rule references: first, second/);
    await accepted('PUT', '/connections/redis', props('two'));
    await Promise.all([goesOn('first'), goesOn('second')]);
    assert.is((await status('first')).lastStartTimestamp, began);
    assert.is((await status('first')).sinkRecordsFailedTotal, 0);
    const shown = await eventually('the state', async () => {
      const { json } = await server.request('GET', '/connections/redis');
      return json.status === 'connected' && json;
    });
    assert.is((shown as { refCount: number }).refCount, 2);
    for (const id of ['first', 'second']) await accepted('DELETE', `/rules/${id}`);
    await redis.close();
  });
}

if (needsNats('credentials of NATS that change')) {
  test('rules that read and publish at NATS go on with its new password, what waited meanwhile as well', async () => {
    const open = (password: string, port?: number) => {
      const login = { user: 'plant', pass: password };
      const conf = `authorization { user: plant, password: ${password} }`;
      return openNats({ conf, login, ...(port !== undefined && { port }) });
    };
    let nats = await open('one');
    const props = (password: string, url = nats.url) => {
      const own = { server: url, username: 'plant', password };
      return { id: 'nats', typ: 'nats', props: own };
    };
    await accepted('POST', '/connections', props('one'));
    await accepted('PUT', '/metadata/sources/nats/confKeys/named', { connectionSelector: 'nats' });
    const sql = 'CREATE STREAM subject () WITH (TYPE="nats", DATASOURCE="rows", CONF_KEY="named", FORMAT="JSON")';
    await accepted('POST', '/streams', { sql });
    const publish = { nats: { connectionSelector: 'nats', subject: 'rows' } };
    await accepted('POST', '/rules', { id: 'reader', sql: 'SELECT a FROM subject', actions: [{ nop: {} }] });
    await accepted('POST', '/rules', { id: 'writer', sql: 'SELECT a FROM s', actions: [publish] });
    const ids = ['reader', 'writer'];
    await Promise.all(ids.map(goesOn));
    const began = await Promise.all(ids.map(async (id) => (await status(id)).lastStartTimestamp));
    await nats.close();
    nats = await open('two', nats.port);
    await eventually('the refusals', async () => {
      const { source_subject_0_connection_last_disconnected_message: read } = await status('reader');
      const { sink_nats_0_0_connection_last_disconnected_message: written } = await status('writer');
      return /uthoriz/.test(read) && /uthoriz/.test(written);
    });
    const other = await server.request('PUT', '/connections/nats', props('two', 'nats://127.0.0.1:1'));
    assert.is(other.status, 400);
    assert.match(other.text, /can't be changed due to rule references: reader, writer/);
    await accepted('PUT', '/connections/nats', props('two'));
    await Promise.all(ids.map(goesOn));
    assert.equal(await Promise.all(ids.map(async (id) => (await status(id)).lastStartTimestamp)), began);
    assert.is((await status('writer')).sinkRecordsFailedTotal, 0);
    for (const id of ids) await accepted('DELETE', `/rules/${id}`);
    await nats.close();
  });
}

/** A rule publishes with a wrong password at first; the right one is taken up as it runs. */
async function takesRightPassword(typ: string, own: Record<string, unknown>, password: string, target: object) {
  const props = (now: string) => ({ id: typ, typ, props: { ...own, password: now } });
  await accepted('POST', '/connections', props('wrong'));
  const actions = [{ [typ]: { connectionSelector: typ, ...target } }];
  await accepted('POST', '/rules', { id: typ, sql: 'SELECT a FROM s', actions });
  await eventually(`the refusal of ${typ}`, async () =>
    /ACCESS.REFUSED|uthentication failed/.test((await status(typ))[`sink_${typ}_0_0_last_exception`]),
  );
  const began = (await status(typ)).lastStartTimestamp;
  await accepted('PUT', `/connections/${typ}`, props(password));
  await goesOn(typ);
  const last = await status(typ);
  assert.is(last.lastStartTimestamp, began);
  assert.is(last.sinkRecordsFailedTotal, 0);
  await accepted('DELETE', `/rules/${typ}`);
}

if (needsRabbit('credentials of RabbitMQ that change')) {
  test('a rule that publishes at RabbitMQ goes on with the right password', async () => {
    const rabbit = await sharedRabbit();
    const { username, password } = rabbitLogin;
    await takesRightPassword('rabbitmq', { server: rabbit.url, username }, password, { queue: 'renewed' });
    await rabbit.close();
  });
}

if (needsKafka('credentials of Kafka that change')) {
  test('a rule that writes to Kafka goes on with the right password', async () => {
    const kafka = await sharedKafka();
    const { saslUserName, password } = kafkaUser;
    const own = { brokers: kafka.saslBrokers, saslAuthType: 'plain', saslUserName };
    await takesRightPassword('kafka', own, password, { topic: 'renewed' });
    await kafka.close();
  });
}

if (hasMosquitto) {
  test('rules that publish go on with the new password of a broker, what waited meanwhile as well', async () => {
    const folder = temporaryFolder();
    const passwords = join(folder, 'passwords');
    const setPassword = (password: string) => {
      writeFileSync(passwords, '');
      chmodSync(passwords, 0o700);
      execFileSync('mosquitto_passwd', ['-b', passwords, 'plant', password]);
    };
    setPassword('one');
    const options = [`password_file ${passwords}`];
    let broker = await openMosquitto(undefined, undefined, options);
    const props = (password: string) => {
      const own = { server: broker.url, username: 'plant', password };
      return { id: 'broker', typ: 'mqtt', props: own };
    };
    await accepted('POST', '/connections', props('one'));
    const ids = ['out0', 'out1'];
    for (const [qos, id] of ids.entries()) {
      const actions = [{ mqtt: { connectionSelector: 'broker', topic: id, qos } }];
      await accepted('POST', '/rules', { id, sql: 'SELECT a FROM s', actions });
    }
    await Promise.all(ids.map(goesOn));
    const began = (await status('out1')).lastStartTimestamp;
    await broker.close();
    setPassword('two');
    broker = await openMosquitto(broker.port, undefined, options);
    await eventually('the refusal', async () =>
      /uthoriz/.test((await status('out1')).sink_mqtt_0_0_connection_last_disconnected_message),
    );
    await accepted('PUT', '/connections/broker', props('two'));
    await Promise.all(ids.map(goesOn));
    const last = await status('out1');
    assert.is(last.lastStartTimestamp, began);
    assert.is(last.sinkRecordsFailedTotal, 0);
    for (const id of ids) await accepted('DELETE', `/rules/${id}`);
    await broker.close();
  });
} else announceSkip('credentials of brokers that change', 'mosquitto is not installed');

test.run();
