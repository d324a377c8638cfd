/** Where a file sink says that its file will end, which checkpoints cut it back to, while the disk has no room. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AllowedPaths } from '../../../../host/base/files/allowed-paths.js';
import { FileWriter } from '../../../../host/connectors/file/writing/writer.js';
import { temporaryFolder } from '../../../support/harness.js';

// biome-ignore lint/suspicious/noExplicitAny: one form of many
type Write = (fd: number, bytes: Buffer, from: number, length: number, at: null, done: any) => void;

test('half a line that a full disk leaves is not counted twice', async () => {
  const path = join(temporaryFolder(), 'out');
  const writer = new FileWriter(path, { rollingSize: 0, rollingNamePattern: 'none' }, AllowedPaths.any());
  await writer.open();
  const lines = ['one of them', 'another one', 'and a last one'].map((line) => `${line}\n`).join('');
  const real = fs.write as unknown as Write;
  let isFull = false;
  // The first line and a half have room.
  const limited: Write = (fd, bytes, from, _length, at, done) => {
    if (isFull) setImmediate(() => done(Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' }), 0));
    else real(fd, bytes, from, 18, at, done);
    isFull = true;
  };
  const replace = (by: Write) => {
    Object.assign(fs, { write: by });
    syncBuiltinESMExports();
  };
  replace(limited);
  const ends = new Set<number | undefined>();
  try {
    let isOver = false;
    const client = { accepted: () => {}, failed: () => {}, disconnected: () => (isOver = true) };
    writer.write(Buffer.from(lines), 3, client);
    while (!isOver) {
      ends.add(writer.end?.size);
      await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    replace(real);
  }
  assert.equal([...ends], [lines.length]);
  await writer.open();
  await writer.flush();
  assert.is(writer.end?.size, lines.length);
  assert.is(fs.readFileSync(path, 'utf8'), lines);
  await writer.close();
});

test.run();
