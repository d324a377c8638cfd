/** The connector zmq at sockets of the library. */
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Publisher, Subscriber } from 'zeromq';
import { connectorOf } from '../../../../host/connectors/index.js';
import { sinkContract, sourceContract } from '../../../support/connectors/contract.js';
import { fromRows, toFile } from '../../../support/connectors/flows.js';
import { eventually, freePort, temporaryFolder } from '../../../support/harness.js';

let publisher: Publisher;
let server: string;
test.before(async () => {
  publisher = new Publisher({ linger: 0 });
  server = `tcp://127.0.0.1:${await freePort()}`;
  await publisher.bind(server);
});
test.after(() => publisher.close());

sourceContract(
  test,
  () => ({
    type: 'zmq',
    dataSource: '',
    props: { server },
    refused: [
      [{}, /server is required/],
      [{ server: 'udp://x:1' }, /server must be an address such as tcp/],
      [{ server: 'tcp://x' }, /server must be an address such as tcp/],
    ],
  }),
  'zmq',
);

const sinkServer = `tcp://127.0.0.1:${await freePort()}`;
sinkContract(
  test,
  () => ({ type: 'zmq', props: { server: sinkServer }, refused: [[{}, /server is required/]] }),
  'zmq',
);

/** Sends until the first message has come: a subscription takes a while. */
async function reach(flow: { lines(): string[] }, send: () => Promise<void>): Promise<void> {
  await eventually('a message', async () => {
    await send();
    return flow.lines().length > 0;
  });
}

test('messages of a topic come in order, and go on when the publisher is back', async () => {
  const address = `tcp://127.0.0.1:${await freePort()}`;
  let from = new Publisher({ linger: 0 });
  const flow = await toFile({ type: 'zmq', dataSource: 'one', props: { server: address } });
  await eventually('the reason', () => /nobody publishes/.test(flow.trouble()));
  await from.bind(address);
  await eventually('the connection', flow.isUp);
  await reach(flow, () => from.send(['one', '{"id":-1}']));
  const sent = Array.from({ length: 500 }, (_, id) => JSON.stringify({ id }));
  for (const text of sent) {
    await from.send(['other', '{"id":"other"}']);
    await from.send(['one', text]);
  }
  await eventually('all messages', () => flow.lines().at(-1) === sent.at(-1));
  assert.equal(flow.lines().slice(-500), sent);
  from.close();
  await eventually('the loss', () => !flow.isUp());
  from = new Publisher({ linger: 0 });
  await from.bind(address);
  await eventually('the connection', flow.isUp);
  await eventually('a message', async () => {
    await from.send(['one', '{"id":"late"}']);
    return flow.lines().at(-1) === '{"id":"late"}';
  });
  await flow.close();
  from.close();
});

test('without a topic the parts of a message are one; large and empty ones come', async () => {
  const flow = await toFile({ type: 'zmq', dataSource: '', props: { server } });
  await eventually('the connection', flow.isUp);
  await reach(flow, () => publisher.send(['{"id":', '1}']));
  const text = JSON.stringify({ text: 'x'.repeat(15_000_000) });
  await publisher.send(['']);
  await publisher.send([text]);
  await eventually('the long message', () => flow.lines().some((line) => line.length === text.length));
  assert.is(flow.lines()[0], '{"id":1}');
  await flow.close();
});

test('two rules publish at one address; topics are the first part', async () => {
  const address = `ipc://${join(temporaryFolder(), 'out.sock')}`;
  const reader = new Subscriber({ linger: 0 });
  reader.connect(address);
  reader.subscribe('rows');
  const got: string[] = [];
  const reading = (async () => {
    for await (const parts of reader) got.push(parts.map(String).join(' '));
  })();
  const props = { server: address, topic: 'rows' };
  const flow = await fromRows([{ id: 1 }], 'zmq', props, { loop: true, interval: 10 });
  await eventually('messages', () => got.length > 5);
  assert.is(got[0], 'rows {"id":1}');
  await flow.stop();
  await flow.close();
  reader.close();
  await reading.catch(() => {});
});

test('a slow subscriber that is waited for gets everything', async () => {
  const address = `tcp://127.0.0.1:${await freePort()}`;
  const reader = new Subscriber({ linger: 0, receiveHighWaterMark: 10 });
  reader.connect(address);
  reader.subscribe('');
  const props = { server: address, waitForSlow: true };
  const rows = Array.from({ length: 5000 }, (_, id) => ({ id, text: 'x'.repeat(1000) }));
  const flow = await fromRows(rows, 'zmq', props, { loop: true, interval: 1 });
  const ids: number[] = [];
  while (ids.length < 20_000) {
    const [payload] = await reader.receive();
    ids.push((JSON.parse(String(payload)) as { id: number }).id);
  }
  const gaps = ids.filter((id, i) => i > 0 && id !== (ids[i - 1]! + 1) % 5000);
  assert.equal(gaps, []);
  reader.close();
  await flow.stop();
  await flow.close();
});

test('a connection is tried out', async () => {
  await connectorOf('zmq')!.connection!.ping!({ server });
  try {
    await connectorOf('zmq')!.connection!.ping!({ server: `tcp://127.0.0.1:${await freePort()}` });
    assert.unreachable('nobody is there');
  } catch (error) {
    assert.match(String(error), /nobody publishes there/);
  }
});

test.run();
