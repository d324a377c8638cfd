/** What a protocol does for calls of an interface. */
import type { Value } from '../../../kernels/values/value.js';
import type { ServiceFault } from './faults.js';

/** Takes the end of a call: its value, or what went wrong. */
export interface Ending {
  answered(value: Value): void;
  failed(fault: ServiceFault): void;
}

/** A call with its arguments in the form of the protocol; it may be sent several times. */
export interface Prepared {
  /** Sends it. Exactly one member of `ending` is called later, unless what it returns, which gives it up, is before. */
  send(ending: Ending): (isLate: boolean) => void;
}

export interface Protocol {
  /** Throws a HaumeaError when the arguments are not those of the function. */
  prepare(entry: string, args: readonly unknown[]): Prepared;
  close(): void;
}
