/** The connector edgex on real message buses: Redis, MQTT and NATS. */
import { createClient } from '@redis/client';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readEnvelope } from '../../../../host/connectors/edgex/bus/envelope.js';
import { eventOf, rowOfEvent } from '../../../../host/connectors/edgex/bus/events.js';
import { connectorOf } from '../../../../host/connectors/index.js';
import { connectClient } from '../../../support/brokers/broker.js';
import { hasMosquitto, openMosquitto } from '../../../support/brokers/mosquitto.js';
import { type HttpDouble, openHttp } from '../../../support/connectors/http-server.js';
import { sinkPlane } from '../../../support/engine/sink-plane.js';
import { announceSkip, eventually, freePort } from '../../../support/harness.js';
import { managerOf, needsNats, openNats } from '../../../support/servers/nats.js';
import { needsRedis, openRedis } from '../../../support/servers/redis.js';

type Props = Record<string, unknown>;

if (!needsRedis('the edgex connector') || !needsNats('the edgex connector')) process.exit(0);
if (!hasMosquitto) {
  if (process.env.CI === 'true') throw new Error('the edgex connector: mosquitto is not installed');
  announceSkip('the edgex connector', 'mosquitto is not installed');
  process.exit(0);
}

/** The other side of a bus. */
interface Bus {
  readonly props: Props;
  /** Messages so far of all topics below `out`, with their channels as the server names them. */
  readonly heard: { channel: string; text: string; type: string }[];
  say(topic: string, text: string, headers?: Record<string, string>): Promise<unknown>;
  close(): Promise<void>;
}

async function redisBus(): Promise<Bus> {
  const server = await openRedis();
  const listener = createClient({ socket: { host: '127.0.0.1', port: server.port } });
  listener.on('error', () => {});
  await listener.connect();
  const heard: Bus['heard'] = [];
  await listener.pSubscribe('out*', (text, channel) => void heard.push({ channel, text, type: '' }));
  return {
    props: { type: 'redis', server: '127.0.0.1', port: server.port },
    heard,
    say: (topic, text) => server.client.publish(topic.replaceAll('/', '.'), text),
    close: async () => {
      listener.destroy();
      await server.close();
    },
  };
}

async function mqttBus(): Promise<Bus> {
  const server = await openMosquitto();
  const client = await connectClient(server.url);
  const heard: Bus['heard'] = [];
  client.on('message', (channel, text) => heard.push({ channel, text: text.toString(), type: '' }));
  await client.subscribeAsync('out/#');
  return {
    props: { type: 'mqtt', server: '127.0.0.1', port: server.port, optional: { Qos: '1', ClientId: 'rules' } },
    heard,
    say: (topic, text) => client.publishAsync(topic, text),
    close: async () => {
      client.end(true);
      await server.close();
    },
  };
}

async function natsBus(): Promise<Bus> {
  const server = await openNats();
  const heard: Bus['heard'] = [];
  server.client.subscribe('out.>', {
    callback: (_error, message) => {
      const type = message.headers?.get('Content-Type') ?? '';
      heard.push({ channel: message.subject, text: message.string(), type });
    },
  });
  await server.client.flush();
  const { headers } = await import('@nats-io/transport-node');
  return {
    props: { type: 'nats-core', server: '127.0.0.1', port: server.port },
    heard,
    say: async (topic, text, given = {}) => {
      const own = headers();
      for (const [name, value] of Object.entries(given)) own.set(name, value);
      server.client.publish(topic.replaceAll('/', '.'), text, { headers: own });
      await server.client.flush();
    },
    close: () => server.close(),
  };
}

const buses: Record<string, () => Promise<Bus>> = { redis: redisBus, mqtt: mqttBus, 'nats-core': natsBus };

