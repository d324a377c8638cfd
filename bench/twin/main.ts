/**
 * The plain JavaScript program of the same job: MQTT frames cut by hand, JSON.parse for each message, objects and a Map
 * for groups, lines collected and written in large pieces. What a good Node programmer writes without an engine.
 *
 * Arguments: port, output file, workload name, topic filter. Reports { event: 'count', count } on the IPC channel.
 */
import { createWriteStream } from 'node:fs';
import { connect } from 'node:net';
import { workloadByName } from '../workloads/index.js';

interface Group {
  n: number;
  sum: number;
  max: number;
}

/** Runs the twin until the parent goes away. */
export function runTwin(args: string[]): void {
  const [port, file, name, topic] = args as [string, string, string, string];
  const { twin } = workloadByName(name);
  const out = createWriteStream(file, { flags: 'a' });
  let lines: string[] = [];
  let count = 0;
  const groups = new Map<string, Group>();
  let sessionStart = 0;
  let sessionTimer: NodeJS.Timeout | undefined;

  const flush = (): void => {
    if (lines.length === 0) return;
    const isFull = !out.write(`${lines.join('\n')}\n`);
    lines = [];
    if (isFull) {
      socket.pause();
      out.once('drain', () => socket.resume());
    }
  };
  const sendGroups = (): void => {
    const rows = Array.from(groups, ([device, g]) => ({ avg_temp: g.sum / g.n, device, max_speed: g.max, n: g.n }));
    groups.clear();
    sessionStart = 0;
    if (rows.length > 0) lines.push(JSON.stringify(rows));
    flush();
  };
  if (twin.kind === 'group' && !twin.session) {
    const next = (): void => {
      setTimeout(
        () => {
          sendGroups();
          next();
        },
        twin.windowMs - (Date.now() % twin.windowMs),
      );
    };
    next();
  }

  const take = (data: Buffer, topicStart: number, topicEnd: number, end: number): void => {
    count++;
    if (twin.kind === 'raw') {
      lines.push(
        JSON.stringify([
          { state: data.toString('base64', topicEnd, end), topic: data.toString('utf8', topicStart, topicEnd) },
        ]),
      );
      return;
    }
    const message = JSON.parse(data.toString('utf8', topicEnd, end));
    if (twin.kind === 'filter') {
      if (message.temp > 21.0) {
        lines.push(
          JSON.stringify([
            { device: message.device, id: message.id, speed_kmh: message.speed * 3.6, temp: message.temp },
          ]),
        );
      }
      return;
    }
    const group = groups.get(message.device);
    if (group) {
      group.n++;
      group.sum += message.temp;
      if (message.speed > group.max) group.max = message.speed;
    } else groups.set(message.device, { n: 1, sum: message.temp, max: message.speed });
  };

  let rest: Buffer = Buffer.alloc(0);
  let isReady = false;
  const socket = connect(Number(port), '127.0.0.1', () => socket.write(connectPacket()));
  socket.on('data', (chunk) => {
    const data = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    let at = 0;
    while (at + 2 <= data.length) {
      let length = 0;
      let head = at + 1;
      let shift = 0;
      let byte = 128;
      while (head < data.length && byte >= 128) {
        byte = data[head++] as number;
        length |= (byte & 127) << shift;
        shift += 7;
      }
      if (byte >= 128 || head + length > data.length) break;
      const type = (data[at] as number) >> 4;
      if (type === 3) {
        const topicLen = ((data[head] as number) << 8) | (data[head + 1] as number);
        take(data, head + 2, head + 2 + topicLen, head + length);
      } else if (type === 2) socket.write(subscribePacket(topic));
      else if (type === 9) isReady = true;
      at = head + length;
    }
    rest = at < data.length ? data.subarray(at) : Buffer.alloc(0);
    flush();
    if (twin.kind === 'group' && twin.session && groups.size > 0) {
      const { maxMs, timeoutMs } = twin.session;
      sessionStart ||= Date.now();
      if (Date.now() - sessionStart > maxMs) sendGroups();
      clearTimeout(sessionTimer);
      sessionTimer = setTimeout(sendGroups, timeoutMs);
    }
  });
  socket.on('error', (error) => {
    console.error(error.message);
    process.exit(1);
  });
  setInterval(() => {
    if (isReady) process.send?.({ event: 'count', count });
  }, 20);
  process.on('disconnect', () => process.exit(0));
}

function connectPacket(): Buffer {
  const id = Buffer.from('twin');
  return Buffer.from([0x10, 12 + id.length, 0, 4, 77, 81, 84, 84, 4, 2, 0, 0, 0, id.length, ...id]);
}

function subscribePacket(topic: string): Buffer {
  const bytes = Buffer.from(topic);
  return Buffer.from([0x82, 5 + bytes.length, 0, 1, bytes.length >> 8, bytes.length & 255, ...bytes, 0]);
}
