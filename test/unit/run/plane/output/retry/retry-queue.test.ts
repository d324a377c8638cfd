/** A cache before a sink that comes and goes: all messages get there, in order; what is safe survives a kill. */
import { cpSync, existsSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AllowedPaths } from '../../../../../../host/base/files/allowed-paths.js';
import { silent } from '../../../../../../host/base/log/log.js';
import type { Sink, SinkChunk, SinkContext } from '../../../../../../host/connectors/running.js';
import type { CacheSettings } from '../../../../../../host/run/link/protocol.js';
import { type ChainOwner, OutputChain } from '../../../../../../host/run/plane/output/output-chain.js';
import type { RetryQueue } from '../../../../../../host/run/plane/output/retry/retry-queue.js';
import { chunkOf } from '../../../../../../host/run/plane/queue/item.js';
import { PageStore } from '../../../../../../host/run/plane/queue/page-store.js';
import { numbered, numbersOf, range } from '../../../../../support/engine/cache-items.js';
import { eventually, temporaryFolder, within } from '../../../../../support/harness.js';

/** The other side: keeps what it was given until it is told to take it, over broken connections as connectors do. */
class Outside implements Sink {
  readonly got: number[] = [];
  readonly chunks: SinkChunk[] = [];
  #waiting: { ids: number[]; chunk: SinkChunk }[] = [];
  isOpen = false;
  /** Takes everything at once. */
  isEager = false;

  constructor(readonly context: SinkContext) {}

  async open(): Promise<void> {
    this.isOpen = true;
    if (this.isEager) this.take(Number.POSITIVE_INFINITY);
  }

  write(chunk: SinkChunk): void {
    const bytes = Buffer.from(chunk.bytes);
    const copy = { ...chunk, bytes };
    this.#waiting.push({ ids: numbersOf([copy]), chunk: copy });
    if (this.isEager && this.isOpen) queueMicrotask(() => this.take(Number.POSITIVE_INFINITY));
  }

