/** Messages that are compressed and encrypted on their way to a sink. */
import { createDecipheriv } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { aesCipher } from '../../../../../host/base/bytes/aes.js';
import { aesKeyReason } from '../../../../../host/base/bytes/aes-props.js';
import { compressionNames, compressions } from '../../../../../host/base/bytes/compression.js';
import { parse } from '../../../../../host/base/fields/field.js';
import { sealOf, sealProps } from '../../../../../host/connectors/seal.js';
import { Sealing } from '../../../../../host/run/plane/output/sealing.js';
import { freeAccess } from '../../../../../host/run/props/access.js';
import { sinkSpecs } from '../../../../../host/run/props/resolve.js';
import type { OutputChunk } from '../../../../../kernels/api.js';
import { connectClient, openBroker } from '../../../../support/brokers/broker.js';
import { openPlane, passRule } from '../../../../support/engine/plane.js';
import { catalogOf } from '../../../../support/engine/planned-rules.js';

const key = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64');

function chunkOf(texts: readonly string[], errors: readonly number[] = []): OutputChunk {
  let end = 0;
  const ends = Uint32Array.from(texts.map((text) => (end += Buffer.byteLength(text))));
  const bytes = Buffer.from(texts.join(''));
  return { node: 1, host: 1, bytes, ends, messages: texts.length, rows: 7, errors: new Set(errors) } as OutputChunk;
}

/** The messages of a chunk that was sealed. */
function sealed(props: Record<string, unknown>, texts: readonly string[]): Buffer[] {
  const chunk = new Sealing(sealOf(sealProps, props)!, key, undefined).encode(chunkOf(texts, [1]), assert.unreachable);
  assert.equal([chunk.messages, chunk.rows, [...chunk.errors]], [texts.length, 7, [1]]);
  return [...chunk.ends!].map((end, i) => Buffer.from(chunk.bytes.subarray(chunk.ends![i - 1] ?? 0, end)));
}

const texts = ['{"a":1}', '', `{"b":"${'x'.repeat(5000)}"}`];

/** The text of a message in the usual layout of gcm. */
function opened(message: Buffer, secret = Buffer.from(key, 'base64')): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', secret, message.subarray(0, 12));
  decipher.setAuthTag(message.subarray(-16));
  return Buffer.concat([decipher.update(message.subarray(12, -16)), decipher.final()]);
}

test('each message is compressed by itself', () => {
  for (const name of compressionNames) {
    const messages = sealed({ compression: name, compressionProps: { level: 9 } }, texts);
    assert.ok(messages[2]!.length < 100, name);
    assert.equal(
      messages.map((message) => Buffer.from(compressions[name].decompress(message, 1e6)).toString()),
      texts,
      name,
    );
  }
});

test('what unfolds to more than is allowed, or is damaged, is refused', () => {
  const bomb = Buffer.alloc(4_000_000);
  for (const name of compressionNames) {
    const { compress, decompress } = compressions[name];
    const packed = compress(bomb);
    assert.is(decompress(packed, bomb.length).length, bomb.length, name);
    assert.throws(() => decompress(packed, bomb.length - 1), undefined, name);
    for (const damaged of [packed.subarray(0, -1), Buffer.from('no such data at all'), Buffer.alloc(0)])
      assert.throws(() => decompress(damaged, bomb.length), undefined, name);
  }
  // A frame may claim any size.
  const claim = Buffer.concat([Buffer.from('28b52ffdc0', 'hex'), Buffer.alloc(9, 0xff), Buffer.alloc(8)]);
  assert.throws(() => compressions.zstd.decompress(claim, 1000));
});

test('encryption comes after compression; each message has an iv of its own', () => {
  const messages = sealed({ compression: 'gzip', encryption: 'aes' }, [...texts, texts[0]!]);
  assert.equal(
    messages.map((message) => Buffer.from(compressions.gzip.decompress(opened(message), 1e6)).toString()),
    [...texts, texts[0]],
  );
  assert.not.equal(messages[0], messages[3]);
});

