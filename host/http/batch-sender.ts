/**
 * Sends messages in batches, one request at a time and in order. Of a batch that the server refuses, halves are sent,
 * down to the messages that it will not have: they are counted as lost, the others arrive. So sending a message twice
 * must do no harm. What may be taken later is kept, and is the first to be sent on the next attempt to connect.
 */
import { reasonOf } from '../base/errors.js';
import { type HttpAnswer, HttpClient, type HttpClientOptions, type HttpRequest } from './client.js';
import { httpErrors } from './errors.js';
import { type Outcome, outcomeOf, outcomeOfError } from './outcome.js';

/** The part of `SinkContext` that it uses. */
export interface BatchContext {
  accepted(bytes: number, messages: number): void;
  refused(refused: Uint8Array, bytes: number, messages: number, reason: string): void;
  disconnected(reason: string, isPatient?: boolean): void;
}

/** Outcome of a batch; with `isOfAll` no message of it would be taken alone. */
export type BatchOutcome = Outcome & { readonly isOfAll?: boolean };

export interface BatchOptions {
  readonly timeoutMs: number;
  /** Messages that are waited for; fewer are sent after `lingerMs`, or when that is 0 with the next flush. */
  readonly batchSize: number;
  readonly lingerMs: number;
  /** Most messages and bytes of a request. */
  readonly maxMessages: number;
  readonly maxBytes: number;
  tls(): Promise<HttpClientOptions['tls']>;
  /** Finds out whether the server is there. */
  readonly probe: HttpRequest;
  /** The request for the bodies of messages; `ends` are their ends, from the begin of the bytes. */
  request(bytes: Buffer, ends: readonly number[]): HttpRequest;
  outcome?(answer: HttpAnswer, messages: number): BatchOutcome;
}

export class BatchSender {
  #client: HttpClient | undefined;
  #bytes = Buffer.allocUnsafe(4096);
  #length = 0;
  /** Of each message that waits: its end in `#bytes`, and the credit that goes back with it. */
  #ends: number[] = [];
  #credits: number[] = [];
  /** Messages, and their bytes, that are settled and not yet removed. */
  #done = 0;
  #doneBytes = 0;
  #isConnected = false;
  #isSending = false;
  #isClosed = false;
  #isScheduled = false;
  /** All that waits is sent, however little it is. */
  #isFlushed = false;
  #linger: NodeJS.Timeout | undefined;
  /** Time of `performance.now` before which the server wants no request, ms. */
  #notBefore = 0;
  #endPause: () => void = () => {};
  #onIdle: (() => void)[] = [];

  constructor(
    public options: BatchOptions,
    readonly context: BatchContext,
  ) {}

  /** Requests from now on are made so; certificates are read with the next connection. */
  renew(options: BatchOptions): void {
    this.options = options;
  }

  get waiting(): number {
    return this.#ends.length - this.#done;
  }

  /** Connects: what waits is sent, otherwise the server is asked whether it is there. Throws why that fails. */
  async open(): Promise<void> {
    const { timeoutMs, tls } = this.options;
    const certificates = await tls();
    if (this.#isClosed) return;
    this.#client ??= new HttpClient({ timeoutMs, maxAtOnce: 1, tls: certificates });
    this.#client.secure(certificates);
    await this.#pause();
    const failure = await (this.waiting > 0 ? this.#deliver(this.#nextBatch()) : this.#probe(this.#client));
    if (failure !== undefined) throw httpErrors.away(failure);
    this.#isConnected = !this.#isClosed;
    this.#schedule();
  }

  /** Takes the body of a message, which it copies, and the credit that goes back when the server has it. */
  add(body: Uint8Array, credit: number): void {
    const end = this.#length + body.length;
    if (end > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(end, this.#bytes.length * 2));
      this.#bytes.copy(grown, 0, 0, this.#length);
      this.#bytes = grown;
    }
    this.#bytes.set(body, this.#length);
    this.#length = end;
    this.#ends.push(end);
    this.#credits.push(credit);
    this.#schedule();
  }

  flush(): Promise<void> {
    if (this.waiting === 0) return Promise.resolve();
    this.#isFlushed = true;
    this.#schedule();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  close(): void {
    this.#isClosed = true;
    this.#isConnected = false;
    clearTimeout(this.#linger);
    this.#endPause();
    this.#client?.close();
  }

  #pause(): Promise<void> {
    const ms = this.#notBefore - performance.now();
    if (ms <= 0 || this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #probe(client: HttpClient): Promise<string | undefined> {
    try {
      const outcome = outcomeOf(await client.send(this.options.probe), 'code');
      return outcome.is === 'taken' ? undefined : outcome.reason;
    } catch (error) {
      return reasonOf(error);
    }
  }

  /** Sends at the end of this turn: the kernel is at work. */
  #schedule(): void {
    if (this.#isScheduled || this.#isSending || !this.#isConnected || this.waiting === 0) return;
    const { batchSize, lingerMs } = this.options;
    if (this.waiting < batchSize && !this.#isFlushed) {
      if (lingerMs > 0 && this.waiting > 0) {
        this.#linger ??= setTimeout(() => {
          this.#linger = undefined;
          this.#isFlushed = true;
          this.#schedule();
        }, lingerMs);
      }
      return;
    }
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      void this.#send();
    });
  }

