/**
 * Loss of power at any moment, with a disk that forgets what was not forced to it: what is loaded is what was promised.
 * `HAUMEA_POWER_ROUNDS=200` tries so many runs of each kind.
 */
import { EventEmitter } from 'node:events';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import threads from 'node:worker_threads';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { random } from '../../../bench/workloads/workload.js';
import { AllowedPaths } from '../../../host/base/files/allowed-paths.js';
import { silent } from '../../../host/base/log/log.js';
import { NamedFilesSink } from '../../../host/connectors/file/writing/named-sink.js';
import { FileSink } from '../../../host/connectors/file/writing/sink.js';
import type { FileSinkConf } from '../../../host/connectors/file/writing/writer-of.js';
import { writeDatabase } from '../../../host/meta/journal/database.js';
import type { Kinds } from '../../../host/meta/journal/database-content.js';
import { openStore } from '../../../host/meta/journal/journal-store.js';
import type { Item } from '../../../host/run/plane/queue/item.js';
import { PageStore } from '../../../host/run/plane/queue/page-store.js';
import { CheckpointFiles } from '../../../host/run/plane/state/checkpoint/files.js';
import type { CheckpointHead } from '../../../host/run/plane/state/checkpoint/head.js';
import { ForgetfulDisk } from '../../support/crash/disk.js';
import { temporaryFolder } from '../../support/harness.js';

const rounds = Number(process.env.HAUMEA_POWER_ROUNDS ?? 3);
/** Losses of power that are tried with what one run did. */
const crashes = 60;
/** After one of so many the power goes once more while the rest is taken up. */
const oftenTwice = 4;

/**
 * Runs `work` on a disk of its own; then `check` gets folders as a loss of power may leave them, and the moment of
 * that.
 */
async function lose(
  round: number,
  work: (folder: string, disk: ForgetfulDisk, next: () => number) => Promise<void>,
  check: (folder: string, moment: number, what: string) => Promise<void>,
): Promise<void> {
  const seed = 1000 * round;
  const folder = temporaryFolder();
  const disk = new ForgetfulDisk(folder);
  try {
    await work(folder, disk, random(seed));
  } finally {
    disk.close();
  }
  const next = random(seed + 1);
  const images = temporaryFolder();
  for (let i = 0; i < crashes; i++) {
    const moment = Math.floor(next() * (disk.now + 1));
    const image = join(images, String(i));
    disk.crash(moment, seed + i, image);
    const what = `round ${round}, loss ${i} after ${moment} steps`;
    if (i % oftenTwice > 0) {
      await check(image, moment, what);
      rmSync(image, { recursive: true, force: true });
      continue;
    }
    const again = new ForgetfulDisk(image);
    const begun = again.now;
    await check(image, moment, what).finally(() => again.close());
    const second = begun + Math.floor(next() * (again.now - begun + 1));
    again.crash(second, seed + i, `${image}-again`);
    await check(`${image}-again`, moment, `${what}, and again after ${second - begun}`);
    for (const path of [image, `${image}-again`]) rmSync(path, { recursive: true, force: true });
  }
}

/** The last of what was promised before the moment; what was promised after it may be there already. */
function promisedAt<T>(promises: readonly { readonly at: number; readonly value: T }[], moment: number): T | undefined {
  return promises.findLast(({ at }) => at <= moment)?.value;
}

const usualSink: Omit<FileSinkConf, 'path'> = {
  fileType: 'lines',
  maxOpenFiles: 2,
  rollingSize: 0,
  rollingInterval: 0,
  checkInterval: 300_000,
  rollingNamePattern: '',
  rollingHook: '',
  rollingHookProps: { url: undefined, method: 'post', headers: {}, timeout: 1000 },
  compression: '',
  compressionProps: { level: undefined },
  encryption: '',
};

