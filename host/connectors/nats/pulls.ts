/**
 * Asks a consumer of a stream for messages, no more at a time than memory and sinks take. The server answers each
 * request with messages, up to a number and up to their bytes, and tells with a status when it gives one up.
 *
 * Two requests take turns: one is made when the other is half over, so that messages come without a pause between two.
 */
import { createInbox, type Msg, type Subscription } from '@nats-io/transport-node';
import { reasonOf } from '../../base/errors.js';
import type { NatsConnection } from '../../clients/nats/client.js';

/** A consumer, as it is asked. */
export interface Pulled {
  readonly stream: string;
  readonly consumer: string;
  /** Takes a message. */
  take(message: Msg): void;
  /** More is wanted now. */
  readonly isWanted: boolean;
  /** The consumer is gone, or does not answer. */
  failed(reason: string): void;
}

/** Most messages of a request, and their bytes. */
const mostMessages = 1000;
const mostBytes = 4 << 20;
/** Time until the server gives a request up, ms. */
const expiresMs = 30_000;
/** A server says so often that it is there, and is taken for gone when it is silent for so long, ms. */
const heartbeatMs = 2000;
const silenceMs = 3 * heartbeatMs;
const lookMs = heartbeatMs / 2;
const nanosPerMs = 1_000_000;

/** A message with its bytes as the server counts them: the library has them for its own consumers. */
interface Sized {
  size(): number;
}

/** A request to the consumer: the same object makes one after the other. */
class Request {
  readonly subscription: Subscription;
  readonly #inbox = createInbox();
  #number = 0;
  /** What it asked for, and what of that has not come. */
  #asked = { messages: 0, bytes: 0 };
  #left = { messages: 0, bytes: 0 };

  constructor(connection: NatsConnection, callback: (request: Request, error: Error | null, message: Msg) => void) {
    this.subscription = connection.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => callback(this, error, message),
    });
  }

  /** The server ends it with the last message, and with the last byte. */
  get isOver(): boolean {
    const { messages, bytes } = this.#left;
    return messages <= 0 || bytes <= 0;
  }

  get isHalfOver(): boolean {
    const { messages, bytes } = this.#left;
    return messages <= this.#asked.messages / 2 || bytes <= this.#asked.bytes / 2;
  }

  /** Nothing has come for it. */
  get isWhole(): boolean {
    return this.#left.messages === this.#asked.messages;
  }

  /** Begins anew; returns the subject for the answers. */
  begin(messages: number, bytes: number): string {
    this.#asked = { messages, bytes };
    this.#left = { messages, bytes };
    return `${this.#inbox}.${++this.#number}`;
  }

  came(message: Msg): void {
    this.#left.messages--;
    this.#left.bytes -= (message as Msg & Sized).size();
  }

  end(): void {
    this.#left = { messages: 0, bytes: 0 };
  }

  /** Whether the status is that of the request now, and not of one before. */
  isOf({ subject }: Msg): boolean {
    return subject === `${this.#inbox}.${this.#number}`;
  }
}

export class Pulls {
  readonly #subject: string;
  readonly #requests: readonly Request[];
  /** Limits of the consumer, where they are below those of a request. */
  readonly #most = { messages: mostMessages, bytes: mostBytes };
  /** The next message is larger than a request may be: it is asked for alone, whatever its size. */
  #isLarge = false;
  #isClosed = false;
  /** Looks since something was heard: a thread that stood still looks before it reads what has come meanwhile. */
  #unheard = 0;
  readonly #watch: NodeJS.Timeout;

  /** @param prefix of the subjects of the JetStream API */
  constructor(
    private readonly connection: NatsConnection,
    private readonly pulled: Pulled,
    prefix = '$JS.API',
  ) {
    this.#subject = `${prefix}.CONSUMER.MSG.NEXT.${pulled.stream}.${pulled.consumer}`;
    const answered = (request: Request, error: Error | null, message: Msg) => {
      if (error === null) this.#answered(request, message);
      else this.#fail(reasonOf(error));
    };
    this.#requests = [new Request(connection, answered), new Request(connection, answered)];
    this.#watch = setInterval(() => this.#look(), lookMs).unref();
    this.ask();
  }

  /** Asks for more where that is wanted. */
  ask(): void {
    if (this.#isClosed) return;
    const free = this.#requests.find(({ isOver }) => isOver);
    if (free === undefined || !this.pulled.isWanted) return;
    const open = this.#requests.find(({ isOver }) => !isOver);
    if (open === undefined) this.#unheard = 0;
    else if (this.#isLarge || !open.isHalfOver) return;
    const { messages, bytes } = this.#most;
    const size = this.#isLarge ? { batch: 1 } : { batch: messages, max_bytes: bytes };
    const reply = this.#isLarge ? free.begin(1, Number.POSITIVE_INFINITY) : free.begin(messages, bytes);
    const times = { expires: expiresMs * nanosPerMs, idle_heartbeat: heartbeatMs * nanosPerMs };
    this.connection.publish(this.#subject, JSON.stringify({ ...size, ...times }), { reply });
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#watch);
    if (this.connection.isClosed()) return;
    for (const { subscription } of this.#requests) subscription.unsubscribe();
  }

  #answered(request: Request, message: Msg): void {
    if (this.#isClosed) return;
    this.#unheard = 0;
    // Messages of a stream have a reply, statuses have none.
    if (!message.reply) {
      this.#status(request, message);
      return;
    }
    request.came(message);
    this.#isLarge = false;
    this.pulled.take(message);
    this.ask();
  }

  #status(request: Request, message: Msg): void {
    const { headers } = message;
    const code = headers?.code ?? 0;
    const description = headers?.description ?? '';
    if (code === 100 || !request.isOf(message)) return;
    const isTooLarge = code === 409 && description === 'Message Size Exceeds MaxBytes';
    if (isTooLarge || isOver(code, description) || (code === 409 && this.#isLimited(description))) {
      // The other one may have taken the message, or have room for it: of a whole request nothing was used.
      if (isTooLarge && request.isWhole) this.#isLarge = true;
      request.end();
      this.ask();
      return;
    }
    this.#fail(code === 503 ? 'the consumer does not exist any more' : description || 'no answer');
  }

  /** Takes over a limit that the consumer has for requests. */
  #isLimited(description: string): boolean {
    const [, what, limit] = /^Exceeded MaxRequest(Batch|MaxBytes) of (\d+)$/.exec(description) ?? [];
    if (what === undefined) return false;
    this.#most[what === 'Batch' ? 'messages' : 'bytes'] = Number(limit);
    return true;
  }

  #look(): void {
    const isAwaited = this.#requests.some(({ isOver }) => !isOver);
    if (!isAwaited || ++this.#unheard <= silenceMs / lookMs) return;
    this.#fail(`the server was silent for ${silenceMs} ms`);
  }

  #fail(reason: string): void {
    if (this.#isClosed) return;
    this.close();
    this.pulled.failed(reason);
  }
}

/** Whether the server has given the request up: there is nothing for now, its time is over, or its number has come. */
function isOver(code: number, description: string): boolean {
  return code === 404 || code === 408 || (code === 409 && description === 'Batch Completed');
}
