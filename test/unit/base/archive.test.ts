import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../../host/base/errors.js';
import { type ArchiveLimits, unpackArchive, withArchive } from '../../../host/base/files/archive.js';
import { temporaryFolder } from '../../support/harness.js';
import { writeZip, type ZipItem } from '../../support/rest/zip-writer.js';

async function messageOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    assert.instance(error, HaumeaError, String(error));
    return (error as HaumeaError).message;
  }
  throw new Error('expected a failure');
}

/** Why an archive is refused; checks that nothing of it is left behind. */
async function refusalOf(items: readonly ZipItem[] | Buffer, limits: Partial<ArchiveLimits> = {}): Promise<string> {
  const folder = temporaryFolder();
  const bytes = Buffer.isBuffer(items) ? items : writeZip(items);
  const message = await messageOf(unpackArchive(bytes, join(folder, 'out'), limits));
  assert.equal(readdirSync(folder), [], 'nothing is left behind');
  return message.replace(/^invalid zip archive: /, '');
}

test('unpacks files, folders and executables', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'x.zip');
  const big = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * i) & 0xff));
  writeFileSync(
    file,
    writeZip([
      { name: 'dir/', mode: 0o040755 },
      { name: 'dir/sub/ä.txt', content: 'text' },
      { name: './run.sh', content: '#!/bin/sh', mode: 0o100755, isStored: true },
      { name: 'big', content: big },
      { name: 'empty' },
    ]),
  );
  const out = join(folder, 'out');
  const entries = await unpackArchive(file, out);
  assert.equal(
    entries.map(({ name, sizeBytes }) => [name, sizeBytes]),
    [
      ['dir', 0],
      ['dir/sub/ä.txt', 4],
      ['run.sh', 9],
      ['big', 300_000],
      ['empty', 0],
    ],
  );
  assert.is(readFileSync(join(out, 'dir/sub/ä.txt'), 'utf8'), 'text');
  assert.ok(readFileSync(join(out, 'big')).equals(big));
  assert.ok(statSync(join(out, 'run.sh')).mode & 0o100);
  assert.not.ok(statSync(join(out, 'big')).mode & 0o111);
  assert.equal(readdirSync(folder).sort(), ['out', 'x.zip']);
});

test('replaces a folder in one step and keeps the old one after a failure', async () => {
  const folder = temporaryFolder();
  const out = join(folder, 'out');
  mkdirSync(out);
  writeFileSync(join(out, 'old'), 'old');
  await messageOf(
    unpackArchive(
      writeZip([
        { name: 'a', content: 'a' },
        { name: 'b', content: 'b', announced: { crc: 1 } },
      ]),
      out,
    ),
  );
  assert.equal(readdirSync(out), ['old']);
  await unpackArchive(writeZip([{ name: 'new', content: 'new' }]), out);
  assert.equal(readdirSync(out), ['new']);
  assert.equal(readdirSync(folder), ['out']);
});

test('reads single files and unpacks a choice', async () => {
  const folder = temporaryFolder();
  await withArchive(
    writeZip([
      { name: 'a.json', content: '{}' },
      { name: 'b/c', content: 'c' },
    ]),
    async (archive) => {
      assert.is((await archive.read('a.json')).toString(), '{}');
      assert.is((await archive.read('b/c')).toString(), 'c');
      assert.is(await messageOf(archive.read('none')), 'the archive has no file none');
      await archive.unpack(join(folder, 'out'), (entry) => entry.name.startsWith('b/'));
    },
  );
  assert.equal(readdirSync(join(folder, 'out')), ['b']);
});

test('refuses paths that leave the folder', async () => {
  const folder = temporaryFolder();
  for (const [name, reason] of [
    ['../evil', 'the path leaves the folder'],
    ['a/../../evil', 'the path leaves the folder'],
    ['..\\evil', 'the path leaves the folder'],
    ['/etc/evil', 'the path is absolute'],
    ['\\evil', 'the path is absolute'],
    ['C:\\evil', 'the path is absolute'],
    ['a\u0000b', 'the name has control characters'],
    ['.', 'the name is empty'],
    ['x'.repeat(1025), 'more than 1024 characters'],
  ] as const) {
    assert.match(await refusalOf([{ name: 'ok' }, { name, content: 'x' }]), reason);
  }
  assert.match(await refusalOf([{ name: '../evil' }]), 'entry "../evil": ');
  assert.not.ok(existsSync(join(folder, 'evil')));
});

