/**
 * Lookup tables whose rows come by memory topics, through REST: from their creation on they hold what rules look up.
 */
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
  await accepted('POST', '/streams', {
    sql: 'CREATE STREAM asks () WITH (DATASOURCE="asks", TYPE="memory", FORMAT="json")',
  });
});
test.after(async () => void (await server.stop()));

async function accepted(method: string, path: string, body?: unknown): Promise<void> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
}

const tableOf = (name: string, more = 'KEY="id"', topic = name): string =>
  `CREATE TABLE ${name} () WITH (DATASOURCE="${topic}", TYPE="memory", FORMAT="json", KIND="lookup", ${more})`;

async function createTable(name: string, topic = name): Promise<void> {
  await accepted('POST', '/tables', { sql: tableOf(name, 'KEY="id"', topic) });
}

/** Creates a rule that writes its messages to a file, one in each line. */
async function create(sql: string): Promise<{ id: string; messages: () => Row[][] }> {
  const id = `looks${++count}`;
  const path = join(server.data, `${id}.txt`);
  await accepted('POST', '/rules', { id, sql, actions: [{ file: { path, interval: 1 } }] });
  await running(id);
  return {
    id,
    messages: () => {
      if (!existsSync(path)) return [];
      const lines = readFileSync(path, 'utf8').split('\n');
      return lines.slice(0, -1).map((line) => JSON.parse(line) as Row[]);
    },
  };
}

const running = (id: string) =>
  eventually(`start of ${id}`, async () => {
    const { json } = await server.request('GET', `/rules/${id}/status`);
    return /^running/i.test(json.status) || undefined;
  });

