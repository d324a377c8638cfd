/** Packet ids that a broker frees as often as it likes: nothing grows with it. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Redeliveries } from '../../../host/connectors/messages/redeliveries.js';

const newSession = Buffer.from([0x20, 2, 0, 0]);
/** Of QoS 2, with the id 5. */
const message = Buffer.from([0x34, 6, 0, 1, 0x74, 0, 5, 0x61]);

test('what a broker frees again and again, or never had taken, needs no more of the log', () => {
  const one = new Redeliveries<{ isSafe: boolean }>('s', 1 << 20, 4);
  const toLog: (() => void)[] = [];
  one.keepFreed = (_id, kept) => void toLog.push(kept);
  const answers: string[] = [];
  one.reset();
  one.sift(Buffer.concat([newSession, message]));
  one.taken(Uint32Array.of(5 | 0x10000), { isSafe: true });
  one.freed(6, () => answers.push('unknown'));
  for (let i = 0; i < 1000; i++) one.freed(5, () => answers.push('first connection'));
  one.reset();
  one.freed(5, () => answers.push('second connection'));
  assert.equal([toLog.length, answers], [1, ['unknown']]);
  toLog[0]!();
  assert.equal(answers, ['unknown', 'second connection']);
  one.freed(5, () => answers.push('freed already'));
  assert.equal([toLog.length, answers.at(-1), one.firstReceived], [1, 'freed already', 1]);
});

test.run();
