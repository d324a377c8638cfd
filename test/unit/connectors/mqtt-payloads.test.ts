import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { payloadsOfPackets as payloadsIn } from '../../../host/base/mqtt/packets.js';

const payloadsOfPackets = (bytes: Buffer, version: 4 | 5) => payloadsIn(bytes, version).join('\n');

/** Numbers of up to two bytes, as packets write lengths. */
const varint = (value: number) => (value < 128 ? [value] : [(value & 0x7f) | 0x80, value >> 7]);

function publish(payload: string, qos: 0 | 1, version: 4 | 5): Buffer {
  const properties = 'x'.repeat(150);
  const body = Buffer.concat([
    Buffer.from([0, 10]),
    Buffer.from('plant/hall'),
    Buffer.from(qos > 0 ? [0, 7] : []),
    version === 5 ? Buffer.concat([Buffer.from(varint(properties.length)), Buffer.from(properties)]) : Buffer.alloc(0),
    Buffer.from(payload),
  ]);
  return Buffer.concat([Buffer.from([0x30 | (qos << 1), ...varint(body.length)]), body]);
}

const pingResponse = Buffer.from([0xd0, 0]);

for (const version of [4, 5] as const) {
  test(`shows the payloads of PUBLISH packets of version ${version} and nothing else`, () => {
    const long = `{"text":"${'y'.repeat(300)}"}`;
    const bytes = Buffer.concat([
      publish('{"a":1}', 0, version),
      pingResponse,
      publish(long, 1, version),
      publish('{"a":3}', 0, version),
    ]);
    assert.is(payloadsOfPackets(bytes, version).toString(), `{"a":1}\n${long}\n{"a":3}`);
    const cut = payloadsOfPackets(bytes.subarray(0, -3), version).toString();
    assert.is(cut, `{"a":1}\n${long}\n{"a"`);
  });
}

test('ends at whatever bytes it gets', () => {
  for (let length = 0; length < 300; length++) {
    const bytes = Buffer.from(Array.from({ length }, (_, i) => (i * 7919 + length * 31) & 0xff));
    assert.ok(payloadsOfPackets(bytes, length % 2 === 0 ? 4 : 5).length <= length);
    assert.is(payloadsOfPackets(Buffer.alloc(length, 0x30), 5).length >= 0, true);
  }
});

test.run();