/** Moves rows to a memory topic, by a rule that ends with its file. */
async function send(topic: string, rows: readonly Row[], props: Row = {}): Promise<void> {
  const name = `feed${++count}`;
  writeFileSync(join(server.data, `${name}.json`), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const options = `DATASOURCE="${name}.json", TYPE="file", CONF_KEY="here", FORMAT="json"`;
  await accepted('POST', '/streams', { sql: `CREATE STREAM ${name} () WITH (${options})` });
  const actions = [{ memory: { topic, sendSingle: true, ...props } }];
  await accepted('POST', '/rules', { id: name, sql: `SELECT * FROM ${name}`, actions });
  await eventually(`rows in ${topic}`, async () => {
    const { json } = await server.request('GET', `/rules/${name}/status`);
    return /^stopped/i.test(json.status) || undefined;
  });
}

/** Asks until the rule gives this answer: rows of two topics come in no order. */
async function answered(rule: { messages: () => Row[][] }, ask: Row, expected: Row[]): Promise<void> {
  await eventually(`the answer ${JSON.stringify(expected)}`, async () => {
    const before = rule.messages().length;
    await send('asks', [ask]);
    const message = await eventually('an answer', () => rule.messages()[before]);
    return JSON.stringify(message) === JSON.stringify(expected) || undefined;
  });
}

test('a table holds what came before the first rule, and what comes after the last', async () => {
  await createTable('early');
  await send('early', [
    { id: 1, name: 'one' },
    { id: 2, name: 'two' },
  ]);
  const first = await create('SELECT asks.id, name FROM asks LEFT JOIN early ON asks.id = early.id');
  await answered(first, { id: 2 }, [{ id: 2, name: 'two' }]);
  await accepted('DELETE', `/rules/${first.id}`);
  await send('early', [{ id: 2, name: 'dos' }]);
  const second = await create('SELECT asks.id, name FROM asks LEFT JOIN early ON asks.id = early.id');
  await answered(second, { id: 2 }, [{ id: 2, name: 'dos' }]);
  await accepted('DELETE', `/rules/${second.id}`);
});

test('changes name their kind in a column that the sink is told of', async () => {
  await createTable('changing');
  const rule = await create('SELECT asks.id, name FROM asks LEFT JOIN changing ON asks.id = changing.id');
  const kinds = { rowkindField: 'op', keyField: 'code' };
  await send(
    'changing',
    [
      { id: 1, code: 1, name: 'a', op: 'insert' },
      { id: 2, code: 2, name: 'b', op: 'upsert' },
      { id: 1, code: 1, name: 'c', op: 'update' },
      { code: 2, op: 'delete' },
      { id: 3, code: 3, name: 'no kind' },
    ],
    kinds,
  );
  await answered(rule, { id: 1 }, [{ id: 1, name: 'c' }]);
  await answered(rule, { id: 2 }, [{ id: 2 }]);
  await answered(rule, { id: 3 }, [{ id: 3, name: 'no kind' }]);
  const { status, text } = await server.request('POST', '/rules', {
    id: 'nokey',
    sql: 'SELECT * FROM asks',
    actions: [{ memory: { topic: 'changing', rowkindField: 'op' } }],
  });
  assert.is(status, 400);
  assert.match(text, /keyField is required when rowkindField is set/);
  await accepted('DELETE', `/rules/${rule.id}`);
});

test('a table that a rule reads stays; with other options it begins anew', async () => {
  await createTable('kept');
  await send('kept', [{ id: 1, name: 'one' }]);
  const rule = await create('SELECT asks.id, name FROM asks LEFT JOIN kept ON asks.id = kept.id');
  const refused = await server.request('DELETE', '/tables/kept');
  assert.is(refused.status, 400);
  assert.match(refused.text, new RegExp(`table kept has been referenced by other rules: ${rule.id}`));
  await accepted('PUT', '/tables/kept', { sql: tableOf('kept', 'KEY="id"', 'elsewhere') });
  // A rule keeps what it was started with until it is started again, as with streams.
  await answered(rule, { id: 1 }, [{ id: 1, name: 'one' }]);
  await send('elsewhere', [{ id: 1, name: 'other' }]);
  await accepted('POST', `/rules/${rule.id}/restart`);
  await running(rule.id);
  await answered(rule, { id: 1 }, [{ id: 1, name: 'other' }]);
  await accepted('DELETE', `/rules/${rule.id}`);
  await accepted('DELETE', '/tables/kept');
  await createTable('kept');
  const anew = await create('SELECT asks.id, name FROM asks LEFT JOIN kept ON asks.id = kept.id');
  await answered(anew, { id: 1 }, [{ id: 1 }]);
  await accepted('DELETE', `/rules/${anew.id}`);
});

test('topology, status and plan show where rows are looked up', async () => {
  await createTable('shown');
  const rule = await create('SELECT asks.id, name FROM asks LEFT JOIN shown ON asks.id = shown.id WHERE asks.id > 3');
  const topo = await server.request('GET', `/rules/${rule.id}/topo`);
  assert.equal(topo.json.sources, ['source_asks']);
  assert.equal(topo.json.edges.op_2_filter, ['op_shown']);
  assert.equal(topo.json.edges.op_shown, ['op_4_project']);
  await send('shown', [{ id: 7, name: 'seven' }]);
  await send('asks', [{ id: 1 }, { id: 7 }, { id: 8 }]);
  const status = await eventually('rows in the status', async () => {
    const { json } = await server.request('GET', `/rules/${rule.id}/status`);
    return json.op_shown_0_records_out_total === 2 ? json : undefined;
  });
  assert.is(status.op_shown_0_records_in_total, 2);
  assert.is(status.op_2_filter_0_records_in_total, 3);
  const plan = (await server.request('GET', `/rules/${rule.id}/explain`)).text;
  assert.match(plan, /LookupPlan_1.*joinType:LEFT_JOIN, table:shown, kept by key id, keys:\[ shown\.id = asks\.id \]/);
  await accepted('DELETE', `/rules/${rule.id}`);
});

test('what a LEFT JOIN leaves out is told', async () => {
  await createTable('told');
  const { status, headers } = await server.request('POST', '/rules', {
    id: 'told',
    sql: 'SELECT asks.id FROM asks LEFT JOIN told ON asks.id = told.id AND asks.x = 1',
    actions: [{ nop: {} }],
  });
  assert.is(status, 201);
  assert.match(headers.get('warning') ?? '', /LEFT JOIN with the lookup table told leaves out what ON says/);
  await accepted('DELETE', '/rules/told');
});

test('a server that starts again has its tables before its rules', async () => {
  await createTable('again');
  const rule = await create('SELECT asks.id, name FROM asks LEFT JOIN again ON asks.id = again.id');
  await server.stop();
  server = await startServer({ data: server.data });
  await running(rule.id);
  await send('again', [{ id: 1, name: 'one' }]);
  await answered(rule, { id: 1 }, [{ id: 1, name: 'one' }]);
});

test.run();