  async #send(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    let failure: string | undefined;
    const { batchSize } = this.options;
    while (this.#isConnected && this.waiting > 0 && failure === undefined) {
      if (this.waiting < batchSize && !this.#isFlushed) break;
      failure = await this.#deliver(this.#nextBatch());
    }
    this.#isSending = false;
    if (this.#isClosed) return;
    if (failure !== undefined && this.#isConnected) {
      this.#isConnected = false;
      this.context.disconnected(failure, true);
    } else this.#schedule();
  }

  /** Messages of the next request. */
  #nextBatch(): number {
    const { maxMessages, maxBytes, batchSize } = this.options;
    const most = Math.min(this.waiting, batchSize > 1 ? Math.min(batchSize, maxMessages) : maxMessages);
    let count = 1;
    while (count < most && this.#ends[this.#done + count]! - this.#doneBytes <= maxBytes) count++;
    return count;
  }

  /** Sends the first messages that wait and settles them; returns the reason when the server will not take them now. */
  async #deliver(count: number): Promise<string | undefined> {
    const outcome = await this.#attempt(count);
    if (this.#isClosed) return undefined;
    if (outcome.is === 'later') {
      this.#notBefore = performance.now() + outcome.afterMs;
      return outcome.reason;
    }
    if (outcome.is === 'taken' || count === 1 || outcome.isOfAll) {
      this.#settle(count, outcome.is === 'taken' ? undefined : outcome.reason);
      return undefined;
    }
    const half = count >> 1;
    return (await this.#deliver(half)) ?? (await this.#deliver(count - half));
  }

  async #attempt(count: number): Promise<BatchOutcome> {
    const from = this.#doneBytes;
    const ends = this.#ends.slice(this.#done, this.#done + count).map((end) => end - from);
    // Messages that come meanwhile may move the buffer.
    const bytes = Buffer.from(this.#bytes.subarray(from, from + ends[count - 1]!));
    try {
      const answer = await this.#client!.send(this.options.request(bytes, ends));
      return this.options.outcome?.(answer, count) ?? outcomeOf(answer, 'code');
    } catch (error) {
      return outcomeOfError(error);
    }
  }

  #settle(count: number, reason: string | undefined): void {
    const credits = this.#credits.slice(this.#done, this.#done + count);
    const refused = reason === undefined ? [] : credits.map((_credit, i) => this.#messageAt(this.#done + i));
    this.#done += count;
    this.#doneBytes = this.#ends[this.#done - 1]!;
    if (this.waiting === 0 || this.#doneBytes > this.#length >> 1) this.#compact();
    if (reason === undefined)
      this.context.accepted(
        credits.reduce((sum, credit) => sum + credit, 0),
        count,
      );
    else for (const [i, message] of refused.entries()) this.context.refused(message, credits[i]!, 1, reason);
    if (this.waiting > 0) return;
    this.#isFlushed = false;
    for (const call of this.#onIdle.splice(0)) call();
  }

  /** Copy of a message as it was sent. */
  #messageAt(place: number): Buffer {
    return Buffer.from(
      this.#bytes.subarray(place === this.#done ? this.#doneBytes : this.#ends[place - 1]!, this.#ends[place]!),
    );
  }

  #compact(): void {
    const { length } = this.#ends;
    this.#bytes.copyWithin(0, this.#doneBytes, this.#length);
    this.#length -= this.#doneBytes;
    const ends = new Array<number>(length - this.#done);
    for (let i = this.#done; i < length; i++) ends[i - this.#done] = this.#ends[i]! - this.#doneBytes;
    this.#ends = ends;
    this.#credits = this.#credits.slice(this.#done);
    this.#done = 0;
    this.#doneBytes = 0;
    if (this.#length === 0 && this.#bytes.length > 1 << 20) this.#bytes = Buffer.allocUnsafe(4096);
  }
}
