/**
 * Sends messages as requests. What may be taken later is kept, and is the first to be sent on the next attempt to
 * connect, which succeeds with it. A message that fails again while others after it are taken is put aside: it is tried
 * at growing intervals, and the others go on. What is refused is counted as lost. Messages count as out in the order in
 * which they came.
 */
import { reasonOf } from '../../base/errors.js';
import type { Parsed } from '../../base/fields/field.js';
import { hasFixedHost } from '../../base/net/reach.js';
import { bodyOf, formOf, withHeaders } from '../../http/bodies.js';
import type { HttpRequest } from '../../http/client.js';
import { type Outcome, outcomeOf, outcomeOfError } from '../../http/outcome.js';
import { type httpProps, usualBodyType } from '../../http/props.js';
import { HttpSession } from '../../http/session.js';
import { headerTemplates } from '../../http/text-template.js';
import { MessageCutter } from '../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';
import type { TlsConf } from '../tls.js';
import { tlsOptions } from '../tls-options.js';
import { restErrors } from './errors.js';

export interface RestSinkConf extends Omit<Parsed<typeof httpProps>, 'bodyType'>, TlsConf {
  url: string;
  bodyType?: string | undefined;
  compression?: string | undefined;
  encryption?: string | undefined;
  formData: Record<string, unknown>;
  fileFieldName: string;
  concurrency: number;
  maxAttempts: number;
}

interface Waiting {
  readonly message: Buffer;
  readonly values: Readonly<Record<string, unknown>> | undefined;
  /** Credit that is returned when the message is sent. */
  bytes: number;
  /** Final outcome: taken or refused; undefined until the server has answered. */
  outcome?: Outcome;
  /** Answers so far that asked to try it again. */
  attempts: number;
  /** It is put aside, and tried again at this time of `performance.now`. */
  dueAt?: number;
  /** Time between its last two attempts then, ms. */
  asideMs?: number;
}

/** Failed attempts after which a message may be one that the server alone fails at. */
const lastingAttempts = 4;
/** Messages that are tried to find out whether the server fails at one message or at all. */
const probes = 10;
/** Most messages that are put aside. */
const mostAside = 1000;
/** Time until a message that is put aside is tried again, ms: it doubles each time. */
const firstAsideMs = 1000;
const lastAsideMs = 60_000;

export class RestSink implements Sink {
  #session: HttpSession | undefined;
  readonly #cutter = new MessageCutter();
  #headers: ReturnType<typeof headerTemplates> | undefined;
  /** Messages that are not counted as sent or refused yet, in order. */
  readonly #queue: Waiting[] = [];
  /** Index in the queue of the first message that was not sent on this connection. */
  #next = 0;
  #underWay = 0;
  #isConnected = false;
  #isClosed = false;
  /** Reason why nothing more is sent now. */
  #failure: string | undefined;
  /** Time of `performance.now` before which the other side wants no request, ms. */
  #notBefore = 0;
  #endWait: () => void = () => {};
  #isScheduled = false;
  readonly #aside = new Set<Waiting>();
  #asideTimer: NodeJS.Timeout | undefined;
  readonly #onIdle: (() => void)[] = [];

  /** Rows choose the server, too. */
  readonly #isOfData: boolean;
  /** Header that names the compression, where a server can undo it. */
  readonly #encoding: Readonly<Record<string, string>>;

  constructor(
    public conf: RestSinkConf,
    readonly context: SinkContext,
  ) {
    // Over rows they come with the values of each message, over tokens they are made here.
    const { compression = '', encryption = '' } = conf;
    const isPlain = encryption === '' && ['gzip', 'zstd'].includes(compression);
    this.#encoding = isPlain ? { 'Content-Encoding': compression } : {};
    this.#isOfData = context.dynamic.has('url') && !hasFixedHost(conf.url);
    this.#headers = this.#headersOf(conf);
  }

