/**
 * Sinks with a cache: while the other side is away messages wait on disk, the source and its other rules go on; later all
 * of them get there in order, over stops, kill -9 and full disks.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import mqtt, { type MqttClient } from 'mqtt';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { announceSkip, eventually, freePort, startServer, type TestServer, temporaryFolder } from '../harness.js';
import { hasMosquitto, type Mosquitto, openMosquitto } from './mosquitto.js';

if (!hasMosquitto) announceSkip('sinks with a cache', 'mosquitto is not installed');
const cached = hasMosquitto ? test : test.skip;

/** Of what is sent here. */
let inside: Mosquitto;
let sender: MqttClient;
let server: TestServer;
/** Names of streams and rules differ from test to test. */
let number = 0;

test.before(async () => {
  if (!hasMosquitto) return;
  inside = await openMosquitto();
  sender = await mqtt.connectAsync(inside.url);
  server = await startServer();
});
test.after(async () => {
  if (!hasMosquitto) return;
  await sender.endAsync(true);
  await server.stop('SIGKILL');
  await inside.close();
});

/** A broker that keeps what comes for a reader who comes later. */
class Outside {
  readonly folder = temporaryFolder();
  broker: Mosquitto | undefined;

  private constructor(readonly port: number) {}

  static async make(topic = 'out'): Promise<Outside> {
    const outside = new Outside(await freePort());
    await outside.start();
    const reader = await outside.#reader();
    await reader.subscribeAsync(topic, { qos: 1 });
    await reader.endAsync();
    await outside.stop();
    return outside;
  }

