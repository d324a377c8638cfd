/** In which order the throttled have their turns, by a clock of the test. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { FairQueue, type Turn } from '../../../../../host/run/plane/schedule/fair-queue.js';

/** An event loop that is turned by hand. */
class Loop {
  now = 0;
  readonly done: string[] = [];
  #later: (() => void)[] = [];
  readonly turns = new FairQueue({
    now: () => this.now,
    later: (call) => this.#later.push(call),
    others: () => 10,
  });

  /** All others are at work for so long, then the throttled have their turn. */
  turn(othersMs = 0): string {
    const from = this.done.length;
    if (othersMs > 0) {
      this.now += othersMs;
      this.turns.worked(othersMs);
    }
    for (const call of this.#later.splice(0)) call();
    return this.done.slice(from).join('');
  }

  get isIdle(): boolean {
    return this.#later.length === 0;
  }

  /** Pieces of work of so many ms each. */
  queue(name: string, pieces: number[]): Turn {
    const loop = this;
    return {
      get isReady() {
        return pieces.length > 0;
      },
      work(ms) {
        const end = loop.now + ms;
        while (loop.now < end && pieces.length > 0) {
          const took = pieces.shift()!;
          loop.now += took;
          loop.turns.worked(took);
          loop.done.push(name);
        }
      },
    };
  }
}

const ones = (count: number) => Array.from({ length: count }, () => 1);

test('who is throttled gets what time is left: nothing while others work, all when they rest', () => {
  const loop = new Loop();
  loop.turns.add(loop.queue('a', ones(9)));
  assert.is(loop.turn(5), '', 'half a ms is owed by now');
  assert.is(loop.turn(), 'aaaa');
  assert.is(loop.turn(2), '');
  assert.is(loop.turn(), 'aaaa');
  assert.is(loop.turn(), 'a');
  assert.ok(loop.isIdle, 'nobody is called when nothing waits');
});

test('others that never rest leave as much as one of them has', () => {
  const loop = new Loop();
  loop.turns.add(loop.queue('a', ones(100)));
  let done = '';
  for (let i = 0; i < 50; i++) done += loop.turn(10);
  assert.is(done.length, 50, '1 ms of 10 for each of ten others');
});

test('several that are throttled have equal time, whatever their pieces take', () => {
  const loop = new Loop();
  const long = Array.from({ length: 20 }, () => 12);
  loop.turns.add(loop.queue('l', long));
  loop.turns.add(loop.queue('s', ones(1000)));
  let done = '';
  for (let i = 0; i < 60; i++) done += loop.turn();
  const ofLong = done.split('l').length - 1;
  const ofShort = done.split('s').length - 1;
  assert.ok(Math.abs(ofLong * 12 - ofShort) <= 16, `${ofLong} pieces of 12 ms, ${ofShort} of 1 ms`);
});

test('who can have no turn keeps nobody else waiting', () => {
  const loop = new Loop();
  let isReady = true;
  const barred: Turn = {
    get isReady() {
      return isReady;
    },
    work() {
      loop.done.push('b');
      isReady = false;
    },
  };
  loop.turns.add(barred);
  loop.turns.add(loop.queue('a', ones(6)));
  let done = '';
  while (!loop.isIdle) done += loop.turn();
  assert.is(done, 'baaaaaa');
  isReady = true;
  loop.turns.add(barred);
  assert.is(loop.turn(), 'b');
});

test.run();
