/**
 * Bounds the input of one kernel call. With thousands of rules on a stream each row goes to thousands of nodes, so a
 * call is bounded in rows times nodes, and also by the times of the last calls.
 */
import type { StreamCounters } from '../../../../kernels/api.js';
import type { RunningRule } from '../running/running.js';

/** Rows times nodes of a call: some milliseconds of work. */
export const mostVisits = 100_000;
/** Fewer nodes never bound a call. */
const fewNodes = 64;
/** A call that took longer makes the next ones smaller, ms. */
const longMs = 20;
/** Bytes of a call: of the first one, at least, and at most. */
const firstBytes = 4096;
const leastBytes = 64;
const mostBytes = 256 * 1024;
/** Length of a message as long as none has come, bytes. */
const usualBytes = 64;
/** A piece is so many times as long as the one before at most. */
const growth = 4;
/**
 * Nodes and lengths of messages are looked at again after so many pieces, and when one of so many rules has come or
 * gone.
 */
const piecesPerLook = 64;
const rulesPerLook = 16;

/** The source, as far as its pieces depend on it. */
export interface PiecesOf {
  readonly readers: ReadonlySet<{ readonly nodes: readonly Pick<RunningRule['nodes'][number], 'handle'>[] }>;
  readonly counters: Pick<StreamCounters, 'messages' | 'bytes'>;
}

export class InputPieces {
  /** Bounds by the clock and by the number of nodes, bytes. */
  #byClock = firstBytes;
  #byNodes = mostBytes;
  /** Nodes that a row of the source may come to, and of how many rules they are. */
  #nodes = 0;
  #rules = -1;
  #left = 0;

  constructor(private readonly source: PiecesOf) {}

  /** The most bytes of the next call. */
  get most(): number {
    const { size } = this.source.readers;
    if (Math.abs(size - this.#rules) * rulesPerLook > this.#rules) this.#countNodes(size);
    if (this.#nodes > fewNodes && this.#left-- <= 0) this.#look();
    return Math.min(this.#byClock, this.#byNodes);
  }

  /** A call with so many bytes took so long. */
  took(bytes: number, ms: number): void {
    if (ms > longMs) this.#byClock = Math.max(leastBytes, Math.floor((bytes * longMs) / ms));
    else if (bytes >= this.#byClock) this.#byClock = Math.min(mostBytes, this.#byClock * growth);
  }

  #countNodes(rules: number): void {
    this.#rules = rules;
    const handles = new Set<number>();
    for (const { nodes } of this.source.readers) for (const { handle } of nodes) handles.add(handle);
    this.#nodes = handles.size;
    this.#byNodes = mostBytes;
    this.#left = 0;
  }

  #look(): void {
    const { messages, bytes } = this.source.counters;
    // The first messages tell how long they are.
    this.#left = messages < piecesPerLook ? 0 : piecesPerLook;
    const ofMessage = messages === 0 ? usualBytes : bytes / messages;
    const rows = Math.max(1, Math.floor(mostVisits / this.#nodes));
    this.#byNodes = Math.max(leastBytes, Math.min(mostBytes, Math.floor(rows * ofMessage)));
  }
}
