/**
 * Takes the events of a server; on the next connection it asks for those behind the last one it had. While the sinks
 * are full, it does not read.
 */
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { reasonOf } from '../../base/errors.js';
import { FrameBuffer } from '../messages/frames.js';
import type { Source, SourceContext } from '../running.js';
import type { TlsConf } from '../tls.js';
import { tlsOptions } from '../tls-options.js';
import { sseErrors } from './errors.js';
import { EventReader, type ServerEvent } from './events.js';

export interface SseConf extends TlsConf {
  url: string;
  headers: Record<string, unknown>;
  token: string;
  events: string[];
  timeout: number;
  idleTimeout: number;
}

/** Longest pause that a server may ask for, ms. */
const maxRetryMs = 600_000;
/** Answers that don't change by asking again soon are errors; this one says that there will be no more events. */
const noContent = 204;

export class SseSource implements Source {
  readonly peer: string;
  readonly #url: string;
  readonly #events: EventReader;
  readonly #frames = new FrameBuffer();
  #lastMeta = { event: '', id: '', meta: Buffer.alloc(0) };
  #response: IncomingMessage | undefined;
  #isClosed = false;
  /** Time of `performance.now` before which the server wants no connection, ms. */
  #notBefore = 0;
  #endWait: () => void = () => {};

  constructor(
    public conf: SseConf,
    readonly context: SourceContext,
  ) {
    this.#url = urlOf(conf.url, context.dataSource);
    this.peer = `sse ${new URL(this.#url).host}`;
    this.#events = new EventReader(
      (event) => this.#take(event),
      (reason) => context.exception(reason),
    );
    context.onFlow(
      () => this.#response?.pause(),
      () => this.#response?.resume(),
    );
  }

  async open(): Promise<void> {
    await this.#pause();
    const response = await this.#connect();
    if (this.#isClosed) return void response.destroy();
    this.#response = response;
    this.#events.reset();
    const { idleTimeout } = this.conf;
    response.on('data', (bytes: Buffer) => this.#read(response, bytes));
    if (idleTimeout > 0) {
      response.setTimeout(idleTimeout, () => {
        // Nobody reads it now.
        if (!response.isPaused()) response.destroy(new Error(`silent for ${idleTimeout} ms`));
      });
    }
    let reason = 'the server has ended the stream';
    response.on('error', (error) => {
      reason = reasonOf(error);
    });
    response.on('close', () => {
      if (this.#response !== response || this.#isClosed) return;
      this.#response = undefined;
      this.#notBefore = performance.now() + Math.min(this.#events.retryMs ?? 0, maxRetryMs);
      this.context.disconnected(reason);
    });
    if (this.context.isFull) response.pause();
    return undefined;
  }

  renew(conf: SseConf): void {
    this.conf = conf;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#endWait();
    this.#response?.destroy();
  }

  /** The server may have said when it wants to be asked again. */
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

  async #connect(): Promise<IncomingMessage> {
    const { conf, context } = this;
    const isSecure = this.#url.startsWith('https:');
    const tls = isSecure ? await tlsOptions('sse', conf, context.paths) : {};
    const own = Object.entries(conf.headers).map(([name, value]) => [name, String(value)] as const);
    const headers = {
      Accept: 'text/event-stream',
      'Cache-Control': 'no-cache',
      ...(conf.token !== '' && { Authorization: `Bearer ${conf.token}` }),
      ...(this.#events.lastId !== '' && { 'Last-Event-ID': this.#events.lastId }),
      ...Object.fromEntries(own),
    };
    return new Promise((resolve, reject) => {
      const fail = (reason: string, cause?: unknown) => reject(sseErrors.connection(reason, { cause }));
      const request = (isSecure ? requestHttps : requestHttp)(this.#url, { ...tls, headers, agent: false });
      const timer = setTimeout(() => request.destroy(new Error(`no answer in ${conf.timeout} ms`)), conf.timeout);
      this.#endWait = () => request.destroy();
      request.once('error', (error) => {
        clearTimeout(timer);
        fail(reasonOf(error), error);
      });
      request.once('response', (response) => {
        clearTimeout(timer);
        const type = String(response.headers['content-type'] ?? '');
        if (response.statusCode === 200 && type.startsWith('text/event-stream')) return resolve(response);
        response.destroy();
        const isOver = response.statusCode === noContent;
        const what = response.statusCode === 200 ? `the answer is ${type || 'of no type'}, no event stream` : '';
        fail(what || (isOver ? 'the server has no more events' : `status ${response.statusCode}`));
      });
      request.end();
    });
  }

  /** What comes in one piece goes on together. */
  #read(response: IncomingMessage, bytes: Buffer): void {
    if (this.#isClosed || this.#response !== response) return;
    this.#events.read(bytes);
    if (this.#frames.count === 0) return;
    this.context.write(this.#frames.bytes);
    this.#frames.clear();
  }

  #take({ name, data }: ServerEvent): void {
    const { events } = this.conf;
    if (events.length > 0 && !events.includes(name)) return;
    this.#frames.add(data, this.#metaOf(name, this.#events.lastId));
  }

  /** Events that follow each other often have the same metadata. */
  #metaOf(event: string, id: string): Buffer {
    if (this.#lastMeta.event === event && this.#lastMeta.id === id) return this.#lastMeta.meta;
    this.#lastMeta = { event, id, meta: Buffer.from(JSON.stringify({ event, id })) };
    return this.#lastMeta.meta;
  }
}

function urlOf(url: string, dataSource: string): string {
  if (dataSource === '') return url;
  const between = /^[/?]/.test(dataSource) ? '' : '/';
  return `${url.replace(/\/+$/, '')}${between}${dataSource}`;
}
