/**
 * A log of input: what is in it and not safe elsewhere comes again after a kill, from where the rules go on, and
 * nothing else.
 */
import { cpSync, existsSync, mkdirSync, renameSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../../../../host/base/log/log.js';
import { payloadsOfPackets } from '../../../../../../host/base/mqtt/packets.js';
import { Acknowledgements, type Barrier } from '../../../../../../host/run/plane/acknowledge/barrier.js';
import { PageStore } from '../../../../../../host/run/plane/queue/page-store.js';
import { ReadMark } from '../../../../../../host/run/plane/queue/read-mark.js';
import { InputLog } from '../../../../../../host/run/plane/state/input-log/input-log.js';
import { eventually, temporaryFolder } from '../../../../../support/harness.js';

/** The timers of a log keep no process alive. */
const alive = setInterval(() => {}, 1000);
test.after(() => clearInterval(alive));

function packetOf(id: number): Buffer {
  const payload = Buffer.from(String(id));
  return Buffer.concat([Buffer.from([0x32, 5 + payload.length, 0, 1, 0x74, (id + 1) >> 8, (id + 1) & 255]), payload]);
}

/** A source with a rule that keeps what it got until a checkpoint. */
class Running {
  readonly acknowledged: number[] = [];
  readonly got: number[] = [];
  checkpointsAsked = 0;
  readonly lost: (number | undefined)[] = [];
  /** Where the rule goes on from a checkpoint. */
  place: number | undefined;
  /** Another rule needs all that is in the log. */
  isForAll = false;
  /** What its rules take for a message, ms. */
  workMs = 0;
  /** Of what is taken again in one go: so many are a piece of their own, and nothing comes of the rest. */
  held = (ids: readonly number[]): number => ids.length;
  readonly log: InputLog;
  readonly #acknowledgements = new Acknowledgements(
    (ids) => void this.acknowledged.push(...[...ids].map((id) => id - 1)),
  );
  #held: Barrier[] = [];

  constructor(readonly folder: string) {
    const placeOf = () => this.place;
    this.log = new InputLog(folder, 1 << 20, {
      name: 's',
      framing: 'mqtt',
      log: silent,
      lost: (messages) => void this.lost.push(messages),
      isShared: false,
      places: {
        get last() {
          return placeOf() ?? 0;
        },
        begin: ({ freed }) => (this.isForAll ? freed : (placeOf() ?? freed)),
        next: Number.POSITIVE_INFINITY,
        reached: () => {},
      },
      ready: async () => {},
      whenTaken: async () => true,
      replay: (bytes) => {
        // As a source: without input there is nothing to hold.
        if (bytes.length === 0) return;
        const ids = payloadsOfPackets(bytes, 4).map((text) => Number(Buffer.from(text).toString()));
        const held = this.held(ids);
        this.#work(ids.slice(0, held), false);
        if (held < ids.length) this.#work(ids.slice(held), false, false);
      },
      waiting: () => this.#acknowledgements.count,
      logged: () => this.#acknowledgements.advance(),
      requestCheckpoint: () => {
        this.checkpointsAsked++;
      },
    });
    this.#acknowledgements.log = this.log;
  }

  #work(ids: readonly number[], isNew: boolean, isHeld = true): void {
    const barrier = this.#acknowledgements.begin();
    this.got.push(...ids);
    for (const end = performance.now() + this.workMs * ids.length; performance.now() < end; );
    if (isNew) barrier.receipts.push(Uint32Array.from(ids, (id) => id + 1));
    if (isHeld) {
      barrier.left++;
      this.#held.push(barrier);
    }
    this.log.add(barrier);
    this.#acknowledgements.end(barrier);
  }

  receive(from: number, to: number): void {
    const ids = Array.from({ length: to - from }, (_, i) => from + i);
    this.log.cut(Buffer.concat(ids.map(packetOf)), () => false);
    this.#work(ids, true);
  }

  /** What is in a checkpoint: the position, and how much the rule had. */
  cut(): { position: unknown; got: number[]; publish(): void } {
    const held = this.#held.splice(0);
    return {
      position: this.log.position,
      got: [...this.got],
      publish: () => {
        for (const barrier of held) barrier.passed(false);
      },
    };
  }
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

