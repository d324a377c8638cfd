import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { InFlight, type InFlightMessage } from '../../../host/base/structures/in-flight.js';
import { type CountedMessage, InOrderCounts } from '../../../host/base/structures/in-order-counts.js';

interface Message extends InFlightMessage, CountedMessage {
  readonly id: number;
}

const messageOf = (id: number): Message => ({ id, payload: Buffer.from(String(id)), bytes: 1 });

test('messages in flight stay in order, whatever the order of the answers', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constant('add'), fc.nat(40)), { maxLength: 300 }), (steps) => {
      const flight = new InFlight<Message>();
      const all: Message[] = [];
      const expected = new Set<Message>();
      for (const step of steps) {
        if (typeof step === 'number') {
          const message = all[all.length - 1 - step];
          if (message !== undefined) assert.is(flight.delete(message), expected.delete(message));
        } else {
          const message = messageOf(all.length);
          all.push(message);
          flight.add(message);
          expected.add(message);
        }
        assert.is(flight.size, expected.size);
        assert.equal(
          flight.all.map(({ id }) => id),
          [...expected].map(({ id }) => id),
        );
      }
    }),
  );
});

test('an answer on a connection that is gone takes nothing out of the next one', () => {
  const [first, second] = [new InFlight<Message>(), new InFlight<Message>()];
  const message = messageOf(1);
  first.add(message);
  second.add(message);
  assert.not(first.delete(message));
  assert.ok(second.delete(message));
  assert.not(second.delete(message));
});

test('thousands of messages are counted in their order, those refused by themselves', async () => {
  const told: string[] = [];
  const counts = new InOrderCounts<Message>({
    accepted: (bytes, messages) => void told.push(`${messages} out, ${bytes} bytes`),
    refused: (refused, _bytes, _messages, reason) => void told.push(`${Buffer.from(refused).toString()}: ${reason}`),
  });
  const messages = Array.from({ length: 10_000 }, (_, id) => messageOf(id));
  for (const message of messages) counts.add(message);
  counts.rest(7);
  // The oldest is answered last.
  for (const message of messages.slice(1)) counts.done(message, message.id === 6000 ? 'no room' : undefined);
  await new Promise(setImmediate);
  assert.equal(told, []);
  counts.done(messages[0]!);
  // An answer that comes twice counts once.
  counts.done(messages[0]!);
  await counts.flush();
  assert.equal(told, ['6000 out, 6000 bytes', '6000: no room', '3999 out, 4006 bytes']);
  counts.done(messages[0]!);
  await counts.flush();
  assert.is(told.length, 3);
  assert.ok(counts.isIdle);
});

test.run();
