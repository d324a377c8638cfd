/** Leases of rules in a bucket of NATS, as nodes take them and give them back. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../host/base/log/log.js';
import { Asks } from '../../../host/cluster/asks.js';
import { Bucket, type BucketWrite, WriteFailure } from '../../../host/cluster/bucket.js';
import { LeaseView, nodeKey, ruleKey } from '../../../host/cluster/lease-view.js';
import { ClusterLink } from '../../../host/cluster/link.js';
import { Placing } from '../../../host/cluster/placing.js';
import type { Session } from '../../../host/cluster/session.js';
import { eventually } from '../../support/harness.js';
import { needsNats, openNats } from '../../support/servers/nats.js';

if (needsNats('leases of a cluster')) {
  const nats = await openNats();
  const closed: (() => unknown)[] = [];
  const login = { server: nats.url, username: '', password: '', token: '', nkeySeed: '', credentials: '' };
  const settings = { cluster: 'c', node: 'n', login, tls: undefined, leaseTtlMs: 60_000, replicas: 1, key: undefined };
  const link = await ClusterLink.open(settings, silent);
  const bucket = await Bucket.open(link, 'leases', { replicas: 1 });

  test.after(async () => {
    for (const close of closed) close();
    await link.close();
    await nats.close();
  });

  /** Nodes that run a rule. */
  const running = new Map<string, string>();
  /** Rules that two nodes ran at a time. */
  const doubled: string[] = [];

  /** A node that wants rules; its entry in the bucket holds for the whole test. */
  async function placing(node: string) {
    const entry = { session: node, url: '', isDraining: false, since: 0, isHanded: true };
    const key = nodeKey(node);
    const after = await bucket.write({ key, text: JSON.stringify(entry), after: 0 });
    const view = await LeaseView.of(bucket);
    const taken: string[] = [];
    const asks = new Asks(link.connection, 'c');
    const session = { id: node, isDraining: false };
    const made = new Placing({
      bucket,
      view,
      session: session as Session,
      node,
      groupOf: () => undefined,
      isKnown: () => true,
      onTaken: (id) => {
        taken.push(id);
        if (running.has(id)) doubled.push(id);
        running.set(id, node);
      },
      onGiven: async (id) => void running.delete(id),
      isLive: (id) => running.get(id) === node,
      asks,
      onChange: () => {},
      log: silent,
    });
    asks.answer(node, made.answers);
    closed.push(() => made.close());
    const drain = async () => {
      session.isDraining = true;
      await bucket.write({ key, text: JSON.stringify({ ...entry, isDraining: true }), after });
    };
    return { placing: made, taken, drain };
  }

  test('entries are written one by one or together: what is refused hinders no other', async () => {
    const writes = Array.from({ length: 700 }, (_, i) => ({ key: `each.${i}`, text: '{}', after: 0 }));
    const first = await bucket.write(writes[13]!);
    const written = await bucket.writeEach(writes);
    assert.ok(written[13] instanceof WriteFailure && written[13].kind === 'changed');
    assert.is(written.filter((revision) => typeof revision === 'number' && revision > first).length, 699);
  });

  test('a batch that is all changed is not split into single questions once that is known', async () => {
    const writes = Array.from({ length: 500 }, (_, i) => ({ key: `again.${i}`, text: '{}', after: 0 }));
    await bucket.writeEach(writes);
    const { outMsgs: before } = link.connection.stats();
    let looks = 0;
    // All are due when the batch is written, and none when it is refused.
    const isDue = ({ key }: BucketWrite) => key === 'new' || ++looks <= 500;
    const written = await bucket.writeEach([...writes, { key: 'new', text: '{}', after: 0 }], undefined, isDue);
    const kinds = written.map((one) => (one instanceof WriteFailure ? one.kind : 'written'));
    assert.equal(kinds, [...writes.map(() => 'changed'), 'written']);
    const sent = link.connection.stats().outMsgs - before;
    assert.ok(sent < 510, `${sent} messages`);
  });

  test('a node leaves a server that does not answer any more before its lease is over', async () => {
    const servers = await Promise.all([openNats(), openNats()]);
    const server = servers.map(({ url }) => url).join(',');
    const own = await ClusterLink.open({ ...settings, login: { ...login, server }, leaseTtlMs: 3000 }, silent);
    const current = servers.find(({ port }) => own.connection.getServer().endsWith(`:${port}`))!;
    current.pause();
    try {
      const began = performance.now();
      const changes: (string | undefined)[] = [];
      own.onChange.add(() => void changes.push(own.away));
      await eventually('the other server', () => changes.includes(undefined) || undefined);
      const ms = Math.round(performance.now() - began);
      console.log(`connected to another server after ${ms} ms`);
      assert.ok(ms < 3000, `${ms} ms`);
      assert.equal(changes, ['it does not answer', undefined]);
      assert.not.ok(own.connection.getServer().endsWith(`:${current.port}`));
    } finally {
      current.resume();
      await own.close();
      await Promise.all(servers.map((one) => one.close()));
    }
  });

  test('two nodes take many rules, each of them once', async () => {
    const [a, b] = await Promise.all([placing('a'), placing('b')]);
    // As after a write whose answer was lost: the node learns that the lease is its own.
    const claim = JSON.stringify({ node: 'a', session: 'a' });
    await bucket.write({ key: ruleKey('lost'), text: claim, after: 0 });
    const rules = ['lost', ...Array.from({ length: 1500 }, (_, i) => `r${i}`)];
    const began = performance.now();
    for (const id of rules) for (const { placing } of [a, b]) placing.want(id);
    await eventually('a node for each rule', () => running.size === rules.length || undefined);
    console.log(`${rules.length} leases in ${Math.round(performance.now() - began)} ms`);
    // On a slow machine some have moved on by now.
    assert.ok(a.taken.includes('lost'));
    await b.drain();
    await eventually('all at one node', () => a.placing.held().length === rules.length || undefined);
    assert.equal([...running.keys()].sort(), [...rules].sort());
    assert.equal(new Set(running.values()), new Set(['a']));
    assert.equal(doubled, []);
  });
}

test.run();
