/** Messages that wait for what their decoder lacks. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { FrameBuffer, nextFrame } from '../../../../../host/connectors/messages/frames.js';
import { ReadyStage } from '../../../../../host/run/plane/input/ready-stage.js';
import type { Input } from '../../../../../host/run/plane/stage/input.js';
import { eventually } from '../../../../support/harness.js';

/** The stage over messages whose first letter is to be loaded: `letters` are, `loads` are those that are asked for. */
function open() {
  const letters = new Set<string>();
  const loads: { letter: string; done: (reason?: string) => void }[] = [];
  const frames: string[] = [];
  const waits: boolean[] = [];
  const failures: string[] = [];
  const needs = (message: Uint8Array) => {
    const letter = Buffer.from(message).toString('latin1', 0, 1);
    if (letters.has(letter)) return undefined;
    return () =>
      new Promise<void>((resolve, reject) => {
        const done = (reason?: string) => {
          if (reason !== undefined) reject(new Error(reason));
          else {
            letters.add(letter);
            resolve();
          }
        };
        loads.push({ letter, done });
      });
  };
  const stage = new ReadyStage(
    needs,
    (isWaiting) => waits.push(isWaiting),
    (reason) => failures.push(reason),
  );
  stage.next = {
    write: (input: Input) => {
      const bytes = Buffer.from(input.bytes);
      for (let frame = nextFrame(bytes, 0); frame !== undefined; frame = nextFrame(bytes, frame.end))
        frames.push(String(frame.payload));
      return true;
    },
    isFull: false,
    resume: () => {},
    drain: () => {},
    close: () => {},
  };
  return { stage, letters, loads, frames, waits, failures };
}

function framed(...texts: readonly string[]): Buffer {
  const frames = new FrameBuffer();
  for (const text of texts) frames.add(Buffer.from(text), Buffer.from('{}'));
  return Buffer.from(frames.bytes);
}

test('what is loaded passes at once, wherever the input is cut', () => {
  const { stage, letters, frames, waits } = open();
  letters.add('a');
  const bytes = framed('a1', 'a2', 'a3');
  for (const byte of bytes) stage.write({ bytes: Uint8Array.of(byte), isLast: true });
  assert.equal([frames, waits], [['a1', 'a2', 'a3'], []]);
});

test('messages wait in order until it is loaded, those before them pass', async () => {
  const { stage, letters, loads, frames, waits } = open();
  letters.add('a');
  const bytes = framed('a1', 'b1', 'a2');
  stage.write({ bytes, isLast: true });
  // What was given is good for the call only.
  bytes.fill(0);
  stage.write({ bytes: framed('c1', 'b2').subarray(0, 15), isLast: true });
  stage.write({ bytes: framed('c1', 'b2').subarray(15), isLast: true });
  assert.equal([frames, waits, stage.isFull], [['a1'], [true], true]);
  const empty = stage.whenEmpty();
  loads[0]!.done();
  await eventually('the next letter', () => loads.length === 2 || undefined);
  assert.equal([frames, loads[1]!.letter, waits], [['a1', 'b1', 'a2'], 'c', [true]]);
  loads[1]!.done();
  await empty;
  assert.equal([frames, waits, stage.isFull], [['a1', 'b1', 'a2', 'c1', 'b2'], [true, false], false]);
});

test('what does not load is tried again', async () => {
  const { stage, loads, frames, failures } = open();
  stage.write({ bytes: framed('b1'), isLast: true });
  loads[0]!.done('away');
  await eventually('another attempt', () => loads.length === 2 || undefined);
  assert.equal([failures, frames], [['away'], []]);
  loads[1]!.done();
  await stage.whenEmpty();
  assert.equal(frames, ['b1']);
});

test('a lost connection takes the begin of a message with it, whole ones stay', async () => {
  const { stage, loads, frames } = open();
  const bytes = framed('b1', 'b2', 'b3');
  stage.write({ bytes: bytes.subarray(0, bytes.length - 1), isLast: true });
  stage.cut();
  stage.write({ bytes: framed('b4'), isLast: true });
  loads[0]!.done();
  await stage.whenEmpty();
  assert.equal(frames, ['b1', 'b2', 'b4']);
});

test('a closed stage passes nothing on', async () => {
  const { stage, loads, frames, waits } = open();
  stage.write({ bytes: framed('b1'), isLast: true });
  const empty = stage.whenEmpty();
  stage.close();
  await empty;
  loads[0]!.done();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal([frames, waits, stage.isFull], [[], [true], false]);
});

test.run();
