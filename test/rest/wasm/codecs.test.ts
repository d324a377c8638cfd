/** Streams and actions of the format `custom`: codecs of plugins from upload to rows in a sink, in each convention. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withManifest } from '../../../host/plugins/wasm/exports/embed.js';
import { connectClient, openBroker } from '../../support/brokers/broker.js';
import { eventually, startServer } from '../../support/harness.js';
import { back, CodecRules, turned } from '../../support/rest/codec-rules.js';

const server = await startServer();
const broker = await openBroker();
const client = await connectClient(broker.url);
test.after(async () => {
  await client.endAsync();
  await broker.close();
  await server.stop();
});

const guest = (name: string) => readFileSync(new URL(`../../guests/${name}.wasm`, import.meta.url));
const example = new URL('../../../examples/plugins/rust/frames/', import.meta.url);

/** What comes by topic. */
const received = new Map<string, Buffer[]>();
client.on('message', (topic, message) => received.get(topic)?.push(message));
async function subscribed(topic: string): Promise<Buffer[]> {
  const messages: Buffer[] = [];
  received.set(topic, messages);
  await client.subscribeAsync(topic);
  return messages;
}

const rules = await CodecRules.of(server);
const { folder } = rules;
const done: CodecRules['done'] = (...request) => rules.done(...request);
const upload: CodecRules['upload'] = (...given) => rules.upload(...given);
const lines: CodecRules['lines'] = (...given) => rules.lines(...given);
await done('PUT', '/metadata/sources/mqtt/confKeys/here', { server: broker.url });

test('binary frames over MQTT become rows, rows become frames: plugin, schema, stream, rule, sink', async () => {
  const module = readFileSync(new URL('frames.wasm', example));
  const manifest = readFileSync(new URL('manifest.json', example), 'utf8');
  const bytecode = Buffer.from(withManifest(module, manifest)).toString('base64');
  const made = await done('POST', '/plugins/wasm', { name: 'frames', bytecode });
  assert.equal(made.json, { name: 'frames', functions: [], codecs: ['frame'] });
  assert.equal((await done('GET', '/plugins/wasm')).json, [made.json]);
  await done('POST', '/schemas/custom', { name: 'logger', plugin: 'frames' });
  const { file: _file, ...schema } = (await done('GET', '/schemas/custom/logger')).json;
  assert.equal(schema, { type: 'custom', name: 'logger', content: '', plugin: 'frames' });
  await done('POST', '/streams', {
    sql:
      'CREATE STREAM loggers () WITH (TYPE="mqtt", DATASOURCE="in/+", CONF_KEY="here", FORMAT="custom", ' +
      'SCHEMAID="logger")',
  });
  const [rows, frames] = [await subscribed('rows'), await subscribed('frames')];
  await done('POST', '/rules', {
    id: 'frames',
    sql:
      'SELECT device, name, alarm, age, temp + 1 AS temp, battery, meta(topic) AS topic FROM loggers WHERE temp < ' +
      '50',
    actions: [
      { mqtt: { server: broker.url, topic: 'rows', sendSingle: true } },
      { mqtt: { server: broker.url, topic: 'frames', sendSingle: true, format: 'custom', schemaId: 'logger.frame' } },
    ],
  });
  await eventually('the subscription', async () => {
    const { json } = await server.request('GET', '/rules/frames/status');
    return json.source_loggers_0_connection_status === 1 || undefined;
  });
  // Two readings of device 7, named "été": 21.5 and 60.0 with 10 of 15 bars.
  await client.publishAsync('in/a', Buffer.from('11000705c3a974c3a9020000' + '0d7a' + '003c' + '258a', 'hex'));
  await client.publishAsync('in/b', Buffer.from('10000800010005' + 'f9c0', 'hex'));
  await eventually('the rows', () => rows.length === 2 || undefined);
  assert.equal(
    rows.map((row) => JSON.parse(row.toString())),
    [
      { device: 7, name: 'été', alarm: true, age: 0, temp: 22.5, battery: 10, topic: 'in/a' },
      { device: 8, name: '', alarm: false, age: 5, temp: -9, battery: 0, topic: 'in/b' },
    ],
  );
  await eventually('the frames', () => frames.length === 2 || undefined);
  assert.equal(
    frames.map((frame) => frame.toString('hex')),
    ['11000705c3a974c3a9010000' + '0e1a', '10000800010005' + 'fa60'],
  );
  await client.publishAsync('in/a', Buffer.from('1000', 'hex'));
  await client.publishAsync('in/a', Buffer.from('20000700', 'hex'));
  // The status has the latest: a failure may be counted by the source and by its decoder.
  const latest = /stream loggers: function frame\.decode of frames: frames of version 2 are not known/;
  const status = await eventually('the failure of the second', async () => {
    const { json } = await server.request('GET', '/rules/frames/status');
    return latest.test(JSON.stringify(json)) ? json : undefined;
  });
  assert.ok(status.source_loggers_0_exceptions_total + (status.op_2_decoder_0_exceptions_total ?? 0) >= 2);
  await done('DELETE', '/rules/frames');
});

