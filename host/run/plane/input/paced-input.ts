/**
 * Input of a source on its way to the kernel, in pieces of a few milliseconds (input-pieces.ts). What a read has left
 * when its time is over waits, and the source is not read meanwhile: sockets, timers and questions have their turns
 * between two pieces of work, and a plane that has more to do than it can is slow for its senders, whose side keeps
 * what comes.
 */
import { InputPieces, type PiecesOf } from '../feed/input-pieces.js';
import { SlowedInput, type SlowedSource } from '../schedule/slowed-input.js';
import type { Turn } from '../schedule/turns.js';

/** Work on input until others have their turn, ms. */
const turnMs = 20;

/** The source. */
export interface PacedSource extends SlowedSource, PiecesOf {
  /** Time of all work for it, µs. */
  readonly workUs: number;
}

export class PacedInput {
  readonly #pieces: InputPieces;
  /** The piece at work is the last one of what was given. */
  isLast = true;
  /** What is left of a read. */
  #rest: SlowedInput | undefined;

  /** @param give hands a piece to the kernel; false: what follows it is of no use */
  constructor(
    private readonly source: PacedSource,
    private readonly give: (piece: Uint8Array) => boolean,
  ) {
    this.#pieces = new InputPieces(source);
  }

  /** Where input waits for its turn; undefined where it never has. */
  get late(): SlowedInput | undefined {
    return this.#rest?.isWaiting ? this.#rest : this.source.slowed;
  }

  /** Works on input until its time is over; what is left waits. */
  write(bytes: Uint8Array): void {
    const { late } = this;
    if (late !== undefined) late.add(bytes);
    else this.#work(bytes, turnMs);
  }

  /** Works on all of it. */
  work(bytes: Uint8Array): void {
    this.#work(bytes, Number.POSITIVE_INFINITY);
  }

  #work(bytes: Uint8Array, ms: number): void {
    let end = 0;
    for (let at = 0; at < bytes.length; ) {
      const most = this.#pieces.most;
      const isWhole = bytes.length - at <= most;
      if (!isWhole && end === 0) end = performance.now() + ms;
      const piece = at === 0 && isWhole ? bytes : bytes.subarray(at, at + most);
      const before = this.source.workUs;
      this.isLast = at + piece.length >= bytes.length && this.late?.isWaiting !== true;
      if (!this.give(piece)) return;
      this.#pieces.took(piece.length, (this.source.workUs - before) / 1000);
      at += piece.length;
      if (at < bytes.length && performance.now() >= end) {
        this.#rest ??= new SlowedInput(this.source, nextTurn, () => performance.now());
        this.#rest.add(bytes.subarray(at));
        return;
      }
    }
  }
}

/** One turn after the other, of all sources: what has come meanwhile comes between two. */
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
