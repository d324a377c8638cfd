/**
 * Joins of streams through a real server: status, shared streams, refusals; `cases/joins/streams.case` has what comes
 * out.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer } from '../../support/harness.js';

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

const window = 'GROUP BY TUMBLINGWINDOW(ss, 10)';

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
  // The message may be there before the last row of the other source.
  await eventually('all rows of both', async () => {
    const { json } = await server.request('GET', `/rules/${rule.id}/status`);
    return (json.source_p_0_records_in_total >= 4 && json.source_q_0_records_in_total >= 4) || undefined;
  });
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
    [
      'SELECT l.a FROM l RIGHT JOIN tb ON l.id = tb.id',
      /the lookup table tb can be joined by INNER JOIN and LEFT JOIN/,
    ],
    [`SELECT l.a FROM l INNER JOIN none ON l.id = none.id ${window}`, /none is not known/],
  ];
  for (const [sql, reason] of refusals) {
    const { status, text } = await server.request('POST', '/rules', { id: 'refused', sql, actions: [{ nop: {} }] });
    assert.is(status, 400, sql);
    assert.match(text, reason);
  }
});

test.run();