  get url(): string {
    return `tcp://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    this.broker = await openMosquitto(this.port, this.folder);
  }

  async stop(): Promise<void> {
    await this.broker?.stop();
    this.broker = undefined;
  }

  #reader(take?: (topic: string, text: string) => void): Promise<MqttClient> {
    const client = mqtt.connect(this.url, { clientId: 'reader', clean: false });
    client.on('message', (topic, payload) => take?.(topic, payload.toString()));
    return new Promise((resolve, reject) => {
      client.once('connect', () => resolve(client));
      client.once('error', reject);
    });
  }

  /** The ids that came, until there are so many different ones. */
  async ids(count: number): Promise<number[]> {
    const ids: number[] = [];
    const different = new Set<number>();
    const reader = await this.#reader((_topic, text) => {
      const { id } = JSON.parse(text) as { id: number };
      ids.push(id);
      different.add(id);
    });
    await eventually(`${count} ids`, () => different.size >= count, 60_000);
    await reader.endAsync(true);
    return ids;
  }

  async messages(count: number): Promise<{ topic: string; text: string }[]> {
    const messages: { topic: string; text: string }[] = [];
    const reader = await this.#reader((topic, text) => void messages.push({ topic, text }));
    await eventually(`${count} messages`, () => messages.length >= count, 60_000);
    await reader.endAsync(true);
    return messages;
  }
}

async function post(path: string, body: unknown): Promise<string> {
  const answer = await server.request('POST', path, body);
  assert.is(answer.status, 201, answer.text);
  return answer.text;
}

/** A shared stream of a topic with the quality of service, which has the name of the topic. */
async function stream(topic: string, qos: number, more: Record<string, unknown> = {}): Promise<void> {
  const key = await server.request('PUT', `/metadata/sources/mqtt/confKeys/${topic}`, {
    server: inside.url,
    qos,
    ...more,
  });
  assert.is(key.status, 200, key.text);
  await post('/streams', {
    sql: `CREATE STREAM ${topic} () WITH (DATASOURCE="${topic}", SHARED="true", CONF_KEY="${topic}")`,
  });
}

async function rule(id: string, topic: string, action: Record<string, unknown>): Promise<void> {
  await post('/rules', { id, sql: `SELECT id FROM ${topic}`, actions: [action] });
  await figure(id, `source_${topic}_0_connection_status`, (value) => value === 1);
}

function figure(id: string, name: string, fits: (value: number) => boolean): Promise<number> {
  return eventually(
    `${name} of ${id}`,
    async () => {
      const { json } = await server.request('GET', `/rules/${id}/status`);
      assert.not.match(json.status, /stopped by error/i, json.message);
      return fits(Number(json[name])) ? Number(json[name]) : undefined;
    },
    60_000,
  );
}

async function send(topic: string, from: number, to: number): Promise<void> {
  const all: Promise<unknown>[] = [];
  for (let id = from; id < to; id++) all.push(sender.publishAsync(topic, `{"id":${id}}`, { qos: 1 }));
  await Promise.all(all);
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
}

/** The first time that each comes. */
const first = (ids: readonly number[]): number[] => [...new Set(ids)];

function idsIn(path: string): number[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => (JSON.parse(line) as { id: number }).id);
}

const sinkTo = (outside: Outside, more: Record<string, unknown> = {}) => ({
  mqtt: { server: outside.url, topic: 'out', qos: 1, sendSingle: true, enableCache: true, ...more },
});

for (const qos of [0, 1]) {
  cached(
    `a sink that is away from the start holds nobody on a stream of QoS ${qos}; it gets every row in order later`,
    async () => {
      const topic = `t${++number}`;
      const outside = await Outside.make();
      const path = join(temporaryFolder(), 'rows');
      await stream(topic, qos);
      await rule(`near${topic}`, topic, { file: { path, sendSingle: true } });
      await rule(`far${topic}`, topic, sinkTo(outside));
      await send(topic, 0, 3000);
      await eventually('all rows of the neighbour', () => idsIn(path).length === 3000);
      assert.equal(idsIn(path), range(0, 3000));
      await figure(`far${topic}`, 'sink_mqtt_0_0_cache_disk_length', (value) => value === 3000);
      const { json } = await server.request('GET', `/rules/far${topic}/status`);
      assert.is(json.message, '', 'it holds nobody');
      assert.is(json.sink_mqtt_0_0_buffer_length, 3000);
      await outside.start();
      assert.equal(await outside.ids(3000), range(0, 3000));
      await figure(`far${topic}`, 'sink_mqtt_0_0_cache_length', (value) => value === 0);
      // Later it goes away once more, and its disk was given back.
      assert.equal(await cacheFiles(), []);
      await outside.stop();
      await send(topic, 3000, 5000);
      await figure(`far${topic}`, 'sink_mqtt_0_0_records_in_total', (value) => value === 5000);
      await outside.start();
      const more = first(await outside.ids(2000)).filter((id) => id >= 3000);
      assert.equal(more, range(3000, 5000));
      for (const id of ['near', 'far']) await server.request('DELETE', `/rules/${id}${topic}`);
      await outside.stop();
    },
  );
}

function cacheFiles(): Promise<string[]> {
  const folder = join(server.data, 'sink-cache');
  const list = () =>
    existsSync(folder)
      ? readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.pages'))
      : [];
  return eventually('no pages', () => (list().length === 0 ? [] : undefined)).catch(list);
}

cached('kill -9 while the sink is away loses nothing and changes no order', async () => {
  const topic = `t${++number}`;
  const outside = await Outside.make();
  await stream(topic, 1, { clientid: topic, enableClientSession: true });
  await rule(topic, topic, sinkTo(outside));
  let sent = 0;
  for (let round = 0; round < 3; round++) {
    const sending = send(topic, sent, sent + 1500);
    sent += 1500;
    await figure(topic, 'sink_mqtt_0_0_records_in_total', (value) => value > 300);
    const { data } = server;
    await server.stop('SIGKILL');
    server = await startServer({ data });
    await sending;
    // While the sink gets what it missed the server is killed once more.
    if (round === 1) await outside.start();
  }
  assert.equal(first(await outside.ids(sent)), range(0, sent));
  await server.request('DELETE', `/rules/${topic}`);
  await outside.stop();
});

cached(
  'a stop keeps what waits, an update to another topic sends it there, the end of the rule removes it',
  async () => {
    const topic = `t${++number}`;
    const outside = await Outside.make('second');
    await stream(topic, 0);
    await rule(topic, topic, sinkTo(outside));
    await send(topic, 0, 500);
    await figure(topic, 'sink_mqtt_0_0_records_in_total', (value) => value === 500);
    const stopped = await server.request('POST', `/rules/${topic}/stop`);
    assert.is(stopped.status, 200);
    assert.not.match(stopped.text, /lost/);
    assert.is((await server.request('GET', `/rules/${topic}/status`)).json.sink_mqtt_0_0_cache_disk_length, 500);
    const change = { id: topic, sql: `SELECT id FROM ${topic}`, actions: [sinkTo(outside, { topic: 'second' })] };
    assert.is((await server.request('PUT', `/rules/${topic}`, change)).status, 200);
    await server.request('POST', `/rules/${topic}/start`);
    await outside.start();
    assert.equal(await outside.ids(500), range(0, 500));
    await outside.stop();
    await send(topic, 500, 600);
    await figure(topic, 'sink_mqtt_0_0_cache_disk_length', (value) => value === 100);
    assert.is((await server.request('DELETE', `/rules/${topic}`)).status, 200);
    assert.not((await cacheFiles()).some((name) => name.startsWith(`${topic}/`)));
  },
);

cached('with cleanCacheAtStop what waits is gone with the stop, and told', async () => {
  const topic = `t${++number}`;
  await stream(topic, 0);
  const action = {
    mqtt: { server: `tcp://127.0.0.1:${await freePort()}`, topic: 'o', enableCache: true, cleanCacheAtStop: true },
  };
  await rule(topic, topic, action);
  await send(topic, 0, 50);
  await figure(topic, 'sink_mqtt_0_0_cache_disk_length', (value) => value === 50);
  await server.request('POST', `/rules/${topic}/stop`);
  assert.is((await server.request('GET', `/rules/${topic}/status`)).json.sinkRecordsFailedTotal, 50);
  assert.not((await cacheFiles()).some((name) => name.startsWith(`${topic}/`)));
  await server.request('DELETE', `/rules/${topic}`);
});

