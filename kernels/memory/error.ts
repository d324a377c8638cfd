import type { NodeHandle } from './handles.js';

/**
 * The kernel can't go on: its memory is exhausted (`isFatal` false: the call had no effect, others still work) or it
 * failed (`isFatal` true: an error of the kernel itself; this instance must be thrown away).
 */
export class KernelError extends Error {
  override readonly name = 'KernelError';

  constructor(
    message: string,
    readonly isFatal: boolean,
    /** Node at work, 0 when none was. */
    readonly node: NodeHandle = 0,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The input of a stream breaks its protocol: its connection is to be dropped. Messages before the fault were taken. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}

export function isStackOverflow(error: unknown): error is RangeError {
  return error instanceof RangeError && error.message.includes('call stack');
}

export function noMemory(): KernelError {
  return new KernelError('the memory of the kernel is exhausted', false);
}