  #headersOf({ headers }: RestSinkConf): ReturnType<typeof headerTemplates> | undefined {
    return this.context.dynamic.has('headers') ? undefined : headerTemplates(headers);
  }

  renew(conf: RestSinkConf): void {
    this.conf = conf;
    this.#headers = this.#headersOf(conf);
    this.#session?.renew(conf);
  }

  async open(): Promise<void> {
    const { conf, context } = this;
    const tls = await tlsOptions('rest', conf, context.paths);
    if (this.#isClosed) return;
    this.#session ??= new HttpSession(conf, context.log, { maxAtOnce: conf.concurrency, tls });
    this.#session.secure(tls);
    await this.#pause();
    this.#failure = undefined;
    this.#next = 0;
    // HTTP has no connection: what waits first shows whether the other side takes something again.
    const waiting = this.#queue.filter(({ outcome, dueAt }) => outcome === undefined && dueAt === undefined);
    if (waiting.length === 0) await this.#authorize(this.#session);
    else await this.#try(waiting.slice(0, probes));
    if (this.#failure !== undefined) throw restErrors.away(this.#failure);
    this.#isConnected = true;
    this.#advance();
  }

  /**
   * Sends the first message. When it has failed several times those after it are sent, until one is taken: then those
   * before it are tried once more, and put aside.
   */
  async #try(waiting: readonly Waiting[]): Promise<void> {
    const failed: Waiting[] = [];
    for (const message of waiting) {
      if (this.#isClosed) return;
      const outcome = await this.#attempt(message);
      this.#settle(message, outcome);
      if (message.outcome !== undefined) break;
      const isAlone = outcome.is === 'later' && outcome.isOfRequest === true;
      if (!isAlone || (failed.length === 0 && message.attempts < lastingAttempts)) return;
      if (this.#aside.size + failed.length >= mostAside) return;
      failed.push(message);
    }
    if (failed.length === 0 || failed.length === waiting.length) return;
    this.#failure = undefined;
    for (const message of failed) {
      if (this.#failure === undefined) this.#settleAside(message, await this.#attempt(message));
    }
  }

  /** Settles a message that may fail alone. */
  #settleAside(message: Waiting, outcome: Outcome): void {
    if (outcome.is !== 'later' || outcome.isOfRequest !== true) {
      this.#settle(message, outcome);
      return;
    }
    this.#countAttempt(message, outcome.reason);
    if (message.outcome === undefined) this.#putAside(message);
  }

  #putAside(message: Waiting): void {
    message.asideMs = Math.min(lastAsideMs, (message.asideMs ?? firstAsideMs / 2) * 2);
    message.dueAt = performance.now() + message.asideMs;
    if (!this.#aside.has(message)) this.context.log.warn('a message is put aside, since the server fails at it alone');
    this.#aside.add(message);
    this.#watchAside();
  }

  /** Tries messages that were put aside when their time has come. */
  #watchAside(): void {
    clearTimeout(this.#asideTimer);
    this.#asideTimer = undefined;
    if (this.#aside.size === 0 || this.#isClosed) return;
    const dueAt = Math.min(...[...this.#aside].map((message) => message.dueAt ?? 0));
    this.#asideTimer = setTimeout(() => void this.#tryAside(), Math.max(0, dueAt - performance.now()) + 1);
  }

  async #tryAside(): Promise<void> {
    const due = [...this.#aside].filter(({ dueAt = 0 }) => dueAt <= performance.now());
    for (const message of due) {
      if (!this.#isConnected || this.#failure !== undefined) break;
      const outcome = await this.#attempt(message);
      if (this.#isClosed) return;
      this.#settleAside(message, outcome);
      if (message.outcome !== undefined) this.#aside.delete(message);
    }
    // Those that had no turn, since the server does not answer now.
    for (const message of this.#aside) if ((message.dueAt ?? 0) <= performance.now()) this.#putAside(message);
    this.#watchAside();
    this.#advance();
  }

  async #authorize(session: HttpSession): Promise<void> {
    try {
      await session.authorize();
    } catch (error) {
      throw restErrors.away(reasonOf(error), { cause: error });
    }
  }

  /** The other side may have said when it is to be asked again. */
  #pause(): Promise<void> {
    const ms = this.#notBefore - performance.now();
    if (ms <= 0 || this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#endWait = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  write(chunk: SinkChunk): void {
    let left = chunk.bytes.length;
    let last: Waiting | undefined;
    this.#cutter.cut(chunk, (message) => {
      const bytes = Math.min(left, message.length);
      last = { message: Buffer.from(message), values: chunk.values, bytes, attempts: 0 };
      left -= last.bytes;
      this.#queue.push(last);
    });
    if (last === undefined) this.context.accepted(left, 0);
    else last.bytes += left;
    this.#schedule();
  }

  flush(): Promise<void> {
    if (this.#queue.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#isConnected = false;
    this.#endWait();
    clearTimeout(this.#asideTimer);
    this.#session?.close();
  }

  /** Sends at the end of this turn: the kernel is at work. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#send();
    });
  }

  #send(): void {
    while (this.#isConnected && this.#failure === undefined && this.#underWay < this.conf.concurrency) {
      const message = this.#queue[this.#next];
      if (message === undefined) return;
      this.#next++;
      if (message.outcome !== undefined || message.dueAt !== undefined) continue;
      this.#underWay++;
      void this.#attempt(message).then((outcome) => {
        this.#underWay--;
        this.#settle(message, outcome);
        this.#advance();
      });
    }
  }

  async #attempt(message: Waiting): Promise<Outcome> {
    try {
      const answer = await this.#session!.send((token) => this.#requestOf(message, this.#headers?.(token)));
      return outcomeOf(answer, this.conf.responseType);
    } catch (error) {
      return outcomeOfError(error);
    }
  }

  #requestOf({ message, values }: Waiting, headers: Record<string, string> | undefined): HttpRequest {
    const { url, method, bodyType, headers: own, formData, fileFieldName } = { ...this.conf, ...values };
    const type = bodyType || usualBodyType(method);
    const { headers: usual, body } =
      type === 'formdata' ? formOf(fileFieldName, message, formData) : bodyOf(type, message);
    const texts = headers ?? Object.fromEntries(Object.entries(own).map(([name, value]) => [name, String(value)]));
    const isWhole = body !== undefined && type !== 'formdata';
    const all = withHeaders({ ...usual, ...(isWhole ? this.#encoding : {}) }, texts);
    return { method, url, headers: all, body, isOfData: this.#isOfData };
  }

  #settle(message: Waiting, outcome: Outcome): void {
    if (this.#isClosed) return;
    if (outcome.is !== 'later') message.outcome = outcome;
    else {
      if (outcome.isOfRequest === true) this.#countAttempt(message, outcome.reason);
      if (message.outcome !== undefined) return;
      this.#failure ??= outcome.reason;
      this.#notBefore = performance.now() + outcome.afterMs;
    }
  }

  /** Gives a message up when it was tried often enough. */
  #countAttempt(message: Waiting, reason: string): void {
    message.attempts++;
    const { maxAttempts } = this.conf;
    if (maxAttempts === 0 || message.attempts < maxAttempts) return;
    message.outcome = { is: 'refused', reason: `${reason} (${message.attempts} attempts)` };
  }

  /** Counts messages with an outcome, in order, then sends the next ones or reports the connection as lost. */
  #advance(): void {
    if (this.#isClosed) return;
    for (let first = this.#queue[0]; first?.outcome !== undefined; first = this.#queue[0]) {
      this.#queue.shift();
      this.#next = Math.max(0, this.#next - 1);
      const { outcome, bytes, message } = first;
      if (outcome.is === 'refused') this.context.refused(message, bytes, 1, outcome.reason);
      else this.context.accepted(bytes, 1);
    }
    if (this.#queue.length === 0) for (const call of this.#onIdle.splice(0)) call();
    if (this.#failure === undefined) this.#send();
    else if (this.#underWay === 0 && this.#isConnected) {
      this.#isConnected = false;
      this.context.disconnected(this.#failure, true);
    }
  }
}