const readings = [
  { id: '1', origin: 5, deviceName: 'd', profileName: 'p', resourceName: 't', valueType: 'Float64', value: '2.05e+01' },
  { id: '2', origin: 6, deviceName: 'd', profileName: 'p', resourceName: 'n', valueType: 'Int32', value: '7' },
  { id: '3', origin: 7, deviceName: 'd', profileName: 'p', resourceName: 'fan', valueType: 'Bool', value: 'true' },
];
const event = {
  apiVersion: 'v3',
  id: 'e1',
  deviceName: 'd',
  profileName: 'p',
  sourceName: 's',
  origin: 1_700_000_000_000_000_000,
  readings,
  tags: { site: 'north' },
};
const envelope = (payload: unknown) =>
  JSON.stringify({ apiVersion: 'v3', correlationID: 'c1', contentType: 'application/json', payload });

let collector: HttpDouble;
test.before(async () => {
  collector = await openHttp();
});
test.before.each(() => {
  collector.received.length = 0;
});
test.after(() => collector.close());

/** A rule from the bus to the collector. */
async function listen(bus: Bus, props: Props, sql: string, schema = '') {
  const plane = await sinkPlane({
    type: 'rest',
    props: { url: collector.url, method: 'post', sendSingle: true },
    stream: { options: 'TYPE="edgex"', extra: { ...bus.props, ...props } },
    sql,
    schema,
  });
  await eventually('the connection', () => plane.metrics().source_demo_0_connection_status === 1);
  return plane;
}

for (const [name, open] of Object.entries(buses)) {
  test(`${name}: events become rows with the types of their readings, and metadata`, async () => {
    const bus = await open();
    const metas = 'meta(deviceName) AS d, meta(t->valueType) AS v, meta(correlationid) AS c';
    const sql = `SELECT t, n / 2 AS half, fan, ${metas} FROM demo`;
    const plane = await listen(bus, { topic: 'in/+/events' }, sql);
    await bus.say('in/a/events', envelope(event));
    await bus.say('in/b/events', envelope(Buffer.from(JSON.stringify(event)).toString('base64')));
    await bus.say('in/b/events', 'no envelope');
    await bus.say('in/b/events', envelope({ ...event, readings: [{ ...readings[0], value: 'warm' }] }));
    const headers = { 'Content-Type': 'application/json', 'X-Correlation-ID': 'c1' };
    if (name === 'nats-core') await bus.say('in/c/events', JSON.stringify(event), headers);
    const rows = name === 'nats-core' ? 3 : 2;
    await eventually('the rows', () => collector.bodies.length === rows);
    const expected = { t: 20.5, fan: true, half: 3, d: 'd', v: 'Float64', c: 'c1' };
    for (const body of collector.bodies) assert.equal(JSON.parse(body), expected);
    await eventually('the failures', () => Number(plane.metrics().source_demo_0_exceptions_total) >= 3);
    await plane.close();
    await bus.close();
  });

  test(`${name}: rows become events, each message one`, async () => {
    const bus = await open();
    const metrics = await (
      await sinkPlane({
        type: 'edgex',
        props: { ...bus.props, topicPrefix: 'out/events', deviceName: 'press', profileName: 'presses' },
        schema: 'n BIGINT, t FLOAT, fan BOOLEAN, s STRING, list ARRAY(FLOAT), deep STRUCT(a BIGINT)',
        rows: [{ n: 5, t: 20.5, fan: true, s: 'ä', list: [1, 2.5], deep: { a: 1 } }],
      })
    ).ended();
    assert.is(metrics.sinkRecordsOutTotal, 1);
    const [first] = await eventually('the event', () => (bus.heard.length > 0 ? bus.heard : undefined));
    const dots = name !== 'mqtt';
    assert.is(first?.channel, dots ? 'out.events.presses.press.r1' : 'out/events/presses/press/r1');
    const payload = first?.type === '' ? readEnvelope(Buffer.from(first.text)).payload : JSON.parse(first!.text);
    const { readings: sent, ...rest } = payload as { readings: Props[]; [name: string]: unknown };
    assert.equal([rest.deviceName, rest.profileName, rest.sourceName], ['press', 'presses', 'r1']);
    const byName = Object.fromEntries(
      sent.map(({ resourceName, valueType, value }) => [resourceName, [valueType, value]]),
    );
    assert.equal(byName, {
      n: ['Int64', '5'],
      t: ['Float64', '2.05e+01'],
      fan: ['Bool', 'true'],
      s: ['String', 'ä'],
      list: ['Float64Array', '[1e+00, 2.5e+00]'],
      deep: ['Object', undefined],
    });
    await bus.close();
  });
}

