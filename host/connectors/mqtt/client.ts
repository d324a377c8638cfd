/** Connection settings in the form of mqtt.js, and the client with our transport below it. */
import type { IClientOptions, MqttClient } from 'mqtt';
import { reasonOf } from '../../base/errors.js';
import { AllowedPaths } from '../../base/files/allowed-paths.js';
import { tlsOptions } from '../tls-options.js';
import { type ConnectionConf, protocolLevel } from './connection.js';
import { mqttErrors } from './errors.js';
import { type Endpoint, Transport, type TransportTap } from './transport.js';

const connectTimeoutMs = 10_000;
/** A broker that does not answer must not hold up the end of a rule. */
const endTimeoutMs = 500;

/** The broker, whatever the connection is otherwise. */
export function peerOf({ server }: ConnectionConf): string {
  const { host, port } = addressOf(server);
  return `mqtt ${host}:${port}`;
}

/**
 * A client, and what brings it up to date before it connects again: with certificates as they are now, a password that
 * was changed.
 */
export interface Made {
  readonly client: MqttClient;
  renew(conf: ConnectionConf): Promise<void>;
}

/**
 * Makes a client that does not connect yet and never reconnects by itself: the engine decides about both.
 * The package is loaded here, so that a server without MQTT rules does not pay for it. `paths` opens its certificates.
 */
export async function makeClient(
  conf: ConnectionConf,
  options: IClientOptions,
  tap: (transport: Transport) => TransportTap | undefined,
  paths = AllowedPaths.any(),
): Promise<Made> {
  const { default: mqtt } = await import('mqtt');
  let endpoint = await endpointOf(conf, paths);
  const level = protocolLevel(conf.protocolVersion);
  const keepalive = Math.max(1, Math.round(conf.keepAlive / 1000));
  const build = () => {
    const transport = new Transport(endpoint, (keepalive * 1000) / 2);
    transport.tap = tap(transport);
    return transport;
  };
  const renew = async (now: ConnectionConf) => {
    Object.assign(client.options, { username: now.username || undefined, password: now.password || undefined });
    endpoint = await endpointOf(now, paths).catch((error: unknown) => {
      // Certificates that were readable once may be again, as when they are being renewed.
      throw mqttErrors.connection(reasonOf(error), { cause: error });
    });
  };
  const client = new mqtt.MqttClient(build as never, {
    protocolVersion: level,
    protocolId: level === 3 ? 'MQIsdp' : 'MQTT',
    keepalive,
    connectTimeout: connectTimeoutMs,
    reconnectPeriod: 0,
    manualConnect: true,
    resubscribe: false,
    ...(conf.username === '' ? {} : { username: conf.username }),
    ...(conf.password === '' ? {} : { password: conf.password }),
    ...(conf.clientid === '' ? {} : { clientId: conf.clientid }),
    ...willOf(conf.will, level),
    ...options,
  });
  return { client, renew };
}

/** What the broker publishes when the connection is lost, in the form of mqtt.js. */
function willOf(will: ConnectionConf['will'], level: 3 | 4 | 5): Pick<IClientOptions, 'will'> {
  const { topic, payload, qos, retained, delayInterval, properties } = will;
  if (topic === '') return {};
  const texts = Object.entries(properties).map(([name, value]) => [name, String(value)]);
  const ofV5 = { willDelayInterval: Math.round(delayInterval / 1000), userProperties: Object.fromEntries(texts) };
  return {
    will: {
      topic,
      payload: Buffer.from(payload),
      qos: qos as 0 | 1 | 2,
      retain: retained,
      ...(level === 5 ? { properties: ofV5 } : {}),
    },
  };
}

/** The broker's answer when it accepts a connection (CONNACK). */
export interface Consent {
  hasSession: boolean;
  /** Most unconfirmed messages that the broker takes (MQTT 5). */
  receiveMaximum: number | undefined;
  /** Longest packet that the broker takes, bytes (MQTT 5): it ends connections with longer ones. */
  maximumPacketSize: number | undefined;
}

interface Connack {
  sessionPresent?: boolean;
  properties?: { receiveMaximum?: number; maximumPacketSize?: number };
}

/** Connects once: resolves with the broker's consent, rejects with the reason of the failure. */
export function connectOnce(client: MqttClient): Promise<Consent> {
  return new Promise((resolve, reject) => {
    let reason = 'connection closed';
    const onConnect = (packet: Connack) => {
      forget();
      resolve({
        hasSession: packet.sessionPresent === true,
        receiveMaximum: packet.properties?.receiveMaximum,
        maximumPacketSize: packet.properties?.maximumPacketSize,
      });
    };
    const onError = (error: Error) => {
      reason = reasonOf(error);
      // A refusal by the broker leaves the socket open.
      client.stream?.destroy();
    };
    const onClose = () => {
      forget();
      reject(mqttErrors.connection(reason));
    };
    const forget = () => {
      client.removeListener('connect', onConnect);
      client.removeListener('error', onError);
      client.removeListener('close', onClose);
    };
    client.on('connect', onConnect);
    client.on('error', onError);
    client.on('close', onClose);
    client.connect();
    // When the client refuses its own settings, it only destroys the stream, with the reason.
    client.stream.on('error', (error) => {
      reason = reasonOf(error);
    });
  });
}

/**
 * Ends a client: with a farewell when it is connected, at once when it is not or the broker does not answer. Returns
 * whether all that was written went out before.
 */
export async function endClient(client: MqttClient): Promise<boolean> {
  if (!client.connected) {
    // A client that never connected has nothing to end.
    if (client.stream !== undefined) client.end(true);
    return false;
  }
  return new Promise<boolean>((resolve) => {
    // While it ends the client ignores a second call, and its callback never comes when the connection broke meanwhile.
    const timer = setTimeout(() => {
      client.stream?.destroy();
      resolve(false);
    }, endTimeoutMs);
    client.end(false, {}, () => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}

interface Address {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** URL of a websocket. */
  readonly websocket?: string;
}

function addressOf(server: string): Address {
  const url = new URL(server.includes('://') ? server : `tcp://${server}`);
  const isTls = ['ssl:', 'tls:', 'mqtts:', 'wss:'].includes(url.protocol);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (!/^wss?:$/.test(url.protocol)) {
    return { host, port: url.port === '' ? (isTls ? 8883 : 1883) : Number(url.port), isTls };
  }
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port);
  // The path that brokers have by default.
  if (url.pathname === '/') url.pathname = '/mqtt';
  return { host, port, isTls, websocket: url.href };
}

async function endpointOf(conf: ConnectionConf, paths: AllowedPaths): Promise<Endpoint> {
  const { host, port, isTls, websocket } = addressOf(conf.server);
  const tls = isTls ? await tlsOptions('mqtt', conf, paths) : undefined;
  if (websocket === undefined) return { host, port, ...(tls && { tls }) };
  const { WebSocket, createWebSocketStream } = await import('ws');
  const handshakeTimeout = connectTimeoutMs;
  return {
    host,
    port,
    websocket: () => createWebSocketStream(new WebSocket(websocket, 'mqtt', { ...tls, handshakeTimeout })),
  };
}
