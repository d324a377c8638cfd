import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer, within } from '../../support/harness.js';
import { run } from '../../support/rest/fake-server.js';

let server: TestServer;

test.before(async () => {
  server = await startServer();
  const sql = 'CREATE STREAM s (a BIGINT, b STRING) WITH (DATASOURCE="t", TYPE="memory")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
});
test.after(async () => void (await server.stop()));

const rows = [
  { a: 1, b: 'x' },
  { a: 2, b: 'y' },
  { a: 3, b: 'z' },
];
const mockSource = { s: { data: rows, interval: 5, loop: false } };

interface Listener {
  readonly status: number;
  readonly type: string;
  /** Waits for so many events. */
  events(count: number, ms?: number): Promise<string[]>;
  /** Resolves when the server ends the stream. */
  readonly ended: Promise<void>;
  /** Remarks so far. */
  comments(): string[];
  close(): void;
}

const listen = (port: number, id: string) => listenAt(`http://127.0.0.1:${port}/test/${id}`);

async function listenAt(url: string): Promise<Listener> {
  const abort = new AbortController();
  const response = await fetch(url, { signal: abort.signal });
  let text = '';
  const ended = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk as Uint8Array, { stream: true });
  })().catch(() => {});
  const all = () =>
    text
      .split('\n\n')
      .slice(0, -1)
      // Comments say why nothing comes; how many there are is a matter of time.
      .filter((event) => !event.startsWith(':'))
      .map((event) => event.replace(/^data: /gm, ''));
  return {
    status: response.status,
    type: response.headers.get('content-type') ?? '',
    events: (count, ms) =>
      eventually(`${count} events`, () => (all().length >= count ? all().slice(0, count) : undefined), ms),
    ended,
    comments: () => text.split('\n\n').filter((event) => event.startsWith(':')),
    close: () => abort.abort(),
  };
}

async function create(body: object): Promise<number> {
  const answer = await server.request('POST', '/ruletest', body);
  assert.is(answer.status, 200, answer.text);
  return answer.json.port;
}

test('shows the results of given rows as events after the start', async () => {
  const port = await create({
    id: 't1',
    sql: 'SELECT a, b FROM s WHERE a > 1',
    mockSource,
    sinkProps: { sendSingle: true },
  });
  const listener = await listen(port, 't1');
  assert.is(listener.status, 200);
  assert.is(listener.type, 'text/event-stream');
  assert.is((await server.request('POST', '/ruletest/t1/start')).text, 'Test rule t1 was started');
  assert.equal(await listener.events(2), ['{"a":2,"b":"y"}', '{"a":3,"b":"z"}']);
  assert.equal((await server.request('GET', '/rules')).json, []);
  assert.is((await server.request('DELETE', '/ruletest/t1')).text, 'Test rule t1 was stopped.');
  await within(3000, 'the end of the stream', listener.ended);
  const gone = await listen(port, 't1');
  assert.is(gone.status, 404);
});

test('the port of REST has the same events', async () => {
  await create({ id: 'own', sql: 'SELECT a FROM s WHERE a > 2', mockSource });
  const listener = await listenAt(`${server.base}/ruletest/own/events`);
  assert.is(listener.status, 200);
  assert.is(listener.type, 'text/event-stream');
  await server.request('POST', '/ruletest/own/start');
  assert.equal(await listener.events(1), ['[{"a":3}]']);
  await server.request('DELETE', '/ruletest/own');
  await within(3000, 'the end of the stream', listener.ended);
});

test('two listeners get the same; the rule can be started again', async () => {
  const port = await create({ id: 't2', sql: 'SELECT a FROM s', mockSource });
  const listeners = [await listen(port, 't2'), await listen(port, 't2')];
  await server.request('POST', '/ruletest/t2/start');
  const run = ['[{"a":1}]', '[{"a":2}]', '[{"a":3}]'];
  for (const one of listeners) assert.equal(await one.events(3), run);
  // While the first run ends a start has no effect.
  await eventually('a second run', async () => {
    await server.request('POST', '/ruletest/t2/start');
    return listeners[0]!.events(4, 100).catch(() => undefined);
  });
  for (const one of listeners) assert.equal(await one.events(6), [...run, ...run]);
  await server.request('DELETE', '/ruletest/t2');
});

test('a start after the last result runs the rule again, however long the pause between rows is', async () => {
  const given = { s: { data: [{ a: 1 }, { a: 2 }], interval: 300, loop: false } };
  const port = await create({ id: 't10', sql: 'SELECT a FROM s', mockSource: given, sinkProps: { sendSingle: true } });
  const listener = await listen(port, 't10');
  await server.request('POST', '/ruletest/t10/start');
  await listener.events(1);
  // There are rows to read yet: the run goes on as it is.
  assert.is((await server.request('POST', '/ruletest/t10/start')).text, 'Test rule t10 was started');
  assert.equal(await listener.events(2), ['{"a":1}', '{"a":2}']);
  assert.is((await server.request('POST', '/ruletest/t10/start')).text, 'Test rule t10 was started');
  assert.equal(await listener.events(4), ['{"a":1}', '{"a":2}', '{"a":1}', '{"a":2}']);
  await server.request('DELETE', '/ruletest/t10');
});