test('what is requested to be added, goes through metadata and comes back', async () => {
  const bus = await redisBus();
  const out = { ...bus.props, topic: 'out/requests', messageType: 'request', metadata: 'all', sendSingle: true };
  const plane = await sinkPlane({
    type: 'edgex',
    props: out,
    stream: { options: 'TYPE="edgex"', extra: { ...bus.props, topic: 'in' } },
    sql: 'SELECT t + 1 AS t, meta(*) AS all FROM demo',
  });
  await eventually('the connection', () => plane.metrics().source_demo_0_connection_status === 1);
  await bus.say('in', envelope(event));
  const first = await eventually('the request', () => bus.heard[0]);
  const request = readEnvelope(Buffer.from(first.text)).payload as { requestId: string; event: Props };
  assert.match(request.requestId, /^[0-9a-f-]{36}$/);
  assert.equal([request.event.id, request.event.sourceName, request.event.tags], ['e1', 's', { site: 'north' }]);
  const [reading] = request.event.readings as Props[];
  assert.equal([reading?.id, reading?.valueType, reading?.value, reading?.origin], ['1', 'Float64', '2.15e+01', 5]);
  await plane.close();
  const again = await listen(bus, { topic: 'in2', messageType: 'request' }, 'SELECT t FROM demo');
  await bus.say('in2', first.text);
  await eventually('the row', () => collector.bodies[0] === '{"t":21.5}');
  await again.close();
  await bus.close();
});

test('values have the types of EdgeX, what is none is left out and named', () => {
  const wrong: string[] = [];
  const of = (valueType: string, value: unknown, more: Props = {}) => ({
    resourceName: valueType,
    valueType,
    value,
    ...more,
  });
  const { row } = rowOfEvent(
    {
      readings: [
        of('Uint64', '18446744073709551615'),
        of('Int64', '-9223372036854775808'),
        of('Float32', '3.14'),
        of('Binary', undefined, { binaryValue: 'aGk=' }),
        of('Object', undefined, { objectValue: { a: [1] } }),
        of('Int8Array', '[1, -2]'),
        of('Float32Array', '["1.5", "2e+00"]'),
        of('Float64Array', '[1.5]'),
        of('StringArray', '["a"]'),
        of('BoolArray', '[true]'),
        of('Other', 'text'),
        of('Int8', '1.5'),
        of('Uint16Array', '[1.5]'),
        of('Bool', 'yes'),
        { valueType: 'Bool', value: 'true' },
      ],
    },
    false,
    (reason) => wrong.push(reason),
  );
  assert.equal(row, {
    Uint64: 2 ** 64,
    Int64: -(1n << 63n),
    Float32: Math.fround(3.14),
    Binary: new Uint8Array([104, 105]),
    Object: { a: [1] },
    Int8Array: [1n, -2n],
    Float32Array: [1.5, 2],
    Float64Array: [1.5],
    StringArray: ['a'],
    BoolArray: [true],
    Other: 'text',
  });
  assert.is(wrong.length, 4);
});

