/**
 * Counts messages in the order in which they came, whatever the order in which the other side answers: behind one that
 * is sent again those that are answered already wait, since what is counted always stands for the oldest messages.
 */
export interface CountedMessage {
  readonly payload: Uint8Array;
  /** Credit that is given back with the message. */
  readonly bytes: number;
  /** What became of it; undefined as long as the other side has not taken it. Only for `InOrderCounts`. */
  outcome?: Outcome | undefined;
}

/** The part of `SinkContext` that is told. */
export interface CountsContext {
  accepted(bytes: number, messages: number): void;
  refused(refused: Uint8Array, bytes: number, messages: number, reason: string): void;
}

interface Outcome {
  readonly messages: number;
  /** Reason why the message was refused for good. */
  readonly refusal: string | undefined;
}

const taken: Outcome = { messages: 1, refusal: undefined };
const none: Outcome = { messages: 0, refusal: undefined };
const empty = new Uint8Array(0);
const counted: CountedMessage = { payload: empty, bytes: 0 };
/** Places of counted messages at the begin of the list, from which on they are given up. */
const mostCounted = 4096;

export class InOrderCounts<M extends CountedMessage = CountedMessage> {
  /** Messages in order; those before `#next` are counted. */
  #messages: CountedMessage[] = [];
  #next = 0;
  #isSettling = false;
  #isClosed = false;
  #onIdle: (() => void)[] = [];

  constructor(private readonly context: CountsContext) {}

  /** Takes a message in; it waits for `done`. */
  add(message: M): void {
    message.outcome = undefined;
    this.#messages.push(message);
  }

  /** Takes credit in that no message goes out for. */
  rest(bytes: number): void {
    this.#messages.push({ payload: empty, bytes, outcome: none });
    this.#settle();
  }

  /** The other side has the message, or has refused it for good. */
  done(message: M, refusal?: string): void {
    message.outcome = refusal === undefined ? taken : { messages: 1, refusal };
    this.#settle();
  }

  get isIdle(): boolean {
    return this.#next === this.#messages.length && !this.#isSettling;
  }

  /** Resolves when all is counted. */
  flush(): Promise<void> {
    if (this.isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  /** Nothing is counted any more. */
  close(): void {
    this.#isClosed = true;
  }

  /** Counts, once per turn, the messages that are done, up to the first that is not. */
  #settle(): void {
    if (this.#isSettling) return;
    this.#isSettling = true;
    setImmediate(() => {
      this.#isSettling = false;
      if (!this.#isClosed) this.#count();
      if (this.isIdle) for (const call of this.#onIdle.splice(0)) call();
    });
  }

  #count(): void {
    let bytes = 0;
    let messages = 0;
    const accept = () => {
      if (bytes > 0 || messages > 0) this.context.accepted(bytes, messages);
      bytes = 0;
      messages = 0;
    };
    for (; this.#next < this.#messages.length; this.#next++) {
      const message = this.#messages[this.#next]!;
      const { outcome } = message;
      if (outcome === undefined) break;
      // Its place stays for a while, the message does not.
      this.#messages[this.#next] = counted;
      if (outcome.refusal === undefined) {
        bytes += message.bytes;
        messages += outcome.messages;
        continue;
      }
      accept();
      this.context.refused(message.payload, message.bytes, 1, outcome.refusal);
    }
    accept();
    if (this.#next < mostCounted && this.#next < this.#messages.length) return;
    this.#messages = this.#messages.slice(this.#next);
    this.#next = 0;
  }
}