test('a failed row is an event with the reason', async () => {
  const port = await create({ id: 't3', sql: 'SELECT a + cast(b, "bigint") AS c FROM s', mockSource });
  const listener = await listen(port, 't3');
  await server.request('POST', '/ruletest/t3/start');
  assert.match((await listener.events(1)).join(), /^run Select error: .*cannot convert string\(x\) to int/);
  await server.request('DELETE', '/ruletest/t3');
});

test('a failed row is an error, also where its reason begins like a result', async () => {
  const given = { u: { data: [{ t: 0 }, { t: [7] }, { t: 0 }], interval: 5, loop: false } };
  const listed = 'CREATE STREAM u () WITH (DATASOURCE="u", TYPE="memory")';
  assert.is((await server.request('POST', '/streams', { sql: listed })).status, 201);
  const sql = 'SELECT month(t) AS y FROM u';
  const port = await create({ id: 't11', sql, mockSource: given, sinkProps: { sendSingle: true } });
  const listener = await listen(port, 't11');
  await server.request('POST', '/ruletest/t11/start');
  const reason = 'run Select error: [7] is no time';
  assert.equal(await listener.events(3), ['{"y":1}', reason, '{"y":1}']);
  await server.request('DELETE', '/ruletest/t11');
  const sinkProps = { sendSingle: true, dataTemplate: 'in {{.y}}' };
  assert.is((await create({ id: 't12', sql, mockSource: given, sinkProps })) > 0, true);
  const templated = await listen(port, 't12');
  await server.request('POST', '/ruletest/t12/start');
  assert.equal(await templated.events(3), ['in 1', reason, 'in 1']);
  await server.request('DELETE', '/ruletest/t12');
});

test('a template may make any text of a result, errors are told apart', async () => {
  const port = await create({
    id: 't8',
    sql: 'SELECT b, 6 / (a - 2) AS q FROM s',
    mockSource,
    sinkProps: { sendSingle: true, dataTemplate: 'b is {{.b}}' },
  });
  const listener = await listen(port, 't8');
  await server.request('POST', '/ruletest/t8/start');
  assert.equal(await listener.events(3), ['b is x', 'run Select error: divided by zero', 'b is z']);
  await server.request('DELETE', '/ruletest/t8');
});

test('given rows come again and again unless loop is false', async () => {
  const given = { s: { data: [{ a: 1 }, { a: 2 }], interval: 5 } };
  const port = await create({ id: 't9', sql: 'SELECT a FROM s', mockSource: given, sinkProps: { sendSingle: true } });
  const listener = await listen(port, 't9');
  await server.request('POST', '/ruletest/t9/start');
  assert.equal(await listener.events(4), ['{"a":1}', '{"a":2}', '{"a":1}', '{"a":2}']);
  await server.request('DELETE', '/ruletest/t9');
});

test('a second one of the same id takes the place of the first', async () => {
  const port = await create({ id: 't4', sql: 'SELECT a FROM s', mockSource });
  const first = await listen(port, 't4');
  await create({ id: 't4', sql: 'SELECT b FROM s', mockSource });
  await within(3000, 'the end of the first stream', first.ended);
  const second = await listen(port, 't4');
  await server.request('POST', '/ruletest/t4/start');
  assert.equal(await second.events(1), ['[{"b":"x"}]']);
  await server.request('DELETE', '/ruletest/t4');
});

test('a listener that does not read holds up the rule, not the server', async () => {
  const data = [{ b: 'x'.repeat(60_000) }];
  const port = await create({ id: 't5', sql: 'SELECT b FROM s', mockSource: { s: { data, interval: 0, loop: true } } });
  const abort = new AbortController();
  const response = await fetch(`http://127.0.0.1:${port}/test/t5`, { signal: abort.signal });
  assert.is(response.status, 200);
  await server.request('POST', '/ruletest/t5/start');
  for (let i = 0; i < 10; i++) {
    const before = performance.now();
    assert.is((await server.request('GET', '/ping')).status, 200);
    assert.ok(performance.now() - before < 2000);
  }
  assert.is((await server.request('DELETE', '/ruletest/t5')).status, 200);
  abort.abort();
});

test('wrong requests are answered with msg and the reason', async () => {
  const wrong: [unknown, RegExp][] = [
    ['{bad', /JSON/],
    [{ sql: 'SELECT a FROM s' }, /id .* missing/],
    [{ id: 'a b', sql: 'SELECT a FROM s' }, /invalid characters/],
    [{ id: 'x' }, /sql/],
    [{ id: 'x', sql: 'SELECT a FROM nowhere', mockSource: { nowhere: { data: rows } } }, /nowhere/],
    [{ id: 'x', sql: 'SELECT a FROM s', mockSource: { s: { data: 5 } } }, /mockSource\.s.*data/],
    [{ id: 'x', sql: 'SELECT a FROM s', mockSource: [] }, /mockSource must be an object/],
    [{ id: 'x', sql: 'SELECT a FROM s', sinkProps: { fields: 1 } }, /fields/],
  ];
  for (const [body, reason] of wrong) {
    const answer = await server.request('POST', '/ruletest', body);
    assert.is(answer.status, 400, String(reason));
    assert.match(answer.json.msg, reason);
  }
  assert.is((await server.request('POST', '/ruletest/none/start')).status, 404);
  assert.is((await server.request('DELETE', '/ruletest/none')).status, 200);
  const rule = { id: 'r', sql: 'SELECT a FROM s', actions: [{ ruletest: { channel: 'x' } }] };
  assert.match((await server.request('POST', '/rules', rule)).json.message, /sink ruletest not found/);
});