cached('a full cache holds the source and says so, or drops its oldest messages and counts them', async () => {
  const topic = `t${++number}`;
  const outside = await Outside.make();
  await stream(topic, 1);
  const small = { maxDiskCache: 200, bufferPageSize: 50, memoryCacheThreshold: 50 };
  await rule(`block${topic}`, topic, sinkTo(outside, small));
  const sending = send(topic, 0, 1000);
  const { message } = await eventually('the hold', async () => {
    const { json } = await server.request('GET', `/rules/block${topic}/status`);
    return /^holds source/.test(json.message) ? json : undefined;
  });
  assert.match(message, /sink mqtt not connected for \d+ s, its cache is full, 200 messages on disk, /);
  await sending;
  await outside.start();
  assert.equal(await outside.ids(1000), range(0, 1000));
  await outside.stop();
  await server.request('DELETE', `/rules/block${topic}`);
  await rule(`drop${topic}`, topic, sinkTo(outside, { ...small, cacheFullPolicy: 'dropOldest' }));
  await send(topic, 1000, 2000);
  await figure(`drop${topic}`, 'sink_mqtt_0_0_records_in_total', (value) => value === 1000);
  await figure(`drop${topic}`, 'sink_mqtt_0_0_cache_disk_length', (value) => value > 0 && value <= 200);
  const dropped = await figure(`drop${topic}`, 'sink_mqtt_0_0_cache_drop_total', (value) => value >= 800);
  const { json } = await server.request('GET', `/rules/drop${topic}/status`);
  assert.is(json.sinkRecordsFailedTotal, dropped);
  assert.match(json.sink_mqtt_0_0_last_exception, /oldest messages were dropped/);
  await outside.start();
  assert.equal(await outside.ids(1000 - dropped), range(1000 + dropped, 2000));
  await server.request('DELETE', `/rules/drop${topic}`);
  await outside.stop();
});

