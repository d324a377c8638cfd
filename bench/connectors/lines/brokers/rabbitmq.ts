/** Queues of RabbitMQ, both ways. */
import { connect } from 'amqplib';
import { needsRabbit, openRabbit, rabbitLogin } from '../../../../test/support/servers/rabbitmq.js';
import { Arrivals } from '../../arrivals.js';
import { type Line, message, work } from '../../line.js';
import { eachLine } from '../../lines-of-file.js';

const rows = 100_000;
const prefetch = 2000;
const missing = () => (needsRabbit('the bench of rabbitmq') ? undefined : 'rabbitmq-server is not installed');
const open = (address: string) => {
  const { hostname, port } = new URL(address);
  return connect({ hostname, port: Number(port), ...rabbitLogin });
};

export const lines: readonly Line[] = [
  {
    name: 'rabbitmq in',
    connectors: ['rabbitmq'],
    rows,
    missing,
    open: async () => {
      const rabbit = await openRabbit();
      const channel = await rabbit.client.createConfirmChannel();
      await channel.assertQueue('in');
      const props = { server: rabbit.url, ...rabbitLogin, queue: 'in', prefetchCount: prefetch };
      return {
        address: rabbit.url,
        source: { type: 'rabbitmq', dataSource: '', props },
        feed: async () => {
          for (let id = 0; id < rows; id++) {
            channel.sendToQueue('in', Buffer.from(message(id)));
            if (id % 5000 === 4999) await channel.waitForConfirms();
          }
        },
        close: () => rabbit.close(),
      };
    },
    plain: async ({ address, ready }) => {
      const channel = await (await open(address)).createChannel();
      await channel.prefetch(prefetch);
      let count = 0;
      await new Promise<void>((resolve) => {
        const taken = channel.consume('in', (one) => {
          if (one === null) return;
          work(one.content.toString());
          if (++count % 100 === 0) channel.ack(one, true);
          if (count === rows) resolve();
        });
        void taken.then(ready);
      });
    },
  },
  {
    name: 'rabbitmq out',
    connectors: ['rabbitmq'],
    rows,
    missing,
    open: async () => {
      const rabbit = await openRabbit();
      const channel = await rabbit.client.createChannel();
      await channel.assertQueue('out');
      const arrivals = new Arrivals(rows);
      await channel.consume('out', (one) => arrivals.take(one!.content), { noAck: true });
      return {
        address: rabbit.url,
        sink: { type: 'rabbitmq', props: { server: rabbit.url, ...rabbitLogin, routingKey: 'out', persistent: false } },
        begin: (isChecked) => arrivals.begin(isChecked),
        arrived: () => arrivals.count,
        check: () => arrivals.check(),
        close: () => rabbit.close(),
      };
    },
    plain: async ({ address, file, ready }) => {
      const channel = await (await open(address)).createConfirmChannel();
      void ready();
      await eachLine(file, async (text, n) => {
        channel.sendToQueue('out', Buffer.from(work(text)));
        if (n % 1000 === 0) await channel.waitForConfirms();
      });
      await channel.waitForConfirms();
    },
  },
];
