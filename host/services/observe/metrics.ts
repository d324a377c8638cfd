/** Figures for monitoring: the document for Prometheus, and copies of it kept in files. */
import { reasonOf } from '../../base/errors.js';
import { serverErrors } from '../errors/server.js';
import type { MetricsDocument } from './metrics-document.js';
import type { MetricsExport } from './metrics-export.js';
import type { MetricsOptions } from './metrics-options.js';

/** Requests at nearly the same time share one document of this age in milliseconds. */
const freshMs = 250;
/** Time between two copies in milliseconds. */
const copyMs = 60_000;

export class MetricsService {
  readonly #options: MetricsOptions;
  #latest: { at: number; text: Promise<MetricsDocument> } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #copying: Promise<void> = Promise.resolve();
  readonly #export: Promise<MetricsExport | undefined> | undefined;

  /** @param openExport sends metrics from now on, where the configuration says so */
  constructor(
    options: MetricsOptions,
    openExport?: (document: () => Promise<MetricsDocument>) => Promise<MetricsExport>,
  ) {
    this.#options = options;
    // A server runs without what watches it.
    this.#export = openExport?.(() => this.document()).catch((error: unknown) => {
      options.log.error(`metrics are not sent (openTelemetry.enableMetrics): ${reasonOf(error)}`);
      return undefined;
    });
  }

  document(): Promise<MetricsDocument> {
    const now = performance.now();
    if (this.#latest === undefined || now - this.#latest.at > freshMs) {
      const text = this.#make();
      this.#latest = { at: now, text };
      const latest = this.#latest;
      // A large document is dropped once it is stale.
      const forget = () => {
        if (this.#latest === latest) this.#latest = undefined;
      };
      text.then(() => setTimeout(forget, freshMs).unref(), forget);
    }
    return this.#latest.text;
  }

  get isCopying(): boolean {
    return this.#timer !== undefined;
  }

  /** Begins or ends to keep copies. */
  setCopying(isOn: boolean): void {
    if (isOn === this.isCopying) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (!isOn) return;
    this.#timer = setInterval(() => this.#copy(), copyMs).unref();
    this.#copy();
  }

  /** Copies made between two times (seconds), by default of the last hour: one gzip file of all, oldest first. */
  async copies(startTime: string | undefined, endTime: string | undefined): Promise<Buffer> {
    if (!this.isCopying) throw serverErrors.noCopies();
    const { copiesOf } = await import('./metrics-copies.js');
    return copiesOf(this.#options.folder, startTime, endTime, this.#copying);
  }

  async close(): Promise<void> {
    this.setCopying(false);
    await Promise.all([this.#copying, this.#export?.then((sender) => sender?.close())]);
  }

  async #make(): Promise<MetricsDocument> {
    const { metricsDocument } = await import('./metrics-document.js');
    return metricsDocument(this.#options, (await this.#export)?.figures);
  }

  #copy(): void {
    const { folder, retainedMs, log } = this.#options;
    this.#copying = this.#copying
      .then(async () => {
        const { keepCopy } = await import('./metrics-copies.js');
        await keepCopy(folder, await this.document(), retainedMs);
      })
      .catch((error: unknown) => log.error(`keeping metrics failed: ${reasonOf(error)}`));
  }
}