test('layouts: gcm with aad has the tag before the text, cfb the iv before it', () => {
  const iv = Buffer.from('0123456789ab');
  const aad = Buffer.from('helloworld');
  const given = { iv: iv.toString('base64'), aad: aad.toString('base64'), tagsize: 32 };
  const [message] = sealed({ encryption: 'aes', encProps: given }, texts) as [Buffer];
  assert.is(message.length, 32 + texts[0]!.length);
  assert.equal(message.subarray(16, 32), Buffer.alloc(16));
  const decipher = createDecipheriv('aes-256-gcm', Buffer.from(key, 'base64'), iv);
  decipher.setAAD(aad).setAuthTag(message.subarray(0, 16));
  assert.is(Buffer.concat([decipher.update(message.subarray(32)), decipher.final()]).toString(), texts[0]);

  const [stream] = sealed({ encryption: 'AES', encProps: { mode: 'cfb' } }, texts) as [Buffer];
  const other = createDecipheriv('aes-256-cfb', Buffer.from(key, 'base64'), stream.subarray(0, 16));
  assert.is(other.update(stream.subarray(16)).toString(), texts[0]);
});

test('cfb gives what the standard says: NIST SP 800-38A, F.3.13', () => {
  const secret = Buffer.from('2b7e151628aed2a6abf7158809cf4f3c', 'hex').toString('base64');
  const iv = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex').toString('base64');
  const message = Buffer.from('6bc1bee22e409f96e93d7e117393172a', 'hex');
  const made = aesCipher(secret, { mode: 'cfb', iv, aad: '', tagsize: 0 })(message);
  assert.is(made.subarray(16).toString('hex'), '3b3fd92eb72dad20333449f8e83cfb4a');
});

test('wrong properties are refused by name', () => {
  const refusals: [Record<string, unknown>, RegExp][] = [
    [{ compression: 'lzma' }, /property compression must be one of .*zstd/],
    [{ compressionProps: { level: 10 } }, /property compressionProps.level must be at most 9/],
    [{ encryption: 'des' }, /property encryption must be one of .*aes/],
    [{ encProps: { mode: 'ecb' } }, /property encProps.mode must be one of gcm, cfb/],
    [{ encProps: { iv: 'AAAA' } }, /property encProps iv must be 12 bytes in base64 with the mode gcm/],
    [{ encProps: { iv: 'AAAA', mode: 'cfb' } }, /iv must be 16 bytes/],
    [{ encProps: { aad: 'AAAA' } }, /aad needs iv/],
    [{ encProps: { aad: 'AAAA', mode: 'cfb' } }, /aad needs the mode gcm/],
  ];
  for (const [props, reason] of refusals) assert.throws(() => parse(sealProps, props), reason);
  assert.is(aesKeyReason(key), undefined);
  for (const wrong of ['', 'AAAA', `${key}x`, '!!!!']) assert.match(aesKeyReason(wrong) ?? '', /16, 24 or 32 bytes/);
});

test('a rule that encrypts needs the key of the configuration, and rows that wait get no mark', () => {
  const specs = (props: Record<string, unknown>, aesKey?: string) => {
    const rule = { id: 'r', actions: [{ type: 'log', props }], options: {} } as unknown as Parameters<
      typeof sinkSpecs
    >[0];
    return sinkSpecs(rule, { ...catalogOf(), access: { ...freeAccess, ...(aesKey && { aesKey }) } });
  };
  assert.throws(() => specs({ encryption: 'aes' }), /rule r, sink log: property encryption needs the key basic.aesKey/);
  assert.is(specs({ encryption: 'aes' }, key)[0]?.aesKey, key);
  assert.is(specs({ compression: 'gzip' }, key)[0]?.aesKey, undefined);
  const both = { compression: 'gzip', resendIndicatorField: 'again' };
  assert.throws(() => specs(both), /resendIndicatorField is for messages without compression and encryption/);
});

test('a broker gets sealed messages', async () => {
  const broker = await openBroker();
  const client = await connectClient(broker.url);
  await client.subscribeAsync('sealed');
  const first = new Promise<Buffer>((resolve) => client.on('message', (_topic, payload) => resolve(payload)));
  const { plane, report } = await openPlane();
  const props = { server: broker.url, topic: 'sealed', compression: 'zstd', encryption: 'aes' };
  const source = { type: 'simulator', props: { data: [{ a: 1 }], loop: false, interval: 0 } };
  const rule = passRule(source, [{ type: 'mqtt', props, aesKey: key }]);
  await plane.start(rule);
  const message = await first;
  assert.is(Buffer.from(compressions.zstd.decompress(opened(message), 1000)).toString(), '{"a":1}');
  const { metrics } = await report(rule.run, 'ended');
  assert.is(metrics.sinkRecordsOutTotal, 1);
  assert.is(metrics.bufferLength, 0);
  await plane.close();
  await client.endAsync();
  await broker.close();
});

test.run();
