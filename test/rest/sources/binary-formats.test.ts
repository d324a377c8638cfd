/** Streams and actions of MessagePack, CBOR and XML, through a whole server. */
import { decode as fromMsgpack, encode as toMsgpack } from '@msgpack/msgpack';
import { decode as fromCbor, encode as toCbor } from 'cborg';
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

const received = new Map<string, Buffer[]>();
client.on('message', (topic, message) => received.get(topic)?.push(message));

interface Given {
  format: string;
  columns?: string;
  strict?: boolean;
  sql?: string;
  sink?: object;
}

/** Sends messages to a stream of the format; what comes out as soon as there are so many. */
async function through(name: string, given: Given, messages: readonly Uint8Array[], count = messages.length) {
  const { format, columns = '', strict = false, sql = 'SELECT * FROM $', sink = {} } = given;
  const options = `TYPE="mqtt", DATASOURCE="in/${name}", CONF_KEY="here", FORMAT="${format}"`;
  await done('POST', '/streams', {
    sql: `CREATE STREAM ${name} (${columns}) WITH (${options}, STRICT_VALIDATION="${strict}")`,
  });
  const out: Buffer[] = [];
  received.set(`out/${name}`, out);
  await client.subscribeAsync(`out/${name}`);
  await done('POST', '/rules', {
    id: name,
    sql: sql.replace('$', name),
    actions: [{ mqtt: { server: broker.url, topic: `out/${name}`, sendSingle: true, ...sink } }],
    options: { sendError: true },
  });
  await eventually('the subscription', async () => {
    const { json } = await server.request('GET', `/rules/${name}/status`);
    return json[`source_${name}_0_connection_status`] === 1 || undefined;
  });
  for (const message of messages) await client.publishAsync(`in/${name}`, Buffer.from(message));
  await eventually('the messages', () => out.length >= count || undefined);
  return out;
}

const exact = 9_007_199_254_740_993n;

test('messages of MessagePack become rows, rows MessagePack', async () => {
  const messages = [
    toMsgpack({ id: exact, temp: 21.5, tags: ['a'], raw: new Uint8Array([1, 2]) }, { useBigInt64: true }),
    toMsgpack([{ id: 1 }, { id: 2 }]),
    new Uint8Array([0xc1]),
    toMsgpack(7),
  ];
  const columns = 'id BIGINT, temp FLOAT, tags ARRAY(STRING), raw BYTEA';
  const given = { format: 'msgpack', columns, sql: 'SELECT id + 1 AS id, temp, tags, raw FROM $' };
  const out = await through('packed', given, messages, 5);
  assert.equal(out.map(String), [
    '{"id":9007199254740994,"raw":"AQI=","tags":["a"],"temp":21.5}',
    '{"id":2}',
    '{"id":3}',
    'stream packed: format msgpack: it has the byte c1, which stands for nothing',
    'stream packed: format msgpack: the payload is neither an object nor a list of objects',
  ]);
  const again = await through('repacked', { format: 'msgpack', sink: { format: 'msgpack' } }, messages.slice(1, 2), 2);
  assert.equal(
    again.map((one) => fromMsgpack(one)),
    [{ id: 1 }, { id: 2 }],
  );
  const list = { format: 'json', sink: { format: 'msgpack', sendSingle: false } };
  const rows = await through('lists', list, [Buffer.from('[{"id":1},{"id":2.5}]')], 2);
  assert.equal(
    rows.map((one) => fromMsgpack(one)),
    [[{ id: 1 }], [{ id: 2.5 }]],
  );
});

test('messages of CBOR become rows, rows CBOR', async () => {
  const messages = [toCbor({ id: exact, at: 1.5, raw: new Uint8Array([1, 2]) }), new Uint8Array([0xd9, 1, 0, 0])];
  const out = await through('cbor', { format: 'cbor', columns: 'id BIGINT, at FLOAT, raw BYTEA' }, messages);
  assert.equal(out.map(String), [
    '{"at":1.5,"id":9007199254740993,"raw":"AQI="}',
    'stream cbor: format cbor: it has a value with the tag 256, which is not known',
  ]);
  const sink = { format: 'cbor', dataTemplate: '{"n":{{.id}}}' };
  const [made] = await through('fromjson', { format: 'json', sink }, [Buffer.from('{"id":5}')]);
  assert.equal(fromCbor(made!), { n: 5 });
  const [plain] = await through('plain', { format: 'json', sink: { format: 'cbor' } }, [Buffer.from('{"id":5}')]);
  assert.equal(fromCbor(plain!), { id: 5 });
});

test('documents of XML become rows', async () => {
  const messages = [
    Buffer.from('<r><id>5</id><at x="1">2.50</at></r>'),
    Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><r><id>6</id><name>\u00fc</name></r>', 'latin1'),
    Buffer.from('<r>'),
  ];
  const out = await through('doc', { format: 'xml', columns: 'id BIGINT, at FLOAT, name STRING' }, messages);
  assert.equal(out.slice(0, 2).map(String), ['{"at":2.5,"id":5}', '{"id":6,"name":"ü"}']);
  assert.match(String(out[2]), /^stream doc: format xml: line 1: /);
});

test('a message of 15 MB goes through, a deep one is an error of its row', async () => {
  const text = 'x'.repeat(15_000_000);
  const deep = Buffer.from('91'.repeat(100_000), 'hex');
  const out = await through('large', { format: 'msgpack', sql: 'SELECT length(t) AS n FROM $' }, [
    toMsgpack({ t: text }),
    deep,
  ]);
  assert.equal(out.map(String), [
    '{"n":15000000}',
    'stream large: format msgpack: it is nested deeper than 512 levels',
  ]);
});

test('what is no line can not be read in lines, what is not there not written', async () => {
  await done('PUT', '/metadata/sources/file/confKeys/lines', { fileType: 'lines', path: server.data });
  const { text } = await done('POST', '/streams', {
    sql: 'CREATE STREAM cut () WITH (TYPE="file", CONF_KEY="lines", DATASOURCE="x", FORMAT="cbor")',
  });
  assert.match(text, /messages of the format cbor can't be lines/);
  for (const format of ['msgpack', 'cbor']) {
    const actions = [{ file: { path: 'out', format } }];
    const written = await server.request('POST', '/rules', { id: 'lines', sql: 'SELECT * FROM doc', actions });
    assert.is(written.status, 400);
    assert.match(written.json.message, new RegExp(`messages of the format ${format} can't be lines`));
  }
  const refused = await server.request('POST', '/rules', {
    id: 'xml',
    sql: 'SELECT * FROM doc',
    actions: [{ log: { format: 'xml' } }],
  });
  assert.is(refused.status, 400);
  assert.match(refused.text, /xml/);
});

test.run();
