/** The bus over NATS, whose subjects have dots. Streams of JetStream confirm what they store. */
import { connect, type Msg, headers as makeHeaders, type NatsConnection } from '@nats-io/transport-node';
import { reasonOf } from '../../../base/errors.js';
import type { AllowedPaths } from '../../../base/files/allowed-paths.js';
import { answerIn } from '../../../clients/nats/answer.js';
import { natsReason } from '../../../clients/nats/client.js';
import { type EdgexConf, edgexHost, edgexPort } from './connection.js';
import { apiVersion, type Envelope, envelopeText, type Received, readEnvelope, readPayload } from './envelope.js';
import { edgexErrors } from './errors.js';
import type { EdgexBus } from './form.js';
import { securityOf } from './security.js';

const connectTimeoutMs = 10_000;
const confirmTimeoutMs = 10_000;
const pingIntervalMs = 10_000;

export async function openNatsBus(
  conf: EdgexConf,
  paths: AllowedPaths,
  lost: (reason: string) => void,
): Promise<EdgexBus> {
  const { Username, Password, Format } = conf.optional;
  const tls = await securityOf(conf, paths);
  let connection: NatsConnection;
  try {
    connection = await connect({
      servers: `${edgexHost(conf)}:${edgexPort(conf)}`,
      ...(Username !== '' && { user: Username, pass: Password }),
      ...(tls && { tls: tls as object }),
      name: 'haumea',
      timeout: connectTimeoutMs,
      pingInterval: pingIntervalMs,
      reconnect: false,
      ignoreClusterUpdates: true,
    });
  } catch (error) {
    throw edgexErrors.connection(natsReason(error), { cause: error });
  }
  let isOpen = true;
  void connection.closed().then((error) => {
    if (isOpen) lost(error ? reasonOf(error) : 'connection closed');
  });
  return {
    subscribe: async (topic, take) => {
      connection.subscribe(subjectOf(topic), {
        callback: (error, message) => {
          if (error === null) take(() => received(message));
        },
      });
      await connection.flush();
    },
    publish: async (topic, envelope) => {
      const [data, options] = sent(envelope, Format);
      const subject = subjectOf(topic);
      const most = connection.info?.max_payload ?? Number.POSITIVE_INFINITY;
      const bytes = Buffer.byteLength(data);
      if (bytes > most) throw edgexErrors.refused(`the message has ${bytes} bytes, the server takes ${most}`);
      if (conf.type === 'nats-jetstream') {
        const asked = connection.request(subject, data, { ...options, timeout: confirmTimeoutMs });
        const { refusal, isFinal } = answerIn(await asked);
        if (refusal !== undefined) throw isFinal ? edgexErrors.refused(refusal) : edgexErrors.connection(refusal);
        return;
      }
      connection.publish(subject, data, options);
      await connection.flush();
    },
    close: async () => {
      isOpen = false;
      await Promise.race([connection.close().catch(() => {}), new Promise((resolve) => setTimeout(resolve, 500))]);
    },
  };
}

function sent(envelope: Envelope, format: 'nats' | 'json') {
  if (format === 'json') return [envelopeText(envelope), {}] as const;
  const headers = makeHeaders();
  headers.set('X-Correlation-ID', '');
  headers.set('Content-Type', envelope.contentType);
  headers.set('RequestId', '');
  headers.set('ApiVersion', apiVersion);
  headers.set('ErrorCode', '0');
  return [envelope.payload, { headers }] as const;
}

function received(message: Msg): Received {
  const data = Buffer.from(message.data);
  const type = message.headers?.get('Content-Type') ?? '';
  if (type === '') return readEnvelope(data);
  const correlationId = message.headers?.get('X-Correlation-ID') ?? '';
  return { correlationId, payload: readPayload(data, type) };
}

function subjectOf(topic: string): string {
  return topic.replaceAll('/', '.').replaceAll('+', '*').replaceAll('#', '>');
}
