/** What the engine counts for a sink. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AllowedPaths } from '../../../../../host/base/files/allowed-paths.js';
import { silent } from '../../../../../host/base/log/log.js';
import { defineConnector } from '../../../../../host/connectors/define.js';
import type { SinkContext } from '../../../../../host/connectors/running.js';
import { Acknowledgements, Barrier } from '../../../../../host/run/plane/acknowledge/barrier.js';
import { DeadLetters } from '../../../../../host/run/plane/output/letters/dead-letters.js';
import { SinkMemory } from '../../../../../host/run/plane/output/sink-bytes.js';
import type { SinkHost } from '../../../../../host/run/plane/output/sink-host.js';
import { SinkRun } from '../../../../../host/run/plane/output/sink-run.js';
import type { OutputChunk } from '../../../../../kernels/api.js';

/** Opens a sink; `context` plays the part of its connector. */
async function open(
  secrets: string[] = [],
  memory = new SinkMemory(),
): Promise<{ sink: SinkRun; context: SinkContext; told: string[] }> {
  const told: string[] = [];
  const tell = (message: string) => void told.push(message);
  let context: SinkContext | undefined;
  const connector = defineConnector({
    name: 'losing',
    doc: '',
    sink: {
      props: {},
      form: { takes: 'messages', framing: 'messages' },
      load: async () => (_conf, given) => {
        context = given;
        return { open: async () => {}, write: () => {}, flush: async () => {}, close: async () => {} };
      },
    },
  });
  const host: SinkHost = {
    id: 'r',
    log: { ...silent, warn: tell },
    debug: (line) => tell(line()),
    paths: AllowedPaths.any(),
    shared: (key, make) => (key === 'sinks.memory' ? (memory as ReturnType<typeof make>) : make()),
    callUser: () => {},
    sinkIsFull: () => {},
    sinkFailed: tell,
  };
  await connector.sink?.load();
  const sink = new SinkRun({ type: 'losing', props: {}, secrets }, connector, host, 1 << 20);
  if (context === undefined) throw new Error('the sink was not made');
  return { sink, context, told };
}

const chunk: OutputChunk = {
  node: 1,
  host: 1,
  bytes: Buffer.from('[1][2][3]'),
  ends: null,
  messages: 3,
  rows: 3,
  errors: new Set(),
};

test('a message that is lost counts as one exception', async () => {
  const { sink, context } = await open();
  sink.write(chunk, 1);
  context.accepted(3, 1);
  context.failed(6, 2, 'the other side is gone');
  // The figures of a sink add lost messages to its exceptions.
  assert.is(sink.exceptions + sink.messagesFailed, 2);
  assert.is(sink.messagesOut, 1);
  assert.is(sink.waitingMessages, 0);
  assert.is(sink.lastException, 'the other side is gone');
  assert.ok(sink.lastExceptionAt > 0);
});

test('one message of a chunk that is refused is lost alone, and a part of a message none', async () => {
  const { sink, context } = await open();
  sink.write(chunk, 1);
  context.accepted(3, 1);
  context.refused(Buffer.from('[2]'), 3, 1, 'a table refuses the row');
  context.refused(Buffer.from('{"id":3}'), 0, 0, 'a table refuses another');
  context.accepted(3, 1);
  assert.is(sink.messagesOut, 2);
  assert.is(sink.messagesFailed, 1);
  assert.is(sink.exceptions, 1);
  assert.is(sink.waitingMessages, 0);
  assert.is(sink.waitingBytes, 0);
});

test('what is refused is acknowledged when its dead letter is out, and so is what left after it', async () => {
  const { sink, context } = await open();
  const letters = await open();
  sink.deadLetters = new DeadLetters('r', 'sink_losing_0', letters.sink);
  const passed: number[] = [];
  const source = new Acknowledgements(() => {});
  const barriers = [1, 2].map((number) => {
    const barrier = new Barrier(source, number);
    barrier.passed = () => void passed.push(number);
    return barrier;
  });
  sink.write(chunk, 1);
  sink.hold(barriers[0]!);
  sink.write(chunk, 1);
  sink.hold(barriers[1]!);
  context.refused(Buffer.from('[1]'), 9, 3, 'no such table');
  context.accepted(9, 3);
  await Promise.resolve();
  assert.is(letters.sink.messagesIn, 1);
  assert.is(sink.waitingMessages, 0);
  assert.equal(passed, []);
  letters.context.accepted(letters.sink.waitingBytes, 1);
  assert.equal(passed, [1, 2]);
  assert.is(sink.waitingBytes, 0);
});

test('it holds up a source from when it got the messages, not from when their input came', async () => {
  const { sink } = await open();
  const source = new Acknowledgements(() => {});
  sink.write(chunk, 1);
  sink.hold(new Barrier(source, 1));
  assert.ok(sink.blocksSince(source) > 1);
});

test('what waits in a sink that is closed is lost, counted and told', async () => {
  const { sink, told } = await open();
  sink.write(chunk, 1);
  await sink.close(1000);
  assert.is(sink.messagesFailed, 3);
  assert.equal(told, ['sink losing is closed before 3 messages (9 bytes) could be sent: they are lost']);
});

test('a failure that loses no message of its own counts as one exception too', async () => {
  const { sink, context } = await open();
  sink.write(chunk, 1);
  context.failed(0, 0, 'too long');
  assert.is(sink.exceptions + sink.messagesFailed, 1);
  assert.is(sink.waitingMessages, 3);
});

test('what a library says about a failure shows no secret of the sink', async () => {
  const { sink, context, told } = await open(['hunter2 &', 'open sesame']);
  sink.write(chunk, 1);
  context.log.warn('login with open sesame refused');
  context.failed(3, 1, 'POST https://h/?key=hunter2%20%26 failed');
  assert.is(sink.lastException, 'POST https://h/?key=****** failed');
  for (let i = 0; i < 7; i++) context.disconnected('no "hunter2 &"');
  assert.is(sink.lastException, 'no "******"');
  assert.is(told[0], 'login with ****** refused');
  assert.ok(told.includes('no "******"'), 'the reason for which the rule fails');
  assert.not.match(told.join(), /hunter2|sesame/);
});

test('while all sinks together have much each may have less, until they have less again', async () => {
  const memory = new SinkMemory(300_000);
  const long: OutputChunk = { ...chunk, bytes: Buffer.alloc(100_000, 'x') };
  const [first, second, third] = await Promise.all([open([], memory), open([], memory), open([], memory)]);
  first!.sink.write(long, 1);
  second!.sink.write(long, 1);
  assert.not(first!.sink.isFull || second!.sink.isFull, 'each may have a megabyte');
  third!.sink.write(long, 1);
  third!.sink.write(long, 1);
  assert.ok(third!.sink.isFull);
  first!.sink.write({ ...chunk, bytes: Buffer.alloc(10) }, 1);
  assert.ok(first!.sink.isFull, 'the others have what it might have had');
  await second!.sink.close(100);
  await third!.sink.close(100);
  first!.context.accepted(10, 1);
  assert.not(first!.sink.isFull);
  first!.sink.write(long, 1);
  assert.not(first!.sink.isFull);
});

test('a sink whose server takes nothing for now is not given up, however often it says so', async () => {
  const { sink, context, told } = await open();
  for (let i = 0; i < 20; i++) context.disconnected('no leader', true);
  context.disconnected('gone');
  assert.not(told.includes('gone'), 'the rule goes on');
  for (let i = 0; i < 5; i++) context.disconnected('gone');
  assert.ok(told.includes('gone'), 'six losses in a row without output end it');
  await sink.close(100);
});

test.run();
