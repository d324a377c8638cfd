/**
 * When a broker that was asked whether it lives is given up: it was listened to for the whole time, and said nothing.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ManualClock } from '../../../host/base/time/clock.js';
import { Silence } from '../../../host/connectors/mqtt/silence.js';

/** A broker that may be silent for 10 ms. */
class Watched {
  isDead = false;
  readonly #clock = new ManualClock();
  readonly silence = new Silence(10, () => (this.isDead = true), this.#clock);

  /** Time passes; `read` is what comes before the machine has looked at the socket. */
  async pass(ms: number, read = () => {}): Promise<void> {
    this.#clock.advance(ms);
    read();
    await new Promise(setImmediate);
  }
}

test('silence after a question, for the whole time', async () => {
  const one = new Watched();
  await one.pass(100);
  one.silence.asked();
  await one.pass(9);
  assert.not(one.isDead);
  await one.pass(1);
  assert.ok(one.isDead);
});

test('any byte is an answer, and the next question begins anew', async () => {
  const one = new Watched();
  one.silence.asked();
  await one.pass(9);
  one.silence.broken();
  await one.pass(100);
  one.silence.asked();
  await one.pass(9);
  assert.not(one.isDead);
});

test('while nobody reads nothing can be heard', async () => {
  const one = new Watched();
  one.silence.listens(false);
  one.silence.asked();
  await one.pass(100);
  one.silence.listens(true);
  await one.pass(9);
  one.silence.listens(false);
  await one.pass(100);
  assert.not(one.isDead);
  one.silence.listens(true);
  await one.pass(10);
  assert.ok(one.isDead);
});

test('what came while the machine was busy counts', async () => {
  const one = new Watched();
  one.silence.asked();
  await one.pass(50, () => one.silence.broken());
  assert.not(one.isDead);
});

test('a connection that is closed is not given up again', async () => {
  const one = new Watched();
  one.silence.asked();
  one.silence.close();
  await one.pass(100);
  assert.not(one.isDead);
});

test.run();
