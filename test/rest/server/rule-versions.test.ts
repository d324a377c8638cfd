/** Earlier texts of rules: kept by updates, bounded, without passwords, put back by an ordinary update. */
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { writeDatabase } from '../../../host/meta/journal/database.js';
import { kinds } from '../../../host/meta/kinds.js';
import { temporaryFolder } from '../../support/harness.js';
import { startControlPlane } from '../../support/rest/control-plane.js';

const stream = 'CREATE STREAM s (a BIGINT) WITH (TYPE="memory", DATASOURCE="in")';
const rule = (n: number) => ({
  id: 'r',
  sql: `SELECT a + ${n} AS a FROM s`,
  actions: [{ mqtt: { server: 'tcp://127.0.0.1:1', topic: 'x', password: `secret-${n}` } }],
});

test('each update keeps the text before it, a start and a stop do not, and they outlive a restart', async () => {
  const data = temporaryFolder();
  let plane = await startControlPlane(data);
  const ask = (method: string, path: string, body?: unknown) => plane.request(method, path, body);
  await ask('POST', '/streams', { sql: stream });
  assert.is((await ask('POST', '/rules', rule(0))).status, 201);
  assert.equal((await ask('GET', '/rules/r/versions')).json, []);
  await ask('POST', '/rules/r/stop');
  await ask('POST', '/rules/r/start');
  await ask('PUT', '/rules/r?dryRun=true', rule(1));
  assert.equal((await ask('GET', '/rules/r/versions')).json, []);
  for (let n = 1; n <= 25; n++) assert.is((await ask('PUT', '/rules/r', rule(n))).status, 200);
  await ask('PUT', '/rules/r', rule(25));
  await plane.close();
  plane = await startControlPlane(data);
  const { json } = await ask('GET', '/rules/r/versions');
  assert.equal(
    json.map(({ number }: { number: number }) => number),
    Array.from({ length: 20 }, (_, i) => 25 - i),
  );
  const { text } = await ask('GET', '/rules/r/versions/10');
  assert.not.match(text, 'secret');
  const { rule: old } = JSON.parse(text);
  assert.is(old.sql, rule(9).sql);
  assert.is((await ask('PUT', '/rules/r', old)).status, 200);
  assert.is((await ask('GET', '/rules/r')).json.sql, rule(9).sql);
  const exported = (await ask('GET', '/data/export')).json.rules.r as string;
  assert.match(exported, 'secret-25', 'a masked password is the one that the rule has now');
  await plane.close();
});

test('an import keeps the texts that it replaces; a rule that is dropped takes its own along', async () => {
  const plane = await startControlPlane();
  const ask = (method: string, path: string, body?: unknown) => plane.request(method, path, body);
  await ask('POST', '/streams', { sql: stream });
  await ask('POST', '/rules', rule(0));
  const content = JSON.stringify({ rules: { r: JSON.stringify(rule(1)) } });
  assert.is((await ask('POST', '/data/import?partial=1&dryRun=1', { content })).status, 200);
  assert.equal((await ask('GET', '/rules/r/versions')).json, []);
  assert.is((await ask('POST', '/data/import?partial=1', { content })).status, 200);
  assert.is((await ask('GET', '/rules/r/versions/1')).json.rule.sql, rule(0).sql);
  await ask('DELETE', '/rules/r');
  await ask('POST', '/rules', rule(2));
  assert.equal((await ask('GET', '/rules/r/versions')).json, []);
  await plane.close();
});

test('earlier texts that were damaged stand in the way of no update and no end', async () => {
  for (const damage of ['nonsense', '', '[{"number":', '{}', 'null']) {
    const data = temporaryFolder();
    const stored = new Map([
      [kinds.source, new Map([['s', JSON.stringify({ streamType: 0, statement: stream })]])],
      [kinds.rule, new Map([['r', JSON.stringify({ ...rule(0), triggered: false })]])],
      [kinds.ruleHistory, new Map([['r', damage]])],
    ]);
    await writeDatabase(join(data, 'sqliteKV.db'), stored, 1);
    const plane = await startControlPlane(data);
    assert.equal((await plane.request('GET', '/rules/r/versions')).json, []);
    assert.is((await plane.request('PUT', '/rules/r', rule(1))).status, 200);
    assert.is((await plane.request('GET', '/rules/r/versions/1')).json.rule.sql, rule(0).sql);
    assert.is((await plane.request('DELETE', '/rules/r')).status, 200);
    await plane.close();
  }
});

test.run();
