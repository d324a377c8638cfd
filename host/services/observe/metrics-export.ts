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
/** How long the last figures may take to be made when the server ends, and then to go out. */
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

  /** Sends the last figures and what waits, if the collector takes it soon. The rules have to be there still. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    if (this.#timer !== undefined) await this.#takeLast();
    await this.#collector.close(flushMs);
  }

  /** Figures that are in the making may be older than the last rows. */
  async #takeLast(): Promise<void> {
    const taken = Promise.resolve(this.#making).then(() => {
      this.#take();
      return this.#making;
    });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, flushMs);
    });
    await Promise.race([taken, late]);
    clearTimeout(timer);
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
