/**
 * Sources and sinks at work: what the engine gives them, what they give back. A connector moves bytes. It never sees
 * rows, and never retries: `open` fails or `disconnected` is called, and the engine decides when to try again.
 */
import type { LookupAnswer, OutputChunk } from '../../kernels/api.js';
import type { Value } from '../../kernels/values/value.js';
import type { AllowedPaths } from '../base/files/allowed-paths.js';
import type { Logger } from '../base/log/log.js';
import type { PipedProgram } from '../base/structures/piped-program.js';

export type { OutputChunk };

/** Services of the engine for a source. */
export interface SourceContext {
  /** Name of the stream. */
  readonly name: string;
  /** DATASOURCE of the stream. */
  readonly dataSource: string;
  readonly log: Logger;
  /** Longest pause between two reads of a fast sender with small packets, ms; 0 never pauses. */
  readonly coalesceMs: number;
  /** True while the sinks are full or the kernel has no room for written input: a source should stop writing then. */
  readonly isFull: boolean;
  /**
   * Takes input in the declared framing, whole or cut anywhere; copies it. Returns false when the source should pause.
   * Of messages in frames that are to be acknowledged each has a receipt, a number that only the source knows the
   * meaning of.
   */
  write(bytes: Uint8Array, receipts?: Uint32Array): boolean;
  /** Resolves as soon as input is wanted. */
  ready(): Promise<void>;
  /** Resolves as soon as the kernel has taken all that was written; false when it never will, since the source ends. */
  whenTaken(): Promise<boolean>;
  /** Registers what to call when the sinks become full and when they have room again. */
  onFlow(pause: () => void, resume: () => void): void;
  /** With framing mqtt: takes control packets; a view valid during the call. Must not write. */
  onPacket(take: (packet: Uint8Array) => void): void;
  /**
   * Receipts that are owed for messages which are safe, in order of arrival: those that `write` got, with framing mqtt
   * packet ids (messages/receipts.ts).
   */
  onAcknowledge(take: (receipts: Uint32Array) => void): void;
  /**
   * For a broker with a session: notes that it was asked whether it has all acknowledgements so far, and that it has.
   */
  readonly redeliveries?: { asked(): void; answered(): void } | undefined;
  /** Registers what to call when the input breaks its protocol; the rest of that input was dropped. */
  onMalformed(take: (reason: string) => void): void;
  /** Forgets a half-received message. */
  resetInput(): void;
  /** The connection was lost; the engine calls `open` again after a while. */
  disconnected(reason: string): void;
  /** Counts a failure that does not end the connection, or as many as the reason tells of. */
  exception(reason: string, failures?: number): void;
  /** Gives rules that send errors a row with this one, with framing frames and between two of them; counts nothing. */
  sendError(reason: string): void;
  /** All input was written. */
  end(): void;
  /** All input that is there now was written, though more may come: what needs a table to be loaded waits no longer. */
  hasRead?(): void;
  /** DELIMITER of the stream; undefined where its format has none. */
  readonly delimiter?: string | undefined;
  /** Rules keep their state in checkpoints, so `commit` is called with positions that they will never rewind behind. */
  readonly isCommitted: boolean;
  /** Program that the manifest names, as it is now; undefined when its plugin is gone. */
  readonly program?: PipedProgram | undefined;
  /** Opens the files that properties name, where that is allowed. */
  readonly paths: AllowedPaths;
  /** An object that all connectors of this worker share, made at first use. */
  shared<T>(key: string, make: () => T): T;
}

export interface Source {
  /** Name of the other side: a lost connection is tried again as soon as another one with the same name is up. */
  readonly peer?: string;
  /**
   * Connects; called again after `disconnected` or a failed attempt. Throws HaumeaError `config` for what no repetition
   * can cure: the rule stops.
   */
  open(): Promise<void>;
  close(): Promise<void>;
  /**
   * Takes all properties, checked, of which only those differ that the manifest names as `renewable`. They hold from
   * the next attempt to connect.
   */
  renew?(conf: object): void;
  /**
   * Position behind the last whole message that was written, as JSON: a source that rewinds to it misses and repeats
   * nothing. Left out when the source can't rewind.
   */
  position?(): unknown;
  /**
   * Rewinds to a position, or begins there if the source is not open yet; throws the reason when that is impossible. Of
   * several calls before `open` the earliest position counts.
   */
  seek?(position: unknown): void;
  /**
   * Called before `open` in place of `seek`: begins at the earliest of the positions, or at the begin of the input when
   * one is undefined. Calls `reached` with the index of each position, in the order of the positions, between two
   * writes: all input before the position is written then, and none behind it.
   */
  seekAll?(positions: readonly unknown[], reached: (index: number) => void): void;
  /** Tells that input up to the position (all input so far without one) will never be asked for again. */
  commit?(position: unknown): void;
  /** Whole messages from within the engine that the source has not written yet; nobody else could bring them again. */
  pending?(): readonly Uint8Array[];
  /** Whether the source stands at the position now. */
  isAt?(position: unknown): boolean;
  /** The source removes its input after reading (deletes or moves files), so nobody can read it a second time. */
  readonly takesAway?: boolean;
}

