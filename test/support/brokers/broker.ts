/** An MQTT broker in this process, and a client for the other end. */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';

export interface TestBroker {
  readonly port: number;
  readonly url: string;
  /** Number of connections now. */
  readonly connections: number;
  /** Cuts all connections; the broker stays. */
  dropAll(): void;
  close(): Promise<void>;
}

/** Opens a broker; with a port it takes that one, so that a broker can come back where it was. */
export async function openBroker(port = 0, tls?: TlsOptions): Promise<TestBroker> {
  const { Aedes } = await import('aedes');
  const broker = await Aedes.createBroker();
  const sockets = new Set<Socket>();
  const take = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    broker.handle(socket);
  };
  const server: Server = tls === undefined ? createServer(take) : createTlsServer(tls, take);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the broker has no port');
  const dropAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: address.port,
    url: `${tls === undefined ? 'tcp' : 'ssl'}://127.0.0.1:${address.port}`,
    get connections() {
      return sockets.size;
    },
    dropAll,
    close: async () => {
      dropAll();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await new Promise<void>((resolve) => broker.close(() => resolve()));
    },
  };
}

/** Connects a client of the package mqtt. */
export async function connectClient(url: string, options: IClientOptions = {}): Promise<MqttClient> {
  return mqtt.connectAsync(url.replace('tcp:', 'mqtt:').replace('ssl:', 'mqtts:'), {
    reconnectPeriod: 0,
    ...options,
  });
}
