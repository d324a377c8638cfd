/** Sends traces to a collector: OTLP over HTTP, as JSON. */
import type { Config } from '../../base/config/config.js';
import { errorTable, reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/log/log.js';
import { noParent, type SpanRecord, type TraceRecord } from '../../model/traces.js';

const collectorErrors = errorTable('collector', {
  notUrl: ['general', (url: string) => `collector_url ${url} is no address`],
  refused: ['general', (url: string, reason: string) => `collector_url ${url}: ${reason}`],
});

export interface Collector {
  /** `host:port` or a URL; without a path it is `/v1/traces`. */
  url: string;
  serviceName: string;
}

export interface ExporterOptions {
  /** Collector for requests that name none. */
  defaults: Collector;
  log: Logger;
  /** Refuses addresses that the server may not reach; throws a HaumeaError. */
  guard: (url: URL) => Promise<void>;
}

const lingerMs = 1000;
const timeoutMs = 10_000;
/** Traces that wait for a slow collector; more are left out. */
const maxWaiting = 1000;
const serverKind = 2;
const internalKind = 1;

export class TraceExporter {
  readonly #options: ExporterOptions;
  #collector: { url: URL; serviceName: string } | undefined;
  #waiting: TraceRecord[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isSending = false;
  #hasFailed = false;

  constructor(options: ExporterOptions) {
    this.#options = options;
  }

  /** Sends from now on. Throws a `general` error when the address is none or may not be reached. */
  async start({ url, serviceName }: Collector): Promise<void> {
    const { defaults, guard } = this.#options;
    const text = url || defaults.url;
    let parsed: URL;
    try {
      parsed = new URL(text.includes('://') ? text : `http://${text}`);
    } catch (error) {
      throw collectorErrors.notUrl(text, { cause: error });
    }
    if (parsed.pathname === '/') parsed.pathname = '/v1/traces';
    try {
      await guard(parsed);
    } catch (error) {
      throw collectorErrors.refused(text, reasonOf(error), { cause: error });
    }
    this.#collector = { url: parsed, serviceName: serviceName || defaults.serviceName };
    this.#hasFailed = false;
  }

  stop(): void {
    this.#collector = undefined;
    this.#waiting = [];
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Takes a trace; it leaves with others within a second. */
  add(trace: TraceRecord): void {
    if (this.#collector === undefined || this.#waiting.length >= maxWaiting) return;
    this.#waiting.push(trace);
    this.#timer ??= setTimeout(() => void this.#send(), lingerMs).unref();
  }

  async #send(): Promise<void> {
    this.#timer = undefined;
    const collector = this.#collector;
    if (collector === undefined || this.#isSending) return;
    const traces = this.#waiting.splice(0);
    this.#isSending = true;
    try {
      const answer = await fetch(collector.url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(requestOf(traces, collector.serviceName)),
        signal: AbortSignal.timeout(timeoutMs),
        redirect: 'error',
      });
      await answer.body?.cancel();
      if (!answer.ok) throw new Error(`it answered ${answer.status}`);
      this.#hasFailed = false;
    } catch (error) {
      // The log has one line for each loss of the collector, not for each batch.
      if (!this.#hasFailed) this.#options.log.warn(`the trace collector can't be reached: ${reasonOf(error)}`);
      this.#hasFailed = true;
    } finally {
      this.#isSending = false;
      if (this.#waiting.length > 0) this.#timer ??= setTimeout(() => void this.#send(), lingerMs).unref();
    }
  }
}

function requestOf(traces: readonly TraceRecord[], serviceName: string): object {
  const spans = traces.flatMap(({ traceId, root }) => spansOf(root, traceId, serverKind));
  return {
    resourceSpans: [
      {
        resource: { attributes: [attribute('service.name', serviceName)] },
        scopeSpans: [{ scope: { name: 'haumea' }, spans }],
      },
    ],
  };
}

function spansOf(span: SpanRecord, traceId: string, kind: number): object[] {
  const own = {
    traceId,
    spanId: span.spanId,
    ...(span.parentId === noParent ? {} : { parentSpanId: span.parentId }),
    name: span.name,
    kind,
    startTimeUnixNano: `${span.startUs}000`,
    endTimeUnixNano: `${span.endUs}000`,
    attributes: Object.entries(span.attribute).map(([key, value]) => attribute(key, value)),
  };
  return [own, ...span.children.flatMap((child) => spansOf(child, traceId, internalKind))];
}

function attribute(key: string, value: string | number): object {
  return { key, value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value } };
}

/** Makes the exporter of traces; it starts at once when the configuration says so. */
export async function openExporter({ openTelemetry, basic }: Config, log: Logger): Promise<TraceExporter> {
  const { serviceName, remoteEndpoint, enableRemoteCollector } = openTelemetry;
  const defaults = { url: remoteEndpoint, serviceName };
  const guard = async (url: URL) => {
    const own = `${url.protocol}//${url.host}`;
    // The address of the configuration is the owner's own choice.
    if (own === `http://${remoteEndpoint}` || own === remoteEndpoint) return;
    const { checkTarget } = await import('../../base/net/private-net.js');
    await checkTarget(url, { allowPrivate: basic.enablePrivateNet });
  };
  const exporter = new TraceExporter({ defaults, log, guard });
  if (enableRemoteCollector) await exporter.start(defaults);
  return exporter;
}
