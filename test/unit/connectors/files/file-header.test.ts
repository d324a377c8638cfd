/**
 * Where files have headers: what a writer says of the end of its file, full disks, headers that a killed process has
 * begun.
 */
import fs, { readFileSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AllowedPaths } from '../../../../host/base/files/allowed-paths.js';
import { headedLines } from '../../../../host/connectors/file/writing/headed.js';
import { FileWriter } from '../../../../host/connectors/file/writing/writer.js';
import { temporaryFolder } from '../../../support/harness.js';

const header = Buffer.from('first,second\n');
const client = { accepted: () => {}, failed: () => {}, disconnected: () => {} };

function writerOf(path: string): FileWriter {
  const writer = new FileWriter(path, { rollingSize: 0, rollingNamePattern: 'none' }, AllowedPaths.any());
  writer.keepHeaders();
  return writer;
}

function written(text: string | undefined): string {
  const path = join(temporaryFolder(), 'out');
  if (text !== undefined) writeFileSync(path, text);
  return path;
}

for (const [what, before, after] of [
  ['a new file', undefined, 'first,second\n1,2\n'],
  ['an empty file', '', 'first,second\n1,2\n'],
  ['a file with the header', 'first,second\n', 'first,second\n1,2\n'],
  ['a file with a row without an end', 'first,second\n8,', 'first,second\n8,\n1,2\n'],
  ['a part of the header', 'first,se', 'first,second\n1,2\n'],
  ['a header without its end', 'first,second', 'first,second\n1,2\n'],
  ['another header', 'first\n8\n', 'first\n8\nfirst,second\n1,2\n'],
  ['what only begins as the header does', 'first\n', 'first\nfirst,second\n1,2\n'],
] as const) {
  test(`${what} is gone on with`, async () => {
    const path = written(before);
    const writer = writerOf(path);
    await writer.open();
    writer.write(Buffer.from('1,2\n'), 1, client, { header });
    assert.is(writer.end?.size, after.length);
    await writer.flush();
    assert.is(writer.end?.size, after.length);
    assert.is(readFileSync(path, 'utf8'), after);
    await writer.close();
  });
}

test('lines with other headers have theirs before them, also while others wait', async () => {
  const path = written(undefined);
  const writer = writerOf(path);
  await writer.open();
  const other = Buffer.from('x\n');
  for (const [line, own] of [
    ['1,2\n', header],
    ['3\n', other],
    ['4\n', Buffer.from('x\n')],
    ['error\n', undefined],
    ['5,6\n', header],
  ] as const) {
    writer.write(Buffer.from(line), 1, client, { header: own });
  }
  const expected = 'first,second\n1,2\nx\n3\n4\nerror\nfirst,second\n5,6\n';
  assert.is(writer.end?.size, expected.length);
  await writer.flush();
  assert.is(readFileSync(path, 'utf8'), expected);
  await writer.close();
});

test(
  'a file that is cut back to its begin gets the header again, one that is cut back behind it does ' + 'not',
  async () => {
    for (const [size, expected] of [
      [0, 'first,second\n1,2\n'],
      [header.length, 'first,second\n1,2\n'],
      [header.length + 4, 'first,second\n7,8\n1,2\n'],
    ] as const) {
      const path = written('first,second\n7,8\n9,');
      const writer = writerOf(path);
      const { dev, ino } = statSync(path);
      writer.cutAtOpen({ dev, ino, size }, (reason) => assert.unreachable(reason));
      writer.write(Buffer.from('1,2\n'), 1, client, { header });
      await writer.open();
      await writer.flush();
      assert.is(readFileSync(path, 'utf8'), expected);
      await writer.close();
    }
  },
);

// biome-ignore lint/suspicious/noExplicitAny: one form of many
type Write = (fd: number, bytes: Buffer, from: number, length: number, at: null, done: any) => void;

test('half a header that a full disk leaves is whole in the end, and once there', async () => {
  const path = written(undefined);
  const writer = writerOf(path);
  await writer.open();
  const real = fs.write as unknown as Write;
  let isFull = false;
  const limited: Write = (fd, bytes, from, _length, at, done) => {
    if (isFull) setImmediate(() => done(Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' }), 0));
    else real(fd, bytes, from, 5, at, done);
    isFull = true;
  };
  const replace = (by: Write) => {
    Object.assign(fs, { write: by });
    syncBuiltinESMExports();
  };
  replace(limited);
  try {
    await new Promise<void>((resolve) => {
      writer.write(Buffer.from('1,2\n'), 1, { ...client, disconnected: () => resolve() }, { header });
    });
  } finally {
    replace(real);
  }
  await writer.open();
  await writer.flush();
  assert.is(readFileSync(path, 'utf8'), 'first,second\n1,2\n');
  await writer.close();
});

test('messages lose their headers, and count as what they were', () => {
  const messages = ['a,b\n1,2', 'failed', 'a,b\n3,4\n5,6', 'c\n7', '\n', ''];
  const ends = messages.map((_text, i) => messages.slice(0, i + 1).join('').length);
  const bytes = Buffer.from(messages.join(''));
  const chunk = { node: 1, host: 1, bytes, ends: Uint32Array.from(ends), messages: 6, rows: 5, errors: new Set([1]) };
  assert.equal(
    headedLines(chunk, undefined).map(({ header: own, lines, messages: count, bytes: size }) => [
      own?.toString(),
      lines.toString(),
      count,
      size,
    ]),
    [
      ['a,b\n', '1,2\nfailed\n3,4\n5,6\n', 3, 24],
      ['c\n', '7\n\n\n', 3, 4],
    ],
  );
});

test.run();
