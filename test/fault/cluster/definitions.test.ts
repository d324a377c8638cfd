/** Definitions in a bucket of NATS, as nodes write and read them. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../host/base/log/log.js';
import { Bucket } from '../../../host/cluster/bucket.js';
import { BucketStore } from '../../../host/cluster/bucket-store.js';
import { SharedFiles } from '../../../host/cluster/files/shared-files.js';
import { ClusterLink } from '../../../host/cluster/link.js';
import { Seal } from '../../../host/cluster/seal.js';
import { ObjectStore } from '../../../host/cluster/state/objects.js';
import { RuleRepository } from '../../../host/meta/definitions/rules.js';
import { openStore } from '../../../host/meta/journal/journal-store.js';
import { kinds } from '../../../host/meta/kinds.js';
import { holdsSecret } from '../../../host/services/secrets/holds.js';
import { eventually, temporaryFolder } from '../../support/harness.js';
import { managerOf, needsNats, openNats } from '../../support/servers/nats.js';

if (needsNats('definitions of a cluster')) {
  const nats = await openNats();
  const key = randomBytes(32);
  const closed: (() => Promise<void>)[] = [];

  const settingsWith = (server: string, token: string) => ({
    cluster: 'c',
    node: 'n',
    login: { server, username: '', password: '', token, nkeySeed: '', credentials: '' },
    tls: undefined,
    leaseTtlMs: 3000,
    replicas: 1,
    key: undefined,
  });

  async function node(own: Buffer | null = key): Promise<BucketStore> {
    const link = await ClusterLink.open(settingsWith(nats.url, ''), silent);
    closed.push(() => link.close());
    const bucket = await Bucket.open(link, 'definitions', { replicas: 1 });
    const local = await openStore({ path: join(temporaryFolder(), 'db'), log: silent });
    const files = new SharedFiles(await ObjectStore.open(link, 'files', 1), own ?? undefined, temporaryFolder());
    return BucketStore.open({ bucket, seal: new Seal(own ?? undefined), local, files, holdsSecret, log: silent });
  }

  const [a, b] = [await node(), await node()];
  test.after(async () => {
    for (const close of closed) await close();
    await nats.close();
  });

  const seen = (store: BucketStore, kind: string, name: string, text: string | undefined) =>
    eventually(`${name} as ${text}`, () => store.get(kind, name) === text || undefined);

  test('a node reads its own change at once, the others soon', async () => {
    const changes: string[] = [];
    b.onChange = (kind, name) => changes.push(`${kind} ${name}`);
    const writing = a.put(kinds.script, 'größe', '{}');
    assert.is(a.get(kinds.script, 'größe'), '{}');
    await writing;
    await seen(b, kinds.script, 'größe', '{}');
    assert.equal(changes, ['script größe']);
    await b.delete(kinds.script, 'größe');
    await seen(a, kinds.script, 'größe', undefined);
  });

  test('of two changes at the same time one is refused, and both nodes have the other', async () => {
    const written = await Promise.allSettled([
      a.put(kinds.rule, 'r', '{"of":"a"}'),
      b.put(kinds.rule, 'r', '{"of":"b"}'),
    ]);
    const refused = written.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
    assert.equal(
      refused.map(({ reason }) => reason.message),
      ['rule r was changed at another node at the same time: read it again, and repeat the change'],
    );
    const winner = written[0]?.status === 'fulfilled' ? '{"of":"a"}' : '{"of":"b"}';
    await seen(a, kinds.rule, 'r', winner);
    await seen(b, kinds.rule, 'r', winner);
    // Nodes that start together create the same connections.
    await Promise.all([a, b].map((store) => store.put(kinds.connection, 'c', '{}')));
    await b.put(kinds.rule, 'r', '{"of":"b again"}');
    await seen(a, kinds.rule, 'r', '{"of":"b again"}');
  });

  test('earlier texts of a rule are the same at all nodes, and encrypted where they have passwords', async () => {
    const [mine, theirs] = [new RuleRepository(a), new RuleRepository(b)];
    const rule = (n: number) => ({
      id: 'told',
      sql: `SELECT ${n} FROM s`,
      actions: [{ mqtt: { server: 'tcp://127.0.0.1:1', topic: 't', password: `secret-${n}` } }],
    });
    const known = (rules: RuleRepository, count: number) =>
      eventually(`${count} earlier texts`, () => rules.history.versions('told').length === count || undefined);
    await mine.put('told', rule(0));
    await mine.put('told', rule(1));
    await known(theirs, 1);
    await theirs.put('told', rule(2));
    await known(mine, 2);
    const texts = mine.history.versions('told').map(({ rule: { sql } }) => sql);
    assert.equal(texts, ['SELECT 0 FROM s', 'SELECT 1 FROM s']);
    const keyless = await node(null);
    assert.ok(keyless.sealed().includes('the earlier texts of rule told'), keyless.sealed().join());
    await theirs.delete('told');
    await known(mine, 0);
  });

  test('several changes are there together or not at all, also more than NATS takes at once', async () => {
    const many = Array.from({ length: 2500 }, (_, i) => [kinds.script, `s${i}`, '{}'] as const);
    await b.put(kinds.script, 's2400', '{"is":"there"}');
    await seen(a, kinds.script, 's2400', '{"is":"there"}');
    const first = b.put(kinds.script, 's2400', '{"is":"first"}');
    const refused = await a.batch(many).catch((error: Error) => error.message);
    await first;
    assert.match(String(refused), 'was changed at another node at the same time');
    await eventually('nothing of it at b', () => b.keys(kinds.script).length === 1 || undefined);
    assert.equal(a.keys(kinds.script), ['s2400']);
    await seen(a, kinds.script, 's2400', '{"is":"first"}');
    await a.batch(many);
    await seen(b, kinds.script, 's2400', '{}');
    await eventually('all at b', () => b.keys(kinds.script).length === 2500 || undefined);
  });

  test('secrets are encrypted; a node without the key says so', async () => {
    const rule = JSON.stringify({ id: 'p', sql: 'SELECT 1', actions: [{ mqtt: { topic: 't', password: 'hidden' } }] });
    await a.put(kinds.rule, 'p', rule);
    await seen(b, kinds.rule, 'p', rule);
    const manager = await managerOf(nats.client);
    const message = await manager.streams.getMessage('KV_definitions', {
      last_by_subj: '$KV.definitions.definition.rule.p',
    });
    assert.not.match(message!.string(), 'hidden');
    const blind = await node(null);
    assert.equal(blind.sealed(), ['rule p']);
    const reason = /rule p is encrypted with the key of the cluster, which this node does not have/;
    assert.throws(() => blind.get(kinds.rule, 'p'), reason);
    assert.is(blind.get(kinds.rule, 'r'), '{"of":"b again"}');
    const refused = await blind.put(kinds.rule, 'q', rule.replace('"p"', '"q"')).catch((error: Error) => error.message);
    assert.match(String(refused), 'rule q has secrets, and this node has no key to encrypt them with');
    const other = await node(randomBytes(32)).catch((error: Error) => error.message);
    assert.is(other, 'cluster.key is another key than the one that the definitions are encrypted with');
  });

  test('a node logs in to NATS, and says why it can not', async () => {
    const closedNats = await openNats({ conf: 'authorization { token: "hidden" }', login: { token: 'hidden' } });
    const refused = await ClusterLink.open(settingsWith(closedNats.url, ''), silent).catch(
      (error: Error) => error.message,
    );
    assert.match(String(refused), `the cluster at ${closedNats.url} can't be joined:`);
    assert.match(String(refused), /Authorization Violation/i);
    const link = await ClusterLink.open(settingsWith(closedNats.url, 'hidden'), silent);
    await link.close();
    await closedNats.close();
    const away = await ClusterLink.open(settingsWith(closedNats.url, 'hidden'), silent).catch((error: Error) => error);
    assert.match(String(away), "can't be joined");
  });
}

test.run();
