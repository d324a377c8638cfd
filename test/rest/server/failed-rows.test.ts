/** The last rows at which a rule failed, as `GET /rules/{id}/errors` has them. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, freePort, startServer, type TestServer } from '../../support/harness.js';

interface Failed {
  readonly operator: string;
  readonly at: number;
  readonly reason: string;
  readonly row?: Readonly<Record<string, unknown>>;
}

let server: TestServer;
let push: string;

test.before(async () => {
  const port = await freePort();
  server = await startServer({ env: { KUIPER__SOURCE__HTTPSERVERPORT: String(port) } });
  push = `http://127.0.0.1:${port}`;
});
test.after(async () => void (await server.stop()));

let made = 0;

/** A rule on a stream of its own; gives its id and what sends it a message. */
async function started(columns: string, statement: (stream: string) => string, options: object = {}) {
  const name = `s${++made}`;
  const sql = `CREATE STREAM ${name} (${columns}) WITH (TYPE="httppush", DATASOURCE="/${name}", FORMAT="json")`;
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const id = `r${made}`;
  const rule = { id, sql: statement(name), actions: [{ nop: {} }], options };
  const answer = await server.request('POST', '/rules', rule);
  assert.is(answer.status, 201, answer.text);
  const send = async (body: string) => {
    await eventually(`${name} takes a message`, async () => {
      // The server of the source listens once its first rule runs.
      const status = await fetch(`${push}/${name}`, { method: 'POST', body }).then(
        (answer) => answer.status,
        () => 0,
      );
      return status === 200 ? true : undefined;
    });
  };
  return { id, send };
}

/** The failures once there are so many. */
const failures = (id: string, count: number): Promise<Failed[]> =>
  eventually(`${count} failures of ${id}`, async () => {
    const { json } = await server.request('GET', `/rules/${id}/errors`);
    return (json as Failed[]).length >= count ? (json as Failed[]) : undefined;
  });

test('a rule that never failed has none', async () => {
  const { id, send } = await started('a BIGINT', (s) => `SELECT a FROM ${s}`);
  await send('{"a":1}');
  assert.is((await server.request('GET', `/rules/${id}/errors`)).text, '[]');
});

test('a value that fails is told with what the rule reads of its row, the newest first', async () => {
  const { id, send } = await started('a BIGINT, b STRING, c BIGINT', (s) => `SELECT a / (a - 2) AS q, b FROM ${s}`);
  for (const a of [1, 2, 3]) await send(JSON.stringify({ a, b: `row ${a}`, c: 7 }));
  const [only, ...others] = await failures(id, 1);
  assert.equal(others, []);
  assert.match(only!.reason, 'divi');
  assert.equal(only!.row, { a: 2, b: 'row 2' });
  assert.ok(Math.abs(Date.now() - only!.at) < 60_000);
  await send('{"a":2,"b":"again"}');
  const [newest] = await failures(id, 2);
  assert.equal(newest!.row, { a: 2, b: 'again' });
});

test('a condition that fails is told with its row', async () => {
  const { id, send } = await started('a BIGINT', (s) => `SELECT a FROM ${s} WHERE 1 / a > 0`);
  await send('{"a":0}');
  const [found] = await failures(id, 1);
  assert.match(found!.operator, 'filter');
  assert.equal(found!.row, { a: 0 });
});

test('a message that can not be read is told as it came', async () => {
  const { id, send } = await started('a BIGINT', (s) => `SELECT a FROM ${s}`);
  await send('{"a":1,"password":"secret of mine",');
  const [found] = await failures(id, 1);
  assert.match(found!.operator, /^source_/);
  assert.match(String(found!.row?.message), '{"a":1');
  assert.not.match(JSON.stringify(found), 'secret of mine');
});

test('the last five of an operator are kept; secrets are masked, long values cut out', async () => {
  const { id, send } = await started(
    'a BIGINT, token STRING, long STRING',
    (s) => `SELECT 1 / a AS q, token, long FROM ${s}`,
  );
  for (const count of [1, 2, 3, 4, 5, 6, 7]) {
    await send(JSON.stringify({ a: 0, token: `t${count}-secret`, long: 'x'.repeat(count === 7 ? 5000 : count) }));
  }
  const found = await eventually('the seventh', async () => {
    const { json } = await server.request('GET', `/rules/${id}/errors`);
    return (json as Failed[])[0]?.row?.long === '…' ? (json as Failed[]) : undefined;
  });
  assert.equal(
    found.map(({ row }) => row?.long),
    ['…', 'xxxxxx', 'xxxxx', 'xxxx', 'xxx'],
  );
  assert.not.match(JSON.stringify(found), '-secret');
});

test('below a window it is what would have been written', async () => {
  const { id, send } = await started(
    'a BIGINT',
    (s) => `SELECT count(*) AS n, 1 / sum(a) AS q FROM ${s} GROUP BY COUNTWINDOW(2)`,
  );
  await send('[{"a":1},{"a":-1}]');
  const [found] = await failures(id, 1);
  assert.is(found!.row?.n, 2);
});

test('a rule that starts anew has none of its last run', async () => {
  const { id, send } = await started('a BIGINT', (s) => `SELECT 1 / a AS q FROM ${s}`);
  await send('{"a":0}');
  await failures(id, 1);
  assert.is((await server.request('POST', `/rules/${id}/stop`)).status, 200);
  assert.is((await server.request('GET', `/rules/${id}/errors`)).text, '[]');
  assert.is((await server.request('POST', `/rules/${id}/start`)).status, 200);
  assert.is((await server.request('GET', `/rules/${id}/errors`)).text, '[]');
});

test.run();
