/** Messages that are large, empty or broken, and more of them than the sinks take. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import * as assert from 'uvu/assert';
import { type WebSocket, WebSocketServer } from 'ws';
import { eventually } from '../../harness.js';
import type { Site } from './site.js';
import type { SourceTrial } from './source-side.js';

/** Length of the longest message. */
const largeBytes = 16 << 20;
/** What is sent to sinks that take nothing: far more than may be held, bytes. */
const flood = { messages: 1000, bytes: 120_000 };
const mostHeld = 90 << 20;

export function addSourceMessages(trial: SourceTrial): void {
  trial.test(
    'messages that do not decode, and empty ones, are counted and named, the others arrive',
    async () => {
      const { site } = trial;
      const rows = await trial.reading(site);
      const { id } = rows;
      await trial.connected(site, id);
      const from = trial.fresh(3);
      const [a, b, c] = trial.messages(from, 3) as [string, string, string];
      await trial.side.send([a, '{"id":', b, '', c], site);
      await trial.has(rows, from, 3);
      const failures = Number(await site.figure(id, 'source', 'exceptions_total'));
      assert.ok(failures >= 1 && failures <= 2, `${failures} failures were counted`);
      assert.not.equal(await site.figure(id, 'source', 'last_exception'), '', 'none is named');
      await site.delete(id);
    },
    'broken',
  );

  trial.test(
    'a message of 16 MB arrives, or is counted and named, and so do those around it',
    async () => {
      const { site } = trial;
      const rows = await trial.reading(site);
      const { id } = rows;
      await trial.connected(site, id);
      const from = trial.fresh(3);
      const [a, , c] = trial.messages(from, 3);
      const room = largeBytes - Buffer.byteLength(trial.message(from + 1, ''));
      await trial.side.send([a!, trial.message(from + 1, 'x'.repeat(room)), c!], site);
      await trial.has(rows, from, 1);
      await trial.has(rows, from + 2, 1);
      await eventually('its fate', async () => {
        const counted = (await site.figure(id, 'source', 'exceptions_total')) === 1;
        return rows.ids().includes(from + 1) || (counted && (await site.figure(id, 'source', 'last_exception')) !== '');
      });
      await site.delete(id);
    },
    'large',
  );

  trial.test(
    'while the sinks take nothing it is not read, memory is bounded, and nothing is gone uncounted',
    async () => {
      const { site, side } = trial;
      const sink = await openSleeper();
      const stream = await trial.stream(site);
      const options = { maxBacklogBytes: 0 };
      const id = await site.rule(stream, { websocket: { addr: sink.addr, sendSingle: true } }, options);
      await trial.connected(site, id);
      await eventually('the sink', () => sink.isThere());
      const from = trial.fresh(flood.messages + 1);
      const before = site.memory();
      // A client of ours waits for the answer as long as the sinks take nothing.
      const sent = side.send(trial.messages(from, flood.messages, 'x'.repeat(flood.bytes)), site);
      await eventually('the rule to hold its source', async () => {
        return /holds source/.test(String((await site.status(id)).message));
      });
      await site.worksBeside();
      const grown = site.memory() - before;
      assert.ok(grown < mostHeld, `${grown >> 20} MB more are held`);
      sink.wake();
      await sent;
      await side.send([trial.message(from + flood.messages)], site);
      const mayDrop = side.dropsWhenSlow === true;
      // The last one may be dropped as well, while the sink still reads what has waited.
      if (!mayDrop) await sink.has(from + flood.messages);
      // A source without a group has those of earlier tests as well.
      await allSeen(site, id, () => sink.ids().filter((one) => one >= from), mayDrop);
      await site.delete(id);
      await sink.close();
    },
    'slow',
  );
}

/** Each message has arrived, or was counted when it was dropped. */
async function allSeen(site: Site, id: string, ids: () => readonly number[], mayDrop: boolean): Promise<void> {
  const count = flood.messages + 1;
  if (!mayDrop) return assert.is(new Set(ids()).size, count);
  let [there, dropped] = [0, 0];
  const all = eventually('the fate of all messages', async () => {
    dropped = Number(await site.figure(id, 'source', 'exceptions_total'));
    there = new Set(ids()).size;
    return there + dropped >= count;
  });
  await all.catch(() => {});
  assert.is(there + dropped, count, `${there} arrived, ${dropped} were counted`);
}

/** A websocket server that reads nothing until it is woken. */
async function openSleeper() {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', maxPayload: 64 << 20 });
  let client: WebSocket | undefined;
  const ids: number[] = [];
  server.on('connection', (socket) => {
    socket.pause();
    client = socket;
    socket.on('error', () => {});
    socket.on('message', (message) => ids.push((JSON.parse(String(message)) as { id: number }).id));
  });
  await once(server, 'listening');
  return {
    addr: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    isThere: () => client !== undefined,
    wake: () => client?.resume(),
    ids: () => ids,
    has: (id: number) => eventually('the last message', () => ids.includes(id)),
    close: async () => {
      client?.terminate();
      server.close();
      await once(server, 'close');
    },
  };
}
