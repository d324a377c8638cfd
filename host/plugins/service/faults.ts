/** What goes wrong with a call of a service. */
import { HaumeaError } from '../../base/errors.js';

/**
 * - `unreachable`: nobody takes the call, or the connection ended; another try may help.
 * - `busy`: the service is there and wants to be asked later.
 * - `late`: no answer in time.
 * - `refused`: what it answers, or what can't be asked; another try would give the same.
 */
export type FaultKind = 'unreachable' | 'busy' | 'late' | 'refused';

export class ServiceFault extends Error {
  constructor(
    readonly kind: FaultKind,
    reason: string,
    /** Time after which the service wants to be asked again, ms. */
    readonly afterMs = 0,
  ) {
    super(reason);
  }
}

/** Longest text of a service in an error. */
const maxReason = 200;

/** A text of a service, in the length and form of an error. */
export function shortReason(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal or a log would obey.
  return text.replace(/[\u0000-\u001f\u007f]+/g, ' ').slice(0, maxReason);
}

/** Refuses arguments or an answer. */
export function refuse(reason: string): HaumeaError {
  return new HaumeaError('general', reason);
}