/** The folder as the disk is at this moment; a file that goes meanwhile is not there any more. */
function copyOf(folder: string): string {
  for (;;) {
    const copy = join(temporaryFolder(), 'log');
    try {
      if (existsSync(folder)) cpSync(folder, copy, { recursive: true });
      return copy;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}

test('whatever was logged, checkpointed and killed: the rule has every acknowledged message once', async () => {
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('receive' as const), count: fc.integer({ min: 1, max: 40 }) }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('flush' as const, 'turn' as const) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('cut' as const, 'publish' as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('kill' as const) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      let folder = join(temporaryFolder(), 'log');
      let running = new Running(folder);
      await running.log.replay();
      let next = 0;
      let cut: ReturnType<Running['cut']> | undefined;
      let saved: { position: unknown; got: number[] } | undefined;
      const all: Running[] = [running];
      for (const one of [...steps, { kind: 'kill' as const }]) {
        if (one.kind === 'receive') {
          running.receive(next, next + one.count);
          next += one.count;
        } else if (one.kind === 'flush') running.log.flush();
        else if (one.kind === 'turn') await new Promise((resolve) => setTimeout(resolve, 2));
        else if (one.kind === 'cut') cut = running.cut();
        else if (one.kind === 'publish' && cut !== undefined) {
          saved = cut;
          cut.publish();
          cut = undefined;
        } else if (one.kind === 'kill') {
          const acknowledged = [...running.acknowledged];
          const { length: most } = running.got;
          folder = copyOf(folder);
          running = new Running(folder);
          all.push(running);
          if (saved !== undefined) {
            running.got.push(...saved.got);
            running.place = (saved.position as { log: number } | undefined)?.log;
          }
          cut = undefined;
          await running.log.replay();
          assert.equal([...new Set(running.got)].length, running.got.length, 'no message twice');
          const has = new Set(running.got);
          assert.equal(
            acknowledged.filter((id) => !has.has(id)),
            [],
            'no acknowledged message is missing',
          );
          assert.equal(running.got, range(0, running.got.length), 'in order');
          assert.ok(running.got.length <= most);
          // What the broker sends again.
          next = running.got.length;
        }
      }
      for (const { log } of all) await log.close();
    }),
    { numRuns: Number(process.env.HAUMEA_LOG_RUNS ?? 60) },
  );
});

test('what is safe leaves nothing on disk, and a full batch of messages asks for no checkpoint', async () => {
  const folder = join(temporaryFolder(), 'log');
  const running = new Running(folder);
  await running.log.replay();
  running.receive(0, 20);
  assert.equal(running.acknowledged, []);
  running.log.flush();
  await eventually('acknowledgements', () => running.acknowledged.length === 20);
  assert.is(running.checkpointsAsked, 0);
  assert.equal(running.acknowledged, range(0, 20));
  running.cut().publish();
  await running.log.close();
  assert.not.ok(existsSync(folder));
});

