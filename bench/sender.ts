/**
 * The load generator as a process of its own: a broker that sends the messages of a workload to its first subscriber,
 * at a fixed rate or as fast as the socket takes them.
 *
 * Orders and reports go over the process's IPC channel:
 *   → { order: 'prepare', workload, dataSet }     ← { event: 'ready', port }
 *   → { order: 'send', count, rate, perMessage }  ← { event: 'sent', count, startedAt, endedAt, blockedMs }
 *   ← { event: 'subscribed' } whenever a client has subscribed
 *   ← { event: 'latencies', … } for workloads that come back (see `latency`)
 */
import type { Socket } from 'node:net';
import { startBroker } from './messages/broker.js';
import { type Block, FIRST_ID, makeBlock, patchIds } from './messages/frames.js';
import { workloadByName } from './workloads/index.js';

export interface SendOrder {
  order: 'send';
  /** Messages to send. */
  count: number;
  /** Messages per second; 0: as fast as the socket takes them. */
  rate: number;
  /** One write call for each message instead of large batches. */
  perMessage: boolean;
  /** Id of the first message (ids go on from there). */
  firstIndex: number;
}

export interface SentEvent {
  event: 'sent';
  count: number;
  /** Epoch milliseconds. */
  startedAt: number;
  endedAt: number;
  /** Time during which the socket took no more, ms. */
  blockedMs: number;
  /** How late the last message of a fixed-rate run was sent, ms. */
  lateMs: number;
}

export interface LatencyEvent {
  event: 'latencies';
  count: number;
  /** Milliseconds. */
  p50: number;
  p90: number;
  p99: number;
  max: number;
}

/** Runs the generator until the parent goes away. */
export async function runSender(): Promise<void> {
  const report = (message: object): void => {
    process.send?.(message);
  };
  const subscribers: Socket[] = [];
  let blocks: Block[] = [];
  let timesSent = new Float64Array(0);
  let latencies: number[] = [];
  const { port } = await startBroker({
    subscribed(socket) {
      subscribers.push(socket);
      report({ event: 'subscribed' });
    },
    published(_topic, payload) {
      const now = performance.now();
      const id = idIn(payload);
      const at = id < 0 ? undefined : timesSent[id];
      if (at !== undefined && at > 0) latencies.push(now - at);
    },
    closed(socket) {
      const at = subscribers.indexOf(socket);
      if (at >= 0) subscribers.splice(at, 1);
    },
  });
  process.on('disconnect', () => process.exit(0));
  process.on('message', (message: { order: string; workload?: string; dataSet?: string; payloads?: string[] }) => {
    if (message.order === 'prepare') {
      const workload = workloadByName(message.workload ?? '', message.payloads);
      blocks = workload.messages(message.dataSet ?? 'plain').map(makeBlock);
      report({ event: 'ready', port });
    } else if (message.order === 'send') {
      const order = message as unknown as SendOrder;
      const socket = subscribers[0];
      if (!socket) {
        report({ event: 'failed', reason: 'no client has subscribed' });
        return;
      }
      if (order.perMessage) timesSent = new Float64Array(order.count);
      latencies = [];
      const run = order.perMessage
        ? sendSingly(socket, blocks, order, timesSent)
        : sendInBatches(socket, blocks, order);
      run.then(report, (error: Error) => report({ event: 'failed', reason: error.message }));
    } else if (message.order === 'latencies') {
      report(summary(latencies));
    } else if (message.order === 'drop') {
      for (const socket of subscribers) socket.destroy();
    }
  });
}

