/**
 * Sources and sinks at work: what the engine gives them, what they give back. A connector moves bytes. It never sees
 * rows, and never retries: `open` fails or `disconnected` is called, and the engine decides when to try again.
 */
import type { LookupAnswer, OutputChunk } from '../../kernels/api.js';
import type { Value } from '../../kernels/values/value.js';
import type { AllowedPaths } from '../base/files/allowed-paths.js';
import type { Logger } from '../base/log/log.js';

export type { OutputChunk };

/** What a source needs from the engine. */
export interface SourceContext {
  /** Name of the stream. */
  readonly name: string;
  /** DATASOURCE of the stream. */
  readonly dataSource: string;
  readonly log: Logger;
  /** Longest pause between two reads of a fast sender with small packets, ms; 0 never pauses. */
  readonly coalesceMs: number;
  /**
   * True while the sinks take no more, or the kernel has no room for what was written; a source should stop to write
   * then.
   */
  readonly isFull: boolean;
  /**
   * Takes input in the declared framing, whole or cut anywhere; copies it. Returns false when the source should pause.
   */
  write(bytes: Uint8Array): boolean;
  /** Resolves as soon as input is wanted. */
  ready(): Promise<void>;
  /** Resolves as soon as the kernel has taken all that was written; false when it never will, since the source ends. */
  whenTaken(): Promise<boolean>;
  /** Says what to call when the sinks take no more and when they do again. */
  onFlow(pause: () => void, resume: () => void): void;
  /** With framing mqtt: takes control packets; a view valid during the call. Must not write. */
  onPacket(take: (packet: Uint8Array) => void): void;
  /** With framing mqtt: receipts (receipts.ts) that are owed for messages which are safe, in order of arrival. */
  onAcknowledge(take: (receipts: Uint32Array) => void): void;
  /** Where the other side keeps a session: it is asked whether it has all acknowledgements so far, and it has. */
  readonly redeliveries?: { asked(): void; answered(): void } | undefined;
  /** Says what to call when the input breaks its protocol; the rest of it was dropped. */
  onMalformed(take: (reason: string) => void): void;
  /** Forgets a half-received message. */
  resetInput(): void;
  /** The connection was lost; the engine calls `open` again after a while. */
  disconnected(reason: string): void;
  /** Counts a failure that does not end the connection. */
  exception(reason: string): void;
  /** All input was written. */
  end(): void;
  /** Rules keep their state: `commit` tells what they will never ask for again. */
  readonly isCommitted: boolean;
  /** Opens the files that properties name, where that is allowed. */
  readonly paths: AllowedPaths;
  /** An object that all connectors of this worker share, made at first use. */
  shared<T>(key: string, make: () => T): T;
}

export interface Source {
  /** The other side: while a connection is down it is tried as soon as another one with the same text is up. */
  readonly peer?: string;
  /**
   * Connects; called again after `disconnected` or a failed attempt. Throws HaumeaError `config` for what no repetition
   * can cure: the rule stops.
   */
  open(): Promise<void>;
  close(): Promise<void>;
  /**
   * Properties that may change while it runs, as passwords do, and takes them: they hold from the next attempt to
   * connect on.
   */
  readonly renewable?: readonly string[];
  renew?(props: Readonly<Record<string, unknown>>): void;
  /**
   * From where it can be read again to get what comes after all that it has written, as JSON; half a message at the end
   * is not behind it. Left out when the source can't go back.
   */
  position?(): unknown;
  /**
   * Goes on from a position, or begins there if it is not open yet; throws the reason when it can't. Of several calls
   * before it is open the earliest counts.
   */
  seek?(position: unknown): void;
  /**
   * Called before `open`, in the place of `seek`: begins at the earliest of the positions, or at its begin when one is
   * undefined. Calls `reached` with the number of each in their order, between two writes: when all from before it is
   * written, and nothing from behind it.
   */
  seekAll?(positions: readonly unknown[], reached: (index: number) => void): void;
  /** What came up to the position, or all without one, is never asked for again. */
  commit?(position: unknown): void;
  /** Whole messages that it was given within the engine and has not written yet: nobody would bring them again. */
  pending?(): readonly Uint8Array[];
  /** Where it is now is that position. */
  isAt?(position: unknown): boolean;
  /** What it has read is gone: nobody else could read it again. */
  readonly takesAway?: boolean;
}

