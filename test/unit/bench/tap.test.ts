/** The listener between engine and broker of `haumea bench chaos`: who has acknowledged what. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Tap } from '../../../bench/chaos/tap.js';
import { eventually } from '../../support/harness.js';

/** A message of QoS 1. */
function publish(id: number, payload: string): Buffer {
  const body = Buffer.concat([Buffer.from([0, 1, 116, id >> 8, id & 255]), Buffer.from(payload)]);
  const length = body.length < 128 ? [body.length] : [(body.length & 127) | 128, body.length >> 7];
  return Buffer.concat([Buffer.from([0x32, ...length]), body]);
}

const acknowledge = (id: number) => Buffer.from([0x40, 2, id >> 8, id & 255]);

/** Writes it in pieces of a few bytes, each by itself. */
async function writeTorn(socket: Socket, bytes: Buffer): Promise<void> {
  for (let i = 0; i < bytes.length; i += 7) {
    socket.write(bytes.subarray(i, i + 7));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('acknowledgements are counted for each direction and connection; all bytes get through', async () => {
  const server = createServer({ noDelay: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const tap = await Tap.open((server.address() as AddressInfo).port);
  const join = async () => {
    const accepted = once(server, 'connection');
    const engine = connect(tap.port, '127.0.0.1');
    const got: Buffer[] = [];
    engine.on('data', (chunk) => got.push(chunk));
    const [broker] = (await accepted) as [Socket];
    broker.on('data', () => {});
    return { engine, broker, got };
  };
  const long = 'x'.repeat(300);
  const first = await join();
  await writeTorn(first.broker, Buffer.concat([publish(1, 'a'), publish(2, long), publish(3, 'c')]));
  await eventually(
    'all three',
    () => Buffer.concat(first.got).length === publish(1, 'a').length * 2 + publish(2, long).length,
  );
  await writeTorn(first.engine, Buffer.concat([acknowledge(2), publish(9, 'out'), publish(10, 'lost')]));
  await writeTorn(first.broker, acknowledge(9));
  await eventually('the acknowledgements', () => tap.taken.size === 1 && tap.confirmed.size === 1);
  assert.equal([...tap.taken, ...tap.confirmed], [long, 'out']);
  assert.equal(tap.untaken(), new Set(['a', 'c']));
  // The broker ends; over the next connection numbers mean other messages.
  first.broker.destroy();
  await once(first.engine, 'close');
  const second = await join();
  second.broker.write(publish(1, 'd'));
  await eventually('the next one', () => second.got.length > 0);
  assert.equal(tap.untaken(), new Set(['d']));
  second.engine.write(acknowledge(1));
  await eventually('its acknowledgement', () => tap.taken.has('d'));
  assert.equal(tap.untaken(), new Set());
  assert.not.ok(tap.taken.has('a'));
  second.engine.destroy();
  tap.close();
  server.close();
});

test.run();
