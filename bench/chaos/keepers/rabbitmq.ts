/** A durable queue of RabbitMQ. */
import { needsRabbit, openRabbit, rabbitLogin } from '../../../test/support/servers/rabbitmq.js';
import { HeardRows, type Keeper, KeptVictim, required } from './keeper.js';

export async function open(): Promise<Keeper> {
  required(needsRabbit('chaos with RabbitMQ'), 'rabbitmq-server');
  const rabbit = await openRabbit();
  const output = new HeardRows();
  const read = async () => {
    const channel = await rabbit.client.createChannel();
    await channel.assertQueue('out');
    await channel.consume('out', (message) => {
      if (message === null) return;
      output.heard.push(message.content.toString());
      channel.ack(message);
    });
  };
  await read();
  const server = {
    start: async () => {
      await rabbit.start();
      await read();
    },
    kill: () => rabbit.kill(),
    pause: () => rabbit.pause(),
    resume: () => rabbit.resume(),
  };
  return {
    process: new KeptVictim('rabbitmq-server', server),
    output,
    action: {
      rabbitmq: { server: rabbit.url, ...rabbitLogin, routingKey: 'out', heartbeat: '2s', sendSingle: true },
    },
    close: () => rabbit.close(),
  };
}
