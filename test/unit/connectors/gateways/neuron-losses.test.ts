/** A message that is longer than Neuron takes: each connection ends over it. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { PairUser } from '../../../../host/clients/sp/pair.js';
import { NeuronSink } from '../../../../host/connectors/neuron/sink.js';
import type { SinkChunk, SinkContext } from '../../../../host/connectors/running.js';

test('a long message over which three connections have ended is counted, those behind it are sent', async () => {
  const [sent, refused]: [string[], string[]] = [[], []];
  let user: PairUser | undefined;
  // The system never has the whole of the long message.
  const pair = {
    waitingBytes: 0,
    open: async (given: PairUser) => {
      user = given;
    },
    send: (message: Buffer, passed: () => void) => {
      if (message.length > 1 << 20 || sent.includes(String(message))) return;
      sent.push(String(message));
      passed();
    },
    giveBack: () => {},
  };
  const context = {
    shared: () => ({ take: () => pair }),
    accepted: () => {},
    refused: (_message: Uint8Array, _bytes: number, messages: number, reason: string) => {
      for (let i = 0; i < messages; i++) refused.push(reason);
    },
    disconnected: () => {},
  } as unknown as SinkContext;
  const conf = { url: 'tcp://127.0.0.1:1', nodeName: '', groupName: '', tags: [], raw: true };
  const sink = new NeuronSink(conf, context);
  const [long, short] = [Buffer.alloc((1 << 20) + 1, 'x'), Buffer.from('{"id":1}')];
  const ends = Uint32Array.of(long.length, long.length + short.length);
  sink.write({ bytes: Buffer.concat([long, short]), ends, messages: 2, errors: new Map() } as unknown as SinkChunk);
  // Behind the long message nothing is passed on before its connection ends.
  Object.defineProperty(pair, 'waitingBytes', { get: () => (refused.length === 0 && isSending ? 1 << 20 : 0) });
  let isSending = false;
  const send = pair.send;
  pair.send = (message, passed) => {
    isSending = true;
    send(message, passed);
  };
  for (let n = 0; n < 4; n++) {
    isSending = false;
    await sink.open();
    if (n < 3) user!.lost('the other side has ended the connection');
  }
  assert.is(refused.length, 1);
  assert.match(refused[0]!, /^3 connections ended while the message of 1048577 bytes was sent/);
  assert.equal(sent, ['{"id":1}']);
  await sink.flush();
  await sink.close();
});

test.run();
