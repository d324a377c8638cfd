/** The stream of a source in the kernel: how it is opened, and given input a slice at a time. */
import type { Kernel, StreamHandle } from '../../../../kernels/api.js';
import { ProtocolError } from '../../../../kernels/memory/error.js';
import { reasonOf } from '../../../base/errors.js';
import type { SourceForm } from '../../../connectors/define.js';
import type { SourceSpec } from '../../link/protocol.js';

const defaultMaxDepth = 512;
export const defaultMaxMessageBytes = 16 * 1024 * 1024;

/** Longest piece of input given to the kernel in one call, so that a call stays a slice of a few milliseconds. */
const sliceBytes = 256 * 1024;

/** Result of feeding input. */
export interface Fed {
  /** Bytes that the kernel took. */
  readonly taken: number;
  /** Fault of malformed bytes, after which all read bytes are forgotten; undefined without one. */
  readonly malformed: string | undefined;
}

interface Named {
  readonly stream: StreamHandle;
  readonly name: string;
}

/** Gives input to the kernel; with `skips` one message without room is given up. */
export function feedInput(kernel: Kernel, to: Named, bytes: Uint8Array, now: number, skips: boolean): Fed {
  try {
    return { taken: feedStream(kernel, to, bytes, now, skips), malformed: undefined };
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    kernel.resetInput(to.stream);
    return { taken: bytes.length, malformed: reasonOf(error) };
  }
}

/** Returns how many bytes the kernel took. */
function feedStream(kernel: Kernel, { stream, name }: Named, bytes: Uint8Array, now: number, skips: boolean): number {
  let isSkipping = false;
  let maySkip = skips;
  for (let at = 0; at < bytes.length; ) {
    const room = kernel.inputBuffer(stream);
    const length = Math.min(room.length, bytes.length - at, sliceBytes);
    if (length === 0) throw new Error(`the input region of stream ${name} takes no bytes`);
    room.set(length === bytes.length ? bytes : bytes.subarray(at, at + length));
    const taken = kernel.feed(stream, length, now, isSkipping);
    at += taken;
    isSkipping = taken < length;
    if (isSkipping && !maySkip) return at;
    if (isSkipping) maySkip = false;
  }
  return bytes.length;
}

export function openSourceStream(kernel: Kernel, form: SourceForm, spec: SourceSpec): StreamHandle {
  const { useInt64ForWholeNumber } = spec.props;
  return kernel.openStream({
    framing: form.framing,
    mqttVersion: form.mqttVersion,
    format: form.format ?? spec.format,
    delimiter: spec.delimiter,
    decoder: form.format === undefined ? spec.decoder : undefined,
    messages: form.format === undefined ? spec.messages : undefined,
    schema: spec.schema,
    strict: spec.strict,
    wholeNumbersAreInts:
      useInt64ForWholeNumber === undefined
        ? form.wholeNumbersAreInts === true
        : useInt64ForWholeNumber === true || useInt64ForWholeNumber === 'true',
    maxDepth: defaultMaxDepth,
    maxMessageBytes: defaultMaxMessageBytes,
  });
}
