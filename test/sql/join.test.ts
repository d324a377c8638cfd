/** Joins of streams through a real server: SQL in, rows out. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer } from '../harness.js';

type Row = Record<string, unknown>;

/** The last row of each stream ends all windows before it. */
const inputs: Record<string, Row[]> = {
  l: [
    { ts: 1000, id: 1, a: 'p' },
    { ts: 2000, id: 2, a: 'q' },
    { ts: 3000, id: 3, a: null },
    { ts: 60_000, id: 90 },
  ],
  r: [
    { ts: 1500, id: 2, b: 10 },
    { ts: 2500, id: 1, b: 20 },
    { ts: 2600, id: 1, b: 30 },
    { ts: 3500, id: 4, b: 40, a: 'r' },
    { ts: 61_000, id: 91 },
  ],
};

let server: TestServer;
let count = 0;

test.before(async () => {
  server = await startServer();
  for (const [name, data] of Object.entries(inputs)) {
    await accepted('PUT', `/metadata/sources/simulator/confKeys/${name}`, { data, interval: 1, loop: false });
    const options = `TYPE="simulator", CONF_KEY="${name}", FORMAT="json"`;
    await accepted('POST', '/streams', { sql: `CREATE STREAM ${name} () WITH (${options}, TIMESTAMP="ts")` });
    const key = `${name}loop`;
    await accepted('PUT', `/metadata/sources/simulator/confKeys/${key}`, {
      data: data.slice(0, 2),
      interval: 10,
      loop: true,
    });
    const shared = `TYPE="simulator", CONF_KEY="${key}", FORMAT="json", SHARED="true"`;
    await accepted('POST', '/streams', { sql: `CREATE STREAM ${key} () WITH (${shared})` });
  }
});
test.after(async () => void (await server.stop()));

async function accepted(method: string, path: string, body?: unknown): Promise<void> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
}

/** Creates a rule that writes its messages to a file, one in each line, and returns a reader of them. */
async function create(sql: string, options: object = {}): Promise<{ id: string; messages: () => Row[][] }> {
  const id = `join${++count}`;
  const path = join(server.data, `${id}.txt`);
  await accepted('POST', '/rules', { id, sql, actions: [{ file: { path } }], options });
  return {
    id,
    messages: () => {
      if (!existsSync(path)) return [];
      const lines = readFileSync(path, 'utf8').split('\n');
      return lines.slice(0, -1).map((line) => JSON.parse(line) as Row[]);
    },
  };
}

/** Messages of a rule in event time once the window of the given number of messages is closed. */
async function eventTime(sql: string, messages = 1): Promise<Row[][]> {
  const rule = await create(sql, { isEventTime: true, lateTolerance: 0 });
  await eventually(`messages of ${sql}`, () => rule.messages().length >= messages || undefined);
  const found = rule.messages();
  await accepted('DELETE', `/rules/${rule.id}`);
  return found;
}

const window = 'GROUP BY TUMBLINGWINDOW(ss, 10)';

const kinds: [kind: string, rows: Row[]][] = [
  [
    'INNER',
    [
      { x: 1, a: 'p', b: 20 },
      { x: 1, a: 'p', b: 30 },
      { x: 2, a: 'q', b: 10 },
    ],
  ],
  [
    'LEFT',
    [
      { x: 1, a: 'p', b: 20 },
      { x: 1, a: 'p', b: 30 },
      { x: 2, a: 'q', b: 10 },
      { x: 3, a: null },
    ],
  ],
  ['RIGHT', [{ x: 2, a: 'q', b: 10 }, { x: 1, a: 'p', b: 20 }, { x: 1, a: 'p', b: 30 }, { b: 40 }]],
  ['FULL', [{ x: 1, a: 'p', b: 20 }, { x: 1, a: 'p', b: 30 }, { x: 2, a: 'q', b: 10 }, { x: 3, a: null }, { b: 40 }]],
];

for (const [kind, rows] of kinds) {
  test(`${kind} JOIN pairs the rows of a window in event time`, async () => {
    const [message] = await eventTime(`SELECT l.id AS x, l.a, r.b FROM l ${kind} JOIN r ON l.id = r.id ${window}`);
    assert.equal(message, rows);
  });
}

