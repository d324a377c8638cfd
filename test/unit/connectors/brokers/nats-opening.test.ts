/** Connections to NATS that end while they are opened, as when a server is killed: the next attempt comes at once. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { toFile } from '../../../support/connectors/flows.js';
import { eventually } from '../../../support/harness.js';
import { managerOf, needsNats, openNats, streamsOf, type TestNats } from '../../../support/servers/nats.js';

if (!needsNats('connections to NATS that end while they are opened')) process.exit(0);

let nats: TestNats;
test.before(async () => {
  nats = await openNats();
});
test.after(() => nats.close());

/**
 * A way to the server on which the text has no answer when the client says it first: the connection ends, or what was
 * said is lost.
 */
async function way(text: string, endsIt = true) {
  const ended: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const own = connect(nats.port, '127.0.0.1');
    for (const socket of [client, own]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        own.destroy();
      });
    }
    own.pipe(client);
    client.on('data', (bytes: Buffer) => {
      const isIt = bytes.includes(text);
      if (isIt) ended.push(text);
      if (!isIt || ended.length > 1) own.write(bytes);
      else if (endsIt) client.destroy();
      // What comes before it in one piece is a subscription.
      else own.write(bytes.subarray(0, bytes.indexOf('PUB $JS.API')));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const close = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { url: `nats://127.0.0.1:${port}`, ended, close };
}

// No answer is awaited for longer than this test takes.
const patient = { timeout: '10m' };

test('a source of subjects connects again', async () => {
  const { url, ended, close } = await way('SUB rows');
  const flow = await toFile({ type: 'nats', dataSource: 'rows', props: { server: url, ...patient } });
  await eventually('the connection', flow.isUp);
  assert.is(ended.length, 2);
  nats.client.publish('rows', '{"id":1}');
  await flow.has(1);
  await flow.close();
  close();
});

for (const [what, text, props] of [
  ['a source of a stream', 'STREAM.INFO', {}],
  ['a source with a durable consumer', 'CONSUMER.INFO', { durable: 'd' }],
] as const) {
  test(`${what} connects again`, async () => {
    const manager = await managerOf(nats.client);
    const name = text.replace('.', '_');
    await manager.streams.add({ name, subjects: [name] });
    await streamsOf(nats.client).publish(name, '{"id":1}');
    const { url, ended, close } = await way(text);
    const own = { server: url, stream: name, deliverPolicy: 'all', ...patient, ...props };
    const flow = await toFile({ type: 'nats', dataSource: name, props: own });
    await flow.has(1);
    assert.is(ended.length, 2);
    await flow.close();
    close();
  });
}

for (const [what, text, props] of [
  ['the stream', 'STREAM.INFO', {}],
  ['the consumer', 'CONSUMER.INFO', { durable: 'd' }],
] as const) {
  test(`a question about ${what} that nobody answers, as there is no leader, is asked again`, async () => {
    const manager = await managerOf(nats.client);
    const name = `AGAIN_${text.replace('.', '_')}`;
    await manager.streams.add({ name, subjects: [name] });
    await streamsOf(nats.client).publish(name, '{"id":1}');
    const { url, ended, close } = await way(text, false);
    const own = { server: url, stream: name, deliverPolicy: 'all', ...patient, ...props };
    const flow = await toFile({ type: 'nats', dataSource: name, props: own });
    await flow.has(1);
    assert.is(ended.length, 2);
    await flow.close();
    close();
  });
}

test.run();
