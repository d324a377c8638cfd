/**
 * Input of a source on its way to the kernel, in pieces of a few milliseconds (input-pieces.ts). What a read has left
 * when its time is over waits, and the source is not read meanwhile: sockets, timers and questions have their turns
 * between two pieces of work, and a plane that has more to do than it can is slow for its senders, whose side keeps
 * what comes.
 */
import { InputPieces, type PiecesOf } from '../feed/input-pieces.js';
import type { Turn } from '../schedule/fair-queue.js';
import { TurnQueue } from '../schedule/turn-queue.js';
import type { Input } from '../stage/input.js';
import { PassingStage } from '../stage/stage.js';

/** Work on input until others have their turn, ms. */
const turnMs = 20;

/** The source. */
export interface PacedSource extends PiecesOf {
  /** Time of all work for it, µs. */
  readonly workUs: number;
}

export class PacedStage extends PassingStage<Input> {
  readonly #pieces: InputPieces;
  /** Rest of a read. */
  #rest: TurnQueue | undefined;

  /**
   * @param isBlocked it may have no turn now: a sink is full, or the kernel
   * @param waits input begins to wait for its turn, or no longer does
   */
  constructor(
    private readonly source: PacedSource,
    private readonly isBlocked: () => boolean,
    private readonly waits: (isWaiting: boolean) => void,
  ) {
    super();
    this.#pieces = new InputPieces(source);
  }

  override get isFull(): boolean {
    return this.#rest?.isFull === true;
  }

  /** Works on input until its time is over, what is left waits; on all of it when it had its turn. */
  write({ bytes, isLast, hasTurn = false }: Input): boolean {
    if (hasTurn) return this.#work(bytes, isLast, Number.POSITIVE_INFINITY);
    if (!this.isFull) return this.#work(bytes, isLast, turnMs);
    return this.#rest!.write({ bytes });
  }

  override resume(): void {
    this.#rest?.resume();
  }

  override drain(): void {
    this.#rest?.drain();
  }

  whenEmpty(): Promise<void> {
    return this.#rest?.whenEmpty() ?? Promise.resolve();
  }

  override close(): void {
    this.#rest?.close();
  }

  #work(bytes: Uint8Array, isLast: boolean, ms: number): boolean {
    let end = 0;
    for (let at = 0; at < bytes.length; ) {
      const most = this.#pieces.most;
      const isWhole = bytes.length - at <= most;
      if (!isWhole && end === 0) end = performance.now() + ms;
      const piece = at === 0 && isWhole ? bytes : bytes.subarray(at, at + most);
      const before = this.source.workUs;
      if (!this.next.write({ bytes: piece, isLast: isLast && at + piece.length >= bytes.length })) return false;
      this.#pieces.took(piece.length, (this.source.workUs - before) / 1000);
      at += piece.length;
      if (at < bytes.length && performance.now() >= end) return this.#keep(bytes.subarray(at));
    }
    return true;
  }

  #keep(bytes: Uint8Array): boolean {
    if (this.#rest === undefined) {
      this.#rest = new TurnQueue(nextTurn, () => performance.now(), this.isBlocked, this.waits);
      this.#rest.next = this;
    }
    return this.#rest.write({ bytes });
  }
}

/** Turns of all sources that wait, one after the other: the event loop handles other events between two. */
const waiting = new Set<Turn>();
let isArmed = false;

const nextTurn = {
  add(turn: Turn): void {
    waiting.add(turn);
    arm();
  },
};

function arm(): void {
  if (isArmed || waiting.size === 0) return;
  isArmed = true;
  setImmediate(takeNext);
}

function takeNext(): void {
  isArmed = false;
  const [turn] = waiting;
  if (turn === undefined) return;
  waiting.delete(turn);
  try {
    if (turn.isReady) turn.work(turnMs);
    if (turn.isReady) waiting.add(turn);
  } finally {
    arm();
  }
}