test('CROSS JOIN pairs every row with every other', async () => {
  const [message] = await eventTime(`SELECT l.id AS x, r.b FROM l CROSS JOIN r WHERE l.id < 3 ${window}`);
  assert.equal(
    message?.map(({ x, b }) => [x, b]),
    [1, 2].flatMap((x) => [10, 20, 30, 40].map((b) => [x, b])),
  );
});

test('aggregates see joined rows, grouped by a column, in order', async () => {
  const sql = `SELECT l.id AS k, count(*) AS n, sum(r.b) AS s, window_end() AS e FROM l INNER JOIN r ON l.id = r.id
    GROUP BY l.id, TUMBLINGWINDOW(ss, 10) ORDER BY k DESC`;
  assert.equal(await eventTime(sql), [
    [
      { k: 2, n: 1, s: 10, e: 10_000 },
      { k: 1, n: 2, s: 50, e: 10_000 },
    ],
  ]);
});

test('* of streams without schema brings the members of both, of equal names those of the left stream', async () => {
  const [message] = await eventTime(`SELECT * FROM l LEFT JOIN r ON l.id = r.id ${window}`);
  assert.equal(message?.[0], { a: 'p', b: 20, id: 1, ts: 1000 });
  assert.equal(message?.at(-1), { a: null, id: 3, ts: 3000 });
  const [right] = await eventTime(`SELECT * FROM l RIGHT JOIN r ON l.id = r.id ${window}`);
  assert.equal(right?.[0], { a: 'q', b: 10, id: 2, ts: 1500 });
});

test('a stream joined with itself under aliases, shown by them', async () => {
  const rule = await create(`SELECT p.id AS x, q.id AS y FROM l AS p INNER JOIN l AS q ON p.id + 1 = q.id ${window}`, {
    isEventTime: true,
    lateTolerance: 0,
  });
  await eventually('a message', () => rule.messages().length > 0 || undefined);
  assert.equal(rule.messages()[0], [
    { x: 1, y: 2 },
    { x: 2, y: 3 },
  ]);
  const { json } = await server.request('GET', `/rules/${rule.id}/status`);
  assert.ok(json.source_p_0_records_in_total >= 4 && json.source_q_0_records_in_total >= 4);
  await accepted('DELETE', `/rules/${rule.id}`);
});

test('processing time: shared streams serve a join and other rules; what goes leaves the others', async () => {
  const other = await create('SELECT id FROM lloop');
  const rule = await create(
    'SELECT lloop.id AS x, b FROM lloop INNER JOIN rloop ON lloop.id = rloop.id GROUP BY TUMBLINGWINDOW(ms, 200)',
  );
  await eventually('two windows', () => rule.messages().length > 1 || undefined);
  const pairs = new Set(rule.messages().flatMap((rows) => rows.map(({ x, b }) => `${x}/${b}`)));
  assert.equal([...pairs].sort(), ['1/20', '2/10']);
  await accepted('DELETE', `/rules/${rule.id}`);
  const before = other.messages().length;
  await eventually('more rows of the other rule', () => other.messages().length > before + 5 || undefined);
  await accepted('DELETE', `/rules/${other.id}`);
});

test('joins that cannot run are refused with the reason', async () => {
  await accepted('POST', '/tables', {
    sql: 'CREATE TABLE tb () WITH (TYPE="memory", DATASOURCE="tb", FORMAT="json", KIND="lookup", KEY="id")',
  });
  const refusals: [sql: string, reason: RegExp][] = [
    ['SELECT l.a FROM l INNER JOIN r ON l.id = r.id', /needs a window/],
    ['SELECT l.a FROM l INNER JOIN tb ON l.id = tb.id', /joining lookup tables \(tb\) is not supported yet/],
    [`SELECT l.a FROM l INNER JOIN none ON l.id = none.id ${window}`, /none is not known/],
  ];
  for (const [sql, reason] of refusals) {
    const { status, text } = await server.request('POST', '/rules', { id: 'refused', sql, actions: [{ nop: {} }] });
    assert.is(status, 400, sql);
    assert.match(text, reason);
  }
});

test.run();
