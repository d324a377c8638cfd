/** Faults of a NATS server: streams of JetStream both ways, and subjects without them. */
import { DeliverPolicy } from '@nats-io/jetstream';
import { test } from 'uvu';
import { sourceFaults } from '../../support/connectors/faults/sources.js';
import { freePort, temporaryFolder } from '../../support/harness.js';
import { managerOf, needsNats, openNats, streamsOf, type TestNats } from '../../support/servers/nats.js';

const login = { user: 'rows', pass: 'nats-secret-31' };
const refusal = {
  props: { username: 'rows', password: 'nats-wrong-32' },
  reason: /authorization/i,
  secret: 'nats-wrong-32',
};

/** A server with the streams IN and OUT, of which `ids` are those in OUT. */
async function openSide() {
  const port = await freePort();
  const store = temporaryFolder();
  const conf = `authorization { user: ${login.user}, password: "${login.pass}" }`;
  const ids: number[] = [];
  let read = 0;
  let nats: TestNats;
  const side = {
    url: `nats://127.0.0.1:${port}`,
    ids,
    start: async () => {
      nats = await openNats({ port, store, conf, login });
      const manager = await managerOf(nats.client);
      for (const name of ['IN', 'OUT']) {
        await manager.streams.add({ name, subjects: [`${name.toLowerCase()}.*`], max_msg_size: 32 << 20 });
      }
      const position = { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: read + 1 };
      const consumer = await streamsOf(nats.client).consumers.get('OUT', position);
      await consumer.consume({
        max_messages: 5000,
        callback: (message) => {
          if (message.seq <= read) return;
          read = message.seq;
          ids.push(message.json<{ id: number }>().id);
        },
      });
    },
    kill: () => nats.close(),
    pause: () => nats.pause(),
    resume: () => nats.resume(),
    close: () => nats.close(),
    send: async (messages: readonly (string | Buffer)[]) => {
      const stream = streamsOf(nats.client);
      for (const message of messages) await stream.publish('in.a', message);
    },
  };
  await side.start();
  return side;
}

if (needsNats('faults of NATS')) {
  sourceFaults(test, 'nats', async () => {
    const side = await openSide();
    const own = { server: side.url, username: login.user, password: login.pass };
    const props = { ...own, stream: 'IN', durable: 'rows', deliverPolicy: 'all', ackWait: '2s' };
    const tls = {
      props: (port: number) => ({ server: `tls://127.0.0.1:${port}` }),
      // A server tells of itself before TLS begins.
      greeting: {
        says: 'INFO {"server_id":"x","version":"2.10.0","proto":1,"tls_required":true,"max_payload":1048576}\r\n',
      },
      secret: login.pass,
    };
    return Object.assign(side, { dataSource: 'in.*', props, refusal, tls });
  });
}

test.run();
