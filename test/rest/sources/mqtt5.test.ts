/** What MQTT 5 adds, against a real broker: properties both ways, shared subscriptions, expiry, wills, websockets. */
import type { MqttClient } from 'mqtt';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient } from '../../support/brokers/broker.js';
import { hasMosquitto, type Mosquitto, openMosquitto } from '../../support/brokers/mosquitto.js';
import { announceSkip, eventually, freePort, startServer, type TestServer } from '../../support/harness.js';

type Row = Record<string, unknown>;

if (!hasMosquitto) {
  if (process.env.CI === 'true') throw new Error('MQTT 5: mosquitto is not installed');
  announceSkip('MQTT 5', 'mosquitto is not installed');
}
const withBroker = hasMosquitto ? test : test.skip;

let server: TestServer;
let broker: Mosquitto;
let client: MqttClient;
let websocketPort = 0;
let number = 0;
const received: { topic: string; payload: string; said: Row }[] = [];

test.before(async () => {
  server = await startServer();
  if (!hasMosquitto) return;
  websocketPort = await freePort();
  const websockets = [`listener ${websocketPort} 127.0.0.1`, 'protocol websockets'];
  broker = await openMosquitto(undefined, undefined, ['allow_anonymous true', ...websockets]);
  client = await connectClient(broker.url, { protocolVersion: 5 });
  client.on('message', (topic, payload, { properties }) => {
    received.push({ topic, payload: payload.toString(), said: { ...properties } });
  });
  await client.subscribeAsync('out/#', { qos: 2 });
});
test.after(async () => {
  await client?.endAsync(true);
  await broker?.close();
  await server.stop();
});

async function accepted(method: string, path: string, body?: unknown): Promise<void> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
}

const status = async (id: string): Promise<Row> => (await server.request('GET', `/rules/${id}/status`)).json as Row;

/** Starts a rule from topics to a topic; returns its id when it is subscribed. */
async function start(topics: string, sql: string, source: Row = {}, sink: Row = {}): Promise<string> {
  const id = `m${++number}`;
  const conf = { server: broker.url, protocolVersion: '5', ...source };
  await accepted('PUT', `/metadata/sources/mqtt/confKeys/${id}`, conf);
  const options = `DATASOURCE="${topics}", TYPE="mqtt", FORMAT="json", CONF_KEY="${id}"`;
  await accepted('POST', '/streams', { sql: `CREATE STREAM ${id} () WITH (${options})` });
  const mqtt = { server: broker.url, protocolVersion: '5', topic: `out/${id}`, qos: 1, sendSingle: true, ...sink };
  await accepted('POST', '/rules', { id, sql: sql.replace('$', id), actions: [{ mqtt }] });
  await eventually('the subscription', async () => {
    const now = await status(id);
    return now[`source_${id}_0_connection_status`] === 1 && now.sink_mqtt_0_0_connection_status === 1;
  });
  return id;
}

const of = (id: string) => received.filter(({ topic }) => topic === `out/${id}`);

for (const decompression of ['', 'gzip']) {
  const how = decompression === '' ? 'by the kernel' : 'by the client library';
  withBroker(`meta has what a sender says of its message, read ${how}`, async () => {
    const id = await start(`in/${how.length}`, 'SELECT meta(*) AS m FROM $', { decompression });
    const { gzipSync } = await import('node:zlib');
    const text = Buffer.from('{"a":1}');
    await client.publishAsync(`in/${how.length}`, decompression === '' ? text : gzipSync(text), {
      qos: 1,
      properties: {
        userProperties: { who: 'me', line: '7' },
        responseTopic: 'answers/1',
        correlationData: Buffer.from([0, 255]),
        contentType: 'application/json',
        payloadFormatIndicator: true,
      },
    });
    await eventually('the row', () => of(id).length > 0);
    const { m } = JSON.parse(of(id)[0]!.payload) as { m: Row };
    assert.equal(m.properties, { who: 'me', line: '7' });
    assert.is(m.responseTopic, 'answers/1');
    assert.is(m.correlationData, 'AP8=');
    assert.is(m.contentType, 'application/json');
    assert.is(m.payloadFormatIndicator, 1);
    assert.is(m.topic, `in/${how.length}`);
  });
}

for (const qos of [0, 1, 2]) {
  withBroker(`messages say what the sink has for them, made of rows (quality of service ${qos})`, async () => {
    const id = await start(
      `ask/${qos}`,
      'SELECT n FROM $',
      {},
      {
        qos,
        properties: { n: '{{.n}}' },
        contentType: 'application/json',
        responseTopic: 'answers/{{.n}}',
        correlationData: 'c{{.n}}',
        messageExpiryInterval: '1m',
        topicAlias: qos > 0,
      },
    );
    for (let n = 0; n < 50; n++) await client.publishAsync(`ask/${qos}`, `{"n":${n}}`, { qos: 1 });
    await eventually('the messages', () => of(id).length >= 50);
    of(id).forEach(({ payload, said }, n) => {
      assert.is(payload, `{"n":${n}}`);
      assert.equal({ ...(said.userProperties as Row) }, { n: `${n}` });
      assert.is(said.contentType, 'application/json');
      assert.is(said.responseTopic, `answers/${n}`);
      assert.is(String(said.correlationData), `c${n}`);
      assert.ok((said.messageExpiryInterval as number) <= 60 && (said.messageExpiryInterval as number) > 50);
    });
    assert.is(of(id).length, 50);
  });
}

