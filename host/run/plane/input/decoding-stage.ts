/**
 * Input whose messages a codec on a thread of its own reads before they go on. What comes meanwhile waits behind them,
 * and the source is not read: its messages keep their order.
 */

import type { SourceForm } from '../../../connectors/define.js';
import { type NextPiece, type Piece, piecesOf } from '../../../connectors/messages/places.js';
import type { MakeMessages } from '../../../plugins/define.js';
import { decodedMessage } from '../calls/apart-codec.js';
import { defaultMaxMessageBytes } from '../feed/feed-stream.js';
import type { Input } from '../stage/input.js';
import { PassingStage } from '../stage/stage.js';

/** Messages that the codec gets at once, and about so many bytes of them. */
const batchMessages = 1024;
const batchBytes = 4 << 20;
const nothing = Buffer.alloc(0);
const lineFeed = 0x0a;

export class DecodingStage extends PassingStage<Input> {
  readonly #next: NextPiece;
  readonly #isByLines: boolean;
  /** Input that waits, or the begin of a message, with what has come since: many pieces of a long message. */
  #rest: Buffer = nothing;
  #more: Buffer[] = [];
  #moreBytes = 0;
  /** Length of the message that `rest` begins with, at least. */
  #needed = 0;
  /** Bytes still to come of a message that is too long; infinite: to the end of its line. */
  #skip = 0;
  #isWaiting = false;
  readonly #ending = new AbortController();
  #askers: (() => void)[] = [];

  /** @param waits input begins to wait, or no longer does */
  constructor(
    form: SourceForm,
    private readonly make: MakeMessages,
    private readonly waits: (isWaiting: boolean) => void,
  ) {
    super();
    this.#next = piecesOf(form, defaultMaxMessageBytes);
    this.#isByLines = form.framing === 'lines';
  }

  override get isFull(): boolean {
    return this.#isWaiting;
  }

  write({ bytes }: Input): boolean {
    const given = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    // A copy: what was given is good for the call only.
    this.#more.push(Buffer.from(given));
    this.#moreBytes += given.length;
    const isLine = this.#isByLines && this.#rest.length + this.#moreBytes <= defaultMaxMessageBytes;
    const isPart = isLine ? !given.includes(lineFeed) : this.#rest.length + this.#moreBytes < this.#needed;
    return this.#isWaiting || (isPart && this.#skip === 0) || this.#goOn();
  }

  /** Joins what has come since. */
  #gather(): void {
    if (this.#more.length === 0) return;
    this.#rest = Buffer.concat([this.#rest, ...this.#more]);
    this.#more = [];
    this.#moreBytes = 0;
    this.#needed = 0;
  }

  /** Passes on what is no message, up to the first batch of messages, which goes to the codec. */
  #goOn(): boolean {
    this.#gather();
    const skipped = this.#skipped();
    if (skipped.length > 0 && !this.next.write({ bytes: skipped, isLast: true })) return false;
    const { pieces, end } = this.#batch();
    const bytes = this.#rest.subarray(0, end);
    this.#rest = this.#rest.subarray(end);
    if (pieces.some(({ payload }) => payload !== undefined)) {
      this.#wait(true);
      void this.#decode(bytes, pieces);
      return true;
    }
    const isTaken = bytes.length === 0 || this.next.write({ bytes, isLast: true });
    if (!isTaken || this.#skip > 0 || bytes.length === 0 || this.#rest.length === 0) {
      this.#wait(false);
      return isTaken;
    }
    return this.#goOn();
  }

  /** Whole pieces at the begin of what waits. */
  #batch(): { pieces: Piece[]; end: number } {
    const pieces: Piece[] = [];
    let end = 0;
    let messages = 0;
    while (messages < batchMessages && end < batchBytes && end < this.#rest.length) {
      const piece = this.#next(this.#rest, end);
      if (typeof piece === 'number') {
        this.#needed = piece;
        break;
      }
      pieces.push(piece);
      if (piece.end > this.#rest.length) this.#skip = piece.end - this.#rest.length;
      end = Math.min(piece.end, this.#rest.length);
      if (piece.payload !== undefined) messages++;
    }
    return { pieces, end };
  }

  /** Takes out what belongs to a message that is too long. */
  #skipped(): Buffer {
    if (this.#skip === 0) return nothing;
    const feed = this.#rest.indexOf(lineFeed);
    const isLine = this.#skip === Number.POSITIVE_INFINITY;
    const count = isLine && feed >= 0 ? feed + 1 : Math.min(this.#skip, this.#rest.length);
    if (isLine && feed >= 0) this.#skip = 0;
    else if (!isLine) this.#skip -= count;
    const skipped = this.#rest.subarray(0, count);
    this.#rest = this.#rest.subarray(count);
    return skipped;
  }

  async #decode(bytes: Buffer, pieces: readonly Piece[]): Promise<void> {
    const { signal } = this.#ending;
    const messages = pieces.flatMap(({ payload }) => payload ?? []);
    const made = await this.make(messages, 'bytes', signal);
    if (signal.aborted) return;
    let from = 0;
    let n = 0;
    const parts = pieces.flatMap((piece) => {
      const own = bytes.subarray(from, piece.end);
      from = piece.end;
      return piece.with === undefined ? [own] : piece.with(decodedMessage(made[n++] ?? null));
    });
    const isTaken = this.next.write({ bytes: Buffer.concat(parts), isLast: true });
    // What follows malformed input is of no use.
    if (!isTaken) this.#forget();
    this.#goOn();
  }

  #forget(): void {
    this.#rest = nothing;
    this.#more = [];
    this.#moreBytes = 0;
    this.#needed = 0;
  }

  #wait(isWaiting: boolean): void {
    if (this.#isWaiting === isWaiting) return;
    this.#isWaiting = isWaiting;
    if (!isWaiting) for (const call of this.#askers.splice(0)) call();
    this.waits(isWaiting);
  }

  /** Resolves when nothing waits. */
  whenEmpty(): Promise<void> {
    if (!this.#isWaiting) return Promise.resolve();
    return new Promise((resolve) => this.#askers.push(resolve));
  }

  /** The connection was lost: the begin of a message is of no use, whole messages are. */
  cut(): void {
    this.#gather();
    let at = 0;
    while (at < this.#rest.length) {
      const piece = this.#next(this.#rest, at);
      if (typeof piece === 'number' || piece.end > this.#rest.length) break;
      at = piece.end;
    }
    this.#rest = this.#rest.subarray(0, at);
    this.#skip = 0;
  }

  override close(): void {
    this.#ending.abort();
    this.#forget();
    this.#isWaiting = false;
    for (const call of this.#askers.splice(0)) call();
  }
}
