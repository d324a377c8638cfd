/** Looking ahead in a store, and changes that share one wait for the disk. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../host/base/log/log.js';
import { openStore } from '../../../host/meta/journal/journal-store.js';
import { temporaryFolder } from '../../support/harness.js';

const open = (path = join(temporaryFolder(), 'kv.db')) => openStore({ path, log: silent });

test('shows what changes would lead to and takes them back', async () => {
  const store = await open();
  await store.batch([
    ['k', 'a', '1'],
    ['k', 'b', '2'],
  ]);
  const seen = store.pretend(
    [
      ['k', 'a', null],
      ['k', 'a', '5'],
      ['k', 'b', null],
      ['k', 'c', '3'],
    ],
    () => store.list('k'),
  );
  assert.equal(seen, [
    ['a', '5'],
    ['c', '3'],
  ]);
  const before = [
    ['a', '1'],
    ['b', '2'],
  ];
  assert.equal(store.list('k'), before);
  const fails = () => {
    throw new Error('no');
  };
  assert.throws(() => store.pretend([['k', 'a', null]], fails), /no/);
  assert.equal(store.list('k'), before);
  assert.equal(store.keys('k'), ['a', 'b']);
  await store.close();
});

test('keys are in order however many have come and gone since they were asked for', async () => {
  const store = await open();
  const names = Array.from({ length: 300 }, (_, i) => `k${(i * 7919) % 300}`);
  const there = new Set<string>();
  const set = async (key: string, isThere: boolean) => {
    if (isThere) there.add(key);
    else there.delete(key);
    await (isThere ? store.put('k', key, '1') : store.delete('k', key));
  };
  // Few changes, as many as there are keys, and more.
  for (const [count, step] of [...[1, 3, 7, 8, 9, 30, 100, 299, 300].entries()].map(([i, n]) => [n, i + 1] as const)) {
    for (let i = 0; i < count; i++) {
      const key = names[(i * step) % names.length]!;
      await set(key, i % 3 !== 2 || !there.has(key));
      if (i % 5 === 4) await set(key, false);
    }
    assert.equal(store.keys('k'), [...there].sort(), `${count} changes`);
  }
  await store.close();
});

const unexpected = () => assert.unreachable('a change is lost');

test('changes made together are on disk when the step is saved, those of others are not held up', async () => {
  const path = join(temporaryFolder(), 'kv.db');
  const store = await open(path);
  const { result, saved } = await store.together(async () => {
    for (let i = 0; i < 500; i++) await store.put('k', `t${i}`, String(i), unexpected);
    assert.is(store.get('k', 't499'), '499');
    return 'done';
  });
  assert.is(result, 'done');
  await saved;
  await store.put('k', 'alone', 'x');
  const copy = await open(path);
  assert.is(copy.keys('k').length, 501);
  await Promise.all([store.close(), copy.close()]);
});

/** The journal can't be opened where a folder has its name. */
async function openUnwritable() {
  const folder = temporaryFolder();
  const store = await open(join(folder, 'kv.db'));
  mkdirSync(join(folder, 'kv.db.changes-000000'));
  return store;
}

test('a step whose changes could not be written is told, after they are taken back in the reverse order', async () => {
  const store = await openUnwritable();
  const lost: (string | undefined)[][] = [];
  const note = () => lost.push([store.get('k', 'a'), store.get('k', 'b')]);
  const { saved } = await store.together(async () => {
    await store.put('k', 'a', '1', note);
    await store.put('k', 'b', '2', note);
    assert.is(store.get('k', 'a'), '1');
  });
  const reason = await saved.then(String, (error: Error) => error.message);
  assert.match(reason, /could not be saved/);
  assert.is(store.get('k', 'a'), undefined);
  assert.is(lost.length, 2);
});

test('a change that does not say what to do when it is lost waits for the disk in a step, too', async () => {
  const store = await openUnwritable();
  const { result } = await store.together(() => store.put('k', 'a', '1').catch((error: Error) => error.message));
  assert.match(String(result), /could not be saved/);
});

test.run();
