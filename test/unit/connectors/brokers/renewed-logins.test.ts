/** A changed password is taken up by sinks as they run: they connect with it next. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AllowedPaths } from '../../../../host/base/files/allowed-paths.js';
import { loadConnector } from '../../../../host/connectors/index.js';
import type { Sink, SinkContext } from '../../../../host/connectors/running.js';
import { needsNats, openNats } from '../../../support/servers/nats.js';
import { needsRabbit, rabbitLogin, sharedRabbit } from '../../../support/servers/rabbitmq.js';

type Props = Record<string, unknown>;

async function sinkOf(type: string, props: Props): Promise<Sink> {
  const { sink } = await loadConnector('sink', type);
  await sink!.load();
  const made = new Map<string, unknown>();
  const context = {
    paths: AllowedPaths.any(),
    dynamic: new Set(),
    shared: (key: string, make: () => unknown) => {
      if (!made.has(key)) made.set(key, make());
      return made.get(key);
    },
    disconnected: () => {},
    accepted: () => {},
  };
  return sink!.create(props, context as unknown as SinkContext);
}

async function takesPassword(type: string, props: Props, right: Props, refusal: RegExp): Promise<void> {
  const sink = await sinkOf(type, { ...props, ...right, password: 'wrong' });
  try {
    await sink.open();
    assert.unreachable('it was let in');
  } catch (error) {
    assert.match(String(error), refusal);
  }
  const part = (await loadConnector('sink', type)).sink!;
  sink.renew?.(part.renewed({ ...props, ...right, password: 'wrong' }, { ...props, ...right })!);
  await sink.open();
  await sink.close();
}

if (needsNats('a renewed login at NATS')) {
  test('nats', async () => {
    const conf = 'authorization { user: me, password: right }';
    const nats = await openNats({ conf, login: { user: 'me', pass: 'right' } });
    const right = { username: 'me', password: 'right' };
    await takesPassword('nats', { server: nats.url, subject: 'a', jetStream: true }, right, /authorization/i);
    await nats.close();
  });
}

if (needsRabbit('a renewed login at RabbitMQ')) {
  test('rabbitmq', async () => {
    const rabbit = await sharedRabbit();
    await takesPassword('rabbitmq', { server: rabbit.url, routingKey: 'a' }, rabbitLogin, /ACCESS.REFUSED/);
    await rabbit.close();
  });
}

test.run();