test('the newest checkpoint that counts is there as a whole', async () => {
  for (let round = 0; round < rounds; round++) {
    const promises: { at: number; value: number }[] = [];
    const states = new Map<number, Buffer>();
    const headOf = (epoch: number, stateBytes: number): CheckpointHead => {
      return { rule: 'r', epoch, at: epoch, stateBytes, sources: { s: { epoch } }, sinks: {} };
    };
    await lose(
      round,
      async (folder, disk, next) => {
        const files = new CheckpointFiles(join(folder, 'checkpoints', 'r'));
        for (let epoch = 1; epoch < 8; epoch++) {
          const state = Buffer.alloc(Math.floor(next() * 5000), epoch);
          states.set(epoch, state);
          await files.write(headOf(epoch, state.length), [state.subarray(0, 700), state.subarray(700)]);
          if (next() < 0.2) {
            await files.abandon(epoch);
            continue;
          }
          await files.publish(epoch);
          promises.push({ at: disk.now, value: epoch });
        }
      },
      async (folder, moment, what) => {
        const files = new CheckpointFiles(join(folder, 'checkpoints', 'r'));
        const [newest] = await files.list();
        const promised = promisedAt(promises, moment) ?? 0;
        assert.ok((newest?.epoch ?? 0) >= promised, `${what}: epoch ${newest?.epoch} for ${promised}`);
        if (newest === undefined) return;
        // Also one that was not promised yet has its name only as a whole.
        const { head, state } = await files.read(newest.path);
        assert.equal(head, headOf(newest.epoch, states.get(newest.epoch)!.length), what);
        assert.ok(Buffer.concat(state).equals(states.get(newest.epoch)!), what);
      },
    );
  }
});

/** Does at once what the thread does that writes the database: it would not be seen here. */
class Writer extends EventEmitter {
  constructor(_entry: unknown, { workerData }: { workerData: { path: string; kinds: Kinds; generation: number } }) {
    super();
    const { path, kinds, generation } = workerData;
    writeDatabase(path, structuredClone(kinds), generation).then(
      () => this.emit('message', { error: undefined }),
      (error) => this.emit('error', error),
    );
  }
}

const { Worker } = threads;
const writeBy = (by: unknown) => {
  Object.assign(threads, { Worker: by });
  syncBuiltinESMExports();
};
test.before(() => writeBy(Writer));
test.after(() => writeBy(Worker));

test('definitions that were acknowledged are there, with those that belong to them', async () => {
  for (let round = 0; round < rounds; round++) {
    const promises: { at: number; value: ReadonlyMap<string, number> }[] = [];
    const sent = new Map<string, number[]>();
    await lose(
      round,
      async (folder, disk, next) => {
        const path = join(folder, 'data', 'sqliteKV.db');
        const known = new Map<string, number>();
        let number = 0;
        // With orderly ends in between.
        for (let run = 0; run < 3; run++) {
          const store = await openStore({ path, log: silent, snapshotBytes: 600 });
          for (let i = 0; i < 12; i++) {
            const key = `k${Math.floor(next() * 5)}`;
            const value = ++number;
            sent.set(key, [...(sent.get(key) ?? []), value]);
            await store.batch([
              ['rule', key, `${value} ${'x'.repeat(next() * 100)}`],
              ['ruleState', key, `${value}`],
            ]);
            known.set(key, value);
            promises.push({ at: disk.now, value: new Map(known) });
          }
          await store.close();
        }
      },
      async (folder, moment, what) => {
        const store = await openStore({ path: join(folder, 'data', 'sqliteKV.db'), log: silent });
        for (const [key, value] of promisedAt(promises, moment) ?? []) {
          const found = Number(store.get('rule', key)?.split(' ')[0]);
          assert.ok(found >= value, `${what}: ${key} is ${found}, acknowledged was ${value}`);
        }
        for (const [key, value] of store.list('rule')) {
          const found = Number(value.split(' ')[0]);
          assert.ok(sent.get(key)?.includes(found), `${what}: nobody sent ${found} for ${key}`);
          assert.is(store.get('ruleState', key), String(found), `${what}: one half of ${key}`);
        }
        await store.close();
      },
    );
  }
});

