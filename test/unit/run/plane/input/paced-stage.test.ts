/**
 * Input goes to the kernel in pieces that are bounded by rows times nodes and by the clock; what is left of a read
 * waits, in order.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { InputPieces, mostVisits, type PiecesOf } from '../../../../../host/run/plane/feed/input-pieces.js';
import { PacedStage } from '../../../../../host/run/plane/input/paced-stage.js';
import type { Input } from '../../../../../host/run/plane/stage/input.js';
import type { Stage } from '../../../../../host/run/plane/stage/stage.js';
import { eventually } from '../../../../support/harness.js';

const rules = (count: number, nodes: number) =>
  new Set(
    Array.from({ length: count }, (_, rule) => ({
      nodes: Array.from({ length: nodes }, (_, i) => ({ handle: rule * nodes + i })),
    })),
  );

const messageBytes = 100;

/** After calls that took no time. */
function grown(source: PiecesOf): InputPieces {
  const pieces = new InputPieces(source);
  for (let i = 0; i < 4; i++) pieces.took(256 * 1024, 0);
  return pieces;
}

test('rows of a call times the nodes that they come to are bounded; with few nodes a call takes what it can', () => {
  for (const [count, nodes] of [
    [3000, 4],
    [100, 4],
    [20, 100],
  ] as const) {
    const source = { readers: rules(count, nodes), counters: { messages: 1000, bytes: 1000 * messageBytes } };
    const { most } = grown(source);
    assert.ok((most / messageBytes) * count * nodes <= mostVisits, `${most} bytes for ${count} rules`);
    assert.ok(most >= messageBytes, 'a message at least');
  }
  const source = { readers: rules(4, 4), counters: { messages: 1000, bytes: 1000 * messageBytes } };
  assert.is(grown(source).most, 256 * 1024);
});

test('rules that share nodes count once, and those that come and go change the pieces', () => {
  const shared = new Set(Array.from({ length: 3000 }, () => ({ nodes: [{ handle: 1 }, { handle: 2 }] })));
  const source = { readers: shared as ReturnType<typeof rules>, counters: { messages: 10, bytes: 10 * messageBytes } };
  const pieces = grown(source);
  assert.is(pieces.most, 256 * 1024);
  source.readers = rules(2000, 4);
  const many = pieces.most;
  source.readers = rules(300, 4);
  assert.ok(pieces.most > many);
});

test('a call that was long makes the next ones smaller, short ones let them grow again', () => {
  const pieces = grown({ readers: rules(1, 4), counters: { messages: 0, bytes: 0 } });
  pieces.took(256 * 1024, 200);
  assert.is(pieces.most, Math.floor((256 * 1024) / 10));
  pieces.took(100, 1);
  assert.is(pieces.most, Math.floor((256 * 1024) / 10));
  pieces.took(pieces.most, 10);
  assert.is(pieces.most, Math.floor((256 * 1024) / 10) * 4);
  for (let i = 0; i < 4; i++) pieces.took(pieces.most, 1);
  assert.is(pieces.most, 256 * 1024);
});

/** A source each message of which comes to 4,000 nodes, with a kernel that takes its time. */
class Source {
  readonly readers = rules(1000, 4);
  readonly counters = { messages: 1000, bytes: 1000 * messageBytes };
  isBlocked = false;
  workUs = 0;
  taken = '';
  readonly pieces: number[] = [];
  readonly waits: boolean[] = [];
  badAt = Number.POSITIVE_INFINITY;
  readonly input = new PacedStage(
    this,
    () => this.isBlocked,
    (isWaiting) => this.waits.push(isWaiting),
  );

  constructor() {
    const write = ({ bytes }: Input) => {
      const end = performance.now() + 3;
      while (performance.now() < end);
      this.workUs += 3000;
      this.pieces.push(bytes.length);
      this.taken += Buffer.from(bytes).toString();
      return this.taken.length < this.badAt;
    };
    this.input.next = { write } as Stage<Input>;
  }

  write(text: string, hasTurn = false): boolean {
    return this.input.write({ bytes: Buffer.from(text), isLast: true, hasTurn });
  }
}

const text = (length: number, from = 0) =>
  Array.from({ length }, (_, i) => String.fromCharCode(97 + ((i + from) % 26))).join('');
const longest = (mostVisits / 4000) * messageBytes;

test(
  'a read of many pieces lets others have their turn, comes whole and in order, and the source is not read ' +
    'meanwhile',
  async () => {
    const source = new Source();
    const whole = text(40 * longest);
    source.write(whole.slice(0, 30 * longest));
    assert.ok(source.taken.length < 30 * longest, 'something waits');
    assert.equal(source.waits, [true]);
    source.write(whole.slice(30 * longest));
    let turns = 0;
    await eventually('all of it', async () => {
      turns++;
      return source.taken.length === whole.length;
    });
    assert.is(source.taken, whole);
    assert.equal(source.waits, [true, false]);
    assert.ok(turns > 1);
    assert.ok(
      source.pieces.every((length) => length <= longest),
      `${source.pieces}`,
    );
  },
);

test('however many sources have input that waits, others have their turn after each piece', async () => {
  const sources = Array.from({ length: 8 }, () => new Source());
  for (const source of sources) source.write(text(30 * longest));
  const whole = 30 * longest;
  let most = 0;
  let before = sources.map(({ pieces }) => pieces.length);
  while (sources.some(({ taken }) => taken.length < whole)) {
    await new Promise((resolve) => setImmediate(resolve));
    const after = sources.map(({ pieces }) => pieces.length);
    most = Math.max(most, after.filter((count, i) => count > before[i]!).length);
    before = after;
  }
  assert.is(most, 1);
});

test('while a sink is full nothing goes on; then it does', async () => {
  const source = new Source();
  source.write(text(30 * longest));
  source.isBlocked = true;
  const before = source.taken.length;
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.is(source.taken.length, before);
  source.isBlocked = false;
  source.input.resume();
  await eventually('all of it', () => source.taken.length === 30 * longest);
});

test('what comes after malformed bytes is given to nobody', () => {
  const source = new Source();
  source.badAt = 2 * longest;
  assert.not(source.write(text(4 * longest), true));
  assert.is(source.taken.length, 2 * longest);
  assert.not(source.input.isFull);
});

test('who can not wait has all worked off at once', () => {
  const source = new Source();
  source.write(text(20 * longest));
  source.input.drain();
  assert.is(source.taken, text(20 * longest));
});

test.run();
