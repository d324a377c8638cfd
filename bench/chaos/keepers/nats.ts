/** A stream of JetStream that is on disk before it is confirmed. */
import { DeliverPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { freePort, temporaryFolder } from '../../../test/support/harness.js';
import { needsNats, openNats, type TestNats } from '../../../test/support/servers/nats.js';
import { HeardRows, type Keeper, KeptVictim, required } from './keeper.js';

export async function open(): Promise<Keeper> {
  required(needsNats('chaos with NATS'), 'nats-server');
  const port = await freePort();
  const store = temporaryFolder();
  const output = new HeardRows();
  let read = 0;
  let nats: TestNats;
  const server = {
    start: async () => {
      nats = await openNats({ port, store });
      await (await jetstreamManager(nats.client)).streams.add({ name: 'OUT', subjects: ['out.*'] });
      const position = { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: read + 1 };
      const consumer = await jetstream(nats.client).consumers.get('OUT', position);
      await consumer.consume({
        callback: (message) => {
          if (message.seq <= read) return;
          read = message.seq;
          output.heard.push(message.string());
        },
      });
    },
    kill: () => nats.close(),
    pause: () => nats.pause(),
    resume: () => nats.resume(),
  };
  await server.start();
  return {
    process: new KeptVictim('nats-server', server),
    output,
    action: { nats: { server: `nats://127.0.0.1:${port}`, subject: 'out.a', jetStream: true, sendSingle: true } },
    close: server.kill,
  };
}
