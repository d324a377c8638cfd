/** Makes protobuf messages of JSON texts, as a template writes them: in a kernel of its own, which all sinks share. */
import type { Kernel, NodeHandle, OutputChunk, StreamHandle } from '../../../kernels/api.js';
import { createKernel } from '../../../kernels/index.js';
import { col } from '../../../kernels/plan/ir.js';
import type { MessageTypes } from '../../../kernels/plan/message-types.js';
import { ChunkWriter } from '../chunk-writer.js';
import type { EncodeContext, Encoder, Unmade } from '../define.js';

const maxMessageBytes = 64 << 20;
const maxDepth = 64;
const headBytes = 8;

export class JsonMessageEncoder implements Encoder {
  readonly #stream: StreamHandle;

  constructor(readonly context: EncodeContext) {
    if (context.messages === undefined) throw new Error(`${context.sink} has no schema`);
    this.#stream = writing(context.messages);
  }

  encode(chunk: OutputChunk, failed: Unmade): OutputChunk {
    const { sink, framing, sendError } = this.context;
    const out = new ChunkWriter(framing);
    let from = 0;
    for (const [place, end] of (chunk.ends ?? []).entries()) {
      const message = chunk.bytes.subarray(from, end);
      from = end;
      if (chunk.errors.has(place)) {
        out.add(Buffer.from(message), true);
        continue;
      }
      for (const made of written(this.#stream, message)) {
        if (typeof made !== 'string') {
          out.add(made);
          continue;
        }
        const reason = `${sink}: ${made}`;
        failed(reason, message);
        if (sendError) out.add(Buffer.from(reason), true);
      }
    }
    return out.chunkOf(chunk);
  }
}

let kernel: Kernel | undefined;
const streams = new Map<string, StreamHandle>();
/** What came of the text under way: messages, and reasons why there is none. */
let made: (Buffer | string)[] = [];

/** A stream of JSON objects whose rows are written as messages. */
function writing(messages: MessageTypes): StreamHandle {
  const key = JSON.stringify(messages);
  const known = streams.get(key);
  if (known !== undefined) return known;
  kernel ??= createKernel({ onOutput: take, onPacket: () => {}, onAcknowledge: () => {}, call: () => {} });
  const stream = kernel.openStream({
    framing: 'frames',
    format: 'json',
    schema: null,
    strict: false,
    wholeNumbersAreInts: true,
    maxDepth,
    maxMessageBytes,
  });
  const columnMap = kernel.useColumns(stream, [{ kind: 'row' }]);
  addWriter(kernel, stream, columnMap, messages);
  streams.set(key, stream);
  return stream;
}

function addWriter(kernel: Kernel, stream: StreamHandle, columnMap: number[], messages: MessageTypes): NodeHandle {
  const output = {
    shape: { kind: 'object' as const, operand: col(0) },
    format: 'protobuf' as const,
    messages,
    sendSingle: true,
    sendNil: false,
    omitIfEmpty: false,
    sendError: true,
    batchSize: 0,
    lingerMs: 0,
    framing: 'messages' as const,
  };
  const plan = { kind: 'encode' as const, input: { source: 0 }, program: null, output, actions: [0], name: 'encode' };
  return kernel.addNode({ stream }, { plan, columnMap, host: 0, sendError: true });
}

function take({ bytes, ends, errors }: OutputChunk): void {
  let from = 0;
  for (const [i, end] of (ends ?? []).entries()) {
    const message = Buffer.from(bytes.subarray(from, end));
    made.push(errors.has(i) ? message.toString() : message);
    from = end;
  }
}

function written(stream: StreamHandle, text: Uint8Array): readonly (Buffer | string)[] {
  made = [];
  const input = new Uint8Array(headBytes + text.length);
  new DataView(input.buffer).setUint32(0, text.length, true);
  input.set(text, headBytes);
  for (let at = 0; at < input.length; ) {
    const room = kernel?.inputBuffer(stream) ?? new Uint8Array();
    const part = input.subarray(at, at + room.length);
    room.set(part);
    const taken = kernel?.feed(stream, part.length, 0) ?? 0;
    if (taken === 0) return ['there is no memory for the message'];
    at += taken;
  }
  return made;
}
