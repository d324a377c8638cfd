/** Interface of the source for its input log, and the entries of the log. */
import type { Framing } from '../../../../../kernels/api.js';
import type { Logger } from '../../../../base/log/log.js';
import type { Barrier } from '../../acknowledge/barrier.js';
import type { Item } from '../../queue/item.js';
import type { KnownMessages } from './known-messages.js';

/** Places of the rules in the log. */
export interface LogPlacesOf {
  /** Number up to which messages were in checkpoints, whether they came into the log or not. */
  readonly last: number;
  /**
   * Begins the replay; returns the number of its first message. `freed` is the number of the first message that not all
   * rules have safe, `out` of the first one whose output is not all out, `end` the number behind the last one.
   */
  begin(content: { readonly freed: number; readonly out: number; readonly end: number }): number;
  /** Number of the next message that a rule waits for; Infinity without one. */
  readonly next: number;
  /** Notes that all messages before the number were taken. */
  reached(number: number): void;
}

/** The source, as its log sees it. */
export interface InputLogHost {
  readonly name: string;
  readonly log: Logger;
  /** Messages known from earlier runs; left out where the sender keeps no session. */
  readonly known?: KnownMessages | undefined;
  /** Framing of the input. */
  readonly framing: Framing;
  readonly places: LogPlacesOf;
  /** Rules that do not run may have places in the log. */
  readonly isShared: boolean;
  ready(): Promise<void>;
  whenTaken(): Promise<boolean>;
  /** Lets the kernel work on messages of the log; their barrier comes back in `add`. */
  replay(bytes: Uint8Array): void;
  /** Number of messages that are not acknowledged. */
  waiting(): number;
  /** Reports damaged messages before the number `end`; undefined for an unknown number. */
  lost(messages: number | undefined, reason: string, end: number): void;
  /** To be called when messages are in the log. */
  logged(): void;
  /** Requests a checkpoint, which lets the log forget messages. */
  requestCheckpoint(): void;
}

/** Input that is not safe. */
export interface Entry {
  barrier: Barrier;
  /** Barriers of the pieces before the last one. */
  before?: readonly Barrier[];
  readonly messages: number;
  /** Number behind the last message. */
  readonly end: number;
  /** The messages, until they are stored. */
  item: Item | undefined;
  isWriting: boolean;
  /** The messages are safe: a record that they came is to be stored. */
  isRecord?: boolean;
  /** To be called when the entry is stored. */
  kept?: () => void;
}

/** Adds the barrier of the next piece to input that is worked on in pieces. */
export function addPiece(entry: Entry, barrier: Barrier): void {
  entry.before = [...(entry.before ?? []).filter(({ left }) => left > 0), entry.barrier];
  entry.barrier = barrier;
}

/** Whether the input is safe. */
export function isOver({ barrier, before }: Entry): boolean {
  return barrier.left === 0 && (before === undefined || before.every(({ left }) => left === 0));
}

/** Whether all output of the input is out. */
export function isOut({ barrier, before }: Entry): boolean {
  return barrier.isOut && (before === undefined || before.every((one) => one.isOut));
}

const noErrors: ReadonlySet<number> = new Set();

/** Item of messages as it is stored in the log. */
export function inputItem(bytes: Buffer, ends: Uint32Array, values?: Item['values']): Item {
  const rest = { errors: noErrors, rows: 0, since: 0, ticket: undefined };
  return { bytes, ends, messages: ends.length, values, ...rest };
}