test('a file that the disk does not give is named and tried again, and nothing new comes before it', async () => {
  const folder = join(temporaryFolder(), 'log');
  const first = new Running(folder);
  await first.log.replay();
  first.receive(0, 20);
  first.log.flush();
  await eventually('acknowledgements', () => first.acknowledged.length === 20);
  const after = join(temporaryFolder(), 'log');
  cpSync(folder, after, { recursive: true });
  await first.log.close();
  // The last file is read when the log is opened, those before it when their turn comes.
  const page = join(after, '00000000000000.pages');
  cpSync(page, join(after, '0000000000000a.pages'));
  renameSync(page, join(after, 'aside'));
  mkdirSync(page);
  const running = new Running(after);
  const replayed = running.log.replay();
  await eventually('the trouble', () => /^the input log of stream s can't be read: EISDIR/.test(running.log.trouble));
  assert.ok(running.log.isReplaying);
  assert.equal(running.got, []);
  rmdirSync(page);
  renameSync(join(after, 'aside'), page);
  await replayed;
  assert.equal([running.got, running.log.trouble], [range(0, 20), '']);
  await running.log.close();
});

test(
  'numbers of a checkpoint that the log never had are taken up before anything new comes, as soon as the disk ' +
    'takes them',
  async () => {
    const folder = join(temporaryFolder(), 'log');
    const first = new Running(folder);
    await first.log.replay();
    first.receive(0, 20);
    first.log.flush();
    await eventually('acknowledgements', () => first.acknowledged.length === 20);
    const after = join(temporaryFolder(), 'log');
    cpSync(folder, after, { recursive: true });
    await first.log.close();
    const running = new Running(after);
    // A rule had five more in its checkpoint, another one has none.
    running.place = 25;
    running.isForAll = true;
    const { append } = PageStore.prototype;
    let refused = 0;
    PageStore.prototype.append = () => {
      refused++;
      return Promise.reject(new Error('ENOSPC: no space left on device, write'));
    };
    const replayed = running.log.replay();
    try {
      await eventually('the trouble', () =>
        /^the input log of stream s can't be written: ENOSPC/.test(running.log.trouble),
      );
      await eventually('another try', () => refused > 1, 5000);
      assert.equal([running.log.isReplaying, running.log.isReady, running.got], [true, false, range(0, 20)]);
      assert.equal(running.log.position, { log: 20 });
    } finally {
      PageStore.prototype.append = append;
    }
    await replayed;
    assert.equal([running.log.trouble, running.log.position], ['', { log: 25 }]);
    running.receive(25, 30);
    running.log.flush();
    await eventually('new acknowledgements', () => running.acknowledged.length === 5);
    assert.equal(running.log.position, { log: 30 });
    await running.log.close();
  },
);

test('timers and sockets have their turns while slow rules take a long log again', async () => {
  const folder = join(temporaryFolder(), 'log');
  const first = new Running(folder);
  await first.log.replay();
  // Some messages came one by one, the others in one go.
  for (let id = 0; id < 50; id++) first.receive(id, id + 1);
  first.receive(50, 150);
  first.log.flush();
  await eventually('acknowledgements', () => first.acknowledged.length === 150);
  const after = join(temporaryFolder(), 'log');
  cpSync(folder, after, { recursive: true });
  await first.log.close();
  const running = new Running(after);
  running.workMs = 3;
  const seen = new Set<number>();
  const looks = setInterval(() => seen.add(running.got.length), 1);
  await running.log.replay();
  clearInterval(looks);
  assert.equal(running.got, range(0, 150));
  // Some twenty breaks in either part; the bounds leave room for a slow machine.
  const alone = [...seen].filter((count) => count < 50).length;
  assert.ok(alone > 10 && seen.size - alone > 10, `only ${alone} and ${seen.size - alone} turns`);
  await running.log.close();
});

test('a place that is no place in a log is refused', async () => {
  const running = new Running(join(temporaryFolder(), 'log'));
  for (const log of [-1, 0.5, 1e300, '3']) assert.throws(() => running.log.seek({ log }), /keeps no place/);
  assert.throws(() => running.log.seek({ bytes: 0 }), /keeps no place/);
  await running.log.replay();
  assert.throws(() => running.log.seek({ log: 3 }), /keeps no place/);
  await running.log.close();
});

test('entries of freed ids have numbers and are no messages: a later rule lacks none of those behind', async () => {
  const folder = join(temporaryFolder(), 'log');
  const running = new Running(folder);
  await running.log.replay();
  running.log.align();
  running.receive(0, 3);
  await new Promise<void>((resolve) => running.log.freed(7, resolve));
  running.receive(3, 6);
  running.log.flush();
  await eventually('the acknowledgements', () => running.acknowledged.length === 6);
  const copy = join(temporaryFolder(), 'log');
  cpSync(folder, copy, { recursive: true });
  const again = new Running(copy);
  await again.log.replay();
  again.log.align();
  assert.equal(again.got, range(0, 6));
  const place = again.log.position;
  assert.equal(place, { log: 7 });
  again.receive(6, 9);
  const { earlier, missing } = again.log.earlierFrom(place, () => {});
  assert.is(missing, 0);
  assert.is(earlier?.messages, 3);
  const ids: number[] = [];
  for (let piece = await earlier!.next(); piece !== undefined; piece = await earlier!.next())
    ids.push(...payloadsOfPackets(piece.bytes, 4).map((text) => Number(Buffer.from(text).toString())));
  assert.equal(ids, range(6, 9));
  await Promise.all([running.log.close(), again.log.close()]);
});

test('what is taken again in pieces stays until all that came of each piece is safe', async () => {
  const folder = join(temporaryFolder(), 'log');
  const first = new Running(folder);
  await first.log.replay();
  first.log.align();
  first.receive(0, 6);
  first.log.flush();
  await eventually('the acknowledgements', () => first.acknowledged.length === 6);
  await first.log.close();
  const second = new Running(folder);
  second.held = () => 4;
  await second.log.replay();
  assert.equal(second.got, range(0, 6));
  await second.log.close();
  const third = new Running(folder);
  await third.log.replay();
  assert.equal(third.got, range(0, 6));
  third.cut().publish();
  await third.log.close();
  const last = new Running(folder);
  await last.log.replay();
  assert.equal(last.got, []);
  await last.log.close();
});

test('what a rule has yet to get that comes later is out for those that keep nothing', async () => {
  const folder = join(temporaryFolder(), 'log');
  const running = new Running(folder);
  await running.log.replay();
  running.log.align();
  running.receive(0, 3);
  running.log.flush();
  await eventually('the acknowledgements', () => running.acknowledged.length === 3);
  const { earlier } = running.log.earlierFrom({ log: 0 }, () => {});
  assert.is(earlier?.messages, 3);
  running.cut().publish();
  await eventually('the mark', async () => (await new ReadMark(join(folder, 'out')).read()) === 3, 5000);
  earlier!.close();
  await running.log.close();
});

test.run();
