/** Keeps the bytes of input for a log, by the framing of the input, until the kernel has taken them. */
import type { Framing } from '../../../../../kernels/api.js';
import type { Cut } from '../../../../base/bytes/cut-store.js';
import { PublishCutter } from '../../../../base/mqtt/publish-cutter.js';
import { FrameCutter } from './frame-cutter.js';

interface InputCutter {
  /** Takes the next bytes of the connection. */
  add(bytes: Uint8Array): void;
  /** Forgets all that was cut: a message begins with the next bytes. */
  reset(): void;
  /** Takes the next messages out; undefined when there are fewer. */
  take(messages: number): Cut | undefined;
}

export function inputCutter(framing: Framing, maxMessageBytes: number): InputCutter {
  return framing === 'frames' ? new FrameCutter() : new PublishCutter(maxMessageBytes);
}
