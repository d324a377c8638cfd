/**
 * Sends messages as requests. What may be taken later is kept, and is the first to be sent on the next attempt to
 * connect, which succeeds with it; what is refused is counted as lost. Messages count as out in the order in which they
 * came.
 */
import { reasonOf } from '../../base/errors.js';
import type { Parsed } from '../../base/fields/field.js';
import { bodyOf, formOf, usualBodyType, withHeaders } from '../../http/bodies.js';
import type { HttpRequest } from '../../http/client.js';
import { type Outcome, outcomeOf, outcomeOfError } from '../../http/outcome.js';
import type { httpProps } from '../../http/props.js';
import { HttpSession } from '../../http/session.js';
import { headerTemplates } from '../../http/text-template.js';
import { MessageCutter } from '../frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';
import type { TlsConf } from '../tls.js';
import { tlsOptions } from '../tls-options.js';
import { restErrors } from './errors.js';

export interface RestSinkConf extends Omit<Parsed<typeof httpProps>, 'bodyType'>, TlsConf {
  url: string;
  bodyType?: string | undefined;
  formData: Record<string, unknown>;
  fileFieldName: string;
  concurrency: number;
}

interface Waiting {
  readonly message: Buffer;
  readonly values: Readonly<Record<string, unknown>> | undefined;
  /** Credit that is returned when the message is sent. */
  bytes: number;
  /** Final outcome: taken or refused; undefined until the server has answered. */
  outcome?: Outcome;
}

export class RestSink implements Sink {
  #session: HttpSession | undefined;
  readonly #cutter = new MessageCutter();
  readonly #headers: ReturnType<typeof headerTemplates> | undefined;
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
  readonly #onIdle: (() => void)[] = [];

  constructor(
    readonly conf: RestSinkConf,
    readonly context: SinkContext,
  ) {
    // Over rows they come with the values of each message, over tokens they are made here.
    if (!context.dynamic.has('headers')) this.#headers = headerTemplates(conf.headers);
  }

  async open(): Promise<void> {
    this.#session ??= new HttpSession(this.conf, this.context.log, {
      maxAtOnce: this.conf.concurrency,
      tls: await tlsOptions('rest', this.conf, this.context.paths),
    });
    await this.#pause();
    this.#failure = undefined;
    this.#next = 0;
    // HTTP has no connection: what waits first shows whether the other side takes something again.
    const first = this.#queue.find(({ outcome }) => outcome === undefined);
    if (first === undefined) await this.#authorize(this.#session);
    else this.#settle(first, await this.#attempt(first));
    if (this.#failure !== undefined) throw restErrors.away(this.#failure);
    this.#isConnected = true;
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
      last = { message: Buffer.from(message), values: chunk.values, bytes: Math.min(left, message.length) };
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
      if (message.outcome !== undefined) continue;
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
    const type = bodyType ?? usualBodyType(method);
    const { headers: usual, body } =
      type === 'formdata' ? formOf(fileFieldName, message, formData) : bodyOf(type, message);
    const texts = headers ?? Object.fromEntries(Object.entries(own).map(([name, value]) => [name, String(value)]));
    return { method, url, headers: withHeaders(usual, texts), body };
  }

  #settle(message: Waiting, outcome: Outcome): void {
    if (this.#isClosed) return;
    if (outcome.is !== 'later') message.outcome = outcome;
    else {
      this.#failure ??= outcome.reason;
      this.#notBefore = performance.now() + outcome.afterMs;
    }
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