test('metadata say of what type values are; what can not be is left out and named', () => {
  const wrong: string[] = [];
  const names = { deviceName: 'd', profileName: 'p', sourceName: 's', metadata: 'm' };
  const m = { a: { valueType: 'Uint8' }, b: { valueType: 'Float32' }, c: { valueType: 'Int8' }, deviceName: 'own' };
  const made = eventOf([{ a: 5, b: 0.1, c: 'x', z: null, bytes: new Uint8Array([104, 105]), m }], names, (reason) =>
    wrong.push(reason),
  );
  const texts = (made.readings as Props[]).map(({ resourceName, valueType, value, binaryValue, mediaType }) => [
    resourceName,
    valueType,
    value ?? binaryValue,
    mediaType,
  ]);
  assert.equal(texts, [
    ['a', 'Uint8', '5', undefined],
    ['b', 'Float32', '1e-01', undefined],
    ['bytes', 'Binary', 'aGk=', 'application/text'],
  ]);
  assert.is(made.deviceName, 'own');
  assert.equal(wrong, ["the member c can't be a value of type Int8"]);
});

test('properties that are not right are refused, secrets are masked', () => {
  const { source, sink } = connectorOf('edgex')!;
  for (const [props, reason] of [
    [{ type: 'kafka' }, /type must be one of redis, mqtt/],
    [{ type: 'zero' }, /zero is not supported/],
    [{ messageType: 'x' }, /messageType must be one of event, request/],
    [{ optional: { Qos: 3 } }, /optional.Qos must be at most 2/],
  ] as const) {
    assert.throws(() => source!.check(props), reason);
  }
  assert.throws(() => sink!.check({ topic: 'a', topicPrefix: 'b' }), /topic and topicPrefix can not both be set/);
  assert.throws(() => sink!.check({ contentType: 'application/cbor' }), /contentType must be application\/json/);
  sink!.check({ contentType: 'application/cbor', messageType: 'request' });
  assert.is(source!.props.optional?.declared.fields?.Password?.declared.isSecret, true);
});

test('a server that comes late, goes and comes back gets all events', async () => {
  const port = await freePort();
  const rows = Array.from({ length: 100 }, (_, id) => ({ id }));
  const props = { type: 'mqtt', server: '127.0.0.1', port, topic: 'out', optional: { Qos: 1 } };
  const plane = await sinkPlane({ type: 'edgex', props, rows, pauseMs: 10 });
  await eventually('the failed attempt', () => plane.metrics().sink_edgex_0_0_connection_status === -1);
  const first = await openMosquitto(port);
  await eventually('some events', () => Number(plane.metrics().sinkRecordsOutTotal) > 3);
  await first.close();
  await eventually('the loss', () => plane.metrics().sink_edgex_0_0_connection_status !== 1);
  const again = await openMosquitto(port);
  const metrics = await plane.ended();
  assert.equal([metrics.sinkRecordsOutTotal, metrics.sinkRecordsFailedTotal], [100, 0]);
  await again.close();
});

test('a wrong password is told without showing it, a stream of NATS confirms', async () => {
  const locked = await openRedis(undefined, [], 'correct');
  const props = { type: 'redis', server: '127.0.0.1', port: locked.port, topic: 'out' };
  const slow = Array.from({ length: 100 }, (_, id) => ({ id }));
  const optional = { Password: 'wrong-horse' };
  const plane = await sinkPlane({ type: 'edgex', props: { ...props, optional }, rows: slow, pauseMs: 20 });
  const reason = await eventually('the refusal', () => plane.metrics().sink_edgex_0_0_last_exception || undefined);
  assert.match(String(reason), /WRONGPASS/);
  assert.not.match(String(reason), /wrong-horse/);
  await plane.close();
  await locked.close();
  const nats = await openNats();
  const manager = await managerOf(nats.client);
  await manager.streams.add({ name: 'events', subjects: ['kept.>'] });
  const own = { type: 'nats-jetstream', server: '127.0.0.1', port: nats.port, topic: 'kept/events' };
  await (await sinkPlane({ type: 'edgex', props: own, rows: slow.slice(0, 10) })).ended();
  assert.is((await manager.streams.info('events')).state.messages, 10);
  await nats.close();
});

test.run();
