/** Sends metrics to a collector, again and again. */
import type { Config } from '../../base/config/config.js';
import { reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/log/log.js';
import type { ExportFigures } from '../../model/figures.js';
import { Collector, ownTarget } from '../../run/traces/collector.js';
import type { MetricsDocument } from './metrics-document.js';
import { requestsOf } from './otlp-metrics.js';

/** Requests that wait while the collector is away: the figures of later ones contain those before. */
const maxRequests = 100;
/** How long figures that wait may take to go out when the server ends. */
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
  readonly #timer: NodeJS.Timeout | undefined;
  #making: Promise<void> | undefined;

  constructor(options: MetricsExportOptions) {
    this.#options = options;
    const { log, config } = options;
    const target = ownTarget(config.openTelemetry, 'metrics', log);
    this.#collector = new Collector({ signal: 'metrics', log, maxRequests });
    if (target === undefined) return;
    this.#collector.open(target);
    this.#timer = setInterval(() => this.#take(), config.openTelemetry.metricsInterval).unref();
  }

  get figures(): ExportFigures {
    return this.#collector.figures;
  }

  /** Sends what waits, if the collector takes it at once. No new figures are made: the rules have ended by now. */
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
