/**
 * Codecs of plugins with threads of their own: the same rows and messages as without, in each framing; codecs that do
 * not come back, and their neighbours; new code while rules run.
 */
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient, openBroker } from '../../support/brokers/broker.js';
import { eventually, startServer } from '../../support/harness.js';
import { back, CodecRules, turned } from '../../support/rest/codec-rules.js';
import { Neighbour } from '../../support/rest/neighbour.js';

// Fuel that lasts for hours: what does not end is ended by its time alone.
const server = await startServer({
  env: {
    KUIPER__PLUGIN__WASM__CALLFUEL: '1000000000000000',
    KUIPER__PLUGIN__WASM__BATCHFUEL: '1000000000000000',
    KUIPER__PLUGIN__WASM__ISOLATETIMEOUT: '1s',
  },
});
const broker = await openBroker();
const client = await connectClient(broker.url);
test.after(async () => {
  await client.endAsync();
  await broker.close();
  await server.stop();
});
const rules = await CodecRules.of(server);
const neighbour = await Neighbour.start(server);
const guest = (name: string) => readFileSync(new URL(`../../guests/${name}.wasm`, import.meta.url));
const status = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json;
const codecs = [
  { name: 'turn', decode: 'turn', encode: 'turn' },
  { name: 'sick', decode: 'sick', encode: 'sick_write' },
];

await rules.upload('inside', guest('codecs'), codecs);
await rules.upload('apart', guest('codecs'), codecs, { isolate: true });
await rules.done('PUT', '/metadata/sources/mqtt/confKeys/here', { server: broker.url, qos: 1 });

test('lines are read and written as without a thread: rows, lists, nulls, errors, declared columns', async () => {
  const sick = ['o', 'n', '5', 'u', 'w', 'h', 'x', 't', 'r', 'f', '0', '', 'l', 'o'];
  const asked = ['o', 'f', 't', '0', 'w'].map((what) => turned(`{"do":"${what}"}`));
  const typed = ['{"a":1,"b":"x"}', '{"a":"no","b":"y"}', '{"b":"z"}'].map(turned);
  const texts: string[][] = [];
  for (const plugin of ['inside', 'apart']) {
    const out = [
      await rules.lines(`${plugin}.sick`, sick),
      await rules.lines(`${plugin}.turn`, asked, { sink: { format: 'custom', schemaId: `${plugin}.sick` } }),
      await rules.lines(`${plugin}.turn`, typed, { columns: 'a BIGINT, b STRING' }),
      await rules.lines(`${plugin}.turn`, asked, {
        select: 'SELECT do FROM s GROUP BY COUNTWINDOW(2)',
        sink: { format: 'custom', schemaId: `${plugin}.turn`, sendSingle: false, dataTemplate: '{"n":{{len .}}}' },
      }),
    ];
    texts.push(out.flat().map((line) => line.replaceAll(plugin, 'plugin').replace(/stream \w+/, 'stream s')));
  }
  assert.equal(texts[1], texts[0]);
  assert.is(texts[0]?.length, 14 + 5 + 3 + 2);
});

test('many messages keep their order, over several batches and up to a long one', async () => {
  const long = 'y'.repeat(3_000_000);
  const input = Array.from({ length: 5000 }, (_, i) =>
    turned(`{"a":${i},"t":"${i === 4000 ? long : 'x'.repeat(i % 90)}"}`),
  );
  const out = await rules.lines('apart.turn', input, { sink: { format: 'custom', schemaId: 'apart.turn' } });
  const rows = out.map((line) => JSON.parse(back(line)) as { a: number; t: string });
  assert.equal(
    rows.map(({ a }) => a),
    input.map((_, i) => i),
  );
  assert.is(rows[4000]?.t.length, long.length);
  assert.is((await status(rules.last)).sink_file_0_0_records_out_total, 5000);
});