/** Services of the engine for a lookup table that is asked for rows. */
export interface LookupContext {
  readonly dataSource: string;
  readonly log: Logger;
  /** Opens the files that properties name, where that is allowed. */
  readonly paths: AllowedPaths;
  shared<T>(key: string, make: () => T): T;
}

/** The keys of one lookup, in columns. */
export interface LookupRequest {
  /** Columns of the table that make up the key. */
  readonly names: readonly string[];
  /** Values of each of these columns, `count` per column; no value is null, and no two keys are equal. */
  readonly keys: readonly (readonly Value[])[];
  readonly count: number;
  /** Columns of the table that are read; null: all. */
  readonly fields: readonly string[] | null;
}

/** A lookup table in another system, asked for rows by key. */
export interface Lookup {
  /**
   * Finds the rows for all keys; rejects with the reason when there is no answer to any. Several requests may be under
   * way. An answer that comes after `signal` was aborted is dropped.
   */
  ask(request: LookupRequest, signal: AbortSignal): Promise<LookupAnswer>;
  close(): Promise<void>;
}

/** Services of the engine for a sink. */
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
  /** Gives credit back for bytes and messages that the other side has. */
  accepted(bytes: number, messages: number): void;
  /** Counts messages as lost for good, and gives their credit back. */
  failed(bytes: number, messages: number, reason: string): void;
  /**
   * As `failed`, when the other side refuses for good what is known: `refused` is the message as it would have gone
   * out, for the dead letters of the sink; a view that is valid during the call is enough. Called for each message that
   * is refused, and the others of its chunk go out. `messages` is 1, or 0 for a part of a message, such as one row of
   * its list, whose rest is out or follows.
   */
  refused(refused: Uint8Array, bytes: number, messages: number, reason: string): void;
  /**
   * The connection was lost; the engine calls `open` again after a while. Output written meanwhile is kept. A rule
   * whose sink loses its connection again and again without getting anything out ends, unless the sink `isPatient`.
   */
  disconnected(reason: string, isPatient?: boolean): void;
  /**
   * Name of the sink in all its runs, when its transactions commit with the checkpoints of the rule. Output behind the
   * last position of `commit` has to stay invisible to others.
   */
  readonly transactionName?: string | undefined;
  /** `sync` has to bring all written output to disk, also output to files that were closed meanwhile. */
  readonly isSynced?: boolean;
  /** Key of AES, base64, for a sink that has `encryption` of its own; undefined where it is not used. */
  readonly aesKey?: string | undefined;
  /** Output in flight when a connection breaks is kept for the next one, even if the other side may have got it. */
  readonly keepsUnsent?: boolean;
  /** As for a source. */
  readonly program?: PipedProgram | undefined;
  /** Opens the files that properties name, where that is allowed. */
  readonly paths: AllowedPaths;
  shared<T>(key: string, make: () => T): T;
}

/** A chunk of output for a sink. */
export interface SinkChunk extends OutputChunk {
  /** For all messages of the chunk: the values of the properties in `SinkContext.dynamic`, checked. */
  readonly values?: Readonly<Record<string, unknown>>;
}

export interface Sink {
  /** Name of the other side: a lost connection is tried again as soon as another one with the same name is up. */
  readonly peer?: string;
  /** Connects; called again after `disconnected` or a failed attempt. Throws as `Source.open` does. */
  open(): Promise<void>;
  /** As for `Source`: the new values hold from the next call of `open`. */
  renew?(conf: object): void;
  /** Takes output: copies what it keeps. Called while the kernel runs: must not throw and must not wait. */
  write(chunk: SinkChunk): void;
  /** Resolves when the other side has everything written so far; rejects when that is impossible. */
  flush(): Promise<void>;
  /**
   * Position of the output, as JSON, behind everything written so far; undefined when the sink can't be cut back to it.
   * With transactions, the one under way ends here.
   */
  position?(): unknown;
  /**
   * Cuts the output back to the position before anything else is written, and commits the transactions before it;
   * called before `open`. Without the call there is no checkpoint, and all transactions that an earlier run has left
   * are void.
   */
  cutBack?(position: unknown): void;
  /**
   * Resolves when delivered output survives a loss of power; transactions up to the last position are prepared then.
   */
  sync?(): Promise<void>;
  /**
   * The checkpoint with the position is valid, and the rule would go on from it: output before the position may become
   * visible to others.
   */
  commit?(position: unknown): void;
  close(): Promise<void>;
}