  /** Passes on so many messages. */
  take(most: number): void {
    let left = most;
    while (this.isOpen && left > 0 && this.#waiting.length > 0) {
      const first = this.#waiting[0]!;
      const count = Math.min(left, first.ids.length);
      left -= count;
      this.got.push(...first.ids.splice(0, count));
      if (first.ids.length === 0) this.chunks.push(this.#waiting.shift()!.chunk);
      this.context.accepted(0, count);
    }
  }

  get messagesWaiting(): number {
    return this.#waiting.reduce((total, { ids }) => total + ids.length, 0);
  }

  lose(): void {
    this.isOpen = false;
    this.context.disconnected('gone');
  }

  async flush(): Promise<void> {
    if (this.isEager) this.take(Number.POSITIVE_INFINITY);
  }

  async close(): Promise<void> {
    this.isOpen = false;
  }
}

interface Running {
  readonly sink: RetryQueue;
  readonly outside: Outside;
  /** Bytes given back. */
  credit(): number;
  readonly lost: string[];
  taken(): number;
  out(): number;
}

const usual: Omit<CacheSettings, 'folder'> = {
  pageMessages: 16,
  memoryMessages: 32,
  maxMessages: 100_000,
  dropsOldest: false,
  isSynced: false,
  isCleanedAtStop: false,
  resendIntervalMs: 0,
};

function run(
  folder: string | undefined,
  change: Partial<CacheSettings> = {},
  dynamic: string[] = [],
  limitBytes = 1 << 20,
): Running {
  let credit = 0;
  let taken = 0;
  let out = 0;
  const lost: string[] = [];
  let outside: Outside | undefined;
  const owner: Omit<ChainOwner, 'refused' | 'lost'> = {
    isAcknowledged: false,
    ruleId: 'r',
    label: 'sink test',
    dynamic: new Set(dynamic),
    log: silent,
    paths: AllowedPaths.any(),
    shared: (_key, make) => make(),
    limitBytes,
    measuresAll: false,
    host: {},
    taken: (messages) => {
      taken += messages;
    },
    accepted: (bytes, messages) => {
      credit += bytes;
      out += messages;
    },
    failed: (_bytes, messages, reason) => void lost.push(`${messages}: ${reason}`),
    disconnected: () => {},
  };
  const cache = { ...usual, ...(folder === undefined ? {} : { folder }), ...change };
  const chain = new OutputChain({ cache }, owner as ChainOwner, (context) => (outside = new Outside(context)));
  return { sink: chain.current!, outside: outside!, credit: () => credit, lost, taken: () => taken, out: () => out };
}

/** The timers of a cache keep no process alive. */
const alive = setInterval(() => {}, 1000);
test.after(() => clearInterval(alive));

const turn = () => new Promise((resolve) => setImmediate(resolve));

test(
  'whatever the other side does, ' + 'all messages get there once and in order; after a kill no safe one is missing',
  async () => {
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ kind: fc.constant('write' as const), count: fc.integer({ min: 1, max: 60 }) }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant('take' as const), count: fc.integer({ min: 1, max: 80 }) }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('open', 'lose', 'await', 'turn') }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('restart', 'kill') }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.boolean(), async (steps, isLines) => {
        let folder = join(temporaryFolder(), 'sink');
        let running = run(folder);
        let next = 0;
        /** First number that may come again after a kill; those before it are with the outside. */
        let got: number[] = [];
        const sizes: number[] = [];
        const collect = () => {
          got = [...got, ...running.outside.got.splice(0)];
        };
        for (const one of steps) {
          const { sink, outside } = running;
          switch (one.kind) {
            case 'write': {
              const { count } = one as { count: number };
              const chunk = chunkOf(numbered(next, count, isLines ? 'lines' : 'messages'));
              sizes.push(chunk.bytes.length);
              next += count;
              sink.write(chunk);
              break;
            }
            case 'take':
              outside.take((one as { count: number }).count);
              break;
            case 'open':
              if (!outside.isOpen) await sink.open();
              break;
            case 'lose':
              if (outside.isOpen) outside.lose();
              break;
            case 'await':
              sink.awaited();
              break;
            case 'turn':
              for (let i = 0; i < 20; i++) await turn();
              break;
            case 'restart':
              await sink.flush();
              await sink.close();
              collect();
              assert.is(sink.unsafe, 0);
              running = run(folder);
              break;
            default: {
              // What is safe now has to be there again; what is not is sent again by its source.
              const killed = join(temporaryFolder(), 'sink');
              collect();
              const credit = running.credit();
              if (existsSync(folder)) cpSync(folder, killed, { recursive: true });
              await sink.close();
              let safe = 0;
              let bytes = 0;
              for (; safe < next; safe++) {
                bytes += `{"id":${safe}}`.length + (isLines ? 1 : 0);
                if (bytes > credit) break;
              }
              folder = killed;
              running = run(folder);
              await eventually('the cache', () => (running.sink.trouble === '' ? true : undefined));
              await running.sink.open();
              running.outside.isEager = true;
              running.outside.take(Number.POSITIVE_INFINITY);
              await within(20_000, 'the emptying', running.sink.emptied());
              const again = running.outside.got.splice(0);
              assert.equal(again, range(again[0] ?? 0, again.length === 0 ? 0 : again.at(-1)! + 1), 'in order');
              const all = new Set([...got, ...again]);
              for (let id = 0; id < safe; id++) assert.ok(all.has(id), `message ${id} of ${safe} safe ones is missing`);
              await running.sink.flush();
              await running.sink.close();
              return;
            }
          }
        }
        collect();
        const { sink, outside } = running;
        outside.isEager = true;
        if (!outside.isOpen) await sink.open();
        outside.take(Number.POSITIVE_INFINITY);
        await within(20_000, 'the emptying', sink.emptied());
        collect();
        assert.equal(got, range(0, next));
        assert.is(sink.length, 0);
        assert.equal(running.lost, []);
        await sink.close();
        assert.not(existsSync(folder), 'nothing is left behind');
      }),
      { numRuns: 150 },
    );
  },
);

test('without a folder what waits is in memory: in order, once, and the bound drops the oldest', async () => {
  const change = { dropsOldest: true, maxMessages: Number.POSITIVE_INFINITY };
  const step = fc.oneof(
    fc.record({ kind: fc.constant('write' as const), count: fc.integer({ min: 1, max: 60 }) }),
    fc.record({ kind: fc.constant('take' as const), count: fc.integer({ min: 1, max: 80 }) }),
    fc.record({ kind: fc.constantFrom('open', 'lose', 'await', 'turn') }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 50 }), fc.boolean(), async (steps, isSmall) => {
      const { sink, outside, lost } = run(undefined, change, [], isSmall ? 3000 : 1 << 20);
      let next = 0;
      for (const one of steps) {
        if (one.kind === 'write') {
          const { count } = one as { count: number };
          sink.write(chunkOf(numbered(next, count)));
          next += count;
        } else if (one.kind === 'take') outside.take((one as { count: number }).count);
        else if (one.kind === 'open' && !outside.isOpen) await sink.open();
        else if (one.kind === 'lose' && outside.isOpen) outside.lose();
        else if (one.kind === 'await') sink.awaited();
        else await turn();
      }
      outside.isEager = true;
      if (!outside.isOpen) await sink.open();
      outside.take(Number.POSITIVE_INFINITY);
      await within(20_000, 'the emptying', sink.flush());
      const dropped = lost.reduce((total, text) => total + Number.parseInt(text, 10), 0);
      assert.is(sink.counts.dropped, dropped);
      assert.is(outside.got.length + dropped, next);
      assert.equal(
        outside.got,
        range(0, next).filter((id) => outside.got.includes(id)),
        'once, in order',
      );
      if (!isSmall) assert.is(dropped, 0);
      await sink.close();
    }),
    { numRuns: 60 },
  );
});

