/** Rules with state over a real NATS server: what a rule keeps when its node is gone. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nanos } from '@nats-io/transport-node';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../host/base/log/log.js';
import { Bucket } from '../../../host/cluster/bucket.js';
import { ClusterLink } from '../../../host/cluster/link.js';
import { ObjectStore } from '../../../host/cluster/state/objects.js';
import { RuleStates } from '../../../host/cluster/state/rule-states.js';
import { Lines } from '../../support/connectors/lines.js';
import { eventually, type TestServer, temporaryFolder } from '../../support/harness.js';
import { ownerOf, startNode } from '../../support/servers/cluster.js';
import { managerOf, needsNats, openNats, streamsOf, type TestNats } from '../../support/servers/nats.js';

if (needsNats('state of rules in a cluster')) {
  let nats: TestNats;
  const nodes = new Map<string, TestServer>();
  const node = (name: string): TestServer => nodes.get(name)!;
  const other = (name: string): string => (name === 'a' ? 'b' : 'a');
  /** Sums of windows of seven rows, and all rows of windows of five hundred. */
  const sums = new Lines();
  const rows = new Lines();
  const pad = 'x'.repeat(300);
  let sent = 0;

  async function start(...names: string[]): Promise<void> {
    await Promise.all(names.map(async (name) => nodes.set(name, await startNode(nats, name))));
  }

  async function send(count: number): Promise<void> {
    const stream = streamsOf(nats.client);
    const ids = Array.from({ length: count }, () => sent++);
    await Promise.all(ids.map((id) => stream.publish('in', JSON.stringify({ id, pad }))));
  }

  const runsOn = (seenBy: string, rule: string, former = ''): Promise<string> =>
    eventually(`a node for ${rule}`, async () => {
      const owner = await ownerOf(node(seenBy), rule);
      const status = (await node(seenBy).request('GET', `/rules/${rule}/status`)).json;
      return owner !== undefined && owner !== former && status.status === 'Running' ? owner : undefined;
    });

  async function define(id: string, sql: string, lines: Lines, options: object): Promise<void> {
    const { status, text } = await node('a').request('POST', '/rules', {
      id,
      sql,
      actions: [{ file: { path: lines.path, fileType: 'lines', sendSingle: true } }],
      options: { forceExitTimeout: '100ms', ...options },
    });
    assert.is(status, 201, text);
  }

  /** The windows of seven that a single run makes of the first numbers. */
  const expected = (count: number) =>
    Array.from({ length: Math.floor(count / 7) }, (_, i) => ({ c: 7, first: 7 * i, s: 7 * (7 * i + 3) }));

  const settings = () => ({
    cluster: 'c',
    node: 'n',
    login: { server: nats.url, username: '', password: '', token: '', nkeySeed: '', credentials: '' },
    tls: undefined,
    leaseTtlMs: 3000,
    replicas: 1,
    key: undefined,
  });

  /** What NATS has of the states: entries of rules, and messages of objects. */
  async function kept(): Promise<{ entries: string[]; messages: number }> {
    const { streams } = await managerOf(nats.client);
    const entries = await streams.info('KV_haumea_checkpoints', { subjects_filter: '>' });
    const rules: string[] = [];
    for (const subject of Object.keys(entries.state.subjects ?? {})) {
      const stored = await streams.getMessage('KV_haumea_checkpoints', { last_by_subj: subject });
      if (stored?.header.has('KV-Operation') === false) rules.push(subject.split('.').at(-1)!);
    }
    return { entries: rules.sort(), messages: (await streams.info('OBJ_haumea_checkpoints')).state.messages };
  }

  /** Rows that came at least once, and that a broker was told of when they were safe. */
  const acknowledged = new Lines();
  /** Sums over a drain, of a rule that keeps its state at orderly stops alone. */
  const saved = new Lines();

  test.before(async () => {
    nats = await openNats();
    const manager = await managerOf(nats.client);
    await manager.streams.add({ name: 'S', subjects: ['in'] });
    const consumer = { durable_name: 'd', ack_policy: 'explicit' as const, ack_wait: nanos(2000) };
    await manager.consumers.add('S', { ...consumer, filter_subject: 'in' });
    await start('a', 'b');
    await node('a').request('PUT', '/metadata/sources/nats/confKeys/own', { server: nats.url, stream: 'S' });
    const sql = 'CREATE STREAM s (id BIGINT, pad STRING) WITH (DATASOURCE="in", TYPE="nats", CONF_KEY="own")';
    assert.is((await node('a').request('POST', '/streams', { sql })).status, 201);
    const ofDurable = { server: nats.url, stream: 'S', durable: 'd' };
    await node('a').request('PUT', '/metadata/sources/nats/confKeys/durable', ofDurable);
    const acks = 'CREATE STREAM acks (id BIGINT) WITH (DATASOURCE="in", TYPE="nats", CONF_KEY="durable")';
    assert.is((await node('a').request('POST', '/streams', { sql: acks })).status, 201);
    const windows = 'SELECT count(*) AS c, min(id) AS first, sum(id) AS s FROM s GROUP BY COUNTWINDOW(7)';
    const exact = { qos: 2, checkpointInterval: '100ms' };
    await define('sums', windows, sums, exact);
    await define('rows', 'SELECT id, pad FROM s GROUP BY COUNTWINDOW(500)', rows, exact);
    await define('acks', 'SELECT id FROM acks GROUP BY COUNTWINDOW(5)', acknowledged, { qos: 1 });
    await define('saved', windows, saved, { enableSaveStateBeforeStop: true });
    for (const rule of ['sums', 'rows', 'acks', 'saved']) await runsOn('a', rule);
  });

  test.after(async () => {
    for (const server of nodes.values()) await server.stop('SIGKILL');
    await nats.close();
  });

  test('kill -9 of nodes: windows at qos 2 give the rows of one run', async () => {
    for (let round = 0; round < 2; round++) {
      const owner = await runsOn('a', round === 0 ? 'sums' : 'rows');
      await send(400);
      await eventually('some windows', () => sums.values().length > (sent - 200) / 7);
      await send(3);
      await node(owner).stop('SIGKILL');
      await send(300);
      for (const rule of ['sums', 'rows', 'acks']) await runsOn(other(owner), rule, owner);
      await start(owner);
    }
    await eventually('all windows', () => sums.values().length >= Math.floor(sent / 7));
    assert.equal(sums.values(), expected(sent));
    const whole = Math.floor(sent / 500) * 500;
    await eventually('all rows', () => rows.ids().length >= whole);
    assert.equal(
      rows.ids(),
      Array.from({ length: whole }, (_, i) => i),
    );
    await eventually('what was acknowledged', () => new Set(acknowledged.ids()).size >= sent - 4);
  });

  test('a node whose lease is older is refused, and what is there stays', async () => {
    const link = await ClusterLink.open(settings(), silent);
    const bucket = await Bucket.open(link, 'fenced', { replicas: 1 });
    const objects = await ObjectStore.open(link, 'fenced', 1);
    const statesOf = (name: string, revision: number) =>
      new RuleStates({ bucket, objects, leaseOf: () => ({ node: name, revision }), lastLeaseOf: () => 0, log: silent });
    const [former, next] = [statesOf('former', 5), statesOf('next', 9)];
    const checkpoint = (epoch: number, segments: readonly number[]) => {
      const folder = temporaryFolder();
      const names = [`${epoch}`.padStart(12, '0').concat('.checkpoint'), ...segments.map((one) => segmentName(one))];
      for (const [i, name] of names.entries()) writeFileSync(join(folder, name), `${name} ${i === 0 ? epoch : large}`);
      return { rule: 'r', folder, files: names.map((name) => ({ name, file: name })) };
    };
    const segmentName = (number: number) => `${number}`.padStart(12, '0').concat('.rows');
    const large = 'x'.repeat(200_000);
    const written = async () => (await managerOf(nats.client)).streams.info('OBJ_fenced').then((info) => info.state);
    await former.carryOut({ what: 'fetch', state: { rule: 'r', folder: temporaryFolder() } });
    await former.carryOut({ what: 'keep', states: [checkpoint(1, [1])] });
    const { last_seq: first } = await written();
    await former.carryOut({ what: 'keep', states: [checkpoint(2, [1, 2])] });
    assert.is((await written()).last_seq - first, 3, 'two chunks of the new segment, and its record');
    const folder = temporaryFolder();
    await next.carryOut({ what: 'fetch', state: { rule: 'r', folder } });
    assert.equal(readdirSync(folder).sort(), ['000000000001.rows', '000000000002.checkpoint', '000000000002.rows']);
    const refused = await former.carryOut({ what: 'keep', states: [checkpoint(3, [1, 3])] }).then(() => '', String);
    assert.match(refused, 'node next has had the lease of the rule since');
    const again = await former.carryOut({ what: 'fetch', state: { rule: 'r', folder } }).then(() => '', String);
    assert.match(again, 'node next has had the lease of the rule since');
    await next.carryOut({ what: 'fetch', state: { rule: 'r', folder } });
    assert.equal(readdirSync(folder).sort(), ['000000000001.rows', '000000000002.checkpoint', '000000000002.rows']);
    // What the refused node has written is removed; six messages are the two segments.
    await eventually('the rest removed', async () => (await written()).messages === 6 || undefined);
    await link.close();
  });

  test('what NATS keeps does not grow, and goes with the rules', async () => {
    // One checkpoint: five hundred rows of 300 bytes at most, and what its removal under way leaves.
    await eventually('no more than two checkpoints', async () => (await kept()).messages < 12);
    for (const rule of ['sums', 'rows', 'acks']) await node('a').request('DELETE', `/rules/${rule}`);
    await eventually('no state', async () => {
      const { entries, messages } = await kept();
      return (entries.join() === 'saved' && messages === 0) || undefined;
    });
  });

  test('a rule that saves its state when it stops goes on with it when its node drains', async () => {
    const owner = await runsOn('a', 'saved');
    const before = saved.values<{ s: number }>().length;
    await send(3);
    await eventually('the rows', async () => {
      const { json } = await node('a').request('GET', '/rules/saved/status');
      return json.source_s_0_records_in_total >= 3 || undefined;
    });
    await node('a').request('POST', `/cluster/nodes/${owner}/drain`);
    await runsOn('a', 'saved', owner);
    const { json } = await node('a').request('GET', '/rules/saved/status');
    assert.match(json.stateAtStart, 'goes on with its state');
    assert.ok(saved.values().length >= before);
  });
}

test.run();