test('declared columns hold for what a codec gives; a codec is named by its plugin as well', async () => {
  await upload('pairs', guest('strings'), [{ name: 'pairs', decode: 'read_pairs', encode: 'write_pairs' }]);
  const input = ['a=1;b="x"', 'b="y";a="no"', 'b="z"'];
  assert.equal(await lines('pairs', input.slice(0, 1), { select: 'SELECT a + 1 AS a, b FROM s' }), ['{"a":2,"b":"x"}']);
  const of = (name: string) => `stream ${name}: function pairs.decode of pairs: `;
  const [good, typed, missing] = await lines('pairs.pairs', input, { columns: 'a BIGINT, b STRING' });
  assert.is(good, '{"a":1,"b":"x"}');
  assert.is(typed, `${of(`${rules.last}`)}a has wrong type:string, expect:bigint`);
  assert.ok(missing?.startsWith(of(`${rules.last}`)) && missing.includes('a'), missing);
});

test('a guest of AssemblyScript reads and writes; what it throws is the error of its message alone', async () => {
  const [first, second, third] = await lines('pairs', ['a=1', 'nothing', 'a=3'], {
    sink: { format: 'custom', schemaId: 'pairs' },
  });
  assert.equal([first, third], ['a=1', 'a=3']);
  assert.match(second!, /^stream lines\d+: function pairs\.decode of pairs: no pair: nothing/);
});

test("a guest of Extism's development kit reads and writes", async () => {
  await upload('kit', guest('kit'), [{ name: 'loud', decode: 'loud', encode: 'loud' }]);
  assert.equal(
    await lines('kit', ['{"a":"x"}', '[{"b":1},{"c":2}]'], { sink: { format: 'custom', schemaId: 'kit' } }),
    ['{"A":"X"}', '{"B":1}', '{"C":2}'],
  );
});

test('messages of several rows, batches and templates are written as those of other formats', async () => {
  await upload('turns', guest('codecs'), [
    { name: 'turn', decode: 'turn', encode: 'turn' },
    { name: 'sick', decode: 'sick', encode: 'sick_write' },
  ]);
  const input = ['{"a":1}', '{"a":2}', '{"a":3}'].map(turned);
  const custom = { format: 'custom', schemaId: 'turns.turn' };
  const written = async (sink: object, select?: string) =>
    (await lines('turns.turn', input, { sink: { ...custom, ...sink }, ...(select && { select }) })).map(back);
  assert.equal(await written({ sendSingle: false }, 'SELECT a FROM s GROUP BY COUNTWINDOW(3)'), [
    '[{"a":1},{"a":2},{"a":3}]',
  ]);
  assert.equal(await written({ batchSize: 2 }), ['[{"a":1},{"a":2}]', '[{"a":3}]']);
  assert.equal(await written({ dataTemplate: '{"t":{{.a}}}' }), ['{"t":1}', '{"t":2}', '{"t":3}']);
  assert.equal(await written({ fields: ['a', 'b'] }), ['{"a":1,"b":null}', '{"a":2,"b":null}', '{"a":3,"b":null}']);
});

