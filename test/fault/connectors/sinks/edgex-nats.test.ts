/** Faults of NATS as the message bus of EdgeX: streams that confirm each event, and subjects without a memory. */
import { DeliverPolicy, DiscardPolicy } from '@nats-io/jetstream';
import { test } from 'uvu';
import { type SinkSide, sinkFaults } from '../../../support/connectors/faults/sinks.js';
import { freePort, temporaryFolder } from '../../../support/harness.js';
import { managerOf, needsNats, openNats, streamsOf, type TestNats } from '../../../support/servers/nats.js';

/** Ids of the readings of an event, which NATS has without an envelope. */
function idsIn(text: string): number[] {
  const { readings = [] } = JSON.parse(text) as { readings?: { resourceName: string; value: string }[] };
  return readings.filter(({ resourceName }) => resourceName === 'id').map(({ value }) => Number(value));
}

/** A row that makes a long event; of numbers an event has powers of ten. */
const textOf = (length: number) => (id: number) => ({ text: `${id}${'x'.repeat(length)}` });

const login = { user: 'rows', pass: 'bus-secret-65' };
const streams = ['OUT', 'SHORT', 'FULL'];

/** `listen` has a server that was started tell of its messages. */
async function openSide(more: string, listen: (nats: TestNats, take: (text: string) => void) => Promise<void>) {
  const port = await freePort();
  const store = temporaryFolder();
  const conf = `authorization { user: ${login.user}, password: "${login.pass}" }\n${more}`;
  const ids: number[] = [];
  let nats: TestNats;
  const side = {
    server: { server: '127.0.0.1', port, optional: { Username: login.user, Password: login.pass } },
    get client() {
      return nats.client;
    },
    arrived: () => ids,
    start: async () => {
      nats = await openNats({ port, store, conf, login });
      await listen(nats, (text) => ids.push(...idsIn(text)));
    },
    kill: () => nats.close(),
    pause: () => nats.pause(),
    resume: () => nats.resume(),
    close: () => nats.close(),
    refusal: {
      props: { optional: { Username: 'rows', Password: 'bus-wrong-66' } },
      reason: /authorization/i,
      secret: 'bus-wrong-66',
    },
    tls: {
      props: (to: number) => ({ protocol: 'tls', port: to }),
      plainPort: port,
      greeting: {
        says: `INFO ${JSON.stringify({ server_id: 'A', version: '2.10.0', tls_required: true })}\r\n`,
      },
      secret: login.pass,
    },
  };
  await side.start();
  return side;
}

async function streamSide(): Promise<SinkSide> {
  const read = new Map<string, number>();
  const side = await openSide('', async ({ client }, take) => {
    const manager = await managerOf(client);
    for (const name of streams) {
      await manager.streams.add({
        name,
        subjects: [`${name.toLowerCase()}.*`],
        max_msg_size: name === 'SHORT' ? 1000 : 32 << 20,
        discard: DiscardPolicy.New,
      });
      const position = { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: (read.get(name) ?? 0) + 1 };
      const consumer = await streamsOf(client).consumers.get(name, position);
      await consumer.consume({
        max_messages: 5000,
        callback: (message) => {
          if (message.seq <= (read.get(name) ?? 0)) return;
          read.set(name, message.seq);
          take(message.string());
        },
      });
    }
  });
  const bound = async (max_msgs: number) => (await managerOf(side.client)).streams.update('FULL', { max_msgs });
  return Object.assign(side, {
    props: { type: 'nats-jetstream', ...side.server, topic: 'out/a' },
    rejects: { row: textOf(2000), props: { topic: 'short/a' }, reason: /message size exceeds/i },
    full: {
      props: { topic: 'full/a' },
      fill: () => bound(1),
      free: () => bound(-1),
      reason: /maximum messages/i,
    },
  });
}

/** A server that takes messages of the usual size. */
async function subjectSide(): Promise<SinkSide> {
  const side = await openSide('max_payload: 1048576', async ({ client }, take) => {
    client.subscribe('out.a', {
      callback: (error, message) => {
        if (error === null) take(message.string());
      },
    });
    await client.flush();
  });
  return Object.assign(side, {
    props: { type: 'nats-core', ...side.server, topic: 'out/a' },
    /** A subject has no memory. */
    mayLose: true,
    rejects: { row: textOf(1 << 20), reason: /the server takes 1048576/ },
  });
}

if (needsNats('faults of EdgeX over NATS')) {
  const empty = 'an event is made of rows';
  sinkFaults(test, 'edgex', streamSide, { name: 'edgex stream', lacks: { empty } });
  const full = 'a subject takes any number of messages';
  const absence = 'what is published before the listener is back reaches nobody';
  sinkFaults(test, 'edgex', subjectSide, { name: 'edgex subject', lacks: { empty, full, absence } });
}

test.run();
