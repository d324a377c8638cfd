/** TLS of MQTT, with a broker that demands a certificate: as it is, over a websocket, and as a bus of EdgeX. */
import mqtt, { type MqttClient } from 'mqtt';
import { test } from 'uvu';
import { hasMosquitto, type Mosquitto, openMosquitto } from '../../support/brokers/mosquitto.js';
import { edgexNames, type SecureSide, secureSide } from '../../support/connectors/tls.js';
import { announceSkip, eventually, freePort } from '../../support/harness.js';

type Given = Pick<SecureSide, 'part' | 'type' | 'props'> & { isWebsocket?: boolean; named?: SecureSide['named'] };

async function openBroker({ part, type, props, isWebsocket = false, named }: Given): Promise<SecureSide> {
  const [port, plain] = [await freePort(), await freePort()];
  let running: Mosquitto | undefined;
  let client: MqttClient | undefined;
  const address =
    type === 'edgex'
      ? { type: 'mqtt', protocol: 'ssl', server: '127.0.0.1', port }
      : { server: `${isWebsocket ? 'wss' : 'mqtts'}://127.0.0.1:${port}` };
  return {
    part,
    type,
    dataSource: 'rows',
    props: { ...address, ...props },
    ...(named && { named }),
    start: async (own, trusted) => {
      running = await openMosquitto(port, undefined, [
        'allow_anonymous true',
        ...(isWebsocket ? ['protocol websockets'] : []),
        `certfile ${own.certFile}`,
        `keyfile ${own.keyFile}`,
        `cafile ${trusted.certFile}`,
        'require_certificate true',
        `listener ${plain} 127.0.0.1`,
      ]);
      const connect = () => mqtt.connectAsync(`mqtt://127.0.0.1:${plain}`, { reconnectPeriod: 0 });
      client = await eventually('the other listener', () => connect().catch(() => undefined));
      client.on('error', () => {});
    },
    send: async () => client?.publishAsync('rows', '{"id":1}', { qos: 1 }),
    close: async () => {
      client?.end(true);
      await running?.close();
    },
  };
}

if (hasMosquitto) {
  const out = { topic: 'out', qos: 1 };
  secureSide(test, 'mqtt, source', () => openBroker({ part: 'source', type: 'mqtt', props: {} }));
  secureSide(test, 'mqtt, sink', () => openBroker({ part: 'sink', type: 'mqtt', props: out }));
  secureSide(test, 'mqtt over a websocket', () =>
    openBroker({ part: 'sink', type: 'mqtt', props: out, isWebsocket: true }),
  );
  secureSide(test, 'edgex over MQTT', () =>
    openBroker({ part: 'sink', type: 'edgex', props: { topic: 'out' }, named: edgexNames }),
  );
} else announceSkip('TLS of MQTT', 'mosquitto is not installed');

test.run();
