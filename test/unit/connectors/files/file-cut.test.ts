/** A file that is taken back to a checkpoint: while that is under way it ends nowhere, and nothing is written to it. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AllowedPaths } from '../../../../host/base/files/allowed-paths.js';
import { FileWriter } from '../../../../host/connectors/file/writing/writer.js';
import { temporaryFolder } from '../../../support/harness.js';

const lines = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `${from + i}\n`).join('');
const client = { accepted: () => {}, failed: () => {}, disconnected: () => {} };

function openedAt(path: string, size: number): FileWriter {
  const writer = new FileWriter(path, { rollingSize: 0, rollingNamePattern: 'suffix' }, AllowedPaths.any());
  const { dev, ino } = statSync(path);
  writer.cutAtOpen({ dev, ino, size }, (reason) => assert.unreachable(reason));
  return writer;
}

test('until the end is taken back no checkpoint gets a place behind it', async () => {
  for (let round = 0; round < 20; round++) {
    const path = join(temporaryFolder(), 'out');
    writeFileSync(path, lines(0, 10));
    const writer = openedAt(path, 10);
    let isOpen = false;
    const opening = writer.open().then(() => {
      isOpen = true;
    });
    while (!isOpen) {
      const { end } = writer;
      if (end !== undefined) assert.is(end.size, 10);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await opening;
    assert.is(writer.end?.size, 10);
    assert.is(readFileSync(path, 'utf8'), lines(0, 5));
    await writer.close();
  }
});

test('what comes while the end is taken back is written behind it', async () => {
  for (let round = 0; round < 20; round++) {
    const path = join(temporaryFolder(), 'out');
    writeFileSync(path, lines(0, 10));
    const writer = openedAt(path, 10);
    // So much at once is written as soon as can be.
    const much = Buffer.from(lines(5, 30_000));
    let isOpen = false;
    const opening = writer.open().then(() => {
      isOpen = true;
    });
    for (let at = 0; !isOpen || at < much.length; at += 20_000) {
      writer.write(much.subarray(at, at + 20_000), 1, client);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await opening;
    await writer.flush();
    assert.is(readFileSync(path, 'utf8'), lines(0, 30_000));
    await writer.close();
  }
});

test('a writer that is closed before its file is open ends', async () => {
  const path = join(temporaryFolder(), 'out');
  writeFileSync(path, lines(0, 10));
  const writer = openedAt(path, 10);
  writer.write(Buffer.from('x\n'), 1, client);
  await writer.close();
});

test.run();
