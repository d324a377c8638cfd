/** Compressed batches that Kafka gives: content is read up to a bound, which holds before memory is taken. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { offsetBehind, readBatches } from '../../../../host/clients/kafka/batches.js';
import { type CodecName, codecNames, compressed } from '../../../../host/clients/kafka/codecs.js';
import { RecordFrames } from '../../../../host/connectors/kafka/record-frames.js';

const head = 61;
const megabyte = 1 << 20;

/** A batch at an offset with that content. */
function batch(codec: CodecName, content: Uint8Array, offset: number): Buffer {
  const bytes = Buffer.alloc(head + content.length);
  bytes.writeBigInt64BE(BigInt(offset), 0);
  bytes.writeInt32BE(bytes.length - 12, 8);
  bytes[16] = 2;
  bytes.writeInt16BE(codecNames.indexOf(codec), 21);
  bytes.set(content, head);
  return bytes;
}

function read(...batches: Buffer[]) {
  const records: Buffer[] = [];
  const failures: string[] = [];
  readBatches(
    Buffer.concat(batches),
    [],
    (one) => records.push(one.records),
    (reason, offset) => failures.push(`${offset}: ${reason}`),
  );
  return { records, failures };
}

const uint32 = (value: number, isBig = false) => {
  const bytes = Buffer.alloc(4);
  if (isBig) bytes.writeUInt32BE(value);
  else bytes.writeUInt32LE(value);
  return bytes;
};

/** A frame of LZ4 with that many blocks, each of 4 MB. */
function lz4Bomb(blocks: number): Buffer {
  const length = 16_500;
  const block = Buffer.concat([uint32(length), Buffer.alloc(length, 0xff)]);
  return Buffer.concat([Buffer.from('04224d18607073', 'hex'), ...Array(blocks).fill(block)]);
}

const xerial = Buffer.from('82534e41505059000000000100000001', 'hex');

test('an answer with a length that leads backwards or nowhere is refused, without an end it is not read on', () => {
  for (const length of [-12, -13, 0, 48, -(2 ** 31)]) {
    const bytes = batch('none', Buffer.from('x'), 7);
    bytes.writeInt32BE(length, 8);
    const reason = new RegExp(`batch with a length of ${length} bytes`);
    assert.throws(() => offsetBehind(bytes), reason);
    assert.throws(() => read(bytes), reason);
  }
});

test('a batch that counts more records than it has, or records that lead backwards, is refused', () => {
  const place = { topic: 't', partition: 0, next: 0, position: 0, limit: 100 };
  // Lengths of records as zigzag numbers: -1, 0, and one that reaches behind the end.
  for (const records of ['01', '00', '7e000000', '']) {
    const bytes = Buffer.from(records, 'hex');
    const add = () =>
      new RecordFrames().add(place, { firstOffset: 0, firstTime: 0, count: 2 ** 31 - 1, records: bytes });
    assert.throws(add, RangeError);
  }
});

test('every codec gives back what was compressed, large and small', () => {
  for (const size of [0, 1, 1000, 5 * megabyte]) {
    const content = Buffer.alloc(size, 'some text, ');
    for (let i = 0; i < size; i += 7) content[i] = i * 31;
    for (const codec of codecNames) {
      const { records, failures } = read(batch(codec, compressed(codec, content), 7));
      assert.equal(failures, [], codec);
      assert.ok(records[0]!.equals(content), `${codec}, ${size}`);
    }
  }
});

test('content above the bound is told of and left out; the next batch is read', () => {
  const good = batch('none', Buffer.from('good'), 9);
  const block = Buffer.concat([Buffer.from([0x80, 0x80, 0x80, 0x30]), Buffer.alloc(2 * megabyte)]);
  const bombs: [CodecName, Buffer, RegExp][] = [
    ['lz4', lz4Bomb(65), /^5: the content has up to 272629760 bytes, more than the 268435456 allowed$/],
    [
      'snappy',
      Buffer.concat([
        xerial,
        ...Array(3)
          .fill([uint32(block.length, true), block])
          .flat(),
      ]),
      /^5: .*allowed$/,
    ],
    ['snappy', Buffer.from([0xff, 0xff, 0xff, 0x7f, 0, 65]), /^5: a block of 6 bytes declares 268435455 bytes/],
  ];
  for (const [codec, content, reason] of bombs) {
    const before = process.memoryUsage().rss;
    const { records, failures } = read(batch(codec, content, 5), good);
    assert.is(failures.length, 1, codec);
    assert.match(failures[0]!, reason);
    assert.equal(records.map(String), ['good']);
    assert.ok(process.memoryUsage().rss - before < 64 * megabyte, codec);
  }
});

test('a declared content size above the bound is refused, whatever the blocks are', () => {
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(1n << 40n);
  const content = Buffer.concat([Buffer.from('04224d186870', 'hex'), size, Buffer.from([0]), uint32(0)]);
  assert.match(read(batch('lz4', content, 3)).failures[0]!, /up to 1099511627776 bytes/);
});

test('content that is not of its codec is told of by name', () => {
  const bad = Buffer.from('hello, this is no compressed content');
  const { failures } = read(batch('lz4', bad, 1), batch('snappy', bad, 2), batch('lz4', lz4Bomb(1), 3));
  assert.is(failures.length, 3);
  assert.match(failures[0]!, /^1: the content is no frame of LZ4$/);
  assert.match(failures[1]!, /^2: .*declares|Snappy|snappy/);
  assert.is(failures[2], '3: the content is not valid lz4');
});

test.run();
