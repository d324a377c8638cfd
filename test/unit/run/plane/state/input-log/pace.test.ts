/**
 * When input goes to its log: a sender with a window does not stand still, and one with a large window costs few
 * writes.
 */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ManualClock } from '../../../../../../host/base/time/clock.js';
import { LogPace } from '../../../../../../host/run/plane/state/input-log/pace.js';

/** A sender that has so many messages unacknowledged at most, and a disk that needs its time. */
class Sender {
  readonly clock = new ManualClock();
  waiting = 0;
  writes = 0;
  /** Messages that could not be sent at once, at most. */
  mostQueued = 0;
  /** Messages that wait for room in the window. */
  queued = 0;
  #isWriting = false;
  #isAgain = false;
  readonly #pace = new LogPace(
    () => this.waiting,
    () => this.#write(),
    this.clock,
  );

  constructor(
    readonly window: number,
    readonly diskMs: number,
  ) {}

  #write(): void {
    this.#isAgain = this.#isWriting;
    if (this.#isWriting || this.waiting === 0) return;
    this.#isWriting = true;
    this.writes++;
    const written = this.waiting;
    this.clock.after(this.diskMs, () => {
      this.#isWriting = false;
      this.waiting -= written;
      this.#pace.written();
      this.#deliver();
      if (this.#isAgain) this.#write();
    });
  }

  #deliver(): void {
    const messages = Math.min(this.queued, this.window - this.waiting);
    if (messages <= 0) return;
    this.queued -= messages;
    this.waiting += messages;
    this.#pace.worked(messages);
  }

  /** Sends at a rate, messages a second, for so long. */
  send(rate: number, ms: number): void {
    let sent = 0;
    for (let at = 1; at <= ms; at++) {
      const due = Math.floor((rate * at) / 1000) - sent;
      sent += due;
      this.queued += due;
      this.#deliver();
      this.clock.advance(1);
      this.mostQueued = Math.max(this.mostQueued, this.queued);
    }
  }

  /** It has nothing more to send for so long. */
  rest(ms: number): void {
    this.clock.advance(ms);
  }

  close(): void {
    this.#pace.close();
  }
}

test('a broker that sends 20 messages without acknowledgement queues few of 1,500 a second, on a disk of 10 ms', () => {
  const sender = new Sender(20, 10);
  sender.send(1500, 60_000);
  // It queues 1,000 before it throws them away.
  assert.ok(sender.mostQueued < 250, `${sender.mostQueued} messages queued`);
  sender.close();
});

test('a large window costs few writes once it is known', () => {
  const sender = new Sender(65_535, 2);
  sender.send(5000, 10_000);
  const before = sender.writes;
  sender.send(5000, 60_000);
  // Of 300,000 messages.
  assert.ok(sender.writes - before <= 100, `${sender.writes - before} writes`);
  assert.is(sender.mostQueued, 0);
  sender.close();
});

test('a window that becomes smaller is found again', () => {
  const large = new Sender(65_535, 2);
  large.send(5000, 10_000);
  large.rest(5000);
  Object.assign(large, { window: 20, mostQueued: 0 });
  large.send(1500, 20_000);
  assert.ok(large.mostQueued < 250, `${large.mostQueued} messages queued`);
  large.close();
});

test(
  'whatever window, rate and disk: all is written soon after the last message, and nothing is queued for ' + 'ever',
  () => {
    const few = fc.record({
      window: fc.integer({ min: 1, max: 200 }),
      diskMs: fc.integer({ min: 1, max: 30 }),
      spells: fc.array(fc.record({ rate: fc.integer({ min: 1, max: 3000 }), ms: fc.integer({ min: 1, max: 2000 }) }), {
        minLength: 1,
        maxLength: 5,
      }),
    });
    fc.assert(
      fc.property(few, ({ window, diskMs, spells }) => {
        const sender = new Sender(window, diskMs);
        for (const { rate, ms } of spells) sender.send(rate, ms);
        sender.rest(3_600_000);
        assert.is(sender.waiting, 0);
        assert.is(sender.queued, 0);
        sender.close();
      }),
      { numRuns: 200 },
    );
  },
);

test.run();
