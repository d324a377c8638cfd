/**
 * Sends the messages of a soak and takes the results, as a process of its own: a broker whose first subscriber of the
 * stream gets messages at a fixed rate. Each row of the rule that passes single messages is checked here; results that
 * are few go to the parent.
 *
 *   → { order: 'send', rate, durationMs }   ← `FeederFigures` every second
 *   → { order: 'stop' }                     ← { event: 'sent', … } when all is sent
 *   → { order: 'tell' }                     ← `FeederFigures` of now
 *   ← { event: 'ready', port }, { event: 'subscribed' }, { event: 'result', topic, text, at }
 */
import type { Socket } from 'node:net';
import { startBroker } from '../messages/broker.js';
import { type Block, FIRST_ID, makeBlock, patchIds } from '../messages/frames.js';
import { readings, telemetryMessages } from '../workloads/telemetry.js';

export const inTopic = 'soak/telem';
export const rowsTopic = 'soak/rows';
/** Results below are passed on to the parent. */
export const resultTopic = 'soak/results/';
/** Messages that are hotter become rows. */
export const hot = 34.8;
const devices = 1000;
/** Bytes that may wait in the socket before the feeder waits for it. */
const maxWaiting = 4 << 20;
/** Most lateness of a message that is still sent, ms. */
const maxLateMs = 1000;

/** Messages of the whole run so far, and rows of the rule that passes single messages. */
export interface FeederFigures {
  readonly event: 'figures' | 'sent';
  readonly sent: number;
  readonly rows: number;
  /** Rows that never came, though a later one did. */
  readonly lost: number;
  /** Rows that came again or in another order. */
  readonly repeated: number;
  /** Rows of messages sent so far. */
  readonly expected: number;
}

export interface FeedOrder {
  readonly order: 'send';
  readonly rate: number;
  readonly durationMs: number;
}

/** Ids of the messages that become rows, within the cycle of messages. */
export function hotOnes(): { places: readonly number[]; cycle: number } {
  const all = readings(devices).flat();
  return { places: all.flatMap(({ temp }, i) => (temp > hot ? [i] : [])), cycle: all.length };
}

/** How many of the first `count` messages become rows. */
export function rowsOf(count: number, { places, cycle }: ReturnType<typeof hotOnes>): number {
  const rest = count % cycle;
  let within = 0;
  while (within < places.length && places[within]! < rest) within++;
  return Math.floor(count / cycle) * places.length + within;
}

/** Follows the rows as they come: which is the next. */
export class RowWatch {
  readonly #hot = hotOnes();
  #next = 0;
  rows = 0;
  lost = 0;
  repeated = 0;

  /** Takes the row of the message with this number; messages are numbered from 0. */
  take(index: number): void {
    this.rows++;
    const place = rowsOf(index, this.#hot);
    if (place < this.#next) {
      this.repeated++;
      return;
    }
    this.lost += place - this.#next;
    this.#next = place + 1;
  }

  expected(sent: number): number {
    return rowsOf(sent, this.#hot);
  }
}

/** Runs until the parent goes away. */
export async function runFeeder(): Promise<void> {
  const report = (message: object): void => void process.send?.(message);
  const blocks = telemetryMessages(devices, 'plain', () => inTopic).map(makeBlock);
  const watch = new RowWatch();
  let subscriber: Socket | undefined;
  let sending: Promise<void> = Promise.resolve();
  let isEnded = false;
  let sent = 0;
  const figures = (event: FeederFigures['event']): FeederFigures => {
    const { rows, lost, repeated } = watch;
    return { event, sent, rows, lost, repeated, expected: watch.expected(sent) };
  };
  const { port } = await startBroker({
    subscribed(socket, filters) {
      if (!filters.includes(inTopic)) return;
      subscriber = socket;
      report({ event: 'subscribed' });
    },
    published(topic, payload) {
      if (topic === rowsTopic) for (const index of indexesIn(payload)) watch.take(index);
      else if (topic.startsWith(resultTopic)) {
        report({ event: 'result', topic: topic.slice(resultTopic.length), text: payload.toString(), at: Date.now() });
      }
    },
    closed(socket) {
      if (socket === subscriber) subscriber = undefined;
    },
  });
  const send = async ({ rate, durationMs }: FeedOrder): Promise<void> => {
    const first = performance.now();
    let began = first;
    let told = began;
    for (;;) {
      const now = performance.now();
      if (isEnded || now - first >= durationMs) return;
      if (now - told >= 1000) {
        told = now;
        report(figures('figures'));
      }
      if (subscriber !== undefined && subscriber.writableLength < maxWaiting) {
        // Messages more than a second late are skipped: the rate is that of the sender, not of a queue.
        began = Math.max(began, now - (sent / rate) * 1000 - maxLateMs);
        const due = Math.floor(((now - began) / 1000) * rate);
        while (sent < due && subscriber.writableLength < maxWaiting) sent += sendSome(subscriber, blocks, sent, due);
      }
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  };
  process.on('disconnect', () => process.exit(0));
  process.on('message', (message: FeedOrder | { order: 'stop' } | { order: 'tell' }) => {
    if (message.order === 'tell') report(figures('figures'));
    else if (message.order === 'send') sending = send(message);
    else {
      isEnded = true;
      void sending.then(() => report(figures('sent')));
    }
  });
  report({ event: 'ready', port });
}

/** Sends messages from the block that is next, up to the number `due`; returns how many. */
function sendSome(socket: Socket, blocks: readonly Block[], sent: number, due: number): number {
  const perBlock = blocks[0]!.ids.length;
  const block = blocks[Math.floor(sent / perBlock) % blocks.length]!;
  const from = sent % perBlock;
  const to = Math.min(perBlock, from + due - sent);
  patchIds(block, FIRST_ID + sent, from, to);
  // The socket may keep what it is given, and the block gets new ids.
  socket.write(Buffer.from(block.bytes.subarray(block.starts[from], block.starts[to])));
  return to - from;
}

const idMark = Buffer.from('"id":');

/** Numbers of the messages whose rows are in a payload. */
function* indexesIn(payload: Buffer): Generator<number> {
  for (let at = payload.indexOf(idMark); at >= 0; at = payload.indexOf(idMark, at + 1)) {
    let id = 0;
    for (let i = at + idMark.length; payload[i]! >= 48 && payload[i]! <= 57; i++) id = id * 10 + payload[i]! - 48;
    yield id - FIRST_ID;
  }
}
