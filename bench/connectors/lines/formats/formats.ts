/** Lines of formats: each message is decoded to a row, or encoded from one, on the way from or to a broker. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import mqtt from 'mqtt';
import { startBroker } from '../../../messages/broker.js';
import { publishFrame } from '../../../messages/frames.js';
import { Arrivals } from '../../arrivals.js';
import { type Line, type Row, reading, worked } from '../../line.js';
import { eachLine } from '../../lines-of-file.js';
import { type FormatUnderTest, formats } from './codecs.js';

const rows = 200_000;
/** Bytes of a write of the sender. */
const pieceBytes = 64 * 1024;

/** A broker that sends frames to the latest subscriber, and hands out what is published. */
async function openBroker(take: (payload: Buffer) => void) {
  const at: { latest?: Socket } = {};
  const { server, port } = await startBroker({
    subscribed: (socket) => {
      at.latest = socket;
    },
    published: (_topic, payload) => take(payload),
  });
  return { at, url: `tcp://127.0.0.1:${port}`, close: async () => void server.close() };
}

const connect = (address: string) => mqtt.connectAsync(address.replace('tcp:', 'mqtt:'), { reconnectPeriod: 0 });

function lineIn(format: FormatUnderTest): Line {
  const { name, encode, decode, prepare, input } = format;
  return {
    name: `${name} in`,
    connectors: [],
    format: name,
    rows,
    open: async () => {
      const { at, url, close } = await openBroker(() => {});
      const frames = Buffer.concat(
        Array.from({ length: rows }, (_, id) => publishFrame('in', Buffer.from(encode(reading(id))))),
      );
      return {
        address: url,
        source: { type: 'mqtt', dataSource: 'in', ...input, props: { server: url, qos: 0, ...input.props } },
        prepare,
        feed: async () => {
          const socket = at.latest!;
          for (let from = 0; from < frames.length; from += pieceBytes) {
            if (!socket.write(frames.subarray(from, from + pieceBytes))) await once(socket, 'drain');
          }
        },
        close,
      };
    },
    plain: async ({ address, ready }) => {
      const client = await connect(address);
      let count = 0;
      await new Promise<void>((resolve) => {
        client.on('message', (_topic, payload) => {
          worked(decode(payload));
          if (++count === rows) resolve();
        });
        void client.subscribeAsync('in', { qos: 0 }).then(ready);
      });
    },
  };
}

function lineOut(format: FormatUnderTest): Line {
  const { name, encode, decode, prepare, output } = format;
  return {
    name: `${name} out`,
    connectors: [],
    format: name,
    rows,
    open: async () => {
      const arrivals = new Arrivals(rows, (payload) => decode(Buffer.from(payload)));
      const { url, close } = await openBroker((payload) => arrivals.take(payload));
      return {
        address: url,
        sink: { type: 'mqtt', props: { server: url, topic: 'out', qos: 0, ...output } },
        prepare,
        begin: (isChecked) => arrivals.begin(isChecked),
        arrived: () => arrivals.count,
        check: () => arrivals.check(),
        close,
      };
    },
    plain: async ({ address, file, ready }) => {
      const client = await connect(address);
      void ready();
      await eachLine(file, async (text, n) => {
        const { id, device, temperature } = JSON.parse(text) as Row;
        client.publish('out', Buffer.from(encode({ id, device, temperature })));
        if (n % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
      });
      await client.endAsync();
    },
  };
}

export const lines: readonly Line[] = formats.flatMap((format) =>
  format.output === undefined ? [lineIn(format)] : [lineIn(format), lineOut(format)],
);
