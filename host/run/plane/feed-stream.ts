/** The stream of a source in the kernel: how it is opened, and given input a slice at a time. */
import type { Kernel, StreamHandle } from '../../../kernels/api.js';
import type { SourceForm } from '../../connectors/define.js';
import type { SourceSpec } from '../link/protocol.js';

const defaultMaxDepth = 512;
export const defaultMaxMessageBytes = 16 * 1024 * 1024;

/** Longest piece of input given to the kernel in one call, so that a call stays a slice of a few milliseconds. */
const sliceBytes = 256 * 1024;

/** Returns how many bytes the kernel took; with `skips` one message without room is given up. */
export function feedStream(
  kernel: Kernel,
  { stream, name }: { readonly stream: StreamHandle; readonly name: string },
  bytes: Uint8Array,
  now: number,
  skips: boolean,
): number {
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
    schema: spec.schema,
    strict: spec.strict,
    wholeNumbersAreInts: useInt64ForWholeNumber === true || useInt64ForWholeNumber === 'true',
    maxDepth: defaultMaxDepth,
    maxMessageBytes: defaultMaxMessageBytes,
  });
}
