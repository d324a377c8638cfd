/** Sends metrics to a collector, again and again. */
import type { Config } from '../../base/config/config.js';
import { reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/log/log.js';
import type { ExportFigures } from '../../model/figures.js';
import { Collector, collectorUrl, headersOf } from '../../run/traces/collector.js';
import type { MetricsDocument } from './metrics-document.js';
import { requestsOf } from './otlp-metrics.js';

/** Requests that wait while the collector is away: the figures of later ones contain those before. */
const maxRequests = 100;
/** How long the last figures may take to go out when the server ends. */
const flushMs = 1000;

export interface MetricsExportOptions {
  readonly config: Config;
  readonly version: string;
  readonly log: Logger;
  document(): Promise<MetricsDocument>;
}

export class MetricsExport {
  readonly #options: MetricsExportOptions;
  readonly #collector: Collector;
  readonly #startMs = Date.now() - process.uptime() * 1000;
  readonly #timer: NodeJS.Timeout;
  #making: Promise<void> | undefined;

  constructor(options: MetricsExportOptions) {
    this.#options = options;
    const { log, config } = options;
    const { remoteEndpoint, headers, metricsInterval } = config.openTelemetry;
    this.#collector = new Collector({ signal: 'metrics', log, maxRequests });
    this.#collector.open({ url: collectorUrl(remoteEndpoint, 'metrics'), headers: headersOf(headers) });
    this.#timer = setInterval(() => this.#take(), metricsInterval).unref();
  }

  get figures(): ExportFigures {
    return this.#collector.figures;
  }

  /** Sends the last figures, if the collector takes them at once. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#making;
    await this.#collector.close(flushMs);
  }

  #take(): void {
    this.#making ??= this.#make()
      .catch((error: unknown) => this.#options.log.error(`metrics could not be made: ${reasonOf(error)}`))
      .finally(() => {
        this.#making = undefined;
      });
  }

  async #make(): Promise<void> {
    const { config, version, document } = this.#options;
    const source = {
      serviceName: config.openTelemetry.serviceName,
      version,
      startMs: this.#startMs,
      nowMs: Date.now(),
    };
    for await (const { body, points } of requestsOf((await document()).pieces(), source)) {
      this.#collector.add(body, points);
    }
  }
}
