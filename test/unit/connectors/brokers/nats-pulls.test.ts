/** Requests to a consumer of JetStream: they are bounded by bytes, and no size of a message stops them. */
import { AckPolicy } from '@nats-io/jetstream';
import type { Msg } from '@nats-io/transport-node';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { deliveredIn } from '../../../../host/connectors/nats/delivered.js';
import { Pulls } from '../../../../host/connectors/nats/pulls.js';
import { eventually } from '../../../support/harness.js';
import { managerOf, needsNats, openNats, streamsOf, type TestNats } from '../../../support/servers/nats.js';

if (!needsNats('requests to a consumer of NATS')) process.exit(0);

let nats: TestNats;
test.before(async () => {
  nats = await openNats();
});
test.after(() => nats.close());

/** A stream with messages of these sizes. */
async function streamOf(name: string, sizes: readonly number[]): Promise<void> {
  const manager = await managerOf(nats.client);
  await manager.streams.add({ name, subjects: [`${name}.*`], max_msg_size: 32 << 20 });
  for (let from = 0; from < sizes.length; from += 100) {
    const some = sizes.slice(from, from + 100);
    await Promise.all(some.map((size) => streamsOf(nats.client).publish(`${name}.x`, Buffer.alloc(size))));
  }
}

/** What reads a stream by a consumer with these limits; it wants no more when it has `most` messages. */
async function reader(
  stream: string,
  limits: { max_batch?: number; max_bytes?: number } = {},
  most = Number.POSITIVE_INFINITY,
) {
  const manager = await managerOf(nats.client);
  await manager.consumers.add(stream, { durable_name: 'c', ack_policy: AckPolicy.None, ...limits });
  const taken: { sequence: number; bytes: number }[] = [];
  const failures: string[] = [];
  const pulled = {
    stream,
    consumer: 'c',
    most,
    get isWanted() {
      return taken.length < this.most;
    },
    take: (message: Msg) => {
      taken.push({ sequence: deliveredIn(message.reply ?? '').sequence, bytes: message.data.length });
    },
    failed: (reason: string) => void failures.push(reason),
  };
  const pulls = new Pulls(nats.client, pulled);
  const sent = async () => (await manager.consumers.info(stream, 'c')).delivered.stream_seq;
  return { taken, failures, pulled, pulls, sent };
}

function assertAll({ taken, failures }: Awaited<ReturnType<typeof reader>>, sizes: readonly number[]): void {
  assert.equal(failures, []);
  assert.equal(
    taken,
    sizes.map((bytes, i) => ({ sequence: i + 1, bytes })),
  );
}

test('messages of all sizes come in their order, those larger than a request as well', async () => {
  const large = [5 << 20, 4 << 20, 16 << 20, (4 << 20) - 200, 20 << 20];
  const small = Array.from({ length: 2500 }, (_, i) => i % 300);
  const sizes = [...large, ...small, ...large, ...small, ...large];
  await streamOf('sizes', sizes);
  const one = await reader('sizes');
  await eventually('all', () => one.taken.length >= sizes.length || one.failures.length > 0);
  assertAll(one, sizes);
  one.pulls.close();
});

test('a consumer that bounds requests itself is asked for as much, whatever fits exactly or not at all', async () => {
  let state = 7;
  const sizes = Array.from({ length: 3000 }, () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state % 450;
  });
  await streamOf('bounded', sizes);
  const one = await reader('bounded', { max_batch: 7, max_bytes: 400 });
  await eventually('all', () => one.taken.length >= sizes.length || one.failures.length > 0);
  assertAll(one, sizes);
  one.pulls.close();
});

test('large messages behind small ones come by bytes while none is wanted', async () => {
  const sizes = [...Array.from({ length: 3000 }, () => 10), ...Array.from({ length: 200 }, () => 256 << 10)];
  await streamOf('bursts', sizes);
  const before = 2990;
  const one = await reader('bursts', {}, before);
  await eventually('the last that is wanted', () => one.taken.length >= before);
  let last = -1;
  await eventually('what was asked for', async () => {
    const isOver = last === one.taken.length && (await one.sent()) === last;
    last = one.taken.length;
    await new Promise((resolve) => setTimeout(resolve, 50));
    return isOver;
  });
  const bytes = one.taken.slice(before).reduce((sum, taken) => sum + taken.bytes, 0);
  assert.ok(bytes > 0 && bytes <= 6 << 20, `${bytes} bytes came`);
  one.pulled.most = Number.POSITIVE_INFINITY;
  one.pulls.ask();
  await eventually('all', () => one.taken.length >= sizes.length || one.failures.length > 0);
  assertAll(one, sizes);
  one.pulls.close();
});

test('a thread that stood still takes no server for silent', async () => {
  await streamOf('stood', []);
  const one = await reader('stood');
  await nats.client.flush();
  // Longer than a server may be silent.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6500);
  await streamsOf(nats.client).publish('stood.x', Buffer.alloc(10));
  await eventually('the message', () => one.taken.length > 0 || one.failures.length > 0);
  assertAll(one, [10]);
  one.pulls.close();
});

test('a server that does not say that it is there is left within 10 s', async () => {
  const own = await openNats();
  const manager = await managerOf(own.client);
  await manager.streams.add({ name: 'quiet', subjects: ['quiet'] });
  await manager.consumers.add('quiet', { durable_name: 'c', ack_policy: AckPolicy.None });
  let reason = '';
  let lasted = 0;
  const from = performance.now();
  const failed = (text: string) => {
    reason = text;
    lasted = performance.now() - from;
  };
  const pulls = new Pulls(own.client, { stream: 'quiet', consumer: 'c', isWanted: true, take: () => {}, failed });
  await own.client.flush();
  own.pause();
  await eventually('that it is left', () => reason !== '');
  assert.match(reason, /the server was silent for/);
  assert.ok(lasted < 10_000, `${lasted} ms`);
  pulls.close();
  await own.close();
});

test.run();
