/** Faults of a NATS server as a sink: streams of JetStream that confirm each message. */
import { DeliverPolicy, DiscardPolicy } from '@nats-io/jetstream';
import { test } from 'uvu';
import { sinkFaults } from '../../../support/connectors/faults/sinks.js';
import { idsOf } from '../../../support/connectors/ids.js';
import { freePort, temporaryFolder } from '../../../support/harness.js';
import { managerOf, needsNats, openNats, streamsOf, type TestNats } from '../../../support/servers/nats.js';

const login = { user: 'rows', pass: 'nats-secret-31' };
const streams = ['OUT', 'SHORT', 'FULL'];
const longest = 32 << 20;

async function openSide() {
  const port = await freePort();
  const store = temporaryFolder();
  const conf = `authorization { user: ${login.user}, password: "${login.pass}" }`;
  const ids: number[] = [];
  const read = new Map<string, number>();
  let nats: TestNats;
  const bound = async (max_msgs: number) => (await managerOf(nats.client)).streams.update('FULL', { max_msgs });
  const side = {
    props: {
      ...{ server: `nats://127.0.0.1:${port}`, username: login.user, password: login.pass },
      ...{ subject: 'out.a', jetStream: true },
    },
    arrived: () => ids,
    start: async () => {
      nats = await openNats({ port, store, conf, login });
      const manager = await managerOf(nats.client);
      for (const name of streams) {
        await manager.streams.add({
          name,
          subjects: [`${name.toLowerCase()}.*`],
          max_msg_size: name === 'SHORT' ? 1000 : longest,
          discard: DiscardPolicy.New,
        });
        const position = { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: (read.get(name) ?? 0) + 1 };
        const consumer = await streamsOf(nats.client).consumers.get(name, position);
        await consumer.consume({
          max_messages: 5000,
          callback: (message) => {
            if (message.seq <= (read.get(name) ?? 0)) return;
            read.set(name, message.seq);
            ids.push(...idsOf([message.string()]));
          },
        });
      }
    },
    kill: () => nats.close(),
    pause: () => nats.pause(),
    resume: () => nats.resume(),
    close: () => nats.close(),
    refusal: {
      props: { username: 'rows', password: 'nats-wrong-32' },
      reason: /authorization/i,
      secret: 'nats-wrong-32',
    },
    tls: {
      props: (to: number) => ({ server: `tls://127.0.0.1:${to}` }),
      plainPort: port,
      greeting: {
        says: `INFO ${JSON.stringify({ server_id: 'A', version: '2.10.0', tls_required: true })}\r\n`,
      },
      secret: login.pass,
    },
    rejects: { row: { text: 'x'.repeat(2000) }, props: { subject: 'short.a' }, reason: /message size exceeds/i },
    full: {
      props: { subject: 'full.a' },
      fill: () => bound(1),
      free: () => bound(-1),
      reason: /maximum messages/i,
    },
  };
  await side.start();
  return side;
}

if (needsNats('faults of NATS as a sink')) sinkFaults(test, 'nats', openSide);

test.run();
