/** Functions that need a package, in rules: images of MQTT messages, models, and what is left out. */
import sharp from 'sharp';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient, openBroker } from '../../support/brokers/broker.js';
import { eventually, startServer } from '../../support/harness.js';

const server = await startServer();
const broker = await openBroker();
const client = await connectClient(broker.url);
test.after(async () => {
  await client.endAsync();
  await broker.close();
  await server.stop();
});

async function done(method: string, path: string, body?: object) {
  const answer = await server.request(method, path, body);
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
  return answer;
}

await done('PUT', '/metadata/sources/mqtt/confKeys/here', { server: broker.url });
const options = 'TYPE="mqtt", DATASOURCE="camera", CONF_KEY="here", FORMAT="binary"';
await done('POST', '/streams', { sql: `CREATE STREAM camera (image BYTEA) WITH (${options})` });

test('an image of a message becomes a smaller one', async () => {
  const out: Buffer[] = [];
  client.on('message', (topic, message) => void (topic === 'small' && out.push(message)));
  await client.subscribeAsync('small');
  await done('POST', '/rules', {
    id: 'small',
    sql: 'SELECT thumbnail(image, 10, 10) AS t, resize(image, 2, 1, true) AS p FROM camera',
    actions: [{ mqtt: { server: broker.url, topic: 'small', sendSingle: true } }],
    options: { sendError: true },
  });
  await eventually('the subscription', async () => {
    const { json } = await server.request('GET', '/rules/small/status');
    return json.source_camera_0_connection_status === 1 || undefined;
  });
  const image = await sharp({ create: { width: 40, height: 20, channels: 3, background: '#102030' } })
    .png()
    .toBuffer();
  await client.publishAsync('camera', image);
  await client.publishAsync('camera', Buffer.from('no image'));
  await eventually('the results', () => out.length === 2 || undefined);
  const { t, p } = JSON.parse(String(out[0]));
  const { format, width, height } = await sharp(Buffer.from(t, 'base64')).metadata();
  assert.equal([format, width, height], ['png', 10, 5]);
  assert.is(Buffer.from(p, 'base64').toString('hex'), '102030102030');
  assert.match(String(out[1]), /^function \w+: image decode error:image: unknown format$/);
});

test('a function of a user takes the place of one of the engine', async () => {
  const validated = (sql: string) =>
    server.request('POST', '/rules/validate', { id: 'own', sql, actions: [{ log: {} }] });
  const script = 'function resize(a) { return a + 1; }';
  await done('POST', '/udf/javascript', { id: 'resize', description: 'x', script, isAgg: false });
  assert.is((await validated('SELECT resize(1) AS r FROM camera')).status, 200);
  await done('DELETE', '/udf/javascript/resize');
  const refused = await validated('SELECT resize(1) AS r FROM camera');
  assert.match(refused.text, /function resize takes 3 to 4 arguments, not 1/);
});

test('a model that is not there is an error of the row, a runtime that is not there one of the rule', async () => {
  await done('POST', '/rules', {
    id: 'model',
    sql: 'SELECT onnx("none", image) AS r FROM camera',
    actions: [{ log: {} }],
  });
  const reason = await eventually('the reason', async () => {
    await client.publishAsync('camera', Buffer.from('x'));
    const { text } = await server.request('GET', '/rules/model/status');
    return /onnxruntime-web|none\.onnx/.test(text) ? text : undefined;
  });
  assert.match(
    reason,
    /function onnx: (model none.onnx is not among the uploaded files|library models needs the package onnxruntime-web)/,
  );
});

test('what is left out is refused by name', async () => {
  for (const name of ['echo', 'countPlusOne', 'accumulateWordCount', 'labelImage', 'tfLite']) {
    const sql = `SELECT ${name}(image) AS r FROM camera`;
    const { status, json } = await server.request('POST', '/rules', { id: 'left', sql, actions: [{ log: {} }] });
    assert.is(status, 400);
    assert.match(json.message, new RegExp(`function ${name} is left out: `));
  }
});

test('they are among the functions that interfaces show', async () => {
  const groups = (await done('GET', '/metadata/functions')).json as { name: string; functions: { name: string }[] }[];
  const names = (group: string) => groups.find(({ name }) => name === group)!.functions.map(({ name }) => name);
  assert.equal(names('library'), ['onnx', 'resize', 'thumbnail']);
  assert.is(names('geohash').length, 10);
});

test.run();