test('many messages, in order', async () => {
  const input = Array.from({ length: 5000 }, (_, i) => turned(`{"a":${i},"t":"${'x'.repeat(i % 90)}"}`));
  const out = await lines('turns.turn', input, { sink: { format: 'custom', schemaId: 'turns.turn' } });
  assert.equal(
    out.map((line) => (JSON.parse(back(line)) as { a: number }).a),
    Array.from({ length: 5000 }, (_, i) => i),
  );
});

test('what guests get wrong costs their messages alone', async () => {
  const input = ['o', 'n', '5', 'u', 'w', 'h', 'x', 't', 'r', 'f', '0', '', 'l', 'o'];
  const out = await lines('turns.sick', input);
  const of = `stream ${rules.last}: function sick.decode of turns:`;
  assert.equal(out, [
    '{"ok":true}',
    `${of} invalid JSON at byte 5: the text ends where a value was expected`,
    `${of} the payload is neither an object nor a list of objects`,
    `${of} the result is no UTF-8`,
    `${of} the result lies outside of its memory`,
    `${of} the result lies outside of its memory`,
    `${of} the result lies outside of its memory`,
    `${of} unreachable`,
    `${of} the stack is exhausted`,
    `${of} the sum is wrong`,
    '{"empty":true}',
    '{"n":1}',
    '{"n":2}',
    '{"ok":true}',
  ]);
});

test('messages that can not be written are errors that name sink, plugin and reason', async () => {
  const input = ['o', 'f', 't', '0', 'w'].map((what) => turned(`{"do":"${what}"}`));
  const sink = { format: 'custom', schemaId: 'turns.sick' };
  const [first, ...others] = await lines('turns.turn', input, { sink });
  assert.is(back(first!), '{"do":"o"}');
  const of = 'sink file: function sick.encode of turns:';
  assert.equal(others, [
    `${of} the sum is wrong`,
    `${of} unreachable`,
    'sink file: the codec gave no message',
    `${of} the result lies outside of its memory`,
  ]);
  const { json } = await server.request('GET', `/rules/${rules.last}/status`);
  assert.match(JSON.stringify(json), /function sick\.encode of turns/);
});

test('a codec in an endless loop ends its messages, and again and again its rule; others go on', async () => {
  const limits = { callFuel: 200_000, batchFuel: 1_000_000 };
  await upload('looping', guest('codecs'), [{ name: 'sick', decode: 'sick' }], { limits });
  const out = await lines('looping', ['o', 'e', 'o']);
  assert.equal(out, [
    '{"ok":true}',
    `stream ${rules.last}: function sick.decode of looping: the call took more fuel than it may`,
    '{"ok":true}',
  ]);
  // Several batches: within one little is left after the first that does not end.
  await lines('looping', new Array(14_000).fill('e'), { options: { restartStrategy: { attempts: 0 } } });
  const { json } = await server.request('GET', `/rules/${rules.last}/status`);
  assert.match(json.status, /by error/);
  assert.match(json.message, /wasm plugin looping had to be ended 10 times.*function sick\.decode/);
  assert.equal(await lines('looping', ['o']), ['{"ok":true}']);
});