test('listeners of a stream that has ended are told', async () => {
  writeFileSync(join(server.data, 'short.jsonl'), '{"a":1}\n{"a":2}\n');
  await server.request('PUT', '/metadata/sources/file/confKeys/short', { fileType: 'lines' });
  const sql = 'CREATE STREAM short () WITH (TYPE="file", DATASOURCE="short.jsonl", CONF_KEY="short")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const { code, out, err } = await within(10_000, 'the query', run(server.base, ['query', 'SELECT a FROM short']));
  assert.equal([code, out], [0, '{"a":1}\n{"a":2}\n']);
  assert.is(err, 'the stream has ended: all of its input was read\n');
});

const timed = [1000, 1400, 2100, 2050, 5000, 1200, 9000].map((ts, i) => ({ ts, a: i + 1 }));
const perSecond =
  'SELECT count(*) AS n, collect(a) AS a, window_start() AS s FROM timed GROUP BY TUMBLINGWINDOW(ss, 1) HAVING ' +
  'count(*) > 0';

test('a test with the options of a rule has its windows, in event time by the times of the rows', async () => {
  await server.request('PUT', '/metadata/sources/simulator/confKeys/timed', { data: timed, interval: 1, loop: false });
  const sql = 'CREATE STREAM timed () WITH (TYPE="simulator", CONF_KEY="timed", TIMESTAMP="ts")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const options = { isEventTime: true, lateTolerance: 100, qos: 1, cron: '0 0 1 1 *' };
  const path = join(server.data, 'timed.txt');
  const rule = {
    id: 'timed',
    sql: perSecond,
    actions: [{ file: { path, sendSingle: true } }],
    options: { ...options, qos: 0, cron: '' },
  };
  assert.is((await server.request('POST', '/rules', rule)).status, 201);
  await eventually('the end of the rule', async () => {
    return (await server.request('GET', '/rules/timed/status')).json.status.startsWith('Stopped');
  });
  const sent = readFileSync(path, 'utf8').trimEnd().split('\n');
  assert.equal(sent, ['{"a":[1,2],"n":2,"s":1000}', '{"a":[4,3],"n":2,"s":2000}', '{"a":[5],"n":1,"s":5000}']);
  for (const [id, mockSource] of [
    ['live', undefined],
    ['given', { timed: { data: timed, interval: 1, loop: false } }],
  ] as const) {
    const port = await create({ id, sql: perSecond, mockSource, sinkProps: { sendSingle: true }, options });
    const listener = await listen(port, id);
    await server.request('POST', `/ruletest/${id}/start`);
    assert.equal(await listener.events(3), sent);
    const remark = await eventually('the remark', () => listener.comments().find((text) => text.includes('late')));
    assert.match(remark, /1 row came too late \(lateTolerance\)/);
    await server.request('DELETE', `/ruletest/${id}`);
  }
});

test('options that no rule has are refused with their names; errors are shown whatever they say', async () => {
  const refused = async (options: unknown) => {
    const answer = await server.request('POST', '/ruletest', { id: 'o', sql: 'SELECT a FROM s', options });
    assert.is(answer.status, 400);
    return answer.json.msg;
  };
  assert.match(await refused({ eventTime: true }), /eventTime is not known, did you mean isEventTime/);
  assert.match(await refused({ isEventTime: 'soon' }), /isEventTime must be true or false/);
  assert.match(await refused([]), /options must be an object/);
  const port = await create({
    id: 'e',
    sql: 'SELECT 1 % (a - 1) AS c FROM s',
    mockSource,
    options: { sendError: false, sendNilField: true },
  });
  const listener = await listen(port, 'e');
  await server.request('POST', '/ruletest/e/start');
  assert.match((await listener.events(1))[0]!, /divided by zero/);
  await server.request('DELETE', '/ruletest/e');
});

test('the command line runs queries with options of a rule', async () => {
  const { code, out, err } = await run(server.base, ['query', '--options', '{"isEventTime":true}', perSecond]);
  assert.is(code, 0, err);
  assert.is(out.split('\n').length, 4);
  assert.match(out, /^{"a":\[1,2\],"n":2,"s":1000}\n/);
  const wrong = await run(server.base, ['query', '--options', 'isEventTime', perSecond]);
  assert.is(wrong.code, 2);
  assert.match(wrong.err, /--options must be a JSON object/);
});

test.run();
