/** Sends traces to a collector: OTLP over HTTP, as JSON. */
import type { Config } from '../../base/config/config.js';
import { errorTable, reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/log/log.js';
import type { ExportFigures } from '../../model/figures.js';
import { noParent, type SpanRecord, type TraceRecord } from '../../model/traces.js';
import { Collector, type CollectorTarget, collectorUrl, ownTarget } from './collector.js';

const collectorErrors = errorTable('collector', {
  notUrl: ['general', (url: string) => `collector_url ${url} is no address`],
  refused: ['general', (url: string, reason: string) => `collector_url ${url}: ${reason}`],
});

export interface TraceTarget {
  /** `host:port` or a URL; without a path it is `/v1/traces`. */
  url: string;
  serviceName: string;
}

export interface ExporterOptions {
  /** Collector for requests that name none. */
  defaults: TraceTarget;
  /** That collector with its headers, which no other one gets; none where the configuration can't be used. */
  own: CollectorTarget | undefined;
  log: Logger;
  /** Refuses addresses that the server may not reach; throws a HaumeaError. */
  guard: (url: URL) => Promise<void>;
}

const lingerMs = 1000;
/** Traces of a second; more are dropped, as each may have the data of its rows. */
const maxWaiting = 1000;
/** Traces of a request. */
const maxTraces = 250;
/** Requests that wait for a collector. */
const maxRequests = 20;
const serverKind = 2;
const internalKind = 1;

export class TraceExporter {
  readonly #options: ExporterOptions;
  readonly #collector: Collector;
  #serviceName = '';
  #waiting: TraceRecord[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ExporterOptions) {
    this.#options = options;
    this.#collector = new Collector({ signal: 'traces', log: options.log, maxRequests });
  }

  get figures(): ExportFigures {
    return this.#collector.figures;
  }

  /** Sends from now on. Throws a `general` error when the address is none or may not be reached. */
  async start({ url, serviceName }: TraceTarget): Promise<void> {
    const { defaults, own, guard } = this.#options;
    const text = url || defaults.url;
    let parsed: URL;
    try {
      parsed = collectorUrl(text, 'traces');
    } catch (error) {
      throw collectorErrors.notUrl(text, { cause: error });
    }
    try {
      await guard(parsed);
    } catch (error) {
      throw collectorErrors.refused(text, reasonOf(error), { cause: error });
    }
    this.#collector.open(parsed.href === own?.url.href ? own : { url: parsed, headers: {} });
    this.#serviceName = serviceName || defaults.serviceName;
  }

  /** Sends no more. What waits is dropped; at the end of the server it may go out before, for a second. */
  async stop(isEnd = false): Promise<void> {
    if (isEnd) this.#send();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waiting = [];
    await this.#collector.close(isEnd ? lingerMs : 0);
  }

  /** Takes a trace; it leaves with others within a second. */
  add(trace: TraceRecord): void {
    if (!this.#collector.isOpen) return;
    if (this.#waiting.length >= maxWaiting) {
      this.#collector.dropItems(spanCount(trace.root));
      return;
    }
    this.#waiting.push(trace);
    this.#timer ??= setTimeout(() => this.#send(), lingerMs).unref();
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const waiting = this.#waiting.splice(0);
    for (let i = 0; i < waiting.length; i += maxTraces) {
      const traces = waiting.slice(i, i + maxTraces);
      const spans = traces.reduce((sum, { root }) => sum + spanCount(root), 0);
      this.#collector.add(requestOf(traces, this.#serviceName), spans);
    }
  }
}

function spanCount({ children }: SpanRecord): number {
  return children.reduce((sum, child) => sum + spanCount(child), 1);
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
  const own = ownTarget(openTelemetry, 'traces', log);
  const guard = async (url: URL) => {
    // The address of the configuration is the owner's own choice.
    if (url.host === own?.url.host && url.protocol === own.url.protocol) return;
    const { checkTarget } = await import('../../base/net/private-net.js');
    await checkTarget(url, { allowPrivate: basic.enablePrivateNet });
  };
  const exporter = new TraceExporter({ defaults, own, log, guard });
  if (enableRemoteCollector && own !== undefined) await exporter.start(defaults);
  return exporter;
}
