/** A mosquitto that is killed and started, and a client with a session that hears its topic `out`. */
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';
import { freePort, temporaryFolder } from '../harness.js';
import { type Mosquitto, openMosquitto } from './mosquitto.js';

export interface HeardBroker {
  readonly port: number;
  readonly url: string;
  start(): Promise<void>;
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
  close(): Promise<void>;
  publish(topic: string, message: string | Buffer): Promise<void>;
}

/** Starts it; `options` are lines of its configuration, without them anybody may log in. */
export async function openHeardBroker(
  take: (message: Buffer) => void,
  options?: readonly string[],
  login: Pick<IClientOptions, 'username' | 'password'> = {},
): Promise<HeardBroker> {
  const [port, folder] = [await freePort(), temporaryFolder()];
  const url = `tcp://127.0.0.1:${port}`;
  let broker: Mosquitto;
  let client: MqttClient | undefined;
  const heard: HeardBroker = {
    port,
    url,
    start: async () => {
      broker = await openMosquitto(port, folder, options);
      client = mqtt.connect(url, { ...login, clientId: 'test', clean: false, reconnectPeriod: 0 });
      // What the session has kept comes right behind the answer of the broker.
      client.on('message', (_topic, payload) => take(payload));
      await new Promise((resolve) => client!.once('connect', resolve));
      client.on('error', () => {});
      await client.subscribeAsync('out', { qos: 1 });
    },
    kill: async () => {
      await client?.endAsync(true);
      // It writes what it has confirmed when it is asked to end.
      await broker.stop();
    },
    pause: () => broker.pause(),
    resume: () => broker.resume(),
    close: async () => {
      await client?.endAsync(true);
      await broker.close();
    },
    publish: async (topic, message) => void (await client?.publishAsync(topic, message, { qos: 1 })),
  };
  await heard.start();
  return heard;
}
