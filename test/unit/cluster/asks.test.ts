/** Questions from node to node, with answers of any length. */
import type { Msg, NatsConnection } from '@nats-io/transport-node';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Asks } from '../../../host/cluster/asks.js';

const maxPayload = 1024 * 1024;

/** One node behind a NATS that refuses long messages, as the client of NATS does. */
function asks(value: unknown): Asks {
  let callback = (_error: null, _message: Msg) => {};
  const connection = {
    subscribe: (_subject: string, options: { callback: typeof callback }) => {
      ({ callback } = options);
    },
    request: (_subject: string, text: string) =>
      new Promise((resolve) => {
        const respond = (answer: string | Uint8Array) => {
          const data = Buffer.from(answer);
          if (data.length > maxPayload) throw new Error('max_payload size exceeded');
          resolve({ data });
        };
        callback(null, { json: () => JSON.parse(text), respond } as unknown as Msg);
      }),
  };
  const made = new Asks(connection as unknown as NatsConnection, 'c');
  made.answer('n', { all: () => value });
  return made;
}

const ask = (value: unknown) => asks(value).ask<unknown>('n', 'all', [], 1000);

test('the states of tens of thousands of rules fit into an answer', async () => {
  const states = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`rule_of_device_${i}`, 'running']));
  assert.ok(JSON.stringify(states).length > maxPayload);
  assert.equal(await ask(states), states);
  assert.equal(await ask({ r: 'running' }), { r: 'running' });
});

test('an answer that is too long all the same is refused with the reason', async () => {
  const noise = Array.from({ length: 200_000 }, () => Math.random());
  const reason = await ask(noise).catch((error: Error) => error.message);
  assert.is(reason, "it can't answer: max_payload size exceeded");
});

test.run();
