/** Where a file source is: read on from any position, what comes is what had not come before. */
import fs, { appendFileSync, existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { compressions } from '../../../../host/base/bytes/compression.js';
import { readPosition } from '../../../../host/connectors/file/reading/position.js';
import { FileSource, type FileSourceConf } from '../../../../host/connectors/file/reading/source.js';
import { payloadsOf } from '../../../../host/connectors/messages/frames.js';
import { type OpenedSource, openSource } from '../../../support/connectors/source.js';
import { eventually, temporaryFolder } from '../../../support/harness.js';

const usual: FileSourceConf = {
  fileType: 'lines',
  path: '',
  interval: 0,
  sendInterval: 0,
  ignoreStartLines: 0,
  ignoreEndLines: 0,
  hasHeader: false,
  decompression: '',
  actionAfterRead: 0,
  moveTo: '',
  follow: false,
  hasMeta: false,
};

type Opened = OpenedSource<FileSource>;

const open = (
  path: string,
  conf: Partial<FileSourceConf> = {},
  given: Parameters<typeof openSource<FileSource>>[1] = {},
) => openSource((context) => new FileSource({ ...usual, path, ...conf }, context), given);

const ended = (opened: Opened) => eventually('the end of the input', () => opened.isEnded);

/** The text as a file has it, in two parts where it is packed. */
function packed(text: string, { decompression = '' }: Partial<FileSourceConf>): Uint8Array | string {
  if (decompression === '') return text;
  const name = decompression as 'gzip' | 'zstd';
  const half = Math.floor(text.length / 2);
  const parts = [text.slice(0, half), text.slice(half)];
  return Buffer.concat(parts.map((part) => compressions[name].compress(Buffer.from(part))));
}

const kinds: Record<string, Partial<FileSourceConf>> = {
  'lines of a file': {},
  'lines of a packed file': { decompression: 'gzip' },
  'lines below head lines': { ignoreStartLines: 2 },
  'lines before foot lines': { ignoreEndLines: 2 },
  'JSON values': { fileType: 'json' },
  'records of columns': { fileType: 'csv' },
  'lines of a zstd file': { decompression: 'zstd' },
};

for (const [name, conf] of Object.entries(kinds)) {
  test(`${name}: what came before a position and what comes from there is all, once`, async () => {
    const hasFrames = 'fileType' in conf;
    const messages = (written: readonly Buffer[]) => {
      const all = Buffer.concat(written);
      if (hasFrames) return payloadsOf(all).map((payload) => payload.toString());
      // What has no end is no part of the position: it comes again.
      return all.toString().split('\n').slice(0, -1);
    };
    const lines = fc.array(fc.integer({ min: 1, max: 60_000 }), { minLength: 3, maxLength: 14 });
    await fc.assert(
      fc.asyncProperty(lines, fc.nat(), fc.boolean(), async (lengths, stopAt, isOpen) => {
        const values = lengths.map((length, i) => `{"id":${i},"text":"${'x'.repeat(length)}"}`);
        const text = values.join('\n') + (isOpen ? '' : '\n');
        const path = join(temporaryFolder(), 'in');
        writeFileSync(path, packed(text, conf));
        let seen: unknown;
        let before: readonly string[] = [];
        let pieces = 0;
        const look = ({ source, written }: Opened) => {
          if (pieces++ > stopAt % 4) return;
          seen = source.position();
          before = messages(written);
        };
        const first = await open(path, conf, { look });
        await ended(first);
        await first.source.close();
        const second = await open(path, conf, { from: seen });
        await ended(second);
        await second.source.close();
        assert.equal([...before, ...messages(second.written)], messages(first.written));
      }),
      { numRuns: 15 },
    );
  });
}

/** Waits until so much has come. */
const came = (opened: Opened, text: string) =>
  eventually(`the text ${text}`, () => {
    const all = Buffer.concat(opened.written).toString();
    assert.ok(text.startsWith(all), all);
    return all === text;
  });

function folderOf(...names: string[]): string {
  const folder = join(temporaryFolder(), 'in');
  mkdirSync(folder);
  names.forEach((name, i) => {
    writeFileSync(join(folder, name), `${name}1\n${name}2\n`);
    utimesSync(join(folder, name), 1000 + i, 1000 + i);
  });
  return folder;
}

/** Reads a folder; returns the position behind so many writes. */
async function positionAfter(folder: string, writes: number, text: string): Promise<unknown> {
  let position: unknown;
  const look = ({ source, written }: Opened) => {
    if (written.length === writes) position = source.position();
  };
  const opened = await open(folder, {}, { look });
  await came(opened, text);
  await opened.source.close();
  return position;
}

test('of a folder the files before the position are not read again, and lines that were appended are', async () => {
  const folder = folderOf('a', 'b', 'c');
  const position = await positionAfter(folder, 2, 'a1\na2\nb1\nb2\nc1\nc2\n');
  appendFileSync(join(folder, 'b'), 'b3\n');
  const second = await open(folder, {}, { from: position });
  await came(second, 'c1\nc2\nb3\n');
  await second.source.close();
});

test('files that came to the folder after the position are read after it, however old they are', async () => {
  const folder = folderOf('b', 'c');
  const position = await positionAfter(folder, 2, 'b1\nb2\nc1\nc2\n');
  // A clock tick later than the files before.
  await new Promise((resolve) => setTimeout(resolve, 20));
  writeFileSync(join(folder, 'a'), 'a1\n');
  utimesSync(join(folder, 'a'), 5, 5);
  const second = await open(folder, {}, { from: position });
  await came(second, 'a1\n');
  await second.source.close();
});

for (const interval of [0, 20]) {
  test(`a folder is read on: new files and changed ones come, others do not (interval ${interval})`, async () => {
    const folder = folderOf('a', 'b');
    const opened = await open(folder, { interval });
    await came(opened, 'a1\na2\nb1\nb2\n');
    writeFileSync(join(folder, 'c'), 'c1\n');
    await came(opened, 'a1\na2\nb1\nb2\nc1\n');
    appendFileSync(join(folder, 'a'), 'a3\n');
    await came(opened, 'a1\na2\nb1\nb2\nc1\na1\na2\na3\n');
    assert.not(opened.isEnded);
    await opened.source.close();
  });
}

test('a file that can not be unpacked costs no other', async () => {
  const folder = folderOf('a');
  writeFileSync(join(folder, 'b'), packed('b1\n', { decompression: 'zstd' }));
  const cut = Buffer.from(packed('d1\n', { decompression: 'zstd' }) as Uint8Array).subarray(0, -1);
  for (const [name, text, reason, passed] of [
    ['c', 'no zstd', /c: it is no zstd/, ''],
    ['c', cut, /c: it is cut off/, 'd'],
  ] as const) {
    rmSync(join(folder, 'a'), { force: true });
    writeFileSync(join(folder, name), text);
    const reasons: string[] = [];
    const opened = await open(folder, { decompression: 'zstd' }, { failed: (text) => void reasons.push(text) });
    await eventually('the reason', () => reasons.some((one) => reason.test(one)));
    await came(opened, `b1\n${passed}`);
    await opened.source.close();
  }
});

test('a file that another one has replaced is read from its begin, and that is said', async () => {
  const path = join(temporaryFolder(), 'in');
  writeFileSync(path, 'a\nb\n');
  const first = await open(path);
  await ended(first);
  const position = first.source.position() as object;
  await first.source.close();
  const second = await open(path, {}, { from: { ...position, ino: 1 } });
  await ended(second);
  assert.is(Buffer.concat(second.written).toString(), 'a\nb\n');
  assert.match(second.warnings.join(), /is read from its begin: another file has its name/);
  await second.source.close();
});

test('files are deleted when nobody asks for them again', async () => {
  const folder = folderOf('a', 'b');
  const positions: unknown[] = [];
  const opened = await open(
    folder,
    { actionAfterRead: 1 },
    {
      isCommitted: true,
      look: ({ source }) => void positions.push(source.position()),
    },
  );
  await came(opened, 'a1\na2\nb1\nb2\n');
  assert.ok(existsSync(join(folder, 'a')) && existsSync(join(folder, 'b')));
  await eventually('the end of the second', () => (opened.source.position() as { read: number }).read === 2);
  // The first was read to its end when the second began.
  opened.source.commit(positions[1]);
  await opened.source.close();
  assert.equal([existsSync(join(folder, 'a')), existsSync(join(folder, 'b'))], [false, true]);
  opened.source.commit(undefined);
  await eventually('the end of the second', () => !existsSync(join(folder, 'b')));
});

test('a file that is being deleted is not read again while it is still there', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'a'), '1\n');
  const { rm } = fs.promises;
  const replace = (by: typeof rm) => {
    Object.assign(fs.promises, { rm: by });
    syncBuiltinESMExports();
  };
  let go: () => void = () => {};
  const isWanted = new Promise<void>((resolve) => {
    go = resolve;
  });
  replace(async (path) => {
    await isWanted;
    await rm(path);
  });
  const opened = await open(folder, { interval: 1, actionAfterRead: 1 }, { isCommitted: true });
  try {
    await eventually('the file', () => opened.written.length > 0);
    opened.source.commit(undefined);
    // Read behind it: the folder was looked at since.
    writeFileSync(join(folder, 'b'), '2\n');
    await eventually('the second file', () => opened.written.length > 1);
    assert.is(Buffer.concat(opened.written).toString(), '1\n2\n');
  } finally {
    go();
    await opened.source.close();
    replace(rm);
  }
});

test(
  'a position is an object of whole numbers that are not negative; what is no position is refused, not taken as ' +
    'the begin',
  () => {
    for (const given of [null, undefined, [], 'begin', 5])
      assert.throws(() => readPosition(given), /must be an object/);
    for (const bytes of [-1, '5', [], Number.NaN])
      assert.throws(() => readPosition({ bytes }), /bytes must be a number/);
    for (const value of [1.5, 1e300]) {
      assert.throws(() => readPosition({ bytes: value }), /bytes must be a whole number/);
      assert.throws(() => readPosition({ messages: value }), /messages must be a whole number/);
    }
    assert.throws(() => readPosition({ path: 5 }), /path must be a text/);
    const known = { path: '/in', ino: 2 ** 60, changed: 1.5, bytes: 7, messages: 2, read: 0 };
    assert.equal(readPosition(known), known);
  },
);

test.run();
