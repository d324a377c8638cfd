/** Scan tables of running rules through REST: definitions, rows of files and topics in, rows out, what tables hold. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer } from '../../support/harness.js';

type Row = Record<string, unknown>;

let server: TestServer;
let count = 0;

test.before(async () => {
  server = await startServer();
  await accepted('PUT', '/metadata/sources/file/confKeys/here', { path: server.data, fileType: 'lines' });
  writeRows(
    'places.json',
    Array.from({ length: 3000 }, (_, id) => ({ id, name: `place ${id}`, unread: 'x'.repeat(400) })),
  );
  const file = 'TYPE="file", CONF_KEY="here", FORMAT="json"';
  await accepted('POST', '/tables', {
    sql: `CREATE TABLE places () WITH (DATASOURCE="places.json", CONF_KEY="here", FORMAT="json")`,
  });
  writeRows('visits.json', [
    { id: 2999, who: 'a' },
    { id: 0, who: 'b' },
    { id: 5000, who: 'c' },
  ]);
  await accepted('POST', '/streams', { sql: `CREATE STREAM visits () WITH (DATASOURCE="visits.json", ${file})` });
  for (const [kind, name, more] of [
    ['STREAM', 'asks', ', SHARED="true"'],
    ['TABLE', 'states', ', RETAIN_SIZE="2"'],
    ['TABLE', 'newest', ', SHARED="true"'],
  ]) {
    const options = `DATASOURCE="${name}", TYPE="memory", FORMAT="json"${more}`;
    await accepted('POST', `/${kind!.toLowerCase()}s`, { sql: `CREATE ${kind} ${name} () WITH (${options})` });
  }
});
test.after(async () => void (await server.stop()));

function writeRows(name: string, rows: readonly Row[]): void {
  writeFileSync(join(server.data, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}

async function accepted(method: string, path: string, body?: unknown): Promise<void> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
}

/** Creates a rule that writes its messages to a file, one in each line. */
async function create(sql: string): Promise<{ id: string; messages: () => Row[][]; state: () => Promise<string> }> {
  const id = `tables${++count}`;
  const path = join(server.data, `${id}.txt`);
  await accepted('POST', '/rules', { id, sql, actions: [{ file: { path, interval: 1 } }] });
  const state = async () => String((await server.request('GET', `/rules/${id}/status`)).json.status);
  await eventually(`start of ${id}`, async () => /^(running|stopped)/i.test(await state()) || undefined);
  return {
    id,
    state,
    messages: () => {
      if (!existsSync(path)) return [];
      const lines = readFileSync(path, 'utf8').split('\n');
      return lines.slice(0, -1).map((line) => JSON.parse(line) as Row[]);
    },
  };
}

/** Moves rows to a memory topic, by a rule that ends with its file. */
async function send(topic: string, rows: readonly Row[]): Promise<void> {
  const name = `feed${++count}`;
  writeRows(`${name}.json`, rows);
  const options = `DATASOURCE="${name}.json", TYPE="file", CONF_KEY="here", FORMAT="json"`;
  await accepted('POST', '/streams', { sql: `CREATE STREAM ${name} () WITH (${options})` });
  const actions = [{ memory: { topic, sendSingle: true } }];
  await accepted('POST', '/rules', { id: name, sql: `SELECT * FROM ${name}`, actions });
  await eventually(`rows in ${topic}`, async () => {
    const { json } = await server.request('GET', `/rules/${name}/status`);
    return /^stopped/i.test(json.status) || undefined;
  });
}

const held = async (id: string) => {
  const { status, json } = await server.request('GET', `/rules/${id}/scantables`);
  return status === 200 ? json.map(({ content }: { content: Row }) => content) : json.message;
};

test(
  'a file of 3,000 rows is read before the first row of the stream is joined; the rule ends with its ' + 'stream',
  async () => {
    const rule = await create('SELECT who, name FROM visits LEFT JOIN places ON visits.id = places.id');
    await eventually('the end of the rule', async () => /^stopped/i.test(await rule.state()) || undefined);
    assert.equal(rule.messages(), [
      [{ who: 'a', name: 'place 2999' }],
      [{ who: 'b', name: 'place 0' }],
      [{ who: 'c' }],
    ]);
  },
);

