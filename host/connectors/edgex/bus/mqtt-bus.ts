/** The bus over an MQTT broker. */
import { randomUUID } from 'node:crypto';
import mqtt from 'mqtt';
import { reasonOf } from '../../../base/errors.js';
import type { AllowedPaths } from '../../../base/files/allowed-paths.js';
import { type EdgexConf, edgexHost, edgexPort } from './connection.js';
import { envelopeText, readEnvelope } from './envelope.js';
import { edgexErrors } from './errors.js';
import type { EdgexBus } from './form.js';
import { securityOf } from './security.js';

const connectTimeoutMs = 10_000;
const usualKeepAlive = 60;

export async function openMqttBus(
  conf: EdgexConf,
  paths: AllowedPaths,
  lost: (reason: string) => void,
): Promise<EdgexBus> {
  const { ClientId, Username, Password, Qos: qos, KeepAlive, Retained: retain } = conf.optional;
  const tls = await securityOf(conf, paths);
  const server = edgexHost(conf);
  const host = server.includes(':') ? `[${server}]` : server;
  const client = mqtt.connect(`${tls === undefined ? 'mqtt' : 'mqtts'}://${host}:${edgexPort(conf)}`, {
    clientId: ClientId === '' ? `haumea-${randomUUID()}` : ClientId,
    ...(Username !== '' && { username: Username }),
    ...(Password !== '' && { password: Password }),
    ...tls,
    keepalive: KeepAlive === 0 ? usualKeepAlive : KeepAlive,
    connectTimeout: connectTimeoutMs,
    reconnectPeriod: 0,
    queueQoSZero: false,
    resubscribe: false,
  });
  let reason = 'the broker has ended the connection';
  client.on('error', (error) => {
    reason = reasonOf(error);
  });
  await new Promise<void>((resolve, reject) => {
    const fail = () => {
      client.end(true);
      reject(edgexErrors.connection(reason));
    };
    client.once('close', fail);
    client.once('connect', () => {
      client.off('close', fail);
      resolve();
    });
  });
  let isOpen = true;
  client.on('close', () => {
    if (!isOpen) return;
    isOpen = false;
    client.end(true);
    lost(reason);
  });
  return {
    subscribe: async (topic, take) => {
      client.on('message', (_topic, message) => take(() => readEnvelope(message)));
      const [granted] = await client.subscribeAsync(topic, { qos: qos as 0 | 1 | 2 });
      if (granted !== undefined && granted.qos > 2) throw edgexErrors.connection(`the broker refuses ${topic}`);
    },
    publish: async (topic, envelope) => {
      await client.publishAsync(topic, envelopeText(envelope), { qos: qos as 0 | 1 | 2, retain });
    },
    pause: (isPaused) => {
      if (isPaused) client.stream.pause();
      else client.stream.resume();
    },
    close: async () => {
      isOpen = false;
      client.end(true);
    },
  };
}