test('messages that a cache has written are there, in order', async () => {
  for (let round = 0; round < rounds; round++) {
    const promises: { at: number; value: { stored: number } }[] = [];
    const outs: { at: number; value: number }[] = [];
    const itemOf = (number: number): Item => ({
      messages: 1,
      rows: 1,
      ends: null,
      errors: new Set(),
      values: undefined,
      since: 0,
      bytes: Buffer.from(`${number} ${'y'.repeat(number % 700)}`),
      ticket: undefined,
    });
    await lose(
      round,
      async (folder, disk, next) => {
        let stored = 0;
        let out = 0;
        for (let run = 0; run < 2; run++) {
          const store = await PageStore.open(join(folder, 'cache', 'r', 'main'), { isSynced: true, fileBytes: 4000 });
          // What is out may be there again after a loss of power, not after an orderly end.
          let read = out;
          for (let i = 0; i < 12; i++) {
            const pages = Array.from({ length: 1 + Math.floor(next() * 3) }, () =>
              Array.from({ length: 1 + Math.floor(next() * 4) }, () => itemOf(stored++)),
            );
            await store.append(pages);
            promises.push({ at: disk.now, value: { stored } });
            if (next() < 0.4) continue;
            const batch = await store.next();
            read += batch!.items.length;
            outs.push({ at: disk.now, value: read });
            store.free(read - out);
            out = read;
          }
          await store.close();
        }
      },
      async (folder, moment, what) => {
        const path = join(folder, 'cache', 'r', 'main');
        const store = await PageStore.open(path, { isSynced: true });
        const found: number[] = [];
        for (let batch = await store.next(); batch !== undefined; batch = await store.next()) {
          assert.is(batch.lost, 0, `${what}: ${batch.reason}`);
          for (const { bytes } of batch.items) found.push(Number.parseInt(bytes.toString(), 10));
        }
        await store.close();
        const stored = promisedAt(promises, moment)?.stored ?? 0;
        const out = promisedAt(outs, moment) ?? 0;
        const first = found[0] ?? stored;
        assert.ok(
          first <= Math.max(out, stored === out ? stored : out),
          `${what}: begins with ${first}, out are ${out}`,
        );
        assert.equal(
          found,
          Array.from(found, (_, i) => first + i),
          what,
        );
        if (stored > out)
          assert.ok(found.at(-1)! >= stored - 1, `${what}: ends with ${found.at(-1)}, ${stored} were written`);
      },
    );
  }
});

test(
  'lines that a file sink had at a checkpoint are there, also in files that were put aside, moved away or ' + 'closed',
  async () => {
    for (let round = 0; round < rounds; round++) {
      const promises: { at: number; value: number }[] = [];
      await lose(
        round,
        async (folder, disk, next) => {
          const out = join(folder, 'results', 'today', 'out');
          const kinds = [
            { path: out, rollingSize: 0, dynamic: [] },
            { path: `${out}-rolled`, rollingSize: 300, dynamic: [] },
            { path: `${out}-{{.k}}`, rollingSize: 0, dynamic: ['path'] },
          ];
          const shared = new Map<string, unknown>();
          const sinks = kinds.map(({ path, rollingSize, dynamic }) => {
            const context = {
              ruleId: 'r',
              dynamic: new Set(dynamic),
              log: silent,
              isSynced: true,
              accepted: () => {},
              failed: (_bytes: number, _messages: number, reason: string) => assert.unreachable(reason),
              refused: (_message: Uint8Array, _bytes: number, _messages: number, reason: string) =>
                assert.unreachable(reason),
              disconnected: (reason: string) => assert.unreachable(reason),
              paths: AllowedPaths.any(),
              shared: <T>(key: string, make: () => T) => {
                if (!shared.has(key)) shared.set(key, make());
                return shared.get(key) as T;
              },
            };
            const conf = { ...usualSink, path, rollingSize };
            return dynamic.length === 0 ? new FileSink(conf, context) : new NamedFilesSink(conf, context);
          });
          for (const sink of sinks) await sink.open();
          let line = 0;
          for (let i = 0; i < 10; i++) {
            for (let j = 0; j < 3; j++, line++) {
              const chunk = { node: 1, host: 1, messages: 1, rows: 1, errors: new Set<number>() };
              for (const [kind, sink] of sinks.entries()) {
                const text = `${kind} ${line}`;
                // Of files with names made of rows the sink makes the lines.
                const bytes = Buffer.from(kind === 2 ? text : `${text}\n`);
                const values = { path: `${out}-${line % 5}` };
                sink.write({ ...chunk, bytes, ends: kind === 2 ? Uint32Array.of(bytes.length) : null, values });
              }
              await Promise.all(sinks.map((sink) => sink.flush()));
            }
            if (next() < 0.3 && existsSync(out)) renameSync(out, `${out}.${i}`);
            if (next() < 0.5) continue;
            await Promise.all(sinks.map((sink) => sink.sync()));
            promises.push({ at: disk.now, value: line });
          }
          for (const sink of sinks) await sink.close();
        },
        async (folder, moment, what) => {
          const results = join(folder, 'results', 'today');
          const names = existsSync(results) ? readdirSync(results) : [];
          const found = new Set(names.flatMap((name) => readFileSync(join(results, name), 'utf8').split('\n')));
          const wanted = promisedAt(promises, moment) ?? 0;
          for (let line = 0; line < wanted; line++) {
            for (let kind = 0; kind < 3; kind++)
              assert.ok(found.has(`${kind} ${line}`), `${what}: ${kind} ${line} of ${wanted}`);
          }
        },
      );
    }
  },
);

test.run();
