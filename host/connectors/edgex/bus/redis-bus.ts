/** The bus over channels of Redis, whose names have dots. */
import { ErrorReply } from '@redis/client';
import { reasonOf } from '../../../base/errors.js';
import type { AllowedPaths } from '../../../base/files/allowed-paths.js';
import { newRedis } from '../../../clients/redis/client.js';
import { type EdgexConf, edgexHost, edgexPort } from './connection.js';
import { envelopeText, readEnvelope } from './envelope.js';
import { edgexErrors } from './errors.js';
import type { EdgexBus } from './form.js';
import { securityOf } from './security.js';

export async function openRedisBus(
  conf: EdgexConf,
  paths: AllowedPaths,
  lost: (reason: string) => void,
): Promise<EdgexBus> {
  const { Username, Password } = conf.optional;
  const tls = await securityOf(conf, paths);
  const client = newRedis({
    ...(Username !== '' && { username: Username }),
    ...(Password !== '' && { password: Password }),
    socket: { host: edgexHost(conf), port: edgexPort(conf), ...(tls ? { tls: true as const, ...tls } : {}) },
  });
  let isOpen = false;
  client.on('error', (error: unknown) => {
    if (error instanceof ErrorReply || !isOpen) return;
    isOpen = false;
    lost(reasonOf(error));
  });
  try {
    await client.connect();
    isOpen = true;
  } catch (error) {
    client.destroy();
    throw edgexErrors.connection(reasonOf(error), { cause: error });
  }
  return {
    subscribe: async (topic, take) => {
      const listen = (message: Buffer) => take(() => readEnvelope(message));
      await client.pSubscribe(channelOf(topic), listen, true);
    },
    publish: async (topic, envelope) => {
      await client.publish(channelOf(topic), envelopeText(envelope));
    },
    close: async () => {
      isOpen = false;
      if (client.isOpen) client.destroy();
    },
  };
}

function channelOf(topic: string): string {
  return topic.replaceAll('/', '.').replace(/[#+]/g, '*');
}
