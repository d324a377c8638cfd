/** Images in files: what is one, what it is called, which are deleted, and what a full disk costs. */
import fs, { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AllowedPaths } from '../../../../host/base/files/allowed-paths.js';
import { crc32 } from '../../../../host/base/files/crc32.js';
import { silent } from '../../../../host/base/log/log.js';
import { imageReason } from '../../../../host/connectors/image/format.js';
import { ImageSink, type ImageSinkConf } from '../../../../host/connectors/image/sink.js';
import type { SinkChunk, SinkContext } from '../../../../host/connectors/running.js';
import { RowWriter } from '../../../../kernels/values/row-writer.js';
import { temporaryFolder } from '../../../support/harness.js';

function pngChunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}

/** One grey point. */
const png = Buffer.concat([
  Buffer.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
  pngChunk('IHDR', Buffer.of(0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0)),
  pngChunk('IDAT', deflateSync(Buffer.of(0, 128))),
  pngChunk('IEND', Buffer.alloc(0)),
]);
const jpeg = Buffer.of(0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xda, 0, 3, 1, 7, 7, 0xff, 0, 7, 0xff, 0xd9);

test('an image is known by what it is made of', () => {
  assert.is(imageReason(png, 'png'), undefined);
  assert.is(imageReason(jpeg, 'jpeg'), undefined);
  assert.match(imageReason(jpeg, 'png')!, /does not begin as PNG/);
  assert.match(imageReason(png, 'jpeg')!, /does not begin as JPEG/);
  assert.match(imageReason(png.subarray(0, -4), 'png')!, /cut off/);
  assert.match(imageReason(jpeg.subarray(0, -1), 'jpeg')!, /cut off/);
  const damaged = Buffer.from(png);
  damaged[20] = 9;
  assert.match(imageReason(damaged, 'png')!, /damaged/);
  assert.match(imageReason(Buffer.alloc(0), 'png')!, /empty/);
});

interface Opened {
  readonly sink: ImageSink;
  readonly failures: string[];
  readonly lost: string[];
  accepted: number;
  row(row: Readonly<Record<string, unknown>>): void;
}

function opened(conf: Partial<ImageSinkConf> & { path: string }): Opened {
  const at = { failures: [], lost: [], accepted: 0 } as unknown as Opened;
  const context = {
    dynamic: new Set<string>(),
    log: silent,
    paths: AllowedPaths.any(),
    accepted: (_bytes: number, messages: number) => {
      at.accepted += messages;
    },
    refused: (_message: Uint8Array, _bytes: number, _messages: number, reason: string) => void at.failures.push(reason),
    disconnected: (reason: string) => void at.lost.push(reason),
  } as unknown as SinkContext;
  const sink = new ImageSink({ imageFormat: 'png', maxAge: 72, maxCount: 1000, ...conf }, context);
  const row = (given: Readonly<Record<string, unknown>>) => {
    const writer = new RowWriter();
    writer.value(given);
    const bytes = Buffer.from(writer.bytes);
    const chunk = { node: 1, host: 1, messages: 1, rows: 1, errors: new Set<number>() };
    sink.write({ ...chunk, bytes, ends: Uint32Array.of(bytes.length) } as unknown as SinkChunk);
  };
  return Object.assign(at, { sink, row });
}

test('each column of bytes is a file with its name and the time', async () => {
  const path = join(temporaryFolder(), 'deep/images');
  const images = opened({ path });
  await images.sink.open();
  for (let i = 0; i < 3; i++) images.row({ front: png, back: png, none: null });
  await images.sink.flush();
  const names = readdirSync(path);
  assert.is(names.length, 6);
  for (const name of names) {
    assert.match(name, /^(front|back)\d{4}-\d{1,2}-\d{1,2}_\d{1,2}-\d{1,2}-\d{1,2}-\d+\.png$/);
    assert.ok(readFileSync(join(path, name)).equals(png));
  }
  assert.is(images.accepted, 3);
  await images.sink.close();
});

test('a column can not lead out of the folder', async () => {
  const path = temporaryFolder();
  const images = opened({ path });
  await images.sink.open();
  images.row({ '../../x': png, '/etc/x': png, ['a'.repeat(300)]: png });
  await images.sink.flush();
  const names = readdirSync(path).sort();
  assert.is(names.length, 3);
  assert.ok(names.some((name) => name.startsWith('______x')));
  await images.sink.close();
});

test('what is no image is counted with its reason, and costs no other', async () => {
  const path = temporaryFolder();
  const images = opened({ path });
  await images.sink.open();
  images.row({ a: jpeg });
  images.row({ a: 'text' });
  images.row({ a: null });
  images.row({ a: png });
  await images.sink.flush();
  assert.is(images.accepted, 1);
  assert.is(readdirSync(path).length, 1);
  assert.match(images.failures[0]!, /column a has no png image: it does not begin as PNG/);
  assert.match(images.failures[1]!, /column a has no bytes/);
  assert.match(images.failures[2]!, /has no image/);
  await images.sink.close();
});

test('the oldest are deleted: too many, too old; other files stay', async () => {
  const path = temporaryFolder();
  for (const [name, hours] of [
    ['old.png', 80],
    ['new.png', 1],
    ['old.jpeg', 80],
  ] as const) {
    writeFileSync(join(path, name), png);
    const at = Date.now() / 1000 - hours * 3600;
    utimesSync(join(path, name), at, at);
  }
  const images = opened({ path, maxCount: 3 });
  await images.sink.open();
  assert.equal(readdirSync(path).sort(), ['new.png', 'old.jpeg']);
  for (let i = 0; i < 3; i++) images.row({ a: png });
  await images.sink.flush();
  const names = readdirSync(path);
  assert.is(names.filter((name) => name.endsWith('.png')).length, 3);
  assert.not.ok(names.includes('new.png'));
  assert.ok(names.includes('old.jpeg'));
  await images.sink.close();
});

test('a folder that goes away is waited for, and nothing is lost or written twice', async () => {
  const path = join(temporaryFolder(), 'images');
  const images = opened({ path });
  await images.sink.open();
  fs.rmSync(path, { recursive: true });
  images.row({ a: png, b: png });
  await images.sink.flush().catch(() => {});
  assert.is(images.lost.length, 1);
  assert.is(images.accepted, 0);
  await images.sink.open();
  await images.sink.flush();
  assert.is(images.accepted, 1);
  assert.is(readdirSync(path).length, 2);
  await images.sink.close();
});

test('names the property it refuses', async () => {
  const { loadConnector } = await import('../../../../host/connectors/index.js');
  const { sink } = await loadConnector('sink', 'image');
  assert.throws(() => sink!.check({}), /path is required/);
  assert.throws(() => sink!.check({ path: 'a', imageFormat: 'gif' }), /imageFormat must be one of jpeg, png/);
  assert.throws(() => sink!.check({ path: 'a', maxAge: -1 }), /maxAge must be at least 0/);
});

test.run();
