/** Several nodes over a real NATS server: what is defined at one, and what happens when one is gone. */
import { spawnSync } from 'node:child_process';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { announceSkip, eventually, type TestServer } from '../../support/harness.js';
import { clusterOf, defineNumbers, defineRule, ownerOf, Rows, startNode } from '../../support/servers/cluster.js';
import { needsNats, openNats, type TestNats } from '../../support/servers/nats.js';

if (needsNats('nodes of a cluster')) {
  let nats: TestNats;
  let rows: Rows;
  const nodes = new Map<string, TestServer>();
  const node = (name: string): TestServer => nodes.get(name)!;

  /** Starts a node in the place of one that is gone, or for the first time. */
  async function start(...names: string[]): Promise<void> {
    await Promise.all(names.map(async (name) => nodes.set(name, await startNode(nats, name))));
  }

  /** The node that runs the rule, when that is not `former`. */
  const runsOn = (seenBy: string, rule: string, former = ''): Promise<string> =>
    eventually(`a node for ${rule}`, async () => {
      const owner = await ownerOf(node(seenBy), rule);
      const status = (await node(seenBy).request('GET', `/rules/${rule}/status`)).json;
      return owner !== undefined && owner !== former && status.status === 'Running' ? owner : undefined;
    });

  const other = (name: string): string => (name === 'a' ? 'b' : 'a');

  test.before(async () => {
    nats = await openNats();
    rows = Rows.of(nats);
    await start('a', 'b');
  });

  test.after(async () => {
    for (const server of nodes.values()) {
      server.child.kill('SIGCONT');
      await server.stop('SIGKILL');
    }
    await nats.close();
  });

  test('what is defined at one node is answered by the other, and runs once', async () => {
    await defineNumbers(node('a'), nats);
    await defineRule(node('a'), nats, 'r');
    const described = await eventually('the rule at b', async () => {
      const answer = await node('b').request('GET', '/rules/r');
      return answer.status === 200 ? answer.json : undefined;
    });
    assert.is(described.sql, "SELECT 'r' AS rule, n FROM numbers");
    const owner = await runsOn('b', 'r');
    const n = await rows.until('r');
    for (const name of ['a', 'b']) {
      const status = (await node(name).request('GET', '/rules/r/status')).json;
      assert.is(status.node, owner, `as ${name} says`);
      assert.is(status.status, 'Running');
      assert.ok(status.source_numbers_0_records_in_total >= 1, `the figures as ${name} says`);
    }
    assert.is(rows.count('r', n), 1);
  });

  test('a rule is stopped, started and changed from a node that does not run it', async () => {
    const owner = await runsOn('a', 'r');
    const elsewhere = node(other(owner));
    assert.is((await elsewhere.request('POST', '/rules/r/stop')).status, 200);
    const stopped = (await node(owner).request('GET', '/rules/r/status')).json;
    assert.match(stopped.status, 'Stopped');
    assert.is((await elsewhere.request('POST', '/rules/r/start')).status, 200);
    await runsOn('a', 'r');
    const changed = { sql: "SELECT 'r' AS rule, n, 1 AS more FROM numbers" };
    const actions = [{ nats: { server: nats.url, subject: 'out', sendSingle: true } }];
    const rule = { id: 'r', ...changed, actions, options: { forceExitTimeout: '100ms' } };
    assert.is((await elsewhere.request('PUT', '/rules/r', rule)).status, 200);
    await eventually('the change at the other node', async () => {
      const { json } = await node(owner).request('GET', '/rules/r');
      return json.sql === changed.sql || undefined;
    });
    assert.is(rows.count('r', await rows.until('r')), 1);
  });

  test('kill -9 of a node: its rules run on the other, once', async () => {
    const owner = await runsOn('a', 'r');
    const rest = other(owner);
    const killed = performance.now();
    await node(owner).stop('SIGKILL');
    assert.is(await runsOn(rest, 'r', owner), rest);
    const n = await rows.until('r');
    console.log(`rows again ${Math.round(performance.now() - killed)} ms after the kill`);
    assert.is(rows.count('r', n), 1);
    await start(owner);
  });

  test('a node that was stopped for longer than its lease does not run its rules when it goes on', async () => {
    const owner = await runsOn('a', 'r');
    const rest = other(owner);
    node(owner).child.kill('SIGSTOP');
    assert.is(await runsOn(rest, 'r', owner), rest);
    // They wait in the socket of the stopped node.
    const waiting = [await rows.until('r'), rows.send(), rows.send()];
    node(owner).child.kill('SIGCONT');
    await eventually('a new lease', async () => (await clusterOf(node(owner))).hasLease || undefined);
    const n = await rows.until('r');
    assert.equal(
      [...waiting, n].map((one) => rows.count('r', one)),
      [1, 1, 1, 1],
    );
    assert.is(await ownerOf(node(owner), 'r'), rest);
  });

  test('a node that drains gives its rules away', async () => {
    const owner = await runsOn('a', 'r');
    const rest = other(owner);
    const answer = await node(rest).request('POST', `/cluster/nodes/${owner}/drain`);
    assert.is(answer.text.trim(), `Node ${owner} drains: its rules move to other nodes.`);
    assert.is(await runsOn(rest, 'r', owner), rest);
    assert.is(rows.count('r', await rows.until('r')), 1);
    assert.is((await node(rest).request('DELETE', `/cluster/nodes/${owner}/drain`)).status, 200);
    assert.is((await node(rest).request('POST', '/cluster/nodes/none/drain')).status, 404);
  });

  test('a node whose disk takes nothing gives its rules away, and says why', async () => {
    const owner = await runsOn('a', 'r');
    const rest = other(owner);
    const limit = (size: string) =>
      spawnSync('prlimit', ['--pid', String(node(owner).child.pid), `--fsize=${size}:`]).status === 0;
    if (!limit('1')) return announceSkip('full disk of a node', 'prlimit can not be used');
    assert.is(await runsOn(rest, 'r', owner), rest);
    const full = (await clusterOf(node(rest))).nodes.find(({ name }) => name === owner);
    assert.is(full?.isDraining, true);
    assert.match(full?.reason ?? '', /^its disk takes nothing \(EFBIG/);
    limit('unlimited');
    await eventually('a node that takes rules again', async () => {
      const [one] = (await clusterOf(node(rest))).nodes.filter(({ name }) => name === owner);
      return one?.isDraining === false || undefined;
    });
  });

  test('without NATS the nodes answer, refuse changes and run no rules; then they go on', async () => {
    const { port, store } = nats;
    await nats.close();
    for (const name of ['a', 'b']) {
      await eventually(`${name} without a lease`, async () => !(await clusterOf(node(name))).hasLease || undefined);
      assert.is((await node(name).request('GET', '/rules/r')).status, 200);
      const refused = await node(name).request('POST', '/rules/r/stop');
      assert.is(refused.status, 500);
      assert.match(refused.text, 'the change could not be saved: NATS is away');
    }
    nats = await openNats({ port, store });
    rows = Rows.of(nats);
    await runsOn('a', 'r');
    await runsOn('b', 'r');
    assert.is(rows.count('r', await rows.until('r')), 1);
  });
}

test.run();
