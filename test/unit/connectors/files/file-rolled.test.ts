/** Files with a form of their own, and files that end: what is in them, how they go on, what a full disk leaves. */
import { createDecipheriv } from 'node:crypto';
import fs, { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { compressions } from '../../../../host/base/bytes/compression.js';
import { AllowedPaths } from '../../../../host/base/files/allowed-paths.js';
import { TextForm } from '../../../../host/connectors/file/writing/form.js';
import {
  type RolledOwner,
  RolledWriter,
  type RollOptions,
} from '../../../../host/connectors/file/writing/rolled-writer.js';
import { eventually, temporaryFolder } from '../../../support/harness.js';

const usual: RollOptions = {
  fileType: 'lines',
  compression: '',
  rollingSize: 0,
  rollingCount: 0,
  rollingInterval: 0,
  checkInterval: 300_000,
  rollingNamePattern: '',
};

const key = Buffer.alloc(32, 7).toString('base64');
const finished: RolledOwner['finished'] = new Map();

interface Written {
  readonly writer: RolledWriter;
  readonly completed: string[];
  readonly warnings: string[];
  /** Messages that the file has, by the writer. */
  accepted: number;
  disconnections: string[];
  add(...messages: string[]): void;
}

function writing(path: string, options: Partial<RollOptions> = {}, isNew = false): Written {
  const completed: string[] = [];
  const warnings: string[] = [];
  const all = { ...usual, ...options };
  const writer = new RolledWriter(path, all, {
    paths: AllowedPaths.any(),
    warn: (text) => void warnings.push(text),
    form: async (begun) => new TextForm(all, begun),
    complete: async (file) => void completed.push(file),
    finished: isNew ? new Map() : finished,
  });
  const client = {
    accepted: (_bytes: number, messages: number) => {
      written.accepted += messages;
    },
    failed: () => assert.unreachable('nothing is lost'),
    disconnected: (reason: string) => void written.disconnections.push(reason),
  };
  const written: Written = {
    writer,
    completed,
    warnings,
    accepted: 0,
    disconnections: [],
    add: (...messages) => {
      for (const message of messages) {
        writer.write(Buffer.from(message), 1, client, { isOpen: all.fileType !== 'json' });
      }
    },
  };
  return written;
}

const fresh = (name = 'out.txt') => join(temporaryFolder(), name);

/** What is in a file, whatever its form. */
function contentOf(path: string, { compression = '', aesKey }: Partial<RollOptions> = {}): string {
  let bytes: Buffer = readFileSync(path);
  if (aesKey !== undefined) {
    const decipher = createDecipheriv('aes-256-cfb', Buffer.from(aesKey, 'base64'), bytes.subarray(0, 16));
    bytes = decipher.update(bytes.subarray(16));
  }
  if (compression === 'gzip') bytes = gunzipSync(bytes);
  if (compression === 'zstd') bytes = Buffer.from(unzstd(bytes));
  return bytes.toString();
}

/** Frames one after the other: the library takes them together. */
function unzstd(bytes: Buffer): Uint8Array {
  return compressions.zstd.decompress(bytes, 1 << 24);
}

const forms: Record<string, Partial<RollOptions>> = {
  lines: {},
  'a JSON array': { fileType: 'json' },
  'gzip lines': { compression: 'gzip' },
  'zstd lines': { compression: 'zstd' },
  'encrypted lines': { aesKey: key },
  'an encrypted JSON array in gzip': { fileType: 'json', compression: 'gzip', aesKey: key },
};

for (const [name, form] of Object.entries(forms)) {
  const isJson = form.fileType === 'json';
  const whole = (...values: number[]) =>
    isJson ? JSON.stringify(values) : values.map((value) => `${value}\n`).join('');

  test(`${name}: a file that was closed is whole, and is gone on with`, async () => {
    const path = fresh();
    const first = writing(path, form);
    await first.writer.open();
    first.add('1', '2');
    await first.writer.flush();
    assert.is(first.accepted, 2);
    first.add('3');
    await first.writer.close();
    assert.is(contentOf(path, form), whole(1, 2, 3));
    const second = writing(path, form);
    await second.writer.open();
    second.add('4');
    await second.writer.close();
    assert.is(contentOf(path, form), whole(1, 2, 3, 4));
    assert.equal(second.warnings, []);
  });

  test(`${name}: a file is cut back to a place in it, and goes on from there`, async () => {
    const path = fresh();
    const first = writing(path, form);
    await first.writer.open();
    first.add('1');
    await first.writer.flush();
    first.add('2', '3');
    // What waits is before the place.
    const place = first.writer.end;
    assert.ok(place !== undefined);
    first.add('4');
    await first.writer.flush();
    // The process is killed: nothing is closed.
    const second = writing(path, form, true);
    second.writer.cutAtOpen(place, (reason) => assert.unreachable(reason));
    await second.writer.open();
    second.add('5');
    await second.writer.close();
    assert.is(contentOf(path, form), whole(1, 2, 3, 5));
    await first.writer.close();
  });

  test(`${name}: while a piece is written the place behind it stays the same`, async () => {
    const written = writing(fresh(), form);
    await written.writer.open();
    written.add('1', '2');
    const places = new Set([written.writer.end?.size]);
    let isOver = false;
    const flushed = written.writer.flush().then(() => {
      isOver = true;
    });
    while (!isOver) {
      places.add(written.writer.end?.size);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await flushed;
    places.add(written.writer.end?.size);
    assert.is(places.size, 1, [...places].join());
    assert.ok(places.values().next().value);
    await written.writer.close();
  });

  test(`${name}: a full disk leaves whole pieces, and what waited comes later`, async () => {
    const path = fresh();
    const written = writing(path, form);
    await written.writer.open();
    written.add('1');
    await written.writer.flush();
    const real = fs.write;
    let writes = 0;
    Object.assign(fs, {
      // biome-ignore lint/suspicious/noExplicitAny: one form of many
      write: (fd: number, bytes: Buffer, from: number, _length: number, at: null, done: any) => {
        if (writes++ === 0) real(fd, bytes, from, 1, at, done);
        else setImmediate(() => done(Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' }), 0));
      },
    });
    syncBuiltinESMExports();
    try {
      written.add('2');
      void written.writer.flush().catch(() => {});
      await eventually('the full disk', () => written.disconnections.length > 0);
    } finally {
      Object.assign(fs, { write: real });
      syncBuiltinESMExports();
    }
    assert.is(written.accepted, 1);
    await written.writer.open();
    written.add('3');
    await written.writer.close();
    assert.is(contentOf(path, form), whole(1, 2, 3));
    assert.is(written.accepted, 3);
  });
}

test('while it is open a JSON file can be read, up to what was written last', async () => {
  const path = fresh();
  const written = writing(path, { fileType: 'json' });
  await written.writer.open();
  for (let i = 0; i < 3; i++) {
    written.add(`{"i":${i}}`);
    await written.writer.flush();
    assert.is(JSON.parse(readFileSync(path, 'utf8')).length, i + 1);
  }
  await written.writer.close();
});

test('a file that others have written is gone on with or put aside, never lost', async () => {
  for (const [form, before, after] of [
    [{ fileType: 'json' }, '[1, 2 ]\n', '[1, 2 ,3]'],
    [{ fileType: 'json' }, '[]', '[3]'],
    [{ fileType: 'json' }, '[1,', undefined],
    [{ compression: 'gzip' }, gzipSync('1\n'), undefined],
    [{}, '1', '1\n3\n'],
  ] as const) {
    const path = fresh();
    writeFileSync(path, before);
    const written = writing(path, form);
    await written.writer.open();
    written.add('3');
    await written.writer.close();
    if (after !== undefined) assert.is(readFileSync(path, 'utf8'), after);
    else {
      assert.match(written.warnings.join(), /is put aside as .*out-\d+\.txt/);
      const aside = readdirSync(join(path, '..')).find((name) => name !== 'out.txt')!;
      assert.ok(readFileSync(join(path, '..', aside)).equals(Buffer.from(before)));
      assert.is(contentOf(path, form), 'fileType' in form ? '[3]' : '3\n');
    }
  }
});

test('a file ends after so many messages, and has the time of its begin in its name', async () => {
  for (const [rollingNamePattern, names] of [
    ['suffix', /^out-\d{13}\.txt$/],
    ['prefix', /^\d{13}-out\.txt$/],
  ] as const) {
    const path = fresh();
    const written = writing(path, { rollingCount: 2, rollingNamePattern });
    await written.writer.open();
    assert.equal(readdirSync(join(path, '..')), [], 'no file without a message');
    written.add('1', '2', '3', '4', '5');
    await written.writer.close();
    const found = readdirSync(join(path, '..')).sort();
    for (const name of found) assert.match(name, names);
    assert.equal(
      found.map((name) => readFileSync(join(path, '..', name), 'utf8')),
      ['1\n2\n', '3\n4\n', '5\n'],
    );
    assert.equal(
      written.completed.sort(),
      found.map((name) => join(path, '..', name)),
    );
  }
});

test('what stands between messages counts for the size of a file', async () => {
  for (const fileType of ['lines', 'json'] as const) {
    const path = fresh();
    const written = writing(path, { rollingSize: 15, rollingNamePattern: 'suffix', fileType });
    await written.writer.open();
    written.add('{"a":0}', '{"a":1}', '{"a":2}');
    await written.writer.close();
    assert.equal(
      written.completed.map((file) => readFileSync(file, 'utf8').match(/\d/g)?.join('')),
      ['01', '2'],
      fileType,
    );
  }
});

test('without a pattern a full file is put aside; with none the next one replaces it', async () => {
  const path = fresh();
  const written = writing(path, { rollingSize: 4, fileType: 'json' });
  await written.writer.open();
  written.add('10', '11', '12');
  await written.writer.close();
  assert.is(readFileSync(path, 'utf8'), '[12]');
  assert.is(readFileSync(written.completed[0]!, 'utf8'), '[10,11]');
  assert.match(written.completed[0]!, /out-\d+\.txt$/);
  const other = fresh();
  const replacing = writing(other, { rollingCount: 2, rollingNamePattern: 'none' });
  await replacing.writer.open();
  replacing.add('1', '2');
  await replacing.writer.flush();
  await eventually('the end of the file', () => replacing.completed.length === 1);
  assert.is(readFileSync(other, 'utf8'), '1\n2\n', 'it is there until the next message');
  replacing.add('3');
  await replacing.writer.close();
  assert.is(readFileSync(other, 'utf8'), '3\n');
  assert.equal(readdirSync(join(other, '..')), ['out.txt']);
});

test('a file ends when it is old', async () => {
  const path = fresh();
  const written = writing(path, { rollingInterval: 30, checkInterval: 10, compression: 'gzip' });
  await written.writer.open();
  written.add('1');
  await eventually('the end of the file', () => written.completed.length === 1);
  assert.is(contentOf(written.completed[0]!, { compression: 'gzip' }), '1\n');
  // Without messages no file ends.
  await new Promise((resolve) => setTimeout(resolve, 80));
  assert.is(written.completed.length, 1);
  await written.writer.close();
  assert.is(statSync(path).size, 0);
  assert.ok(existsSync(path));
});

test('large and many messages keep their order in files of a size', async () => {
  const path = fresh();
  const written = writing(path, { rollingSize: 1_000_000, compression: 'zstd', rollingNamePattern: 'suffix' });
  await written.writer.open();
  const messages = Array.from({ length: 5000 }, (_, i) => `${i} ${'x'.repeat(i % 700)}`);
  for (const message of messages) written.add(message);
  await written.writer.close();
  const files = readdirSync(join(path, '..')).sort();
  assert.ok(files.length > 1);
  const { unzstd: stream } = await import('../../../../host/connectors/file/reading/zstd-stream.js');
  let text = '';
  for (const name of files) {
    for await (const part of stream(fs.createReadStream(join(path, '..', name)))) text += part.toString();
  }
  assert.is(text, messages.map((message) => `${message}\n`).join(''));
  assert.is(written.accepted, messages.length);
});

test.run();
