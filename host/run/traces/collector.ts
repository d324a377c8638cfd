/** The way to a collector: OTLP over HTTP, as JSON, with a bounded queue and retries. */
import { reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/log/log.js';
import type { ExportFigures } from '../../model/figures.js';

const timeoutMs = 10_000;
/** Pauses between attempts double from the first to the last. */
const firstPauseMs = 500;
const lastPauseMs = 30_000;
/** Answers after which the same request may succeed later, as OTLP has them. */
const passing = new Set([429, 502, 503, 504]);

export interface CollectorOptions {
  /** What is sent, for the log: `traces`. */
  readonly signal: string;
  readonly log: Logger;
  /** Requests that wait at most; the oldest is dropped for a newer one. */
  readonly maxRequests: number;
}

/** Where requests go, with the headers of each. */
export interface CollectorTarget {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

/** A request that waits, and the number of spans or points in it. */
interface Waiting {
  readonly body: string;
  readonly items: number;
}

export class Collector {
  readonly #options: CollectorOptions;
  #target: CollectorTarget | undefined;
  readonly #waiting: Waiting[] = [];
  #sending: Promise<void> | undefined;
  #ending = new AbortController();
  #isAway = false;
  #lostSince = 0;
  #sent = 0;
  #dropped = 0;
  #failedRequests = 0;

  constructor(options: CollectorOptions) {
    this.#options = options;
  }

  get figures(): ExportFigures {
    const waiting = this.#waiting.reduce((sum, { items }) => sum + items, 0);
    const { signal } = this.#options;
    return { signal, sent: this.#sent, dropped: this.#dropped, failedRequests: this.#failedRequests, waiting };
  }

  get isOpen(): boolean {
    return this.#target !== undefined;
  }

  /** Sends to this address from now on. */
  open(target: CollectorTarget): void {
    this.#target = target;
    this.#isAway = false;
  }

  /** Takes a request; the oldest one that waits makes room for it. */
  add(body: object, items: number): void {
    if (this.#target === undefined) return;
    this.#waiting.push({ body: JSON.stringify(body), items });
    // The first one is on its way.
    if (this.#waiting.length > this.#options.maxRequests) this.#drop(this.#waiting.splice(1, 1));
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  /** Counts what could not even wait. */
  dropItems(items: number): void {
    this.#dropped += items;
    this.#lostSince += items;
  }

  /** Sends no more; what waits is dropped. With `flushMs` what waits may go out for so long before. */
  async close(flushMs = 0): Promise<void> {
    if (flushMs > 0 && this.#sending !== undefined) {
      const timer = setTimeout(() => this.#ending.abort(), flushMs);
      await this.#sending;
      clearTimeout(timer);
    }
    this.#target = undefined;
    this.#ending.abort();
    await this.#sending;
    this.#ending = new AbortController();
    this.#drop(this.#waiting.splice(0));
  }

  async #sendAll(): Promise<void> {
    let pauseMs = firstPauseMs;
    for (;;) {
      const [first] = this.#waiting;
      if (first === undefined || this.#target === undefined || this.#ending.signal.aborted) return;
      const outcome = await this.#send(this.#target, first.body);
      if (outcome === 'sent') {
        this.#waiting.shift();
        this.#sent += first.items;
        pauseMs = firstPauseMs;
        this.#tellBack();
      } else if (outcome.isFinal) {
        this.#drop(this.#waiting.splice(0, 1));
        this.#tellAway(outcome.reason);
      } else {
        this.#tellAway(outcome.reason);
        await this.#pause(outcome.afterMs ?? pauseMs);
        pauseMs = Math.min(2 * pauseMs, lastPauseMs);
      }
    }
  }

  async #send({ url, headers }: CollectorTarget, body: string): Promise<'sent' | Refused> {
    try {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body,
        signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#ending.signal]),
        redirect: 'error',
      });
      await answer.body?.cancel();
      if (answer.ok) return 'sent';
      this.#failedRequests++;
      const seconds = Number(answer.headers.get('retry-after') || Number.NaN);
      const afterMs = seconds >= 0 ? Math.min(Math.max(seconds * 1000, firstPauseMs), lastPauseMs) : undefined;
      return { reason: `it answered ${answer.status}`, isFinal: !passing.has(answer.status), afterMs };
    } catch (error) {
      if (!this.#ending.signal.aborted) this.#failedRequests++;
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      return { reason: reasonOf(cause), isFinal: false };
    }
  }

  #pause(ms: number): Promise<void> {
    const { signal } = this.#ending;
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms).unref();
      signal.addEventListener('abort', end);
    });
  }

  #drop(requests: readonly Waiting[]): void {
    this.dropItems(requests.reduce((sum, { items }) => sum + items, 0));
  }

  /** The log has one line for each time that the collector is away, not for each attempt. */
  #tellAway(reason: string): void {
    const { log, signal } = this.#options;
    if (!this.#isAway && !this.#ending.signal.aborted) log.warn(`the collector of ${signal} takes nothing: ${reason}`);
    this.#isAway = true;
  }

  #tellBack(): void {
    const { log, signal } = this.#options;
    if (this.#isAway)
      log.info(`the collector of ${signal} takes them again; ${this.#lostSince} were dropped meanwhile`);
    this.#isAway = false;
    this.#lostSince = 0;
  }
}

interface Refused {
  readonly reason: string;
  /** It would be refused again. */
  readonly isFinal: boolean;
  /** How long the collector wants to be left alone. */
  readonly afterMs?: number | undefined;
}

/** The collector of the configuration. Without one, and with a line in the log, where a setting can't be used. */
export function ownTarget(
  { remoteEndpoint, headers }: { readonly remoteEndpoint: string; readonly headers: string },
  signal: string,
  log: Logger,
): CollectorTarget | undefined {
  let setting = 'remoteEndpoint';
  try {
    const url = collectorUrl(remoteEndpoint, signal);
    setting = 'headers';
    return { url, headers: headersOf(headers) };
  } catch (error) {
    log.error(`${signal} are not sent: openTelemetry.${setting} can't be used: ${reasonOf(error)}`);
    return undefined;
  }
}

/** Headers of the configuration: `name=value,name=value`, as OTEL_EXPORTER_OTLP_HEADERS has them. */
function headersOf(text: string): Record<string, string> {
  const pairs = text.split(',').filter((pair) => pair.includes('='));
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      return [pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim())];
    }),
  );
}

/**
 * The address of a signal at a collector: `host:port` or a URL; without a path it is `/v1/<signal>`, and so is a path
 * of another signal.
 */
export function collectorUrl(text: string, signal: string): URL {
  const url = new URL(text.includes('://') ? text : `http://${text}`);
  if (url.pathname === '/') url.pathname = `/v1/${signal}`;
  url.pathname = url.pathname.replace(/\/v1\/(traces|metrics)$/, `/v1/${signal}`);
  return url;
}
