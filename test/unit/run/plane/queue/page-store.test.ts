/** Pages on disk: what is written comes back in order, once, whatever a crash leaves of it. */
import {
  appendFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { groupsOf, type Item, messagesOf } from '../../../../../host/run/plane/queue/item.js';
import { PageStore } from '../../../../../host/run/plane/queue/page-store.js';
import { numbered, numbersOf, range } from '../../../../support/engine/cache-items.js';
import { temporaryFolder } from '../../../../support/harness.js';

const options = { isSynced: false, fileBytes: 2000 };

async function readAll(store: PageStore): Promise<{ ids: number[]; lost: number }> {
  const items: Item[] = [];
  let lost = 0;
  for (let batch = await store.next(); batch !== undefined; batch = await store.next()) {
    items.push(...batch.items);
    lost += batch.lost;
  }
  return { ids: numbersOf(items), lost };
}

/** A closed store with messages in pages of ten, and its files. */
async function written(messages: number): Promise<{ folder: string; files: string[] }> {
  const folder = join(temporaryFolder(), 'main');
  const store = await PageStore.open(folder, options);
  for (let first = 0; first < messages; first += 10) await store.append([[numbered(first, 10)]]);
  await store.close();
  const files = readdirSync(folder).filter((name) => name.endsWith('.pages'));
  return { folder, files: files.sort().map((name) => join(folder, name)) };
}

test(
  'random writes, reads, frees, closings and kills lose nothing, repeat nothing that was freed before a ' + 'closing',
  async () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('write' as const),
        sizes: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 }),
      }),
      fc.record({ kind: fc.constant('read' as const) }),
      fc.record({ kind: fc.constant('free' as const), part: fc.double({ min: 0, max: 1, noNaN: true }) }),
      fc.record({ kind: fc.constant('close' as const) }),
      fc.record({ kind: fc.constant('kill' as const), torn: fc.integer({ min: 0, max: 60 }) }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 40 }),
        fc.constantFrom('lines' as const, 'messages' as const),
        async (steps, framing) => {
          let folder = join(temporaryFolder(), 'main');
          let store = await PageStore.open(folder, options);
          let next = 0;
          let freed = 0;
          let seen: number[] = [];
          const count = (size: number) => {
            next += size;
            return next - size;
          };
          const reopen = async () => {
            store = await PageStore.open(folder, options);
            // A kill may bring back what was freed just before.
            assert.ok(store.freed <= freed, `freed ${store.freed} of ${freed}`);
            freed = store.freed;
            seen = range(0, freed);
          };
          for (const one of steps) {
            if (one.kind === 'write') {
              const items = one.sizes.map((size) => numbered(count(size), size, framing));
              await store.append(groupsOf(items, 16, 1 << 20));
            } else if (one.kind === 'read') {
              const batch = await store.next();
              assert.is(batch?.lost ?? 0, 0);
              seen.push(...numbersOf(batch?.items ?? []));
            } else if (one.kind === 'free') {
              const count = Math.floor((seen.length - freed) * one.part);
              store.free(count);
              freed += count;
            } else if (one.kind === 'close') {
              const expected = freed;
              await store.close();
              if (expected === next) {
                // Nothing is left behind; numbers begin anew.
                assert.not(existsSync(folder));
                [next, freed, seen] = [0, 0, []];
              }
              await reopen();
              assert.is(freed, expected === next || next === 0 ? freed : expected);
            } else {
              // As a kill leaves it: what was written, and half of what was to be written.
              const killed = join(temporaryFolder(), 'main');
              if (existsSync(folder)) cpSync(folder, killed, { recursive: true });
              await store.close();
              folder = killed;
              const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.pages')) : [];
              const last = names.sort().at(-1);
              if (last !== undefined) appendFileSync(join(folder, last), Buffer.alloc(one.torn, 0x48));
              // Where all was out there is nothing to go by: numbers begin anew.
              if (last === undefined && freed === next && !existsSync(join(folder, 'read')))
                [next, freed, seen] = [0, 0, []];
              await reopen();
            }
            assert.equal(seen, range(0, seen.length));
            assert.is(store.length, next - freed);
          }
          seen.push(...(await readAll(store)).ids);
          assert.equal(seen, range(0, next));
          await store.close();
        },
      ),
      { numRuns: 60 },
    );
  },
);

test('a page that was cut anywhere is as if it had never been written, those before it are whole', async () => {
  for (let cut = 1; ; cut += 7) {
    const folder = join(temporaryFolder(), 'main');
    const store = await PageStore.open(folder, options);
    await store.append([[numbered(0, 20)]]);
    const path = join(folder, readdirSync(folder).find((name) => name.endsWith('.pages'))!);
    const before = statSync(path).size;
    await store.append([[numbered(20, 10)]]);
    await store.close();
    const size = statSync(path).size - cut;
    if (size < before) return;
    truncateSync(path, size);
    const again = await PageStore.open(folder, options);
    assert.is(again.length, 20);
    assert.is(again.cutOff === '', size === before);
    await again.append([[numbered(20, 5)]]);
    assert.equal(await readAll(again), { ids: range(0, 25), lost: 0 });
    await again.close();
  }
});

test('of damaged bytes only the messages of their page are lost, and counted', async () => {
  const { folder, files } = await written(300);
  assert.ok(files.length >= 3, 'more than one file');
  const [first] = files;
  const bytes = readFileSync(first!);
  for (let at = 0; at < bytes.length; at += 41) {
    const changed = Buffer.from(bytes);
    changed[at] = changed[at]! ^ 0xff;
    writeFileSync(first!, changed);
    const store = await PageStore.open(folder, options);
    const { ids, lost } = await readAll(store);
    assert.is(lost, 10, `byte ${at}`);
    assert.is(ids.length, 290);
    assert.equal(
      ids,
      range(0, 300).filter((id) => ids.includes(id)),
      'in order',
    );
    await store.close();
  }
});

test('what is cut off at the end is told with the messages that were in it', async () => {
  const { folder, files } = await written(300);
  const last = files.at(-1)!;
  const bytes = readFileSync(last);
  // In the last page: whether it was ever whole can't be told.
  bytes[bytes.length - 3]! ^= 0xff;
  writeFileSync(last, bytes);
  const store = await PageStore.open(folder, options);
  assert.match(
    store.cutOff,
    /^\d+ bytes at the end of .*\.pages .* cut off; of messages in them, 10 as far as it shows, /,
  );
  assert.is(store.cutOffMessages, 10);
  assert.equal(await readAll(store), { ids: range(0, 290), lost: 0 });
  await store.close();
});

test('a file that is gone is counted, and those behind it are read', async () => {
  const { folder, files } = await written(300);
  unlinkSync(files[1]!);
  const store = await PageStore.open(folder, options);
  const { ids, lost } = await readAll(store);
  assert.ok(lost > 0);
  assert.is(ids.length + lost, 300);
  assert.is(ids.at(-1), 299);
  await store.close();
});

test('files go as soon as all their messages are out', async () => {
  const { folder, files } = await written(300);
  const store = await PageStore.open(folder, options);
  for (let batch = await store.next(); batch !== undefined; batch = await store.next())
    store.free(messagesOf(batch.items));
  await store.close();
  assert.not(existsSync(folder), `${files.length} files`);
});

test.run();