test('packets of MQTT go through a codec and back, with their topic; broken ones are rows', async () => {
  const got: Buffer[] = [];
  client.on('message', (topic, message) => topic === 'through' && got.push(message));
  await client.subscribeAsync('through');
  const options = 'TYPE="mqtt", DATASOURCE="to/+", CONF_KEY="here", FORMAT="custom", SCHEMAID="apart.turn"';
  await rules.done('POST', '/streams', { sql: `CREATE STREAM packets () WITH (${options})` });
  await rules.done('POST', '/rules', {
    id: 'packets',
    sql: 'SELECT a, meta(topic) AS topic FROM packets',
    actions: [{ mqtt: { server: broker.url, topic: 'through', format: 'custom', schemaId: 'apart.turn' } }],
    options: { sendError: true },
  });
  await eventually('the subscription', async () => (await status('packets')).source_packets_0_connection_status === 1);
  for (const [i, text] of ['{"a":1}', '{"a":', `{"a":"${'z'.repeat(300)}"}`].entries()) {
    await client.publishAsync(`to/${i}`, turned(text), { qos: 1 });
  }
  await eventually('all messages', () => got.length === 3);
  const isError = (message: Buffer) => message.toString().startsWith('stream ');
  assert.equal(
    got.map((message) => (isError(message) ? message.toString() : back(message.toString('latin1')))),
    [
      '[{"a":1,"topic":"to/0"}]',
      'stream packets: function turn.decode of apart: invalid JSON at byte 5: the text ends where a value was expected',
      `[{"a":"${'z'.repeat(300)}","topic":"to/2"}]`,
    ],
  );
  await rules.done('DELETE', '/rules/packets');
});

test('a codec that does not come back costs its messages, and its neighbour nothing', async () => {
  const before = await status('neighbour');
  const of = (what: string) => `function sick.${what} of apart: it took longer than 1000 ms and was ended`;
  assert.equal(
    await rules.lines('apart.sick', ['o', 'e']),
    [0, 1].map(() => `stream ${rules.last}: ${of('decode')}`),
  );
  const sink = { format: 'custom', schemaId: 'apart.sick' };
  assert.equal(await rules.lines('inside.turn', [turned('{"do":"e"}')], { sink }), [`sink file: ${of('encode')}`]);
  assert.equal(await rules.lines('apart.sick', ['o']), ['{"ok":true}']);
  await neighbour.goesOn();
  const after = await status('neighbour');
  // Its row comes each 5 ms; in the two seconds of the codec it has got its rows, all of them.
  assert.ok(after.source_clock_0_records_in_total - before.source_clock_0_records_in_total > 40);
  assert.is(after.sink_nop_0_0_records_in_total, after.source_clock_0_records_out_total);
  assert.is(after.sink_nop_0_0_exceptions_total, 0);
});

test('a codec that has to be ended again and again ends its rules alone', async () => {
  const limits = { callFuel: 100_000, batchFuel: 400_000 };
  await rules.upload('looping', guest('codecs'), codecs, { isolate: true, limits });
  await rules.lines('looping.sick', new Array(14_000).fill('e'), { options: { restartStrategy: { attempts: 0 } } });
  const { status: state, message } = await status(rules.last);
  assert.match(state, /by error/);
  assert.match(message, /wasm plugin looping had to be ended 10 times.*function sick\.decode/);
  await neighbour.goesOn();
});

test('a running stream goes on with new code, keeps its thread, and fails without a plugin', async () => {
  await rules.upload('changing', guest('codecs'), [{ name: 'c', decode: 'turn' }], { isolate: true });
  const options = 'TYPE="mqtt", DATASOURCE="changing", CONF_KEY="here", FORMAT="custom", SCHEMAID="changing"';
  await rules.done('POST', '/streams', { sql: `CREATE STREAM changing () WITH (${options}, SHARED="true")` });
  const texts: string[] = [];
  client.on('message', (topic, message) => topic === 'changed' && texts.push(message.toString()));
  await client.subscribeAsync('changed');
  await rules.done('POST', '/rules', {
    id: 'changing',
    sql: 'SELECT * FROM changing',
    actions: [{ mqtt: { server: broker.url, topic: 'changed', sendSingle: true } }],
    options: { sendError: true },
  });
  await eventually(
    'the subscription',
    async () => (await status('changing')).source_changing_0_connection_status === 1,
  );
  const sent = (message: Buffer | string, text: string) =>
    eventually(text, async () => {
      texts.length = 0;
      await client.publishAsync('changing', message);
      await eventually('an answer', () => texts.length > 0);
      return texts[0]?.includes(text) === true;
    });
  await sent(turned('{"a":1}'), '{"a":1}');
  for (const isolate of [false, true]) {
    await rules.upload('changing', guest('codecs'), [{ name: 'c', decode: 'sick' }], { method: 'PUT', isolate });
    await sent('o', '{"ok":true}');
  }
  await rules.done('DELETE', '/plugins/wasm/changing');
  await sent('o', 'stream changing: function c.decode: wasm plugin changing is not there any more');
  await rules.done('DELETE', '/rules/changing');
});

test.run();
