/** Rules that go from one node to another while NATS answers late, or not at all. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../host/base/log/log.js';
import type { AskHandlers } from '../../../host/cluster/asks.js';
import { type Bucket, type BucketEntry, type BucketWrite, WriteFailure } from '../../../host/cluster/bucket.js';
import { LeaseView, nodeKey, parsed, ruleKey } from '../../../host/cluster/lease-view.js';
import { Placing } from '../../../host/cluster/placing.js';
import type { Session } from '../../../host/cluster/session.js';
import { eventually } from '../../support/harness.js';

/** A bucket in memory, and nodes that ask each other. */
class Cluster {
  readonly #entries = new Map<string, BucketEntry>();
  readonly #watches: ((entry: BucketEntry) => void)[] = [];
  readonly #answers = new Map<string, AskHandlers>();
  #revision = 0;
  /** What becomes of writes of leases. */
  writes: 'taken' | 'takenUnheard' | 'notTaken' = 'taken';
  /** Questions that get no answer. */
  unheard = new Set<string>();
  /** Rules that each node runs, and all that was seen to run nowhere or twice. */
  readonly live = new Map<string, Set<string>>();
  readonly wrong: string[] = [];

  readonly bucket = {
    watch: async (take: (entry: BucketEntry) => void) => {
      for (const entry of this.#entries.values()) take(entry);
      this.#watches.push(take);
    },
    writeEach: async (writes: readonly BucketWrite[]) => writes.map((write) => this.#write(write)),
    write: async (write: BucketWrite) => {
      const revision = this.#write(write);
      if (typeof revision !== 'number') throw revision;
      return revision;
    },
  } as unknown as Bucket;

  put(key: string, text: string | undefined): void {
    const entry = { key, text, revision: ++this.#revision };
    this.#entries.set(key, entry);
    for (const take of this.#watches) setImmediate(() => take(entry));
  }

  async node(name: string, session = name) {
    const entry = { session, url: '', isDraining: false, since: 0, isHanded: true };
    this.put(nodeKey(name), JSON.stringify(entry));
    const running = new Set<string>();
    this.live.set(name, running);
    const view = await LeaseView.of(this.bucket);
    const own = { id: session, isDraining: false };
    let stop = async (): Promise<void> => {};
    const placing = new Placing({
      bucket: this.bucket,
      view,
      session: own as Session,
      node: name,
      groupOf: () => undefined,
      isKnown: () => true,
      onTaken: (id) => {
        const other = [...this.live].find(([node, rules]) => node !== name && rules.has(id))?.[0];
        if (other !== undefined) this.wrong.push(`${id} runs at ${other} and ${name}`);
        running.add(id);
      },
      onGiven: async (id) => {
        await stop();
        running.delete(id);
      },
      isLive: (id) => running.has(id),
      asks: { ask: <T>(node: string, what: string, args: readonly unknown[]) => this.#ask<T>(node, what, args) },
      onChange: () => {},
      log: silent,
    });
    this.#answers.set(name, placing.answers);
    const drain = () => {
      own.isDraining = true;
      this.put(nodeKey(name), JSON.stringify({ ...entry, isDraining: true }));
    };
    /** The node ends without a word. */
    const die = () => {
      placing.close();
      this.#answers.delete(name);
      running.clear();
      this.put(nodeKey(name), undefined);
    };
    const stopsIn = (next: () => Promise<void>) => (stop = next);
    return { placing, running, drain, die, stopsIn, close: () => placing.close() };
  }

  ownerIn(rule: string): string | undefined {
    return parsed<{ node: string }>(this.#entries.get(ruleKey(rule))?.text)?.node;
  }

  #write({ key, text, after }: BucketWrite): number | WriteFailure {
    if ((this.#entries.get(key)?.revision ?? 0) !== after) return new WriteFailure('changed', 'another was first');
    if (this.writes !== 'notTaken') this.put(key, text);
    return this.writes === 'taken' ? this.#revision : new WriteFailure('unsure', 'timeout');
  }

  async #ask<T>(node: string, what: string, args: readonly unknown[]): Promise<T> {
    await new Promise((resolve) => setImmediate(resolve));
    const answer = this.#answers.get(node)?.[what];
    if (answer === undefined || this.unheard.has(what)) throw new Error(`${node} is silent`);
    return answer(...(args as never[])) as T;
  }
}

/** A node that runs a rule, and one that came after it. */
async function two() {
  const cluster = new Cluster();
  const a = await cluster.node('a');
  a.placing.want('r');
  await eventually('the rule runs', () => a.running.has('r') || undefined);
  const b = await cluster.node('b');
  b.placing.want('r');
  return { cluster, a, b, close: () => [a, b].forEach(({ close }) => void close()) };
}

test('a rule goes to another node', async () => {
  const { cluster, a, b, close } = await two();
  a.drain();
  await eventually('the rule runs there', () => b.running.has('r') || undefined);
  assert.equal([a.running.size, a.placing.holds('r'), b.placing.holds('r')], [0, false, true]);
  assert.equal(cluster.wrong, []);
  close();
});

test('while NATS takes no write the rule goes on where it is', async () => {
  const { cluster, a, b, close } = await two();
  cluster.writes = 'notTaken';
  a.drain();
  let looks = 0;
  await eventually('some looks', () => ++looks > 20 || undefined);
  assert.equal([a.running.has('r'), a.placing.holds('r'), b.running.size], [true, true, 0]);
  cluster.writes = 'taken';
  await eventually('the rule runs there', () => b.running.has('r') || undefined);
  assert.equal(cluster.wrong, []);
  close();
});

test('a write that NATS took, without an answer: the rule goes on until the entry tells', async () => {
  const { cluster, a, b, close } = await two();
  cluster.writes = 'takenUnheard';
  a.drain();
  await eventually('the rule runs there', () => b.running.has('r') || undefined);
  assert.equal([a.running.size, cluster.wrong], [0, []]);
  close();
});

test('a node that is not told asks', async () => {
  const { cluster, a, b, close } = await two();
  cluster.unheard.add('handed');
  a.drain();
  await eventually('the rule runs there', () => b.running.has('r') || undefined);
  assert.equal([a.running.size, cluster.wrong], [0, []]);
  close();
});

test('a rule that stops slowly is started nowhere before, whoever of the others dies', async () => {
  const { cluster, a, b, close } = await two();
  let end = () => {};
  const stopped = new Promise<void>((resolve) => (end = resolve));
  a.stopsIn(() => stopped);
  a.drain();
  await eventually('b has the lease', () => cluster.ownerIn('r') === 'b' || undefined);
  const c = await cluster.node('c');
  c.placing.want('r');
  b.die();
  await eventually('c has the lease', () => cluster.ownerIn('r') === 'c' || undefined);
  assert.equal([c.placing.holds('r'), c.running.size, a.running.has('r')], [false, 0, true]);
  end();
  await eventually('the rule runs there', () => c.running.has('r') || undefined);
  assert.equal([a.running.size, cluster.wrong], [0, []]);
  close();
  c.close();
});

test('the node that had the rule dies before it says that it has stopped', async () => {
  const { cluster, a, b, close } = await two();
  a.stopsIn(() => new Promise(() => {}));
  a.drain();
  await eventually('b has the lease', () => cluster.ownerIn('r') === 'b' || undefined);
  assert.is(b.running.size, 0);
  a.die();
  await eventually('the rule runs there', () => b.running.has('r') || undefined);
  assert.equal(cluster.wrong, []);
  close();
});

test('a node that does not answer is handed nothing', async () => {
  const { cluster, a, b, close } = await two();
  cluster.unheard.add('isThere');
  a.drain();
  let looks = 0;
  await eventually('some looks', () => ++looks > 20 || undefined);
  assert.equal([a.running.has('r'), b.running.size, cluster.ownerIn('r')], [true, 0, 'a']);
  close();
});

test.run();
