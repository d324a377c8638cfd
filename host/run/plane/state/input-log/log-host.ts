/** What a log of input needs of its source, and what it holds of it. */
import type { Logger } from '../../../../base/log/log.js';
import type { Barrier } from '../../acknowledge/barrier.js';
import type { Item } from '../../queue/item.js';
import type { KnownMessages } from './known-messages.js';

/** Where the rules that read it go on in it. */
export interface LogPlacesOf {
  /** Messages up to here were in checkpoints, whether they came into the log or not. */
  readonly last: number;
  /**
   * It is taken again: returns from which message on. `freed` is the number of the first one that not all rules had
   * safe, `out` that of the first one of which not all was out.
   */
  begin(content: { readonly freed: number; readonly out: number; readonly end: number }): number;
  /** The next place that a rule waits for; Infinity without one. */
  readonly next: number;
  /** All messages before this one were taken. */
  reached(number: number): void;
}

/** The source, as its log sees it. */
export interface InputLogHost {
  readonly name: string;
  readonly log: Logger;
  /** Left out where its sender keeps no session. */
  readonly known?: KnownMessages | undefined;
  readonly places: LogPlacesOf;
  /** Rules that do not run may have places in it. */
  readonly isShared: boolean;
  ready(): Promise<void>;
  whenTaken(): Promise<boolean>;
  /** Works on messages of the log; comes back with their barrier in `add`. */
  replay(bytes: Uint8Array): void;
  /** Messages that are not acknowledged. */
  waiting(): number;
  /** Messages before the number are damaged; undefined: nobody knows how many. */
  lost(messages: number | undefined, reason: string, end: number): void;
  /** Messages are in the log. */
  logged(): void;
  /** What is kept is to be made safe elsewhere. */
  requestCheckpoint(): void;
}

/** Input that is not safe. */
export interface Entry {
  barrier: Barrier;
  /** Of pieces before its last one. */
  before?: readonly Barrier[];
  readonly messages: number;
  /** Number behind the last of them. */
  readonly end: number;
  /** Until it is stored. */
  item: Item | undefined;
  isWriting: boolean;
  /** Its messages are safe: what is to be stored is that they came. */
  isRecord?: boolean;
  /** To be called when it is stored. */
  kept?: () => void;
}

/** What came in one go is worked on in pieces: the next one. */
export function addPiece(entry: Entry, barrier: Barrier): void {
  entry.before = [...(entry.before ?? []).filter(({ left }) => left > 0), entry.barrier];
  entry.barrier = barrier;
}

/** It is safe. */
export function isOver({ barrier, before }: Entry): boolean {
  return barrier.left === 0 && (before === undefined || before.every(({ left }) => left === 0));
}

/** All that came of it is out. */
export function isOut({ barrier, before }: Entry): boolean {
  return barrier.isOut && (before === undefined || before.every((one) => one.isOut));
}

const noErrors: ReadonlySet<number> = new Set();

/** Messages as the log has them on disk. */
export function inputItem(bytes: Buffer, ends: Uint32Array, values?: Item['values']): Item {
  const rest = { errors: noErrors, rows: 0, since: 0, ticket: undefined };
  return { bytes, ends, messages: ends.length, values, ...rest };
}
