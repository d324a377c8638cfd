/**
 * Rows that wait for delay(), through REST: neighbours go on, the status counts them, the end of the rule tells of
 * them.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer } from '../../support/harness.js';

let server: TestServer;

test.before(async () => {
  server = await startServer();
  await accepted('PUT', '/metadata/sources/file/confKeys/here', { path: server.data, fileType: 'lines' });
});
test.after(async () => void (await server.stop()));

async function accepted(method: string, path: string, body?: unknown): Promise<string> {
  const { status, text, headers } = await server.request(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
  return headers.get('warning') ?? '';
}

async function createStream(name: string, rows: readonly object[]): Promise<void> {
  writeFileSync(join(server.data, `${name}.in`), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const options = `DATASOURCE="${name}.in", TYPE="file", CONF_KEY="here", FORMAT="json"`;
  await accepted('POST', '/streams', { sql: `CREATE STREAM ${name} () WITH (${options})` });
}

const linesOf = (id: string): string[] => {
  const path = join(server.data, `${id}.out`);
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
};

const createRule = (id: string, sql: string) =>
  accepted('POST', '/rules', { id, sql, actions: [{ file: { path: join(server.data, `${id}.out`), interval: 1 } }] });

const status = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json;

const hasEnded = (id: string) =>
  eventually(`the end of ${id}`, async () => {
    const found = await status(id);
    return /^stopped/i.test(found.status) ? found : undefined;
  });

test('a rule whose rows wait holds nobody up; they are counted, and told of when the rule ends', async () => {
  const rows = Array.from({ length: 2500 }, (_, n) => ({ n }));
  await createStream('many', rows);
  await createRule('late', 'SELECT delay(3600000, n) AS n FROM many');
  await createRule('soon', 'SELECT n FROM many');
  await hasEnded('soon');
  assert.is(linesOf('soon').length, rows.length);
  const waiting = await eventually('the rows that wait', async () => {
    const found = await status('late');
    return found.op_2_delay_0_records_waiting === rows.length ? found : undefined;
  });
  assert.is(waiting.status, 'Running');
  assert.is(waiting.op_2_delay_0_records_out_total, 0);
  assert.is(waiting.op_2_delay_0_lookup_asked_total, undefined);
  const plan = (await server.request('GET', '/rules/late/explain')).text;
  assert.match(plan, /"DelayPlan_1","info":"Until:\{ due\(3600000, many\.n\) \}"/);
  assert.match(plan, /"of":"DelayPlan_1","waits":"until their time has come"/);
  const warning = await accepted('POST', '/rules/late/stop');
  assert.match(warning, /the rule ends while 2,500 rows wait for the time of delay\(\): they are lost/);
  assert.equal(linesOf('late'), []);
  assert.is((await status('late')).op_2_delay_0_records_waiting, rows.length);
});

test('a rule whose stream is at its end waits for the last rows', async () => {
  await createStream('few', [{ n: 1 }, { n: 2 }]);
  await createRule('waits', 'SELECT delay(30, n) AS n FROM few WHERE n > 1');
  const found = await hasEnded('waits');
  assert.equal(linesOf('waits'), ['[{"n":2}]']);
  const figures = Object.entries(found).filter(([name]) => name.endsWith('delay_0_records_waiting'));
  assert.equal(
    figures.map(([, rows]) => rows),
    [0],
  );
});

test('rows that wait for the end of their range do so when the stream is at its end, too', async () => {
  await createStream('ranges', [
    { a: 1, b: 10, at: 5 },
    { a: 1, b: 60, at: 30 },
  ]);
  await createRule('apart', 'SELECT dedup_trigger(a, b, at, 1000) AS r, b FROM ranges');
  await hasEnded('apart');
  assert.equal(
    linesOf('apart').map((line) => JSON.parse(line)[0].b),
    [10, 60],
  );
});

test('rows that wait for the end of their range are counted, and told of when the rule ends', async () => {
  await createStream(
    'far',
    [1, 2, 3].map((n) => ({ a: 1, b: n * 1e9, at: 5 })),
  );
  await createRule('never', 'SELECT dedup_trigger(a, b, at, 1000) AS r, b FROM far');
  await eventually('the rows that wait', async () => {
    const found = await status('never');
    return Object.entries(found).some(([name, rows]) => name.endsWith('records_waiting') && rows === 3);
  });
  assert.is((await status('never')).status, 'Running');
  const warning = await accepted('POST', '/rules/never/stop');
  assert.match(
    warning,
    /the rule ends while 3 rows wait for the end of the range that dedup_trigger\(\) asks for: they are lost/,
  );
});

test.run();