cached('while its disk is full a cache holds the source; with room again nothing is missing', async () => {
  const data = join(temporaryFolder(), 'data');
  mkdirSync(data);
  const mount = (options: string) =>
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', data], { stdio: 'ignore' });
  try {
    mount('size=2m');
  } catch {
    announceSkip('a cache on a full disk', 'a file system of bounded size needs root');
    return;
  }
  const outer = server;
  try {
    const outside = await Outside.make();
    // Logs lie elsewhere: they fill no disk here.
    server = await startServer({ data, args: ['--log', temporaryFolder()] });
    const topic = `t${++number}`;
    await stream(topic, 1);
    await post('/rules', {
      id: topic,
      sql: `SELECT id, "${'x'.repeat(1000)}" AS text FROM ${topic}`,
      actions: [sinkTo(outside)],
    });
    await figure(topic, `source_${topic}_0_connection_status`, (value) => value === 1);
    writeFileSync(join(data, 'ballast'), Buffer.alloc(1024 * 1024));
    const sending = send(topic, 0, 3000);
    const { message } = await eventually('the hold', async () => {
      const { json } = await server.request('GET', `/rules/${topic}/status`);
      assert.not.match(json.status, /stopped by error/i, json.message);
      return /ENOSPC/.test(json.message) ? json : undefined;
    });
    assert.match(message, /^holds source \w+: sink mqtt not connected for \d+ s, its cache can't be written: .*ENOSPC/);
    mount('remount,size=32m');
    await sending;
    await figure(topic, 'sink_mqtt_0_0_cache_disk_length', (value) => value === 3000);
    await outside.start();
    assert.equal(await outside.ids(3000), range(0, 3000));
    await outside.stop();
  } finally {
    await server.stop('SIGKILL');
    server = outer;
    execFileSync('umount', ['-l', data]);
  }
});

cached('messages that waited can go to a topic of their own, with a field that says so', async () => {
  const topic = `t${++number}`;
  const outside = await Outside.make('#');
  await stream(topic, 0);
  const again = { resendAlterQueue: true, resendIndicatorField: 'late', resendDestination: 'resent' };
  await rule(topic, topic, sinkTo(outside, again));
  // One that can't be reached; what comes before the first attempt is no repetition.
  await figure(topic, 'sink_mqtt_0_0_exceptions_total', (value) => value > 0);
  await send(topic, 0, 20);
  await figure(topic, 'sink_mqtt_0_0_cache_disk_length', (value) => value === 20);
  await outside.start();
  await figure(topic, 'sink_mqtt_0_0_cache_length', (value) => value === 0);
  await send(topic, 20, 22);
  const messages = await outside.messages(22);
  assert.equal(
    messages.filter((one) => one.topic === 'out').map(({ text }) => text),
    ['{"id":20}', '{"id":21}'],
  );
  const resent = messages.filter((one) => one.topic === 'resent').map(({ text }) => text);
  assert.equal(
    resent,
    range(0, 20).map((id) => `{"id":${id},"late":true}`),
  );
  await server.request('DELETE', `/rules/${topic}`);
  await outside.stop();
});

cached('the figures of a cache are in the metrics', async () => {
  const topic = `t${++number}`;
  await stream(topic, 0);
  await rule(topic, topic, {
    mqtt: { server: `tcp://127.0.0.1:${await freePort()}`, topic: 'o', enableCache: true, sendSingle: true },
  });
  await send(topic, 0, 7);
  await figure(topic, 'sink_mqtt_0_0_cache_disk_length', (value) => value === 7);
  const { text } = await server.request('GET', '/metrics');
  const value = (name: string, type: string) =>
    new RegExp(`^kuiper_sync_cache_${name}{rule="${topic}",type="${type}",op="mqtt_0"} (\\d+)$`, 'm').exec(text)?.[1];
  assert.is(value('gauge', 'length'), '7');
  assert.is(value('gauge', 'disk'), '7');
  assert.is(value('counter', 'add'), '7');
  assert.is(value('counter', 'drop'), '0');
  assert.match(text, /^# TYPE kuiper_sync_cache_counter counter$/m);
  await server.request('DELETE', `/rules/${topic}`);
});

test.run();