/** Sends whole blocks, or slices of them that keep to the rate. */
async function sendInBatches(socket: Socket, blocks: Block[], order: SendOrder): Promise<SentEvent> {
  const perBlock = (blocks[0] as Block).ids.length;
  const startedAt = Date.now();
  const started = performance.now();
  const busy = blocks.map(() => Promise.resolve());
  let blockedMs = 0;
  let sent = 0;
  while (sent < order.count) {
    const index = order.firstIndex + sent;
    const nth = Math.floor(index / perBlock) % blocks.length;
    const block = blocks[nth] as Block;
    const from = index % perBlock;
    let to = Math.min(perBlock, from + order.count - sent);
    if (order.rate > 0) {
      const due = Math.floor(((performance.now() - started) / 1000) * order.rate) + 1;
      if (due <= sent) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        continue;
      }
      to = Math.min(to, from + due - sent);
    }
    const before = performance.now();
    await busy[nth];
    patchIds(block, FIRST_ID + index, from, to);
    const slice = block.bytes.subarray(block.starts[from] as number, block.starts[to] as number);
    let isFull = false;
    busy[nth] = new Promise((resolve, reject) => {
      isFull = !socket.write(slice, (error) => (error ? reject(error) : resolve()));
    });
    busy[nth]?.catch(() => undefined);
    sent += to - from;
    if (isFull && socket.writableLength > 4 << 20) await drained(socket);
    blockedMs += performance.now() - before;
  }
  await Promise.all(busy);
  const lateMs = order.rate > 0 ? performance.now() - started - (order.count / order.rate) * 1000 : 0;
  return { event: 'sent', count: sent, startedAt, endedAt: Date.now(), blockedMs, lateMs };
}

/** Sends each message with a write of its own and notes when. */
async function sendSingly(socket: Socket, blocks: Block[], order: SendOrder, times: Float64Array): Promise<SentEvent> {
  const perBlock = (blocks[0] as Block).ids.length;
  const startedAt = Date.now();
  const started = performance.now();
  let blockedMs = 0;
  let sent = 0;
  while (sent < order.count) {
    const due =
      order.rate > 0
        ? Math.min(order.count, Math.floor(((performance.now() - started) / 1000) * order.rate) + 1)
        : order.count;
    while (sent < due) {
      const index = order.firstIndex + sent;
      const block = blocks[Math.floor(index / perBlock) % blocks.length] as Block;
      const i = index % perBlock;
      patchIds(block, FIRST_ID + index, i, i + 1);
      const frame = Buffer.from(block.bytes.subarray(block.starts[i] as number, block.starts[i + 1] as number));
      times[sent] = performance.now();
      if (!socket.write(frame) && socket.writableLength > 1 << 20) {
        const before = performance.now();
        await drained(socket);
        blockedMs += performance.now() - before;
      }
      sent++;
    }
    // A timer has a resolution of 1 ms; at higher rates the loop yields through the event loop's check phase instead.
    const aheadMs = order.rate > 0 ? (sent / order.rate) * 1000 - (performance.now() - started) : 0;
    await new Promise<void>((resolve) => (aheadMs > 2 ? setTimeout(resolve, aheadMs - 1) : setImmediate(resolve)));
  }
  await new Promise<void>((resolve, reject) => socket.write('', (error) => (error ? reject(error) : resolve())));
  const lateMs = order.rate > 0 ? performance.now() - started - (order.count / order.rate) * 1000 : 0;
  return { event: 'sent', count: sent, startedAt, endedAt: Date.now(), blockedMs, lateMs };
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (): void => {
      socket.off('drain', done);
      socket.off('close', gone);
      resolve();
    };
    const gone = (): void => {
      socket.off('drain', done);
      reject(new Error('the subscriber has closed the connection'));
    };
    socket.once('drain', done);
    socket.once('close', gone);
  });
}

/** Index of the message a result belongs to: the digits of its id less the first id; -1 without. */
function idIn(payload: Buffer): number {
  const at = payload.indexOf('"id":');
  if (at < 0) return -1;
  let id = 0;
  for (let i = at + 5; i < payload.length; i++) {
    const digit = (payload[i] as number) - 48;
    if (digit < 0 || digit > 9) break;
    id = id * 10 + digit;
  }
  return id - FIRST_ID;
}

function summary(values: number[]): LatencyEvent {
  const sorted = Float64Array.from(values).sort();
  const at = (p: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? Number.NaN;
  return { event: 'latencies', count: sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}
