/** Faults of a RabbitMQ server: durable queues both ways. */
import { test } from 'uvu';
import { sourceFaults } from '../../support/connectors/faults/sources.js';
import { needsRabbit, openRabbit, rabbitLogin } from '../../support/servers/rabbitmq.js';

const refusal = { props: { password: 'rabbit-wrong-42' }, reason: /ACCESS.REFUSED/, secret: 'rabbit-wrong-42' };

/** A server with the queues `in` and `out`; `ids` are those that were in `out`. */
async function openSide() {
  const rabbit = await openRabbit();
  const ids: number[] = [];
  const look = async () => {
    const channel = await rabbit.client.createChannel();
    for (const name of ['in', 'out']) await channel.assertQueue(name);
    await channel.consume('out', (message) => {
      if (message === null) return;
      ids.push(JSON.parse(message.content.toString()).id);
      channel.ack(message);
    });
  };
  await look();
  return {
    ids,
    props: { server: rabbit.url, ...rabbitLogin },
    start: async () => {
      await rabbit.start();
      await look();
    },
    kill: () => rabbit.kill(),
    pause: () => rabbit.pause(),
    resume: () => rabbit.resume(),
    close: () => rabbit.close(),
    send: async (messages: readonly (string | Buffer)[]) => {
      const channel = await rabbit.client.createConfirmChannel();
      for (const message of messages) channel.sendToQueue('in', Buffer.from(message), { persistent: true });
      await channel.waitForConfirms();
      await channel.close();
    },
  };
}

if (needsRabbit('faults of RabbitMQ')) {
  sourceFaults(test, 'rabbitmq', async () => {
    const side = await openSide();
    const props = { ...side.props, queue: 'in', heartbeat: '2s' };
    const tls = {
      props: (port: number) => ({ server: `amqps://127.0.0.1:${port}`, password: 'rabbit-secret-43' }),
      secret: 'rabbit-secret-43',
    };
    return Object.assign(side, { dataSource: '', props, refusal, tls });
  });
}

test.run();
