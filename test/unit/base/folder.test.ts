/** Folders made with all that is missing above them. */
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { makeFolder, makeFolderSync } from '../../../host/base/files/folder.js';

const root = mkdtempSync(join(tmpdir(), 'haumea-folder-'));

test('makes what is missing and leaves what is there', async () => {
  makeFolderSync(join(root, 'a/b/c'));
  makeFolderSync(join(root, 'a/b/c'));
  await Promise.all([makeFolder(join(root, 'd/e')), makeFolder(join(root, 'd/e')), makeFolder(join(root, 'd/f'))]);
  for (const path of ['a/b/c', 'd/e', 'd/f']) assert.ok(existsSync(join(root, path)));
});

test('fails below a file', async () => {
  writeFileSync(join(root, 'file'), '');
  assert.throws(() => makeFolderSync(join(root, 'file/x')), /ENOTDIR|EEXIST/);
  let reason = '';
  await makeFolder(join(root, 'file/x')).catch((error: Error) => {
    reason = error.message;
  });
  assert.match(reason, /ENOTDIR|EEXIST/);
});

test('fails at once where the system denies what it has', async () => {
  if (!existsSync('/proc/self')) return;
  assert.throws(() => makeFolderSync('/proc/nope/x'), /ENOENT/);
  let reason = '';
  await makeFolder('/proc/nope/x').catch((error: Error) => {
    reason = error.message;
  });
  assert.match(reason, /ENOENT/);
});

test.run();
