/** A rule that keeps the kernel for more than a second is named in its status, the metrics and the log. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, freePort, request, startServer } from '../../support/harness.js';

const dataPort = await freePort();
const server = await startServer({ env: { KUIPER__SOURCE__HTTPSERVERPORT: String(dataPort) } });
test.after(async () => {
  await server.stop();
});

const statusOf = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json;

async function rule(id: string, sql: string): Promise<void> {
  assert.is((await server.request('POST', '/rules', { id, sql, actions: [{ nop: {} }] })).status, 201);
  await eventually(`the source of ${id}`, async () => {
    const status = await statusOf(id);
    const names = Object.keys(status).filter((name) => /^source_.*_connection_status$/.test(name));
    return (names.length > 0 && names.every((name) => status[name] === 1)) || undefined;
  });
}

/** Pushes a message that is twice as long each time, until one keeps the kernel for a second. */
async function pushUntilLong(path: string, id: string): Promise<Record<string, string | number>> {
  let last: Record<string, string | number> = {};
  for (let length = 250_000, seen = 0; length <= 8_000_000; length *= 2) {
    const answer = await request(`http://127.0.0.1:${dataPort}`, 'POST', path, { a: 'x'.repeat(length) });
    assert.is(answer.status, 200, answer.text);
    seen++;
    last = await eventually('the message', async () => {
      const status = await statusOf(id);
      return status.sinkRecordsEnqueuedTotal >= seen ? status : undefined;
    });
    if (last.longCallsTotal !== undefined) return last;
  }
  throw new Error(`no call took a second: ${JSON.stringify(last)}`);
}

/** A character that is not matched by JavaScript's engine costs about a microsecond, here three times. */
const slow = `regexp_replace(regexp_replace(regexp_replace(a, "(?U)x", "y"), "(?U)y", "z"), "(?U)z", "x")`;

for (const [name, shared] of [
  ['alone', 'FALSE'],
  ['beside', 'TRUE'],
] as const) {
  test(
    'a single row that takes long: rule, operator, time and rows are told, ' + `${name} of another rule on its stream`,
    async () => {
      const sql =
        `CREATE STREAM ${name} () WITH (TYPE="httppush", DATASOURCE="/${name}", FORMAT="json", ` +
        `SHARED="${shared}")`;
      assert.is((await server.request('POST', '/streams', { sql })).status, 201);
      if (shared === 'TRUE') await rule(`light_${name}`, `SELECT length(a) AS n FROM ${name}`);
      await rule(`slow_${name}`, `SELECT length(${slow}) AS m FROM ${name}`);
      const status = await pushUntilLong(`/${name}`, `slow_${name}`);
      assert.ok(Number(status.longestCallMs) >= 1000);
      assert.match(String(status.longestCallOperator), /^op_\d+_project$/);
      assert.is(status.longestCallRows, 1);
      const line =
        `${status.longestCallOperator} kept the kernel for ${status.longestCallMs} ms with 1 row; all ` +
        'rules waited';
      const logged = await eventually('the line', () =>
        readFileSync(join(server.data, 'log', 'stream.log'), 'utf8')
          .split('\n')
          .find((text) => text.includes(line)),
      );
      assert.match(logged, `slow_${name}`);
      const metrics = (await server.request('GET', '/metrics')).text;
      assert.match(metrics, `kuiper_rule_long_calls_total{rule="slow_${name}"} ${status.longCallsTotal}\n`);
      if (shared === 'TRUE') assert.is((await statusOf(`light_${name}`)).longCallsTotal, undefined);
    },
  );
}

test.run();