test('a full cache takes nothing more until there is room', async () => {
  const { sink, outside, credit } = run(join(temporaryFolder(), 'sink'), { maxMessages: 64 });
  for (let first = 0; first < 200; first += 10) sink.write(chunkOf(numbered(first, 10)));
  await eventually('the full cache', () => /is full/.test(sink.trouble));
  const before = credit();
  assert.ok(sink.onDisk <= 64);
  assert.is(sink.length, 200);
  outside.isEager = true;
  await sink.open();
  await within(20_000, 'the emptying', sink.emptied());
  assert.equal(outside.got, range(0, 200));
  assert.ok(credit() > before);
  await eventually('room', () => sink.trouble === '');
  await sink.close();
});

test('where the rule says so a full cache drops its oldest pages, and counts them', async () => {
  const { sink, outside, lost, credit } = run(join(temporaryFolder(), 'sink'), { maxMessages: 64, dropsOldest: true });
  let bytes = 0;
  for (let first = 0; first < 200; first += 10) {
    const chunk = chunkOf(numbered(first, 10));
    bytes += chunk.bytes.length;
    sink.write(chunk);
    await turn();
  }
  await eventually('all is safe', () => credit() === bytes);
  outside.isEager = true;
  await sink.open();
  await within(20_000, 'the emptying', sink.emptied());
  const dropped = sink.counts.dropped;
  assert.ok(dropped >= 136 && dropped < 200, `${dropped} dropped`);
  assert.equal(outside.got, range(dropped, 200));
  assert.is(
    lost.reduce((total, text) => total + Number.parseInt(text, 10), 0),
    dropped,
  );
  await sink.close();
});

test('messages that waited get a lane, a field and a destination of their own', async () => {
  const alterQueue = { priority: 0, indicatorField: 'again', destination: { topic: 'late' } };
  const { sink, outside } = run(join(temporaryFolder(), 'sink'), { alterQueue });
  outside.isEager = true;
  await sink.open();
  outside.lose();
  sink.write(chunkOf(numbered(0, 3)));
  await sink.open();
  sink.write(chunkOf(numbered(3, 2)));
  await within(20_000, 'the emptying', sink.emptied());
  const texts = outside.chunks.map(({ bytes, values }) => `${values?.topic ?? ''}: ${Buffer.from(bytes)}`);
  assert.equal(texts.sort(), [
    ': {"id":3}{"id":4}',
    'late: {"id":0,"again":true}{"id":1,"again":true}{"id":2,"again":true}',
  ]);
  await sink.close();
});

for (const [priority, expected] of [
  [1, [...range(0, 40), ...range(40, 60)]],
  [-1, [...range(40, 60), ...range(0, 40)]],
] as const) {
  test(
    `with priority ${priority} messages that waited ` + `go ${priority > 0 ? 'before' : 'after'} the new ones`,
    async () => {
      const alterQueue = { priority, indicatorField: '' };
      const { sink, outside } = run(join(temporaryFolder(), 'sink'), { alterQueue });
      await sink.open();
      outside.lose();
      for (let first = 0; first < 40; first += 10) sink.write(chunkOf(numbered(first, 10)));
      await eventually('they are on disk', () => sink.onDisk === 40);
      // The new ones are there before the first of the others was read.
      const opening = sink.open();
      await opening;
      for (let first = 40; first < 60; first += 5) sink.write(chunkOf(numbered(first, 5)));
      outside.isEager = true;
      outside.take(Number.POSITIVE_INFINITY);
      await within(20_000, 'the emptying', sink.emptied());
      assert.equal(outside.got, expected);
      await sink.close();
    },
  );
}

test('with an interval messages that waited go one by one', async () => {
  const { sink, outside } = run(join(temporaryFolder(), 'sink'), { resendIntervalMs: 5 });
  sink.write(chunkOf(numbered(0, 12)));
  outside.isEager = true;
  await sink.open();
  await within(20_000, 'the emptying', sink.emptied());
  assert.equal(outside.got, range(0, 12));
  assert.equal(
    outside.chunks.map(({ messages }) => messages),
    new Array(12).fill(1),
  );
  await sink.close();
});

