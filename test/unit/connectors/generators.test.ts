/** Sources that make their rows, and the sink that keeps messages in memory. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { KeptResults } from '../../../host/connectors/logToMemory/sink.js';
import { payloadsOf } from '../../../host/connectors/messages/frames.js';
import { NexmarkSource } from '../../../host/connectors/nexmark/source.js';
import { RandomSource } from '../../../host/connectors/random/source.js';
import { sinkContract, sourceContract } from '../../support/connectors/contract.js';
import { type OpenedSource, openSource } from '../../support/connectors/source.js';

sourceContract(
  test,
  () => ({
    type: 'random',
    dataSource: '',
    props: { interval: 1, seed: 10 },
    refused: [
      [{ seed: 0 }, /property seed must be at least 1/],
      [{ pattern: { count: 'x' } }, /property pattern must have whole numbers only, which count is not/],
      [{ pattern: 3 }, /property pattern must be an object/],
      [{ deduplicate: 'many' }, /property deduplicate must be an integer/],
    ],
  }),
  'random',
);
sourceContract(
  test,
  () => ({
    type: 'nexmark',
    dataSource: '',
    props: { qps: 1000 },
    refused: [
      [{ qps: 0 }, /property qps must be at least 1/],
      [{ bufferSize: 0 }, /property bufferSize must be at least 1/],
      [{ excludePerson: true, excludeAuction: true, excludeBid: true }, /leave nothing to send/],
    ],
  }),
  'nexmark',
);
sinkContract(
  test,
  () => ({ type: 'logToMemory', props: {}, refused: [[{ enableCache: 'x' }, /enableCache must be/]] }),
  'logToMemory',
);

type Row = Record<string, unknown>;

/** Rows that were written so far. */
function rowsOf({ written }: Pick<OpenedSource<never>, 'written'>): Row[] {
  return written.flatMap((frames) => payloadsOf(frames).map((text) => JSON.parse(Buffer.from(text).toString())));
}

const random = { interval: 0, seed: 3, pattern: { a: 10, b: -5 }, deduplicate: 0 };

test('random: numbers begin with that of the pattern, and there are as many as seed says', async () => {
  const opened = await once((context) => new RandomSource(random, context));
  const rows = rowsOf(opened);
  assert.is(rows.length, 1000);
  const valuesOf = (name: string) => [...new Set(rows.map((row) => row[name] as number))].sort((x, y) => x - y);
  assert.equal(valuesOf('a'), [10, 11, 12]);
  assert.equal(valuesOf('b'), [-5, -4, -3]);
});

test('random: rows that came lately are left out', async () => {
  const all = await once((context) => new RandomSource({ ...random, deduplicate: -1 }, context));
  const texts = rowsOf(all).map((row) => JSON.stringify(row));
  assert.is(texts.length, new Set(texts).size);
  assert.is(texts.length, 9);
  const last = await once((context) => new RandomSource({ ...random, deduplicate: 2 }, context));
  const rows = rowsOf(last).map((row) => JSON.stringify(row));
  assert.ok(rows.length > 100);
  assert.not(rows.some((row, i) => rows.slice(Math.max(0, i - 2), i).includes(row)));
});

test('nexmark: persons, auctions and bids come in turn and belong together', async () => {
  const conf = { qps: 100, bufferSize: 900, excludePerson: false, excludeAuction: false, excludeBid: false };
  const opened = await once((context) => new NexmarkSource(conf, context, clock([0, 8990])), 2);
  const rows = rowsOf(opened);
  assert.is(rows.length, 900);
  const [persons, auctions, bids] = [0, 1, 2].map((kind) => rows.filter((_, i) => i % 3 === kind)) as [
    Row[],
    Row[],
    Row[],
  ];
  assert.equal(Object.keys(persons[0]!), 'id name emailAddress creditCard city state datetime extra'.split(' '));
  const ofAuction = 'id itemName description initialBid reserve datetime expires seller category extra';
  assert.equal(Object.keys(auctions[0]!), ofAuction.split(' '));
  assert.equal(Object.keys(bids[0]!), 'auction bidder price channel url datetime extra'.split(' '));
  const ids = (list: Row[]) => new Set(list.map(({ id }) => id));
  assert.ok(auctions.every(({ seller }) => ids(persons).has(seller)));
  assert.ok(bids.every(({ auction, bidder }) => ids(auctions).has(auction) && ids(persons).has(bidder)));
});

test('nexmark: what is excluded is not sent, and no more is made up for than bufferSize says', async () => {
  const conf = { qps: 100, bufferSize: 5, excludePerson: true, excludeAuction: true, excludeBid: false };
  const opened = await once((context) => new NexmarkSource(conf, context, clock([0, 600, 610])), 3);
  const rows = rowsOf(opened);
  assert.is(rows.length, 7);
  assert.ok(rows.every((row) => 'bidder' in row));
});

test('logToMemory: the newest messages are kept, by number and by size', () => {
  const kept = new KeptResults();
  for (let i = 0; i < 1500; i++) kept.add(Buffer.from(String(i)));
  assert.equal([kept.texts.length, kept.texts[0], kept.texts.at(-1)], [1000, '500', '1499']);
  kept.add(Buffer.alloc(1024 * 1024 - 4, 'x'));
  assert.is(kept.texts.length, 2);
  kept.add(Buffer.alloc(2 * 1024 * 1024, 'y'));
  assert.equal(kept.texts, []);
});

/** The times one after the other. */
function clock(times: readonly number[]): () => number {
  let next = 0;
  return () => times[Math.min(next++, times.length - 1)]!;
}

type Context = Parameters<Parameters<typeof openSource>[0]>[0];

/** Opens a source and closes it after so many writes. */
async function once<S extends RandomSource | NexmarkSource>(
  make: (context: Context) => S,
  writes = 1,
): Promise<OpenedSource<S>> {
  let done: () => void = () => {};
  const written = new Promise<void>((resolve) => {
    done = resolve;
  });
  const opened = await openSource(make, { look: (so) => so.written.length === writes && done() });
  // The timers of the engine keep no process alive.
  const alive = setInterval(() => {}, 1000);
  await written;
  clearInterval(alive);
  await opened.source.close();
  return opened;
}

test.run();