/** What a lookup table that is asked needs from the engine. */
export interface LookupContext {
  readonly dataSource: string;
  readonly log: Logger;
  /** Opens the files that properties name, where that is allowed. */
  readonly paths: AllowedPaths;
  shared<T>(key: string, make: () => T): T;
}

/** What rows are looked up by, in columns. */
export interface LookupRequest {
  /** Columns of the table that are compared. */
  readonly names: readonly string[];
  /** For each of these the values, as many as there are lists. No value is null, no two lists are equal. */
  readonly keys: readonly (readonly Value[])[];
  readonly count: number;
  /** Columns of the table that are read; null: all. */
  readonly fields: readonly string[] | null;
}

/** A lookup table outside. */
export interface Lookup {
  /**
   * Finds the rows for all lists of values; rejects with the reason when there is no answer to any. Several may be
   * under way. An answer that comes after `signal` was given up is nobody's.
   */
  ask(request: LookupRequest, signal: AbortSignal): Promise<LookupAnswer>;
  close(): Promise<void>;
}

/** What a sink needs from the engine. */
export interface SinkContext {
  readonly ruleId: string;
  /**
   * Properties that are templates over the row: their values come with each chunk, which has `ends` whatever the
   * framing.
   */
  readonly dynamic: ReadonlySet<string>;
  /** Each message but errors begins with a line that names its columns, whatever the framing of others. */
  readonly hasHeaders?: boolean;
  readonly log: Logger;
  /** Gives credit back: so many bytes and messages are with the outside. */
  accepted(bytes: number, messages: number): void;
  /** So many messages were lost for good; gives the credit back too. */
  failed(bytes: number, messages: number, reason: string): void;
  /**
   * The connection was lost; the engine calls `open` again after a while. What was written meanwhile is kept. A rule
   * whose sink loses its connection again and again without getting anything out ends, unless the sink `isPatient`.
   */
  disconnected(reason: string, isPatient?: boolean): void;
  /**
   * Its name in all its runs, when checkpoints of the rule count for it: what is behind the last position that `commit`
   * was called with is not to be seen by others.
   */
  readonly transactionName?: string | undefined;
  /** What was written has to be on disk whenever `sync` is called, whatever was closed meanwhile. */
  readonly isSynced?: boolean;
  /**
   * What was being sent when a connection broke is kept for the next one, even where the other side may have got it.
   */
  readonly keepsUnsent?: boolean;
  /** Opens the files that properties name, where that is allowed. */
  readonly paths: AllowedPaths;
  shared<T>(key: string, make: () => T): T;
}

/** What a sink gets. */
export interface SinkChunk extends OutputChunk {
  /** For all messages of the chunk: the values of the properties in `SinkContext.dynamic`, checked. */
  readonly values?: Readonly<Record<string, unknown>>;
}

export interface Sink {
  /** The other side: while a connection is down it is tried as soon as another one with the same text is up. */
  readonly peer?: string;
  /** Connects; called again after `disconnected` or a failed attempt. Throws as `Source.open` does. */
  open(): Promise<void>;
  /** Takes output: copies what it keeps. Called while the kernel runs: must not throw and must not wait. */
  write(chunk: SinkChunk): void;
  /** Resolves when everything written so far is with the outside; rejects when that can't be. */
  flush(): Promise<void>;
  /**
   * Up to where the other side will be, as JSON, when it has all that was written so far; undefined when it can't be
   * taken back to there. Where there are transactions the one under way ends here.
   */
  position?(): unknown;
  /**
   * Takes back what came after the position, before anything else is written, and commits what came before; called
   * before `open`. Without the call there is no checkpoint: of transactions that an earlier run has left none counts.
   */
  cutBack?(position: unknown): void;
  /** Resolves when what the other side has survives a power loss: transactions up to the last position are prepared. */
  sync?(): Promise<void>;
  /**
   * The checkpoint with the position counts, and will be the one that the rule goes on from: what came before it may be
   * seen.
   */
  commit?(position: unknown): void;
  close(): Promise<void>;
}
