/** Tags of rules, matching, bulk start and stop; CPU use and scan tables of rules. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startControlPlane } from '../../support/rest/control-plane.js';

const plane = await startControlPlane();
const { request } = plane;
await request('POST', '/streams', { sql: 'CREATE STREAM s (a BIGINT) WITH (DATASOURCE="t", TYPE="memory")' });
await request('POST', '/tables', {
  sql: 'CREATE TABLE scan (a BIGINT) WITH (DATASOURCE="t", TYPE="memory", KIND="scan")',
});

function createRule(id: string, more: Record<string, unknown> = {}) {
  return request('POST', '/rules', { id, sql: 'SELECT * FROM s', actions: [{ nop: {} }], ...more });
}

const tagsOf = async (id: string) => (await request('GET', `/rules/${id}`)).json.tags;

test('sets, adds and removes tags while the rule goes on', async () => {
  await createRule('t1', { triggered: true, tags: ['a'] });
  const set = await request('PUT', '/rules/t1/tags', { tags: ['x', 'y', 'x'] });
  assert.is(set.status, 200);
  assert.is(set.text, '');
  assert.equal(await tagsOf('t1'), ['x', 'y']);
  await request('PATCH', '/rules/t1/tags', { tags: ['y', 'z'] });
  assert.equal(await tagsOf('t1'), ['x', 'y', 'z']);
  await request('DELETE', '/rules/t1/tags', { keys: ['x', 'nosuch'] });
  await request('DELETE', '/rules/t1/tags', { tags: ['z'] });
  assert.equal(await tagsOf('t1'), ['y']);
  const rule = (await request('GET', '/rules')).json.find(({ id }: { id: string }) => id === 't1');
  assert.is(rule.status, 'Running');
  assert.equal(rule.tags, ['y']);
  assert.is((await request('GET', '/rules/t1')).json.triggered, true);
  await request('PUT', '/rules/t1/tags', { tags: [] });
  assert.equal(await tagsOf('t1'), []);
});

test('keeps every tag of clients that add at once', async () => {
  await createRule('t2');
  await Promise.all(Array.from({ length: 20 }, (_, i) => request('PATCH', '/rules/t2/tags', { tags: [`n${i}`] })));
  assert.is((await tagsOf('t2')).length, 20);
});

test('finds rules that have all of the tags', async () => {
  await createRule('m1', { tags: ['all', 'one'] });
  await createRule('m2', { tags: ['all', 'two'] });
  const match = async (keys: readonly string[]) => (await requestWithBody('/rules/tags/match', { keys })).rules;
  assert.equal(await match(['all']), ['m1', 'm2']);
  assert.equal(await match(['all', 'two']), ['m2']);
  assert.is(await match(['one', 'two']), undefined);
  assert.ok((await match([])).includes('t2'));
});

test('starts and stops all that match, each with its own result', async () => {
  const stopped = await request('POST', '/rules/bulkstop', { tags: ['all'] });
  assert.equal(stopped.json, [
    { ruleId: 'm1', success: true },
    { ruleId: 'm2', success: true },
  ]);
  await request('POST', '/streams', { sql: 'CREATE STREAM gone (a BIGINT) WITH (DATASOURCE="t", TYPE="memory")' });
  await createRule('m3', { sql: 'SELECT * FROM gone', tags: ['all'], triggered: false });
  const started = await request('POST', '/rules/bulkstart', { tags: ['all'] });
  assert.ok(started.json.every(({ success }: { success: boolean }) => success));
  const none = await request('POST', '/rules/bulkstart', { tags: ['zz'] });
  assert.is(none.status, 400);
  assert.match(none.json.message, /no matching rules/);
});

test('refuses bodies of another form and unknown rules', async () => {
  for (const [method, path] of [
    ['PUT', '/rules/t1/tags'],
    ['PATCH', '/rules/t1/tags'],
    ['DELETE', '/rules/t1/tags'],
    ['POST', '/rules/bulkstart'],
    ['POST', '/rules/bulkstop'],
  ] as const) {
    for (const body of ['', '{', '[]', { tags: 's' }, { tags: [1] }, { other: [] }]) {
      const answer = await request(method, path, body);
      assert.is(answer.status, 400, `${method} ${path} ${JSON.stringify(body)}`);
      assert.is(answer.json.error, 1000);
    }
  }
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    const answer = await request(method, '/rules/none/tags', { tags: ['a'] });
    assert.is(answer.status, 404);
    assert.match(answer.json.message, /none/);
  }
  assert.is((await request('PUT', '/rules/a%20b/tags', { tags: [] })).status, 400);
});

test('tells the CPU time of the last half minute in whole ms', async () => {
  const { status, type, json } = await request('GET', '/rules/usage/cpu');
  assert.is(status, 200);
  assert.match(type, /^application\/json/);
  // The double says that each rule used 120 ms, the first since now, the others since whole minutes.
  assert.equal([json.t1, json.t2, json.m1], [120, 60, 30]);
});

test('says why there is nothing to show of scan tables', async () => {
  await createRule('sc1');
  const without = await request('GET', '/rules/sc1/scantables');
  assert.is(without.status, 400);
  assert.match(without.json.message, /rule sc1 has no scan table/);
  await createRule('sc2', { sql: 'SELECT * FROM scan' });
  assert.match(
    (await request('GET', '/rules/sc2/scantables')).json.message,
    /the scan tables of rule sc2 hold nothing/,
  );
  await request('POST', '/rules/sc1/stop');
  assert.match((await request('GET', '/rules/sc1/scantables')).json.message, /rule sc1 is not running/);
  assert.is((await request('GET', '/rules/none/scantables')).status, 404);
});

test('refuses to move what has no position', async () => {
  await createRule('p1');
  const reset = (body: unknown, id = 'p1') => request('PUT', `/rules/${id}/reset_state`, body);
  const params = { streamName: 's', input: { offset: 1 } };
  for (const body of ['123', { type: 0, params }, { type: 1 }, { type: 1, params }]) {
    assert.is((await reset(body)).status, 400);
  }
  assert.is((await reset({ type: 1, params }, 'none')).status, 404);
  await request('POST', '/rules/p1/stop');
  assert.match((await reset({ type: 1, params })).json.message, /not running/);
});

test.after(() => plane.close());

/** A question with a body, which fetch refuses to send. */
async function requestWithBody(path: string, body: unknown): Promise<{ rules: string[] }> {
  const { request: send } = await import('node:http');
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body);
    const out = send(plane.base + path, { method: 'GET', headers: { 'content-length': text.length } }, (answer) => {
      let received = '';
      answer.on('data', (chunk: Buffer) => {
        received += chunk.toString();
      });
      answer.on('end', () => resolve(JSON.parse(received)));
    });
    out.on('error', reject);
    out.end(text);
  });
}

test.run();