withBroker('rules with a shared subscription get each message once, between them', async () => {
  const ids = [
    await start('$share/g/shared/+', 'SELECT n FROM $', { qos: 1 }),
    await start('$share/g/shared/+', 'SELECT n FROM $', { qos: 1 }),
  ];
  for (let n = 0; n < 200; n++) await client.publishAsync(`shared/${n % 3}`, `{"n":${n}}`, { qos: 1 });
  const all = () => ids.flatMap((id) => of(id).map(({ payload }) => JSON.parse(payload).n as number));
  await eventually('the rows', () => all().length >= 200);
  assert.equal(
    all().sort((a, b) => a - b),
    Array.from({ length: 200 }, (_, n) => n),
  );
  for (const id of ids) assert.ok(of(id).length > 0, `${id} got some`);
});

withBroker('retained messages come as the subscription asks', async () => {
  await client.publishAsync('kept/a', '{"n":1}', { qos: 1, retain: true });
  const with0 = await start('kept/a', 'SELECT n, meta(retained) AS r FROM $');
  const never = await start('kept/a', 'SELECT n, meta(retained) AS r FROM $', {
    retainHandling: 2,
    retainAsPublished: true,
  });
  await eventually('the retained message', () => of(with0).length > 0);
  await client.publishAsync('kept/a', '{"n":2}', { qos: 1, retain: true });
  await eventually('the next', () => of(with0).length > 1 && of(never).length > 0);
  assert.equal(
    of(with0).map(({ payload }) => JSON.parse(payload)),
    [
      { n: 1, r: true },
      { n: 2, r: false },
    ],
  );
  assert.equal(
    of(never).map(({ payload }) => JSON.parse(payload)),
    [{ n: 2, r: true }],
  );
});

withBroker('a rule reads and writes over a websocket', async () => {
  const url = `ws://127.0.0.1:${websocketPort}`;
  for (const qos of [0, 1, 2]) {
    const session = qos === 2 ? { enableClientSession: true, clientid: `w${qos}` } : {};
    const id = await start(`web/${qos}`, 'SELECT n FROM $', { server: url, qos, ...session }, { server: url, qos });
    for (let n = 0; n < 500; n++) await client.publishAsync(`web/${qos}`, `{"n":${n}}`, { qos: qos === 2 ? 2 : 1 });
    await eventually('the messages', () => of(id).length >= 500);
    assert.equal(
      of(id).map(({ payload }) => JSON.parse(payload).n),
      Array.from({ length: 500 }, (_, n) => n),
    );
  }
});

withBroker('the broker publishes the will of a server that is killed', async () => {
  const other = await startServer();
  try {
    const options = 'DATASOURCE="nothing", TYPE="mqtt", FORMAT="json", CONF_KEY="w"';
    const will = { topic: 'out/will', payload: 'gone', qos: 1, properties: { of: 'plant' } };
    const conf = { server: broker.url, protocolVersion: '5', will };
    await other.request('PUT', '/metadata/sources/mqtt/confKeys/w', conf);
    await other.request('POST', '/streams', { sql: `CREATE STREAM w () WITH (${options})` });
    await other.request('POST', '/rules', { id: 'w', sql: 'SELECT * FROM w', actions: [{ nop: {} }] });
    await eventually('the subscription', async () => {
      const { json } = await other.request('GET', '/rules/w/status');
      return (json as Row).source_w_0_connection_status === 1;
    });
  } finally {
    await other.stop('SIGKILL');
  }
  await eventually('the will', () => of('will').length > 0);
  assert.is(of('will')[0]!.payload, 'gone');
  assert.is((of('will')[0]!.said.userProperties as Row).of, 'plant');
});

test('what only MQTT 5 has is refused with other versions', async () => {
  await accepted('POST', '/streams', { sql: 'CREATE STREAM old () WITH (DATASOURCE="x", TYPE="mqtt", FORMAT="json")' });
  const refused: [props: Row, reason: RegExp][] = [
    [{ responseTopic: 'a' }, /responseTopic needs protocolVersion 5/],
    [{ messageExpiryInterval: '10s' }, /messageExpiryInterval needs protocolVersion 5/],
    [{ topicAlias: true, protocolVersion: '5' }, /topicAlias needs qos 1 or 2/],
    [{ will: { topic: 'a/#' } }, /will\.topic must not have wildcards/],
    [{ server: 'http://x' }, /server must begin with one of .*wss:/],
  ];
  for (const [props, reason] of refused) {
    const action = { mqtt: { server: 'tcp://127.0.0.1:1', topic: 't', ...props } };
    const { status, text } = await server.request('POST', '/rules', {
      id: 'old',
      sql: 'SELECT * FROM old',
      actions: [action],
    });
    assert.is(status, 400);
    assert.match(text, reason);
  }
});

test.run();
