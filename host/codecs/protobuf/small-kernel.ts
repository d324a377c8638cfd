/** A kernel of its own, for messages that come and go on the host: what a template wrote, payloads within messages. */
import type { Kernel, OutputChunk, StreamHandle, StreamSpec } from '../../../kernels/api.js';
import { createKernel } from '../../../kernels/index.js';
import { col, type OutputPlan } from '../../../kernels/plan/ir.js';

/** What comes of a message: messages, and texts of errors in their place. */
export type Turn = (message: Uint8Array) => readonly (Buffer | string)[];

const maxMessageBytes = 64 << 20;
const maxDepth = 64;
const headBytes = 8;

let kernel: Kernel | undefined;
/** By what they read and write. */
const turns = new Map<string, Turn>();
/** What came of the message under way. */
let made: (Buffer | string)[] = [];

/** Turns messages of one form, objects, into another one; each form is opened once in a thread. */
export function turnOf(
  reads: Pick<StreamSpec, 'format' | 'messages'>,
  writes: Pick<OutputPlan, 'format' | 'messages'>,
): Turn {
  const key = JSON.stringify([reads, writes]);
  let turn = turns.get(key);
  if (turn === undefined) {
    kernel ??= createKernel({ onOutput: take, onPacket: () => {}, onAcknowledge: () => {}, call: () => {} });
    turn = turned(kernel, opened(kernel, reads, writes));
    turns.set(key, turn);
  }
  return turn;
}

function opened(
  kernel: Kernel,
  reads: Pick<StreamSpec, 'format' | 'messages'>,
  writes: Pick<OutputPlan, 'format' | 'messages'>,
): StreamHandle {
  const how = { framing: 'frames', schema: null, strict: false, wholeNumbersAreInts: true } as const;
  const stream = kernel.openStream({ ...reads, ...how, maxDepth, maxMessageBytes });
  const columnMap = kernel.useColumns(stream, [{ kind: 'row' }]);
  const output: OutputPlan = {
    ...writes,
    shape: { kind: 'object', operand: col(0) },
    sendSingle: true,
    sendNil: true,
    omitIfEmpty: false,
    sendError: true,
    batchSize: 0,
    lingerMs: 0,
    framing: 'messages',
  };
  const plan = { kind: 'encode', input: { source: 0 }, program: null, output, actions: [0], name: 'encode' } as const;
  kernel.addNode({ stream }, { plan: { ...plan, actions: [0] }, columnMap, host: 0, sendError: true });
  return stream;
}

function turned(kernel: Kernel, stream: StreamHandle): Turn {
  return (message) => {
    made = [];
    const input = new Uint8Array(headBytes + message.length);
    new DataView(input.buffer).setUint32(0, message.length, true);
    input.set(message, headBytes);
    for (let at = 0; at < input.length; ) {
      const room = kernel.inputBuffer(stream);
      const part = input.subarray(at, at + room.length);
      room.set(part);
      const taken = kernel.feed(stream, part.length, 0);
      if (taken === 0) {
        kernel.resetInput(stream);
        return ['there is no memory for the message'];
      }
      at += taken;
    }
    return made;
  };
}

function take({ bytes, ends, errors }: OutputChunk): void {
  let from = 0;
  for (const [i, end] of (ends ?? []).entries()) {
    const message = Buffer.from(bytes.subarray(from, end));
    made.push(errors.has(i) ? message.toString() : message);
    from = end;
  }
}
