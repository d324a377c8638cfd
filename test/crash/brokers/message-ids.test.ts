/** Messages that are sent again after kill -9 have the ids that they had: receivers can leave them out. */
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient } from '../../support/brokers/broker.js';
import { hasMosquitto, openMosquitto } from '../../support/brokers/mosquitto.js';
import { announceSkip, eventually, startServer, temporaryFolder } from '../../support/harness.js';

if (!hasMosquitto) announceSkip('ids of messages', 'mosquitto is not installed');
const withBroker = hasMosquitto ? test : test.skip;

withBroker('each message keeps its id, and no two have the same', async () => {
  const broker = await openMosquitto();
  const client = await connectClient(broker.url, { protocolVersion: 5 });
  const received: { id: string; text: string }[] = [];
  client.on('message', (_topic, payload, { properties }) => {
    received.push({ id: String(properties?.userProperties?.id), text: payload.toString() });
  });
  await client.subscribeAsync('out', { qos: 1 });
  const data = temporaryFolder();
  const input = join(data, 'in');
  const row = (id: number) => `{"id":${id}}`;
  writeFileSync(input, [0, 1, 2].map((id) => `${row(id)}\n`).join(''));
  let server = await startServer({ data });
  const conf = { path: data, fileType: 'lines', interval: '1h' };
  await server.request('PUT', '/metadata/sources/file/confKeys/in', conf);
  const sql = 'CREATE STREAM s () WITH (TYPE="file", DATASOURCE="in", CONF_KEY="in")';
  await server.request('POST', '/streams', { sql });
  const mqtt = { server: broker.url, topic: 'out', qos: 1, sendSingle: true, messageIdProperty: 'id' };
  const ruleOf = (action: object) => ({
    id: 'r',
    sql: 'SELECT id FROM s',
    actions: [{ mqtt: action }],
    // Only the first one comes by itself, before all rows.
    options: { qos: 2, checkpointInterval: '1h' },
  });
  const refused = await server.request('POST', '/rules', ruleOf(mqtt));
  assert.match(refused.text, /messageIdProperty needs protocolVersion 5/);
  const made = await server.request('POST', '/rules', ruleOf({ ...mqtt, protocolVersion: '5' }));
  assert.is(made.status, 201, made.text);
  const { text } = await server.request('GET', '/rules/r/explain');
  assert.match(text, /receivers know it by the user property/);
  await eventually('the rows', () => received.length === 3);
  await server.stop('SIGKILL');
  server = await startServer({ data });
  await eventually('the rows, again', () => received.length === 6);
  // An orderly end takes a checkpoint: what comes then is new.
  await server.stop();
  appendFileSync(input, `${row(3)}\n`);
  server = await startServer({ data });
  await eventually('the new row', () => received.length === 7);
  assert.equal(
    received.map((one) => one.text),
    [0, 1, 2, 0, 1, 2, 3].map(row),
  );
  const ids = received.map(({ id }) => id);
  assert.equal(ids.slice(3, 6), ids.slice(0, 3));
  assert.is(new Set(ids).size, 4);
  await server.stop();
  await client.endAsync(true);
  await broker.close();
});

test.run();