test('a rule goes on when the file of its table is at its end, and holds all of it', async () => {
  const rule = await create('SELECT asks.id, name FROM asks INNER JOIN places ON asks.id = places.id');
  await eventually('the table', async () => (await held(rule.id)).length === 3000 || undefined);
  assert.equal((await held(rule.id))[7], { id: 7, name: 'place 7' });
  await send('asks', [{ id: 17 }]);
  await eventually('the joined row', () => rule.messages().length > 0 || undefined);
  assert.equal(rule.messages(), [[{ id: 17, name: 'place 17' }]]);
  assert.match(await rule.state(), /^running/i);
});

test(
  'a table keeps the newest RETAIN_SIZE rows of its source, each rule its own; a restart begins with ' + 'none',
  async () => {
    const sql = 'SELECT asks.id, s FROM asks INNER JOIN states ON asks.id = states.id';
    const first = await create(sql);
    await send('states', [
      { id: 1, s: 'a' },
      { id: 2, s: 'b' },
      { id: 3, s: 'c' },
    ]);
    assert.equal(await held(first.id), [
      { id: 2, s: 'b' },
      { id: 3, s: 'c' },
    ]);
    const second = await create(sql);
    assert.match(await held(second.id), /hold nothing/);
    await send('states', [{ id: 4, s: 'd' }]);
    assert.equal(await held(second.id), [{ id: 4, s: 'd' }]);
    assert.equal(await held(first.id), [
      { id: 3, s: 'c' },
      { id: 4, s: 'd' },
    ]);
    await accepted('POST', `/rules/${first.id}/restart`);
    await eventually('the restart', async () => /^running/i.test(await first.state()) || undefined);
    assert.match(await held(first.id), /hold nothing/);
  },
);

test('rules with a shared table each keep the last row, from the time when they came', async () => {
  const sql = 'SELECT asks.id, v FROM asks CROSS JOIN newest';
  const first = await create(sql);
  await send('newest', [{ v: 1 }, { v: 2 }]);
  const second = await create(sql);
  await send('asks', [{ id: 'x' }]);
  await eventually('the joined row', () => first.messages().length > 0 || undefined);
  assert.equal(first.messages(), [[{ id: 'x', v: 2 }]]);
  await send('newest', [{ v: 3 }]);
  await send('asks', [{ id: 'y' }]);
  await eventually('the joined rows', () => first.messages().length + second.messages().length > 2 || undefined);
  assert.equal(first.messages().at(-1), [{ id: 'y', v: 3 }]);
  assert.equal(second.messages(), [[{ id: 'y', v: 3 }]]);
});

test('status counts the rows of stream and table where they join', async () => {
  const rule = await create('SELECT asks.id FROM asks INNER JOIN states ON asks.id = states.id');
  await send('states', [{ id: 1 }, { id: 2 }]);
  await send('asks', [{ id: 2 }, { id: 9 }]);
  const { json } = await server.request('GET', `/rules/${rule.id}/status`);
  assert.is(json.source_asks_0_records_in_total, 2);
  assert.is(json.source_states_0_records_in_total, 2);
  assert.is(json.op_3_join_aligner_0_records_in_total, 4);
  assert.is(json.op_4_join_0_records_out_total, 1);
});

test('a table that is in use is not deleted; a rule whose table has no file is refused with the reason', async () => {
  const { status, json } = await server.request('DELETE', '/tables/states');
  assert.is(status, 400);
  assert.match(json.message, /states/);
  await accepted('POST', '/tables', { sql: 'CREATE TABLE gone () WITH (DATASOURCE="none.json", CONF_KEY="here")' });
  const sql = 'SELECT asks.id FROM asks INNER JOIN gone ON asks.id = gone.id';
  const refused = await server.request('POST', '/rules', { id: 'gone', sql, actions: [{ nop: {} }] });
  assert.equal([refused.status, refused.json.error], [400, 2201]);
  assert.match(refused.json.message, /none\.json is not there/);
});

test.run();
