/** The sinks influx and influx2 at real servers: points, their types and times, what servers refuse. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { PointWriter } from '../../../../host/clients/influx/points.js';
import { connectorOf } from '../../../../host/connectors/index.js';
import { sinkContract } from '../../../support/connectors/contract.js';
import { openHttp } from '../../../support/connectors/http-server.js';
import { type SinkWishes, sinkPlane } from '../../../support/engine/sink-plane.js';
import { eventually, freePort, temporaryFolder } from '../../../support/harness.js';
import {
  type InfluxServer,
  needsInflux,
  needsVictoria,
  openInflux,
  openVictoria,
  type VictoriaServer,
} from '../../../support/servers/time-series.js';

if (!needsInflux('the influx connector') || !needsVictoria('the influx2 connector')) process.exit(0);

type Props = Record<string, unknown>;

let influx: InfluxServer;
let victoria: VictoriaServer;
test.before(async () => {
  [influx, victoria] = await Promise.all([openInflux(), openVictoria()]);
});
test.after(async () => {
  await Promise.all([influx.close(), victoria.close()]);
});

const forInflux = (measurement: string, props: Props = {}) => ({
  addr: influx.url,
  database: 'plant',
  measurement,
  ...props,
});
const forInflux2 = (measurement: string, props: Props = {}) => ({
  addr: victoria.url,
  org: 'o',
  bucket: 'b',
  measurement,
  ...props,
});

sinkContract(
  test,
  () => ({
    type: 'influx',
    // The rows of this contract are JSON, as a template makes it.
    props: forInflux('contract', { dataTemplate: '{{toJson .}}' }),
    refused: [
      [{}, /addr is required/],
      [{ addr: 'http://x' }, /database is required/],
      [{ addr: 'http://x', database: 'd' }, /measurement is required/],
      [{ addr: '127.0.0.1:8086', database: 'd', measurement: 'm' }, /addr must/],
      [{ addr: 'http://x', database: 'd', measurement: 'm', precision: 'h' }, /precision must be one of s, ms, us, ns/],
      [{ addr: 'http://x', database: 'd', measurement: 'm', fields: 3 }, /fields must be a list/],
      [{ addr: 'http://x', database: 'd', measurement: 'm', tags: 'a' }, /tags must be an object/],
    ],
  }),
  'influx',
);
sinkContract(
  test,
  () => ({
    type: 'influx2',
    props: forInflux2('contract', { dataTemplate: '{{toJson .}}' }),
    refused: [
      [{}, /addr is required/],
      [{ addr: 'http://x', bucket: 'b' }, /org is required/],
      [{ addr: 'http://x', org: 'o' }, /bucket is required/],
      [{ addr: 'http://x', org: 'o', bucket: 'b' }, /measurement is required/],
    ],
  }),
  'influx2',
);

async function send(wishes: SinkWishes) {
  return (await sinkPlane(wishes)).ended();
}

test('members are fields of their type, tags come from templates, the time from a member', async () => {
  const metrics = await send({
    type: 'influx',
    props: forInflux('typed', {
      tags: { plant: 'nord ost', device: '{{.device}}', room: '{{.room}}' },
      fields: ['n', 'temp', 'ok', 'text', 'list', 'absent'],
      tsFieldName: 'ts',
    }),
    schema: 'device STRING, n BIGINT, temp FLOAT, ok BOOLEAN, text STRING, list ARRAY(BIGINT), ts BIGINT, room STRING',
    rows: [
      { device: 'a=1,x', n: 2 ** 53, temp: 20, ok: true, text: 'say "ä"\\', list: [1, 2], ts: 1700000000123 },
      { device: 'b', n: -3, temp: 0.5, ok: false, text: 'two\nlines', ts: 1700000000124, room: '' },
    ].map((row) => ({ ...row, room: row.room ?? null })),
  });
  assert.is(metrics.sinkRecordsOutTotal, 2);
  const [one, two] = await influx.query('SELECT * FROM typed');
  assert.equal([one?.device, one?.plant, one?.temp, one?.ok, one?.text], ['a=1,x', 'nord ost', 20, true, 'say "ä"\\']);
  assert.equal([one?.list, String(one?.time)], ['[1 2]', '1700000000123000000']);
  assert.equal([two?.device, two?.n, two?.temp, two?.text], ['b', -3, 0.5, 'two\nlines']);
  const types = await influx.query('SHOW FIELD KEYS FROM typed');
  const typeOf = Object.fromEntries(types.map(({ fieldKey, fieldType }) => [fieldKey, fieldType]));
  assert.equal(typeOf, { list: 'string', n: 'integer', ok: 'boolean', temp: 'float', text: 'string' });
  const [{ found } = {}] = await influx.query('SELECT n - 9007199254740991 AS found FROM typed LIMIT 1');
  assert.is(found, 1);
});

test('without a list of fields all members are written; numbers without a type are floats', async () => {
  await send({ type: 'influx', props: forInflux('all'), rows: [{ a: 1, b: 'x', c: null }] });
  const types = await influx.query('SHOW FIELD KEYS FROM "all"');
  assert.equal(types, [
    { fieldKey: 'a', fieldType: 'float' },
    { fieldKey: 'b', fieldType: 'string' },
  ]);
});

for (const [precision, time] of [
  ['s', 1700000000],
  ['ms', 1700000000123],
  ['us', 1700000000123456],
  ['ns', 1700000000123456800],
] as const) {
  test(`times in ${precision} arrive as they are`, async () => {
    const props = { precision, tsFieldName: 'ts', fields: ['a'] };
    const rows = [{ a: 1, ts: time }];
    await send({ type: 'influx', props: forInflux(`in_${precision}`, props), rows, schema: 'a FLOAT, ts BIGINT' });
    const [row] = await influx.query(`SELECT * FROM in_${precision}`);
    assert.is(String(row?.time).slice(0, String(time).length), String(time));
    await send({ type: 'influx2', props: forInflux2(`in_${precision}`, props), rows, schema: 'a FLOAT, ts BIGINT' });
    const [series] = await victoria.stored(`in_${precision}_a`);
    assert.equal(series?.timestamps, [precision === 's' ? 1700000000000 : 1700000000123]);
  });
}

test('a row without its time or without a field is counted and named, the others arrive', async () => {
  const rows = [{ a: 1, ts: 1000 }, { a: 2 }, { ts: 3000 }, { a: 4, ts: 'x' }, { a: 5, ts: 5000 }];
  const props = forInflux('times', { tsFieldName: 'ts', fields: ['a'] });
  const metrics = await send({ type: 'influx', props, rows });
  assert.equal([metrics.sinkRecordsOutTotal, metrics.sinkRecordsFailedTotal], [2, 3]);
  assert.match(JSON.stringify(metrics), /the member ts is no number for the time/);
  assert.equal(
    (await influx.query('SELECT * FROM times')).map(({ a }) => a),
    [1, 5],
  );
});

test('points that the server refuses take no others with them', async () => {
  const rows = Array.from({ length: 500 }, (_, i) => ({ v: i % 100 === 7 ? 'text' : i, ts: i + 1 }));
  await send({
    type: 'influx',
    props: forInflux('partly', { tsFieldName: 'ts', fields: ['v'] }),
    rows: [{ v: 0, ts: 0 }],
  });
  const props = forInflux('partly', { tsFieldName: 'ts', fields: ['v'] });
  const metrics = await send({ type: 'influx', props, rows });
  assert.equal([metrics.sinkRecordsOutTotal, metrics.sinkRecordsFailedTotal], [495, 5]);
  assert.match(JSON.stringify(metrics), /field type conflict/);
  assert.is((await influx.query('SELECT * FROM partly')).length, 496);
});

test('rows of a window and lists of a column are points each', async () => {
  const rows = Array.from({ length: 6 }, (_, i) => ({ d: `d${i % 2}`, v: i }));
  await send({
    type: 'influx',
    sql: 'SELECT d, count(*) AS n, sum(v) AS s FROM demo GROUP BY d, COUNTWINDOW(6)',
    props: forInflux('sums', { tags: { d: '{{.d}}' }, fields: ['n', 's'] }),
    rows,
  });
  const found = await influx.query('SELECT * FROM sums');
  assert.equal(found.map(({ d, n, s }) => [d, n, s]).sort(), [
    ['d0', 3, 6],
    ['d1', 3, 9],
  ]);
  const list = [
    {
      list: [
        { v: 1, t: 1 },
        { v: 2, t: 2 },
      ],
    },
  ];
  await send({ type: 'influx', props: forInflux('lists', { dataField: 'list', tsFieldName: 't' }), rows: list });
  assert.is((await influx.query('SELECT * FROM lists')).length, 2);
});

test('batchSize rows go in one request; the end sends what is left', async () => {
  const double = await openHttp();
  const props = { addr: double.url, org: 'o r', bucket: 'b', measurement: 'm', batchSize: 3, tsFieldName: 'ts' };
  const rows = Array.from({ length: 7 }, (_, ts) => ({ ts }));
  await send({ type: 'influx2', props: { ...props, token: 'secret', precision: 's' }, rows, pauseMs: 1 });
  const [ping, ...writes] = double.received;
  assert.equal([ping?.method, ping?.url], ['GET', '/ping']);
  assert.equal(
    writes.map(({ url }) => url),
    new Array(3).fill('/api/v2/write?org=o+r&bucket=b&precision=s'),
  );
  assert.equal(
    writes.map(({ body }) => body),
    ['m ts=0 0\nm ts=1 1\nm ts=2 2\n', 'm ts=3 3\nm ts=4 4\nm ts=5 5\n', 'm ts=6 6\n'],
  );
  assert.is(writes[0]?.headers.authorization, 'Token secret');
  await double.close();
});

test('a point that waits for a batch goes when its time is over', async () => {
  const double = await openHttp();
  const props = { addr: double.url, database: 'd', measurement: 'm', batchSize: 100, lingerInterval: 20 };
  const rows = [{ a: 1 }, { a: 2 }];
  const plane = await sinkPlane({ type: 'influx', props, rows, pauseMs: 300 });
  await eventually('the first point alone', () => double.bodies.length === 2);
  assert.match(double.bodies[1] ?? '', /^m a=1 \d{13}\n$/);
  await plane.ended();
  await double.close();
});

test('line protocol by a template, and without the mark of integers', async () => {
  const double = await openHttp();
  const props = { addr: double.url, org: 'o', bucket: 'b', useLineProtocol: true };
  const rows = [{ n: 5, f: 1e7, t: 'x' }];
  const schema = 'n BIGINT, f FLOAT, t STRING';
  const sendSingle = true;
  const dataTemplate = 'weather,place={{.t}} n={{.n}}i 7';
  await send({ type: 'influx2', props: { ...props, sendSingle, dataTemplate }, rows, schema });
  await send({ type: 'influx2', props: { ...props, measurement: 'm', tags: { t: '{{.t}}' } }, rows, schema });
  const bodies = double.bodies.filter((body) => body !== '');
  assert.is(bodies[0], 'weather,place=x n=5i 7\n');
  assert.match(bodies[1] ?? '', /^m,t=x f=1e\+07,n=5,t="x" \d{13}\n$/);
  await double.close();
});

test('names and tags are escaped; what no escape makes possible is refused', () => {
  const usual = {
    measurement: 'm,1 =',
    tags: { 'a b': 'c,=d' },
    fields: [],
    precision: 'ms',
    tsFieldName: 't',
  } as const;
  const writer = new PointWriter({ ...usual, fields: [] });
  writer.addJson(Buffer.from('{"x=y":1,"t":5}'));
  assert.is(writer.lines.bytes.toString(), 'm\\,1\\ =,a\\ b=c\\,\\=d x\\=y=1,t=5 5\n');
  writer.lines.clear();
  assert.throws(() => writer.addJson(Buffer.from('{"x\\\\":1,"t":5}')), /the field x\\ ends with a backslash/);
  assert.is(writer.lines.bytes.length, 0);
});

test('in microseconds and below, points without a time of their own have different ones', () => {
  const conf = { measurement: 'm', tags: {}, fields: [], precision: 'us', tsFieldName: '' } as const;
  const writer = new PointWriter({ ...conf, fields: [] }, () => 1_700_000_000_000);
  writer.addJson(Buffer.from('[{"a":1},{"a":2}]'));
  assert.is(writer.lines.bytes.toString(), 'm a=1 1700000000000000\nm a=2 1700000000000001\n');
});

test('points for influx2 arrive at a real server', async () => {
  const rows = Array.from({ length: 100 }, (_, i) => ({ v: i, ts: 1_700_000_000_000 + i * 1000 }));
  const props = forInflux2('weather', { fields: ['v'], tags: { place: 'roof' }, tsFieldName: 'ts' });
  const metrics = await send({ type: 'influx2', props, rows });
  assert.is(metrics.sinkRecordsOutTotal, 100);
  const [series] = await victoria.stored('weather_v');
  assert.is(series?.metric.place, 'roof');
  assert.equal(
    series?.values,
    rows.map(({ v }) => v),
  );
});

test('a server that comes late, goes and comes back has all', async () => {
  const [port, folder] = [await freePort(), temporaryFolder()];
  const rows = Array.from({ length: 100 }, (_, i) => ({ v: i, ts: i }));
  const props = { addr: `http://127.0.0.1:${port}`, database: 'plant', measurement: 'm', tsFieldName: 'ts' };
  const plane = await sinkPlane({ type: 'influx', props, rows, pauseMs: 10 });
  await eventually('the failed attempt', () => plane.metrics().sink_influx_0_0_connection_status === -1);
  const first = await openInflux({ port, folder });
  await eventually('some points', () => Number(plane.metrics().sinkRecordsOutTotal) > 3);
  await first.close();
  await eventually('the loss', () => plane.metrics().sink_influx_0_0_connection_status !== 1);
  const again = await openInflux({ port, folder });
  const metrics = await plane.ended();
  assert.equal([metrics.sinkRecordsOutTotal, metrics.sinkRecordsFailedTotal], [100, 0]);
  assert.is((await again.query('SELECT * FROM m')).length, 100);
  await again.close();
});

test('a wrong password keeps the points until it is right; nobody sees it', async () => {
  const locked = await openInflux({ login: ['mia', 'correct'] });
  const props = { addr: locked.url, database: 'plant', measurement: 'm', username: 'mia', password: 'wrong-horse' };
  const slow = Array.from({ length: 100 }, (_, a) => ({ a }));
  const plane = await sinkPlane({ type: 'influx', props, rows: slow, pauseMs: 50 });
  const reason = await eventually('the refusal', () => {
    const text = String(plane.metrics().sink_influx_0_0_last_exception ?? '');
    return text === '' ? undefined : text;
  });
  assert.match(reason, /status 401/);
  assert.not.match(reason, /wrong-horse/);
  await plane.close();
  await send({ type: 'influx', props: { ...props, password: 'correct' }, rows: [{ a: 1 }] });
  assert.is((await locked.query('SELECT * FROM m')).length, 1);
  await locked.close();
});

test('a server that hangs does not keep the rule from stopping', async () => {
  const own = await openInflux();
  const rows = Array.from({ length: 1000 }, (_, a) => ({ a }));
  const props = { addr: own.url, database: 'plant', measurement: 'm' };
  const plane = await sinkPlane({ type: 'influx', props, rows, pauseMs: 2 });
  await eventually('some points', () => Number(plane.metrics().sinkRecordsOutTotal) > 3);
  own.pause();
  const began = performance.now();
  await plane.close();
  assert.ok(performance.now() - began < 10_000);
  own.resume();
  await own.close();
});

test('token and password are masked', () => {
  assert.is(connectorOf('influx2')?.sink?.props.token?.declared.isSecret, true);
  assert.is(connectorOf('influx')?.sink?.props.password?.declared.isSecret, true);
});

test.run();
