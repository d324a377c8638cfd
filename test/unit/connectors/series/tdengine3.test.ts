/** The sink tdengine3 at a server that answers as taosAdapter does: there is none to be had for tests. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectorOf } from '../../../../host/connectors/index.js';
import { rowText } from '../../../../host/connectors/tdengine3/sink.js';
import { type HttpDouble, openHttp } from '../../../support/connectors/http-server.js';
import { type SinkWishes, sinkPlane } from '../../../support/engine/sink-plane.js';
import { eventually } from '../../../support/harness.js';

type Props = Record<string, unknown>;

const done = '{"code":0,"column_meta":[["affected_rows","INT",4]],"data":[[1]],"rows":1}';

let server: HttpDouble;
test.before(async () => {
  server = await openHttp();
});
test.after(() => server.close());
test.before.each(() => {
  server.received.length = 0;
  server.answer = (response) => response.end(done);
});

const usual = (props: Props = {}) => ({
  host: '127.0.0.1',
  port: server.port,
  database: 'plant',
  table: 'meters',
  tsFieldName: 'ts',
  ...props,
});

async function send(rows: readonly object[], props: Props = {}, more: Partial<SinkWishes> = {}) {
  const metrics = await (await sinkPlane({ type: 'tdengine3', props: usual(props), rows, ...more })).ended();
  const statements = server.bodies.filter((body) => body.startsWith('INSERT'));
  return { metrics, statements };
}

test('a rule refuses properties that are not right', async () => {
  const { sink } = connectorOf('tdengine3')!;
  for (const [props, reason] of [
    [{}, /database is required/],
    [{ database: 'd', tsFieldName: 't' }, /table is required/],
    [{ database: 'd', table: 't' }, /tsFieldName is required/],
    [{ database: 'd', table: 't', tsFieldName: 't', sTable: 's' }, /tagFields is required when sTable is set/],
    [{ database: 'd', table: 'a; DROP', tsFieldName: 't' }, /table must be the name of a table/],
    [{ database: 'd', table: 't', tsFieldName: 't', port: 0 }, /port must be at least 1/],
  ] as const) {
    assert.throws(() => sink!.check(props), reason);
  }
  assert.is(sink!.props.password?.declared.isSecret, true);
});

test('rows with times of their own go together, as the user that is named', async () => {
  const rows = [
    { ts: 1700000000000, n: 9007199254740000, temp: 20.5, ok: true, text: 'say "ä"\\', 'odd name': 1 },
    { ts: 1700000000001, n: 2, temp: 1, ok: false, text: "it's", 'odd name': 2 },
  ];
  const schema = 'ts BIGINT, n BIGINT, temp FLOAT, ok BOOLEAN, text STRING, `odd name` BIGINT';
  const { metrics, statements } = await send(rows, { provideTs: true, user: 'mia', password: 'p' }, { schema });
  const columns = '(ts,n,`odd name`,ok,temp,text)';
  assert.equal(statements, [
    `INSERT INTO meters ${columns} values (1700000000000,9007199254740000,1,true,20.5,"say \\"ä\\"\\\\")` +
      ` meters ${columns} values (1700000000001,2,2,false,1,"it's")`,
  ]);
  assert.is(metrics.sinkRecordsOutTotal, 2);
  const [, insert] = server.received;
  assert.is(insert?.url, '/rest/sql/plant');
  assert.is(insert?.headers.authorization, `Basic ${Buffer.from('mia:p').toString('base64')}`);
});

test('without times the server takes its clock, a statement for each row', async () => {
  const { statements } = await send([{ a: 1 }, { a: 2 }]);
  assert.equal(statements, ['INSERT INTO meters (ts,a) values (now,1)', 'INSERT INTO meters (ts,a) values (now,2)']);
});

test('tables by a template are made from a supertable, with their tags', async () => {
  const props = { table: 'd_{{.id}}', sTable: 'meters', tagFields: ['id', 'place'], fields: ['v'], sendSingle: true };
  const { statements, metrics } = await send(
    [
      { id: 7, place: 'roof', v: 1, other: 2 },
      { id: 'x y', place: 'a', v: 2 },
    ],
    props,
  );
  assert.equal(statements, ['INSERT INTO d_7 (ts,v) USING meters TAGS(7,"roof") values (now,1)']);
  assert.equal([metrics.sinkRecordsOutTotal, metrics.sinkRecordsFailedTotal], [1, 1]);
  assert.match(JSON.stringify(metrics), /must be the name of a table/);
});

test('a row that lacks a field or its time is counted and named', async () => {
  const { metrics } = await send([{ ts: 1, a: 1 }, { a: 1 }, { ts: 2 }], { provideTs: true, fields: ['a'] });
  assert.equal([metrics.sinkRecordsOutTotal, metrics.sinkRecordsFailedTotal], [1, 2]);
  assert.match(JSON.stringify(metrics), /the row has no member a/);
});

test('a row that the server refuses takes no other with it', async () => {
  server.answer = (response, { body }) =>
    response.end(body.includes('"bad"') ? '{"code":534,"desc":"Syntax error in SQL"}' : done);
  const rows = Array.from({ length: 20 }, (_, ts) => ({ ts, v: ts === 7 ? 'bad' : 'good' }));
  const { metrics } = await send(rows, { provideTs: true });
  assert.equal([metrics.sinkRecordsOutTotal, metrics.sinkRecordsFailedTotal], [19, 1]);
  assert.match(JSON.stringify(metrics), /code 534: Syntax error in SQL/);
});

test('a wrong password keeps the rows until it is right', async () => {
  let isRight = false;
  server.answer = (response) => {
    response.statusCode = isRight ? 200 : 401;
    response.end(isRight ? done : '{"code":855,"desc":"Authentication failure"}');
  };
  const rows = Array.from({ length: 50 }, (_, a) => ({ a }));
  const plane = await sinkPlane({ type: 'tdengine3', props: usual({ password: 'hidden' }), rows, pauseMs: 10 });
  const reason = await eventually('the refusal', () => plane.metrics().sink_tdengine3_0_0_last_exception || undefined);
  assert.match(String(reason), /Authentication failure/);
  assert.not.match(String(reason), /hidden/);
  isRight = true;
  assert.is((await plane.ended()).sinkRecordsOutTotal, 50);
});

test('what is nested is the text of its JSON, what is null is NULL', () => {
  const conf = { provideTs: false, tsFieldName: 'ts', fields: [], tagFields: [] };
  assert.is(rowText({ a: { b: [1n] }, c: null }, conf, 't', ''), ' t (ts,a,c) values (now,"{\\"b\\":[1]}",NULL)');
  assert.throws(() => rowText({ 'a`b': 1 }, conf, 't', ''), /has a backquote/);
});

test.run();
