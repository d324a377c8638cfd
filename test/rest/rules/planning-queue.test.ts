/** More large rules at once than are taken: REST says so, and what nobody waits for makes room. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { request, startServer, type TestServer } from '../../support/harness.js';

let server: TestServer;
test.before(async () => {
  server = await startServer();
  const sql = 'CREATE STREAM demo () WITH (DATASOURCE="t", TYPE="memory")';
  assert.is((await request(server.base, 'POST', '/streams', { sql })).status, 201);
});
test.after(async () => void (await server.stop()));

const columns = Array.from({ length: 700 }, (_, i) => `measurement${i}`).join();
const ruleOf = (id: string) => ({ id, sql: `SELECT ${columns} FROM demo`, actions: [{ nop: {} }], triggered: false });
const validate = (id: string) => request(server.base, 'POST', '/rules/validate', ruleOf(id));
const named = (count: number) => Array.from({ length: count }, (_, i) => `v${i}`);

test(
  'large rules beyond the bound of the queue are answered with 503 and the bound, the others are ' + 'planned',
  async () => {
    const answers = await Promise.all(named(130).map(validate));
    const refused = answers.filter(({ status }) => status === 503);
    assert.ok(refused.length > 0 && refused.length < 30, `${refused.length} were refused`);
    const bound =
      /^rule v\d+ can't be planned now: 100 large rules wait to be planned already, 100 are allowed; try again later$/;
    for (const { json } of refused) {
      assert.is(json.error, 1000);
      assert.match(json.message, bound);
    }
    const others = answers.filter(({ status }) => status !== 503);
    for (const { status, text } of others) assert.is(status, 200, text.slice(0, 200));
  },
);

test('rules whose clients have gone away make room for others', async () => {
  const gone = new AbortController();
  const left = named(130).map((id) => {
    const body = JSON.stringify(ruleOf(id));
    const answer = fetch(`${server.base}/rules/validate`, { method: 'POST', body, signal: gone.signal });
    return answer.then(
      ({ status }) => status,
      () => 'gone',
    );
  });
  // As many wait as may when the first is refused.
  await new Promise<void>((resolve) => {
    for (const answer of left) void answer.then((status) => status === 503 && resolve());
  });
  gone.abort();
  assert.ok((await Promise.all(left)).includes('gone'));
  // Each comes after a turn in which the server looks at all connections.
  for (let i = 0; i < 20; i++) await request(server.base, 'GET', '/ping');
  const answers = await Promise.all(named(50).map(validate));
  assert.equal([...new Set(answers.map(({ status }) => status))], [200]);
});

test.run();
