/** The whole server under unreasonable requests: it answers, names the reason, and stays within its memory. */
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer } from '../support/harness.js';

let server: TestServer;
test.before(async () => {
  server = await startServer();
  const sql = 'CREATE STREAM quiet () WITH (TYPE="memory", DATASOURCE="quiet", SHARED="true")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
});
test.after(async () => {
  await server.stop();
});

/** Resident memory of the server, KiB. */
function residentKb(): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))?.[1]);
}

const large: [name: string, sql: string][] = [
  ['a text of 1 MB', `SELECT a FROM quiet WHERE b = "${'x'.repeat(1 << 20)}"`],
  ['100,000 terms', `SELECT a FROM quiet WHERE ${Array.from({ length: 100_000 }, (_, i) => `a>${i}`).join(' OR ')}`],
  ['200,000 brackets', `SELECT ${'('.repeat(200_000)}a${')'.repeat(200_000)} FROM quiet`],
  ['100,000 columns', `SELECT ${Array.from({ length: 100_000 }, (_, i) => `c${i}`).join(',')} FROM quiet`],
  ['1 MB without end', `SELECT ${'a+'.repeat(500_000)}`],
];
for (const [name, sql] of large) {
  test(`SQL with ${name} is taken or refused with a reason, soon`, async () => {
    const started = performance.now();
    const answer = await server.request('POST', '/rules', { id: 'large', sql, actions: [{ nop: {} }] });
    const took = performance.now() - started;
    assert.ok([201, 400].includes(answer.status), `${answer.status} ${answer.text.slice(0, 200)}`);
    if (answer.status === 400) assert.ok(answer.text.length < 2000, `a reason of ${answer.text.length} characters`);
    assert.ok(took < 20_000, `took ${Math.round(took)} ms`);
    assert.is((await server.request('GET', '/ping')).status, 200);
    if (answer.status === 201) assert.is((await server.request('DELETE', '/rules/large')).status, 200);
  });
}

test('thousands of rules: creation does not slow down, each takes little memory', async () => {
  const count = 2100;
  const create = async (from: number, to: number) => {
    const started = performance.now();
    for (let i = from; i < to; i++) {
      const sql = `SELECT id, device, temp FROM quiet WHERE temp > ${i}`;
      const answer = await server.request('POST', '/rules', { id: `r${i}`, sql, actions: [{ nop: {} }] });
      assert.is(answer.status, 201, answer.text);
    }
    return (performance.now() - started) / (to - from);
  };
  await create(0, count / 3);
  const early = residentKb();
  const first = await create(count / 3, (count / 3) * 2);
  const last = await create((count / 3) * 2, count);
  assert.ok(last < first * 2 + 1, `${first.toFixed(2)} ms grew to ${last.toFixed(2)} ms`);
  const perRule = (residentKb() - early) / ((count / 3) * 2);
  // Garbage not yet collected counts here; the figure over 10,000 rules is below 10 KiB.
  assert.ok(perRule < 30, `${perRule.toFixed(1)} KiB for each rule`);
  const { status } = (await server.request('GET', `/rules/r${count - 1}/status`)).json;
  assert.match(status, /^running$/i);
  const listed = (await server.request('GET', '/rules')).json;
  assert.is(listed.length, count);
});

test('a server killed with all these rules has them again', async () => {
  const { data } = server;
  await server.stop('SIGKILL');
  server = await startServer({ data });
  assert.is((await server.request('GET', '/rules')).json.length, 2100);
  await eventually(
    'the start of the last rule',
    async () => (await server.request('GET', '/rules/r2099/status')).json.status.toLowerCase() === 'running',
    60_000,
  );
});

test.run();
