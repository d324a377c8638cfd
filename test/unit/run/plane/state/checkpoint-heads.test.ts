/**
 * Heads of checkpoints that are not what they must be, with checksums that are right: files come from other machines,
 * too.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { reasonOf } from '../../../../../host/base/errors.js';
import { CheckpointFiles } from '../../../../../host/run/plane/state/checkpoint/files.js';
import type { CheckpointHead } from '../../../../../host/run/plane/state/checkpoint/head.js';
import { CheckpointFolders } from '../../../../../host/run/props/checkpoint-folders.js';
import { temporaryFolder } from '../../../../support/harness.js';

const state = Buffer.from('state');
const right: CheckpointHead = {
  rule: 'r',
  epoch: 7,
  at: 1_700_000_000_000,
  stateBytes: state.length,
  sources: { s: { bytes: 5 } },
  sinks: { 0: { size: 5 } },
  rows: { least: 0, count: 1, fresh: 1, segments: [{ file: '000000000007.rows', bytes: 0, digest: '' }] },
  pending: { s: 2 },
  joint: { id: 'x', others: [{ folder: 'other', epoch: 3 }] },
};

const folder = join(temporaryFolder(), 'checkpoints', 'r');
const files = new CheckpointFiles(folder);
const path = join(folder, '000000000007.checkpoint');

/** Why a checkpoint with that text as its head can't be read; undefined when it can. */
async function refusalOf(text: string): Promise<string | undefined> {
  const prelude = Buffer.from('HAUMEACP\u0001\0\0\0\0\0\0\0', 'latin1');
  prelude.writeUInt32LE(Buffer.byteLength(text), 12);
  const bytes = Buffer.concat([prelude, Buffer.from(text), state]);
  mkdirSync(folder, { recursive: true });
  writeFileSync(path, Buffer.concat([bytes, createHash('sha256').update(bytes).digest()]));
  return files.read(path).then(() => undefined, reasonOf);
}

const wrong: { readonly [member in keyof CheckpointHead]: readonly unknown[] } = {
  rule: [undefined, 5],
  epoch: ['7', -1, 7.5, 1e300],
  at: [undefined, 'now', 9e15, null],
  stateBytes: [undefined, '5', -5],
  sources: [undefined, null, [], 's'],
  sinks: [undefined, null, [], 's'],
  rows: [
    null,
    'rows',
    { ...right.rows, count: -1 },
    { ...right.rows, least: 2 ** 32 },
    { ...right.rows, fresh: 'x' },
    { ...right.rows, segments: 'x' },
    { ...right.rows, segments: [null] },
    ...['../r/000000000007.rows', '..', '', 'a\0', 5].map((file) => ({
      ...right.rows,
      segments: [{ file, bytes: 0, digest: '' }],
    })),
    { ...right.rows, segments: [...right.rows!.segments, ...right.rows!.segments] },
    { ...right.rows, segments: Array.from({ length: 5000 }, (_, i) => ({ file: `${i}.rows`, bytes: 0, digest: '' })) },
  ],
  pending: [null, 's', { s: -2 }, { s: '2' }, { s: 1e300 }],
  joint: [
    null,
    { id: 5, others: [] },
    { id: 'x', others: 'other' },
    { id: 'x', others: [{ folder: '../other', epoch: 3 }] },
    { id: 'x', others: [{ folder: 'other', epoch: '3' }] },
    { id: 'x', others: Array.from({ length: 101 }, (_, epoch) => ({ folder: 'other', epoch })) },
  ],
};

test('a head is read when each member is what it must be, and else the member is named', async () => {
  assert.is(await refusalOf(JSON.stringify(right)), undefined);
  for (const [member, values] of Object.entries(wrong)) {
    for (const value of values) {
      const text = JSON.stringify({ ...right, [member]: value });
      assert.is(await refusalOf(text), `${member} in its head is not what it must be`, text.slice(0, 200));
    }
  }
});

test('what is no head at all is refused', async () => {
  assert.is(await refusalOf('null'), 'its head is no object');
  assert.is(await refusalOf(`${'['.repeat(100_000)}${']'.repeat(100_000)}`), 'its head is no object');
  assert.is(await refusalOf('{"rule":'), 'its head is no JSON');
  assert.is(await refusalOf(JSON.stringify({ ...right, epoch: 8 })), 'it is number 8');
});

test('a pipe in place of a checkpoint or a segment is no file, and waits for nobody', async () => {
  assert.is(await refusalOf(JSON.stringify(right)), undefined);
  execFileSync('mkfifo', [join(folder, '000000000007.rows')]);
  const rows = right.rows!;
  const reason = await files.readSegments(rows, () => {}).then(() => undefined, reasonOf);
  assert.match(reason ?? '', /000000000007\.rows are damaged: it is no file$/);
  const whole = readFileSync(path);
  rmSync(path);
  execFileSync('mkfifo', [path]);
  assert.is(await files.read(path).then(() => undefined, reasonOf), 'it is no file');
  rmSync(path);
  writeFileSync(path, whole);
  assert.equal((await files.read(path)).head, right);
});

test('folders in place of checkpoints and segments keep no newer one from counting', async () => {
  const own = new CheckpointFiles(join(folder, '..', 'folders'));
  for (const name of ['000000000001.checkpoint', '000000000001.rows', '000000000001.checkpoint.part']) {
    mkdirSync(join(own.folder, name, 'more'), { recursive: true });
  }
  for (const epoch of [2, 3]) {
    await own.write({ rule: 'r', epoch, at: 0, stateBytes: state.length, sources: {}, sinks: {} }, [state]);
    await own.publish(epoch);
  }
  assert.equal(readdirSync(own.folder).sort(), ['000000000002.checkpoint', '000000000003.checkpoint']);
});

test('no two rules have one folder, however long their ids are', () => {
  const folders = new CheckpointFolders('checkpoints');
  const long = 'x'.repeat(300);
  const name = folders.nameOf(long);
  assert.ok(name.length < 200);
  assert.not.match(name, /^[a-zA-Z0-9_-]+$/, 'another rule may have this as its id');
  assert.is(folders.nameOf('r-1'), 'r-1');
});

test.run();
