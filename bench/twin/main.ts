/**
 * The plain JavaScript program of the same job: MQTT frames cut by hand, JSON.parse for each message, objects and a Map
 * for groups, lines collected and written in large pieces. What a good Node programmer writes without an engine.
 *
 * Arguments: port, output file, workload name, topic filter. Reports { event: 'count', count } on the IPC channel.
 */
import { createWriteStream } from 'node:fs';
import { connect } from 'node:net';
import { workloadByName } from '../workloads/index.js';
import { twinJob } from './jobs.js';

const [CONNACK, PUBLISH, SUBACK] = [2, 3, 9];
const reportMs = 20;

/** Runs the twin until the parent goes away. */
export function runTwin(args: string[]): void {
  const [port, file, name, topic] = args as [string, string, string, string];
  const out = createWriteStream(file, { flags: 'a' });
  let lines: string[] = [];
  const flush = (): void => {
    if (lines.length === 0) return;
    const isFull = !out.write(`${lines.join('\n')}\n`);
    lines = [];
    if (isFull) {
      socket.pause();
      out.once('drain', () => socket.resume());
    }
  };
  const job = twinJob(workloadByName(name).twin, (line) => lines.push(line), flush);
  let count = 0;
  let isReady = false;
  const packet: OnPacket = (type, data, at, end) => {
    if (type === PUBLISH) {
      count++;
      const topicAt = at + 2;
      job.take(data, topicAt, topicAt + data.readUInt16BE(at), end);
    } else if (type === CONNACK) socket.write(subscribePacket(topic));
    else if (type === SUBACK) isReady = true;
  };
  let rest: Buffer = Buffer.alloc(0);
  const socket = connect(Number(port), '127.0.0.1', () => socket.write(connectPacket()));
  socket.on('data', (chunk) => {
    rest = cutPackets(rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk, packet);
    job.settle();
  });
  socket.on('error', (error) => {
    console.error(error.message);
    process.exit(1);
  });
  setInterval(() => {
    if (isReady) process.send?.({ event: 'count', count });
  }, reportMs);
  process.on('disconnect', () => process.exit(0));
}

/** Gets a packet: its body stands from `at` to `end`. */
type OnPacket = (type: number, data: Buffer, at: number, end: number) => void;

/** Cuts whole packets; returns what is left. */
function cutPackets(data: Buffer, packet: OnPacket): Buffer {
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
    packet((data[at] as number) >> 4, data, head, head + length);
    at = head + length;
  }
  return at < data.length ? data.subarray(at) : Buffer.alloc(0);
}

function connectPacket(): Buffer {
  const id = Buffer.from('twin');
  return Buffer.from([0x10, 12 + id.length, 0, 4, 77, 81, 84, 84, 4, 2, 0, 0, 0, id.length, ...id]);
}

function subscribePacket(topic: string): Buffer {
  const bytes = Buffer.from(topic);
  return Buffer.from([0x82, 5 + bytes.length, 0, 1, bytes.length >> 8, bytes.length & 255, ...bytes, 0]);
}
