/** Faults of a RabbitMQ server as a sink: durable queues, one of them full. */
import { test } from 'uvu';
import { sinkFaults } from '../../../support/connectors/faults/sinks.js';
import { idsOf } from '../../../support/connectors/ids.js';
import { needsRabbit, openRabbit, rabbitLogin } from '../../../support/servers/rabbitmq.js';

/** Messages that the queue `full` takes while nobody reads it. */
const room = { 'x-max-length': 5, 'x-overflow': 'reject-publish' };

async function openSide() {
  const rabbit = await openRabbit();
  const ids: number[] = [];
  const read = async (queue: string) => {
    const channel = await rabbit.client.createChannel();
    await channel.assertQueue(queue, { arguments: queue === 'full' ? room : {} });
    await channel.consume(queue, (message) => {
      if (message === null) return;
      ids.push(...idsOf([message.content]));
      channel.ack(message);
    });
  };
  await read('out');
  const { port } = new URL(rabbit.url);
  return {
    props: { server: rabbit.url, ...rabbitLogin, routingKey: 'out', heartbeat: '2s' },
    arrived: () => ids,
    start: async () => {
      await rabbit.start();
      await read('out');
    },
    kill: () => rabbit.kill(),
    pause: () => rabbit.pause(),
    resume: () => rabbit.resume(),
    close: () => rabbit.close(),
    refusal: { props: { password: 'rabbit-wrong-42' }, reason: /ACCESS.REFUSED/, secret: 'rabbit-wrong-42' },
    tls: {
      props: (to: number) => ({ server: `amqps://127.0.0.1:${to}` }),
      plainPort: Number(port),
      secret: rabbitLogin.password,
    },
    rejects: {
      row: { to: 'nowhere' },
      props: { routingKey: '{{or .to "out"}}', mandatory: true },
      reason: /NO_ROUTE|no queue/i,
    },
    full: {
      props: { routingKey: 'full' },
      fill: async () => {
        const channel = await rabbit.client.createChannel();
        await channel.assertQueue('full', { arguments: room });
        await channel.close();
      },
      free: () => read('full'),
      reason: /did not take a message/,
    },
  };
}

if (needsRabbit('faults of RabbitMQ as a sink')) sinkFaults(test, 'rabbitmq', openSide);

test.run();