test('a running stream goes on with a new module, fails without one, and works again', async () => {
  await upload('changing', guest('codecs'), [{ name: 'c', decode: 'turn' }]);
  await done('POST', '/streams', {
    sql:
      'CREATE STREAM changing () WITH (TYPE="mqtt", DATASOURCE="changing", CONF_KEY="here", FORMAT="custom", ' +
      'SCHEMAID="changing", SHARED="true")',
  });
  const texts = [await subscribed('changed1'), await subscribed('changed2')];
  for (const id of ['changed1', 'changed2']) {
    await done('POST', '/rules', {
      id,
      sql: 'SELECT * FROM changing',
      actions: [{ mqtt: { server: broker.url, topic: id, sendSingle: true } }],
      options: { sendError: true },
    });
    await eventually('the subscription', async () => {
      const { json } = await server.request('GET', `/rules/${id}/status`);
      return json.source_changing_0_connection_status === 1 || undefined;
    });
  }
  /** Sends it until the answer has the text; an upload reaches the data plane a moment after its answer. */
  const sent = (message: Buffer | string, text: string) =>
    eventually(text, async () => {
      for (const list of texts) list.length = 0;
      await client.publishAsync('changing', Buffer.from(message));
      await eventually('an answer', () => texts.every((list) => list.length > 0) || undefined);
      return texts.every(([answer]) => answer?.toString().includes(text)) || undefined;
    });
  await sent(turned('{"a":1}'), '{"a":1}');
  await upload('changing', guest('codecs'), [{ name: 'c', decode: 'sick' }], { method: 'PUT' });
  await sent('o', '{"ok":true}');
  await done('DELETE', '/plugins/wasm/changing');
  await sent('o', 'stream changing: function c.decode: wasm plugin changing is not there any more');
  await done('DELETE', '/rules/changed1');
  await upload('changing', guest('codecs'), [{ name: 'c', decode: 'turn' }]);
  await done('POST', '/rules/changed2/restart');
  await done('POST', '/rules', {
    id: 'changed1',
    sql: 'SELECT * FROM changing',
    actions: [{ mqtt: { server: broker.url, topic: 'changed1', sendSingle: true } }],
  });
  for (const id of ['changed1', 'changed2']) {
    await eventually('the subscription', async () => {
      const { json } = await server.request('GET', `/rules/${id}/status`);
      return json.source_changing_0_connection_status === 1 || undefined;
    });
  }
  await sent(turned('{"a":2}'), '{"a":2}');
});

test('tables of files and sources of graphs read messages of a codec', async () => {
  await done('POST', '/streams', {
    sql: 'CREATE STREAM asked () WITH (TYPE="mqtt", DATASOURCE="asked", CONF_KEY="here", FORMAT="json")',
  });
  writeFileSync(
    join(folder, 'table'),
    Buffer.concat([turned('[{"id":1,"name":"one"},{"id":2,"name":"two"}]'), Buffer.from('\n')]),
  );
  await done('POST', '/tables', {
    sql:
      'CREATE TABLE names () WITH (TYPE="file", CONF_KEY="lines", DATASOURCE="table", FORMAT="custom", ' +
      'SCHEMAID="turns.turn")',
  });
  const rows = await subscribed('joined');
  await done('POST', '/rules', {
    id: 'joined',
    sql: 'SELECT names.name FROM asked INNER JOIN names ON asked.id = names.id',
    actions: [{ mqtt: { server: broker.url, topic: 'joined', sendSingle: true } }],
  });
  await eventually('a joined row', async () => {
    await client.publishAsync('asked', '{"id":2}');
    return rows.length > 0 || undefined;
  });
  assert.is(rows[0]?.toString(), '{"name":"two"}');
  const drawn = await subscribed('drawn');
  const source = { datasource: 'graph', confKey: 'here', format: 'custom', schemaId: 'turns.turn' };
  const sink = { server: broker.url, topic: 'drawn', sendSingle: true, format: 'custom', schemaId: 'turns.turn' };
  await done('POST', '/rules', {
    id: 'drawn',
    graph: {
      nodes: {
        in: { type: 'source', nodeType: 'mqtt', props: source },
        out: { type: 'sink', nodeType: 'mqtt', props: sink },
      },
      topo: { sources: ['in'], edges: { in: ['out'] } },
    },
  });
  await eventually('a row of the graph', async () => {
    await client.publishAsync('graph', turned('{"g":1}'));
    return drawn.length > 0 || undefined;
  });
  assert.is(back((drawn[0] as Buffer).toString('latin1')), '{"g":1}');
});

test.run();