test('refuses links, devices, encryption and unknown packing', async () => {
  assert.is(
    await refusalOf([{ name: 'l', content: '/etc/passwd', mode: 0o120777 }]),
    'entry "l": links and devices are refused',
  );
  assert.match(await refusalOf([{ name: 'p', mode: 0o010644 }]), 'links and devices');
  assert.match(
    await refusalOf([{ name: 'e', content: 'x', announced: { flags: 0x801 } }]),
    'entry "e": it is encrypted',
  );
  assert.match(
    await refusalOf([{ name: 'm', content: 'x', announced: { method: 99 } }]),
    'unknown compression method 99',
  );
  assert.match(await refusalOf([{ name: 'd/', content: 'x' }]), 'a folder with content');
});

test('refuses names that are there twice or in the way', async () => {
  assert.is(await refusalOf([{ name: 'a' }, { name: './a' }]), 'entry "./a": it is there twice');
  assert.is(await refusalOf([{ name: 'a/b' }, { name: 'a' }]), 'entry "a/b": a part of its path is a file');
});

test('ends at the limits before anything is unpacked', async () => {
  const zeros = { name: 'zeros', content: Buffer.alloc(5_000_000) };
  assert.is(await refusalOf([zeros]), 'entry "zeros": packed more than 200 to 1');
  const limits = { maxRatio: 2000, maxEntryBytes: 1000, maxTotalBytes: 1500, maxEntries: 3 };
  assert.is(await refusalOf([zeros], limits), 'entry "zeros": more than 1000 bytes unpacked');
  const part = (name: string) => ({ name, content: Buffer.alloc(800) });
  assert.is(await refusalOf([part('a'), part('b')], limits), 'more than 1500 bytes unpacked');
  assert.is(
    await refusalOf([{ name: '1' }, { name: '2' }, { name: '3' }, { name: '4' }], limits),
    'more than 3 entries',
  );
});

test('refuses archives that lie', async () => {
  assert.is(
    await refusalOf([{ name: 'crc', content: 'x', announced: { crc: 7 } }]),
    'entry "crc": its checksum is wrong',
  );
  assert.match(await refusalOf([{ name: 'less', content: 'x'.repeat(5000), announced: { size: 10 } }]), 'entry "less"');
  assert.match(await refusalOf([{ name: 'more', content: 'x', announced: { size: 10 } }]), 'entry "more"');
  const data = Buffer.from(Array.from({ length: 4000 }, (_, i) => (i * i * 31) & 0xff));
  const shared = Array.from({ length: 20 }, (_, i) => ({ name: `s${i}`, content: data, sharesData: i > 0 }));
  assert.is(await refusalOf(shared), 'entries overlap');
});

test('refuses what is no archive', async () => {
  const folder = temporaryFolder();
  assert.match(await refusalOf(Buffer.from('hello')), /./);
  assert.match(await refusalOf(Buffer.alloc(0)), /./);
  const good = writeZip([{ name: 'a', content: 'abc' }]);
  assert.match(await refusalOf(good.subarray(0, good.length - 10)), /./);
  assert.match(await messageOf(unpackArchive(join(folder, 'none.zip'), join(folder, 'out'))), 'ENOENT');
});

test('survives archives with any byte changed', async () => {
  const good = writeZip([
    { name: 'a', content: 'abc'.repeat(50) },
    { name: 'd/b', content: 'x', isStored: true },
  ]);
  for (let at = 0; at < good.length; at++) {
    const bad = Buffer.from(good);
    bad[at] = (bad[at] as number) ^ 0xff;
    await withArchive(bad, async (archive) => {
      for (const { name, isFolder } of archive.entries) if (!isFolder) await archive.read(name);
    }).catch((error: unknown) => assert.instance(error, HaumeaError, `byte ${at}: ${String(error)}`));
  }
});

test.run();
