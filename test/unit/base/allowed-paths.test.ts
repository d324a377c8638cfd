import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../../host/base/errors.js';
import { AllowedPaths } from '../../../host/base/files/allowed-paths.js';
import { temporaryFolder } from '../../support/harness.js';

const root = temporaryFolder();
const data = join(root, 'data');
const more = join(root, 'more');
mkdirSync(join(data, 'deep'), { recursive: true });
mkdirSync(more);
mkdirSync(join(root, 'database'));
writeFileSync(join(data, 'deep/file'), 'inside');
writeFileSync(join(root, 'file'), 'outside');
symlinkSync(data, join(root, 'entry'));
symlinkSync(join(more, 'new'), join(data, 'to-more'));
symlinkSync('loop', join(data, 'loop'));
const own = [join(data, 'db*'), join(data, 'keys'), join(root, 'missing')];
const paths = new AllowedPaths({ base: data, folders: [more], own, isOpen: false });

const isDenied = (path: string) => {
  try {
    paths.check(path);
  } catch (error) {
    assert.instance(error, HaumeaError);
    return true;
  }
  return false;
};

test('relative paths begin in the data folder, absolute ones lie in an allowed one', () => {
  assert.is(paths.check('deep/file'), join(data, 'deep/file'));
  assert.is(paths.check('not/there/yet'), join(data, 'not/there/yet'));
  assert.is(paths.check('.'), data);
  assert.is(paths.check(join(more, 'a/../b')), join(more, 'b'));
  for (const path of [
    '..',
    '../data2',
    '../database/x',
    'deep/../../file',
    '/',
    '/etc',
    `${data}2`,
    'a\0b',
    '/proc/self/fd/0',
  ]) {
    assert.ok(isDenied(path), path);
  }
});

test('links are followed: in, out, in circles, and to what is not there', () => {
  assert.is(paths.check(join(root, 'entry/deep/file')), join(root, 'entry/deep/file'));
  assert.ok(isDenied('to-more'), 'a link to a missing file says nothing about it');
  writeFileSync(join(more, 'new'), '');
  assert.not.ok(isDenied('to-more'));
  for (const path of ['loop', 'loop/x']) assert.ok(isDenied(path), path);
  const behind = new AllowedPaths({ base: join(root, 'entry'), folders: [], own: [], isOpen: false });
  assert.is(behind.check('deep/file'), join(root, 'entry/deep/file'));
});

test("the server's own files are no one's, also where every path is allowed", () => {
  const open = new AllowedPaths({ base: data, folders: [], own, isOpen: true });
  assert.is(open.check(join(root, 'file')), join(root, 'file'));
  for (const path of ['db', 'db.journal', 'keys', 'keys/a', '../data/db', '../entry/keys/b']) {
    assert.ok(isDenied(path), path);
    assert.throws(() => open.check(path), /access is denied/);
  }
  assert.not.ok(isDenied('deep/db'));
});

test('a folder that becomes a link while files are opened in it leads nowhere', async () => {
  const swapped = join(data, 'swapped');
  const [real, link] = [join(data, 'real'), join(data, 'link')];
  mkdirSync(real);
  writeFileSync(join(real, 'file'), 'inside');
  symlinkSync(root, link);
  // Another thread changes places all the time: the folder itself, and a link to where files must not be read.
  const swapper = new Worker(
    `const { renameSync } = require('node:fs');
     const { workerData: [swapped, real, link], parentPort } = require('node:worker_threads');
     for (let i = 0; i < 20000; i++) {
       renameSync(real, swapped); renameSync(swapped, real);
       renameSync(link, swapped); renameSync(swapped, link);
     }
     parentPort.postMessage('done');`,
    { eval: true, workerData: [swapped, real, link] },
  );
  let isDone = false;
  swapper.once('message', () => {
    isDone = true;
  });
  const seen = new Set<string>();
  while (!isDone) {
    try {
      const handle = await paths.open('swapped/file', 'read');
      seen.add(await handle.readFile('utf8'));
      await handle.close();
    } catch (error) {
      seen.add(error instanceof HaumeaError ? 'denied' : String((error as NodeJS.ErrnoException).code));
    }
  }
  await swapper.terminate();
  assert.not.ok(seen.has('outside'), [...seen].join());
  assert.ok(seen.size > 0);
});

test('files are opened to read and to append, those of the folder only', async () => {
  const handle = await paths.open('appended', 'append');
  await handle.writeFile('a');
  await handle.close();
  assert.is(readFileSync(join(data, 'appended'), 'utf8'), 'a');
  renameSync(join(data, 'appended'), join(data, 'moved'));
  rmSync(join(data, 'moved'));
  const refusal = await paths.open('moved', 'read').then(
    () => 'opened',
    (error: NodeJS.ErrnoException) => error.code,
  );
  assert.is(refusal, 'ENOENT');
  assert.is(
    await paths.open('../file', 'append').then(
      () => 'opened',
      () => 'denied',
    ),
    'denied',
  );
  assert.is(readFileSync(join(root, 'file'), 'utf8'), 'outside');
});

test.run();
