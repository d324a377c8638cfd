/**
 * Input of a source that is throttled: what waits comes in order and whole, and the source is not read
 * meanwhile.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { FairQueue } from '../../../../../host/run/plane/schedule/fair-queue.js';
import { TurnQueue } from '../../../../../host/run/plane/schedule/turn-queue.js';
import type { Input } from '../../../../../host/run/plane/stage/input.js';
import type { Stage } from '../../../../../host/run/plane/stage/stage.js';

/** A source, and an event loop that is turned by hand; each byte takes a hundredth of a ms. */
class Source {
  isBlocked = false;
  taken = '';
  pieces = 0;
  readonly waits: boolean[] = [];
  now = 0;
  #later: (() => void)[] = [];
  readonly turns = new FairQueue({ now: () => this.now, later: (call) => this.#later.push(call), others: () => 1 });
  readonly input = new TurnQueue(
    this.turns,
    () => this.now,
    () => this.isBlocked,
    (isWaiting) => this.waits.push(isWaiting),
  );

  constructor() {
    const write = ({ bytes, hasTurn }: Input) => {
      assert.is(hasTurn, true);
      this.now += bytes.length / 100;
      this.taken += Buffer.from(bytes).toString();
      this.pieces++;
      return true;
    };
    this.input.next = { write } as Stage<Input>;
  }

  turn(): boolean {
    const calls = this.#later.splice(0);
    for (const call of calls) call();
    return calls.length > 0;
  }
}

const text = (length: number, from = 0) =>
  Array.from({ length }, (_, i) => String.fromCharCode(97 + ((i + from) % 26))).join('');

test('what waits is worked off piece by piece, in order', () => {
  const source = new Source();
  source.input.write({ bytes: Buffer.from(text(10_000)) });
  source.input.write({ bytes: Buffer.from(text(5_000, 7)) });
  assert.is(source.taken, '', 'not at once');
  assert.equal(source.waits, [true]);
  let turns = 0;
  while (source.turn()) turns++;
  assert.is(source.taken, text(10_000) + text(5_000, 7));
  assert.equal(source.waits, [true, false]);
  assert.ok(turns >= 15, `${turns} turns of some 4 ms each for 150 ms`);
});

test('a source that is blocked has no turns; they go on when it is free', () => {
  const source = new Source();
  source.isBlocked = true;
  source.input.write({ bytes: Buffer.from('abc') });
  while (source.turn());
  assert.is(source.taken, '');
  source.isBlocked = false;
  source.input.resume();
  while (source.turn());
  assert.is(source.taken, 'abc');
});

test('at the end of its rule all that waits is worked off', async () => {
  const source = new Source();
  source.input.write({ bytes: Buffer.from(text(10_000)) });
  source.turn();
  const empty = source.input.whenEmpty();
  source.input.drain();
  await empty;
  assert.is(source.taken, text(10_000));
  assert.not.ok(source.input.isFull);
});

test('what is dropped does not come, and the source goes on', () => {
  const source = new Source();
  source.input.write({ bytes: Buffer.from(text(10_000)) });
  source.input.close();
  while (source.turn());
  assert.is(source.taken, '');
  assert.equal(source.waits, [true, false]);
});

test.run();