test('of messages to many places none counts as out before those in front of it are', async () => {
  const folder = join(temporaryFolder(), 'sink');
  const first = run(folder, {}, ['path']);
  await first.sink.open();
  first.sink.write({ ...chunkOf(numbered(0, 5)), values: { path: 'a' } });
  first.sink.write({ ...chunkOf(numbered(5, 5)), values: { path: 'b' } });
  await eventually('they are with the connector', () => first.outside.messagesWaiting === 10);
  // Those of b are out; the connector can't say which ones they were.
  first.outside.context.accepted(0, 5);
  first.outside.lose();
  await first.sink.flush();
  await first.sink.close();
  const second = run(folder, {}, ['path']);
  second.outside.isEager = true;
  await second.sink.open();
  await within(20_000, 'the emptying', second.sink.emptied());
  assert.equal(second.outside.got, range(0, 10));
  assert.equal(
    second.outside.chunks.map(({ values }) => values?.path),
    ['a', 'b'],
  );
  await second.sink.close();
});

test('what a stop is to clean is gone at the next start', async () => {
  const folder = join(temporaryFolder(), 'sink');
  const { sink } = run(folder, { isCleanedAtStop: true });
  sink.write(chunkOf(numbered(0, 50)));
  await sink.flush();
  assert.is(sink.onDisk, 50);
  await sink.close();
  assert.not(existsSync(folder));
});

test('messages cut off at the end of what an earlier run has left are counted', async () => {
  const folder = join(temporaryFolder(), 'sink');
  const before = run(folder);
  before.sink.write(chunkOf(numbered(0, 40, 'lines')));
  await before.sink.flush();
  await before.sink.close();
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.pages'));
  const last = join(folder, names.sort().at(-1)!);
  const bytes = readFileSync(last);
  bytes[bytes.length - 3]! ^= 0xff;
  writeFileSync(last, bytes);
  const { sink, outside } = run(folder);
  outside.isEager = true;
  await sink.open();
  await eventually('the look at the end', () => sink.counts.cutOff > 0);
  await within(20_000, 'the emptying', sink.emptied());
  assert.equal(outside.got, range(0, 40 - sink.counts.cutOff));
  await sink.close();
});

test(
  'where the oldest may go a cache that can not be opened holds nobody: what is in memory counts as taken, within ' +
    'its bound',
  async () => {
    const folder = join(temporaryFolder(), 'sink');
    // No folder: it is found by each attempt.
    writeFileSync(folder, '');
    const { sink, outside, lost, credit } = run(folder, { dropsOldest: true }, [], 4096);
    await eventually('the trouble', () => /can't be opened: ENOTDIR/.test(sink.trouble));
    let bytes = 0;
    for (let i = 0; i < 100; i++) {
      const chunk = numbered(i * 10, 10);
      bytes += chunk.bytes.length;
      sink.write(chunkOf(chunk));
    }
    assert.is(credit(), bytes, 'nobody waits');
    const { dropped } = sink.counts;
    assert.ok(dropped > 0 && dropped < 1000, `${dropped} dropped`);
    assert.match(
      lost.at(-1) ?? '',
      /^\d+: its cache can't be opened: ENOTDIR.*: the oldest messages in memory were dropped$/,
    );
    unlinkSync(folder);
    await outside.open();
    outside.isEager = true;
    await sink.open();
    await eventually('the rest', () => outside.got.length === 1000 - dropped);
    assert.equal(outside.got, range(dropped, 1000));
    await sink.close();
  },
);

test('a disk that does not answer a write is one that takes nothing', async () => {
  const { append } = PageStore.prototype;
  let release: () => void = () => {};
  const stuck = new Promise<void>((resolve) => {
    release = resolve;
  });
  PageStore.prototype.append = async function (pages) {
    await stuck;
    return append.call(this, pages);
  };
  try {
    const { sink, outside, credit } = run(join(temporaryFolder(), 'sink'), { dropsOldest: true }, [], 4096);
    const chunks = [numbered(0, 10), numbered(10, 10)];
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.bytes.length, 0);
    sink.write(chunkOf(chunks[0]!));
    // The first one is on its way to disk.
    await new Promise((resolve) => setTimeout(resolve, 300));
    sink.write(chunkOf(chunks[1]!));
    assert.is(credit(), 0);
    await eventually('the credit', () => credit() === bytes);
    assert.match(sink.trouble, /its cache can't be written: the disk has not answered for 3 s/);
    release();
    await eventually('the write', () => sink.trouble === '');
    outside.isEager = true;
    await sink.open();
    await eventually('all of it', () => outside.got.length === 20);
    assert.equal(outside.got, range(0, 20));
    assert.is(credit(), bytes, 'nothing is given back twice');
    await sink.close();
  } finally {
    PageStore.prototype.append = append;
  }
});

test.run();
