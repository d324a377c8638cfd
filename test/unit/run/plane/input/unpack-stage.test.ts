/** Messages of sources that are compressed. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { compressionNames, compressions } from '../../../../../host/base/bytes/compression.js';
import { FrameBuffer, nextFrame } from '../../../../../host/connectors/messages/frames.js';
import { UnpackStage } from '../../../../../host/run/plane/input/unpack-stage.js';
import type { Input } from '../../../../../host/run/plane/stage/input.js';
import { connectClient, openBroker } from '../../../../support/brokers/broker.js';
import { openPlane, passRule } from '../../../../support/engine/plane.js';
import { eventually } from '../../../../support/harness.js';

interface Passed {
  readonly inputs: Input[];
  readonly frames: string[];
  readonly failures: string[];
}

/** The stage, and what came through it. */
function stageOf(
  method: 'gzip' | 'zlib' | 'flate' | 'zstd',
  maxBytes = 1e6,
  takes = true,
): { stage: UnpackStage } & Passed {
  const passed: Passed = { inputs: [], frames: [], failures: [] };
  const stage = new UnpackStage(method, maxBytes, (reason) => passed.failures.push(reason));
  stage.next = {
    write: (input: Input) => {
      passed.inputs.push(input);
      const bytes = Buffer.from(input.bytes);
      for (let frame = nextFrame(bytes, 0); frame !== undefined; frame = nextFrame(bytes, frame.end))
        passed.frames.push(`${frame.meta}|${frame.payload}`);
      return takes;
    },
    isFull: false,
    resume: () => {},
    drain: () => {},
    close: () => {},
  };
  return { stage, ...passed };
}

/** Frames of compressed messages. */
function packed(method: 'gzip' | 'zlib' | 'flate' | 'zstd', texts: readonly string[]): Buffer {
  const frames = new FrameBuffer();
  for (const text of texts) frames.add(compressions[method].compress(Buffer.from(text)), Buffer.from('{"m":1}'));
  return Buffer.from(frames.bytes);
}

test('each message is decompressed, its metadata stay, wherever the input is cut', () => {
  const texts = ['{"a":1}', '', 'x'.repeat(3000)];
  for (const method of compressionNames) {
    const bytes = packed(method, texts);
    for (const size of [1, 7, bytes.length]) {
      const { stage, frames, failures } = stageOf(method);
      for (let at = 0; at < bytes.length; at += size)
        assert.ok(stage.write({ bytes: bytes.subarray(at, at + size), isLast: true }));
      assert.equal(
        frames,
        texts.map((text) => `{"m":1}|${text}`),
        `${method} in pieces of ${size}`,
      );
      assert.equal(failures, []);
    }
  }
});

test('a message that is damaged or unfolds to too much is left out and counted, the others come', () => {
  const frames = new FrameBuffer();
  frames.add(compressions.gzip.compress(Buffer.from('one')));
  frames.add(Buffer.from('no gzip'));
  frames.add(compressions.gzip.compress(Buffer.alloc(2_000_000)));
  frames.add(compressions.gzip.compress(Buffer.from('two')));
  const { stage, frames: came, failures } = stageOf('gzip');
  stage.write({ bytes: Buffer.from(frames.bytes), isLast: true });
  assert.equal(came, ['|one', '|two']);
  assert.is(failures.length, 2);
  assert.match(failures[0]!, /^a message can't be decompressed by gzip: incorrect header check/);
});

test('what unfolds to much goes on in parts; nothing goes on behind malformed input', () => {
  const texts = Array.from({ length: 8 }, () => 'y'.repeat(400_000));
  const open = stageOf('zstd');
  open.stage.write({ bytes: packed('zstd', texts), isLast: true });
  assert.is(open.frames.length, 8);
  assert.ok(open.inputs.length > 1);
  const shut = stageOf('zstd', 1e6, false);
  assert.not(shut.stage.write({ bytes: packed('zstd', texts), isLast: true }));
  assert.is(shut.inputs.length, 1);
});

test('half a message is forgotten with its connection', () => {
  const { stage, frames } = stageOf('gzip');
  const bytes = packed('gzip', ['one']);
  stage.write({ bytes: bytes.subarray(0, 20), isLast: true });
  stage.close();
  stage.write({ bytes, isLast: true });
  assert.equal(frames, ['{"m":1}|one']);
});

test('messages of a broker are decompressed; what is not compressed is an exception', async () => {
  const broker = await openBroker();
  const client = await connectClient(broker.url);
  await client.subscribeAsync('out');
  const arrived: string[] = [];
  client.on('message', (_topic, payload) => arrived.push(String(payload)));
  const { plane, report } = await openPlane();
  const source = { type: 'mqtt', dataSource: 'in', props: { server: broker.url, decompression: 'gzip' } };
  const rule = passRule(source, [{ type: 'mqtt', props: { server: broker.url, topic: 'out' } }]);
  await plane.start(rule);
  await report(rule.run, 'opened');
  await client.publishAsync('in', '{"a":0}');
  await client.publishAsync('in', Buffer.from(compressions.gzip.compress(Buffer.from('{"a":1}'))));
  await eventually('the message', () => (arrived.length > 0 ? arrived : undefined));
  assert.equal(arrived, ['{"a":1}']);
  await plane.close();
  await client.endAsync();
  await broker.close();
});

test.run();
