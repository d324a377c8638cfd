/** The steps of a sink in their order: batch, template, compression, encryption, queue, broker. */
import { createDecipheriv, randomBytes } from 'node:crypto';
import { connect, createServer, type Server } from 'node:net';
import { gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { compressions } from '../../../host/base/bytes/compression.js';
import { connectClient, openBroker, type TestBroker } from '../../support/brokers/broker.js';
import { eventually, freePort, startServer, type TestServer } from '../../support/harness.js';

const key = randomBytes(32);
let server: TestServer;
let brokerPort: number;
let broker: TestBroker;
let door: Server;
const received: { topic: string; payload: Buffer }[] = [];

test.before(async () => {
  brokerPort = await freePort();
  server = await startServer({ env: { KUIPER__BASIC__AESKEY: key.toString('base64') } });
  const data = [1, 2, 3, 4].map((id) => ({ id, name: `n${id}` }));
  await accepted('PUT', '/metadata/sources/simulator/confKeys/four', { data, interval: 1, loop: false });
  await accepted('POST', '/streams', { sql: 'CREATE STREAM four () WITH (TYPE="simulator", CONF_KEY="four")' });
});
test.after(async () => {
  await server.stop();
  await broker?.close();
  door?.close();
});

async function accepted(method: string, path: string, body?: unknown): Promise<void> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
}

function gcm(message: Buffer): Buffer {
  const [iv, text, tag] = [message.subarray(0, 12), message.subarray(12, -16), message.subarray(-16)];
  const decipher = createDecipheriv('aes-256-gcm', key, iv).setAuthTag(tag);
  return Buffer.concat([decipher.update(text), decipher.final()]);
}

const aad = Buffer.from('beside');
const iv = randomBytes(12);

function gcmBeside(message: Buffer): Buffer {
  const [tag, text] = [message.subarray(0, 16), message.subarray(16)];
  const decipher = createDecipheriv('aes-256-gcm', key, iv).setAAD(aad).setAuthTag(tag);
  return Buffer.concat([decipher.update(text), decipher.final()]);
}

function cfb(message: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-cfb', key, message.subarray(0, 16));
  return Buffer.concat([decipher.update(message.subarray(16)), decipher.final()]);
}

const same = (message: Buffer) => message;
const unzstd = (message: Buffer) => Buffer.from(compressions.zstd.decompress(message, 1 << 20));
const given = { iv: iv.toString('base64'), aad: aad.toString('base64') };

const chains = [
  ['gzip', { compression: 'gzip', encryption: 'aes' }, (message: Buffer) => gunzipSync(gcm(message))],
  ['zlib', { compression: 'zlib', encryption: 'aes', encProps: given }, (m: Buffer) => inflateSync(gcmBeside(m))],
  [
    'flate',
    { compression: 'flate', encryption: 'aes', encProps: { mode: 'cfb' } },
    (m: Buffer) => inflateRawSync(cfb(m)),
  ],
  ['zstd', { compression: 'zstd', compressionProps: { level: 5 } }, unzstd],
  ['plain', {}, same],
] as const;

test('what waited for the broker in a cache comes as one step after the other has made it', async () => {
  const mqtt = { server: `tcp://127.0.0.1:${brokerPort}`, qos: 1, enableCache: true, batchSize: 2 };
  const template = { dataTemplate: '{"row":{{toJson .}}}' };
  for (const [topic, more] of chains) {
    const actions = [{ mqtt: { ...mqtt, topic, sendSingle: true, ...template, ...more } }];
    await accepted('POST', '/rules', { id: topic, sql: 'SELECT * FROM four', actions });
    await eventually(`the cache of ${topic}`, async () => {
      const { json } = await server.request('GET', `/rules/${topic}/status`);
      return json.sink_mqtt_0_0_cache_length === 2;
    });
  }
  broker = await openBroker();
  const client = await connectClient(broker.url);
  client.on('message', (topic, payload) => void received.push({ topic, payload }));
  await client.subscribeAsync('#', { qos: 1 });
  // The sinks come when somebody listens.
  door = createServer((socket) => {
    const inner = connect(broker.port, '127.0.0.1');
    socket.pipe(inner).pipe(socket);
    for (const end of [socket, inner]) end.on('error', () => {});
  }).listen(brokerPort, '127.0.0.1');
  await eventually('all messages', () => received.length >= chains.length * 2);
  for (const [topic, , undo] of chains) {
    const messages = received.filter((message) => message.topic === topic).map(({ payload }) => undo(payload));
    assert.equal(
      messages.map((message) => JSON.parse(message.toString())),
      [
        [{ row: { id: 1, name: 'n1' } }, { row: { id: 2, name: 'n2' } }],
        [{ row: { id: 3, name: 'n3' } }, { row: { id: 4, name: 'n4' } }],
      ],
      topic,
    );
  }
  await client.endAsync();
});

test.run();
