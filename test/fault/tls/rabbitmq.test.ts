/** TLS of RabbitMQ, through a door that demands a certificate. */
import { test } from 'uvu';
import { type SecureSide, secureSide } from '../../support/connectors/tls.js';
import { freePort } from '../../support/harness.js';
import { needsRabbit, rabbitLogin, sharedRabbit } from '../../support/servers/rabbitmq.js';
import { TlsDoor } from '../../support/servers/tls-door.js';

const queue = `tls_${process.pid}`;

async function open(part: SecureSide['part']): Promise<SecureSide> {
  const rabbit = await sharedRabbit();
  const channel = await rabbit.client.createChannel();
  const door = new TlsDoor(await freePort(), () => Number(new URL(rabbit.url).port));
  const { password } = rabbitLogin;
  return {
    part,
    type: 'rabbitmq',
    props: { server: `amqps://127.0.0.1:${door.port}`, queue: `${queue}_${part}`, durable: false, ...rabbitLogin },
    secret: password,
    start: (own, trusted) => door.open(own, trusted),
    send: async () => channel.sendToQueue(`${queue}_${part}`, Buffer.from('{"id":1}')),
    close: () => door.close(),
    end: () => rabbit.close(),
  };
}

if (needsRabbit('TLS of RabbitMQ')) {
  secureSide(test, 'rabbitmq, source', () => open('source'));
  secureSide(test, 'rabbitmq, sink', () => open('sink'));
}

test.run();
