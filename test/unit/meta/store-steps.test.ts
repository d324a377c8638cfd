/** Looking ahead in a store, and changes that share one wait for the disk. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../host/base/log.js';
import { openStore } from '../../../host/meta/journal-store.js';
import { temporaryFolder } from '../../harness.js';

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

test('changes made together are on disk when the step is over, those of others are not held up', async () => {
  const path = join(temporaryFolder(), 'kv.db');
  const store = await open(path);
  const result = await store.together(async () => {
    for (let i = 0; i < 500; i++) await store.put('k', `t${i}`, String(i));
    assert.is(store.get('k', 't499'), '499');
    return 'done';
  });
  assert.is(result, 'done');
  await store.put('k', 'alone', 'x');
  const copy = await open(path);
  assert.is(copy.keys('k').length, 501);
  await Promise.all([store.close(), copy.close()]);
});

test('a step fails when one of its changes could not be written', async () => {
  const folder = temporaryFolder();
  const store = await open(join(folder, 'kv.db'));
  // The journal can't be opened where a folder has its name.
  mkdirSync(join(folder, 'kv.db.changes-000000'));
  const outcome = await store
    .together(async () => {
      await store.put('k', 'a', '1');
      assert.is(store.get('k', 'a'), '1');
    })
    .catch((error: Error) => error.message);
  assert.match(String(outcome), /could not be saved/);
  assert.is(store.get('k', 'a'), undefined);
});

test.run();
