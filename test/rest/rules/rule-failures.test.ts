/** Rules that fail: what their status says, how often and when they are started again, what ends that. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

let server: TestServer;
const byError = 'Stopped: canceled by error.';

test.before(async () => {
  server = await startServer({ env: { KUIPER__BASIC__ENABLEPRIVATENET: 'true' } });
  const sql = 'CREATE STREAM s (a BIGINT) WITH (DATASOURCE="t", TYPE="memory")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
});
test.after(async () => void (await server.stop()));

/** A rule whose sink writes below `blocked`, which is no folder until `unblock`. */
function blockedRule(id: string, restartStrategy: object) {
  const blocked = join(temporaryFolder(), 'blocked');
  writeFileSync(blocked, '');
  const unblock = () => {
    rmSync(blocked);
    mkdirSync(blocked);
  };
  const path = join(blocked, 'out.txt');
  return { unblock, rule: { id, sql: 'SELECT a FROM s', actions: [{ file: { path } }], options: { restartStrategy } } };
}

const create = async (rule: object) => assert.is((await server.request('POST', '/rules', rule)).status, 201);
const status = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json;
const reach = (id: string, state: string, isIt: (found: Record<string, unknown>) => boolean = () => true) =>
  eventually(`${id} ${state}`, async () => {
    const found = await status(id);
    return found.status === state && isIt(found) ? found : undefined;
  });

test('a rule that fails without a restart strategy stays stopped with the reason', async () => {
  const { rule } = blockedRule('once', { attempts: 0 });
  await create(rule);
  const found = await reach('once', byError);
  assert.match(found.message, /file sink: .*blocked/);
  assert.ok(found.lastStartTimestamp > 0 && found.lastStopTimestamp >= found.lastStartTimestamp);
  assert.is(found.nextStartTimestamp, 0);
  const listed = (await server.request('GET', '/rules')).json.find(({ id }: { id: string }) => id === 'once');
  assert.is(listed.status, byError);
  assert.is((await server.request('GET', '/rules/status/all')).json.once.status, byError);
});

test('a rule is started again as often as its strategy says, then it stays stopped', async () => {
  const strategy = { attempts: 2, delay: 100, multiplier: 2, jitterFactor: 0 };
  const created = Date.now();
  await create(blockedRule('thrice', strategy).rule);
  // Is started once more: then a further start of the first one would have come too.
  await create(blockedRule('neighbour', { ...strategy, attempts: 3 }).rule);
  const delays = new Set<number>();
  const last = await reach('thrice', byError, ({ nextStartTimestamp, lastStopTimestamp }) => {
    if (nextStartTimestamp !== 0) delays.add(Number(nextStartTimestamp) - Number(lastStopTimestamp));
    return nextStartTimestamp === 0;
  });
  assert.ok(delays.size > 0, 'it waited');
  for (const delay of delays) assert.ok(delay >= 100 && delay < 300, `a delay of ${delay} ms`);
  // Timers may be early by parts of a millisecond.
  assert.ok(last.lastStartTimestamp - created >= 100 + 200 - 5, 'two starts after their delays');
  assert.match(last.message, /blocked/);
  const neighbour = await reach('neighbour', byError, ({ nextStartTimestamp }) => nextStartTimestamp === 0);
  assert.ok(neighbour.lastStartTimestamp - created >= 100 + 200 + 400 - 5);
  assert.is((await status('thrice')).lastStartTimestamp, last.lastStartTimestamp, 'no further start');
});

test('a rule runs at the next start when the cause is gone, and its message with it', async () => {
  const { rule, unblock } = blockedRule('healed', { attempts: 50, delay: 100, multiplier: 1, jitterFactor: 0 });
  await create(rule);
  await reach('healed', byError, ({ nextStartTimestamp }) => nextStartTimestamp !== 0);
  unblock();
  const found = await reach('healed', 'Running');
  assert.is(found.message, '');
  assert.is(found.nextStartTimestamp, 0);
});

test('a stop, an update and a removal end the restarts', async () => {
  const strategy = { attempts: 1000, delay: 100, multiplier: 1, jitterFactor: 0 };
  const orders = [
    ['halted', ['POST', '/rules/halted/stop'], 'Stopped'],
    ['changed', ['PUT', '/rules/changed', { sql: 'SELECT a FROM s', actions: [{ nop: {} }] }], 'Running'],
    ['removed', ['DELETE', '/rules/removed'], undefined],
  ] as const;
  const before = new Map<string, unknown[]>();
  const seen = async (id: string) => {
    const { json } = await server.request('GET', `/rules/${id}/status`);
    return [json.status, json.lastStartTimestamp];
  };
  for (const [id, [method, path, body], state] of orders) {
    await create(blockedRule(id, strategy).rule);
    await reach(id, byError, ({ nextStartTimestamp }) => nextStartTimestamp !== 0);
    assert.is((await server.request(method, path, body)).status, 200);
    if (state !== undefined) await reach(id, state, ({ nextStartTimestamp }) => nextStartTimestamp === 0);
    before.set(id, await seen(id));
  }
  // Meanwhile a rule that got no order is started again and again.
  await create(blockedRule('unordered', strategy).rule);
  for (let i = 0, start = 0; i < 3; i++) {
    const later = await reach('unordered', byError, ({ lastStartTimestamp }) => Number(lastStartTimestamp) > start);
    start = later.lastStartTimestamp;
  }
  for (const [id, , state] of orders) {
    assert.equal(await seen(id), before.get(id), id);
    assert.is((await seen(id))[0], state, id);
  }
  assert.is((await server.request('GET', '/rules/removed/status')).status, 404);
  assert.is((await server.request('DELETE', '/rules/unordered')).status, 200);
});

test('an update that is refused leaves a failing rule to its restarts', async () => {
  const { rule, unblock } = blockedRule('stubborn', { attempts: 50, delay: 100, multiplier: 1, jitterFactor: 0 });
  await create(rule);
  await reach('stubborn', byError);
  const refused = await server.request('PUT', '/rules/stubborn', { ...rule, sql: 'SELECT a FROM nowhere' });
  assert.is(refused.status, 400);
  unblock();
  await reach('stubborn', 'Running');
});

test('a rule waits for a connection that is made later', async () => {
  const sql = 'CREATE STREAM c (a BIGINT) WITH (DATASOURCE="t", TYPE="mqtt", CONF_KEY="later")';
  await server.request('PUT', '/metadata/sources/mqtt/confKeys/later', { connectionSelector: 'later' });
  await server.request('POST', '/streams', { sql });
  const rule = (id: string, attempts: number) => ({
    id,
    sql: 'SELECT a FROM c',
    actions: [{ nop: {} }],
    options: { restartStrategy: { attempts, delay: 100, multiplier: 1, jitterFactor: 0 } },
  });
  const created = Date.now();
  await create(rule('impatient', 2));
  await create(rule('patient', 100));
  const found = await reach('patient', byError);
  assert.match(found.message, /connection later not found/);
  const over = await reach('impatient', byError, ({ nextStartTimestamp }) => nextStartTimestamp === 0);
  assert.ok(over.lastStopTimestamp - created >= 2 * 100 - 5, 'after two more attempts');
  const connection = { id: 'later', typ: 'mqtt', props: { server: 'tcp://127.0.0.1:1' } };
  assert.is((await server.request('POST', '/connections', connection)).status, 201);
  await reach('patient', 'Running');
  assert.is((await status('impatient')).status, byError);
  assert.is((await server.request('POST', '/rules/impatient/start')).status, 200);
  await reach('impatient', 'Running');
});

test.run();
