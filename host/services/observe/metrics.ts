/** Figures for monitoring: the document for Prometheus, and copies of it kept in files. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { reasonOf } from '../../base/errors.js';
import { makeFolder } from '../../base/files/folder.js';
import type { Logger } from '../../base/log/log.js';
import type { RuleCpuTime } from '../../model/engine.js';
import type { RuleLatencies, ThreadMemory } from '../../model/figures.js';
import { serverErrors } from '../errors/server.js';
import { isTestRun } from '../rules/test-names.js';
import type { ConnectionState, makeNames, RuleFigures } from './metrics-text.js';

const compress = promisify(gzip);

/** Rules asked for their figures between two turns of the event loop. */
const slice = 200;
/** Requests at nearly the same time share one document of this age in milliseconds. */
const freshMs = 250;
/** Time between two copies in milliseconds. */
const copyMs = 60_000;
const hourMs = 3_600_000;
const copyName = /^metrics\.(\d{13})\.gz$/;

export interface MetricsOptions {
  ids(): readonly string[];
  /** Figures of a rule; undefined when it is gone. */
  figures(id: string): Promise<RuleFigures | undefined>;
  /** Processor time of the rules. */
  cpuTimes(): Promise<readonly Pick<RuleCpuTime, 'id' | 'cpuUs'>[]>;
  /** Memory of the rules. */
  memory(): Promise<readonly { id: string; bytes: number }[]>;
  /** Memory of the threads that run rules. */
  planes(): Promise<readonly ThreadMemory[]>;
  /** Times that operators took; none where they are not measured. */
  latencies(): Promise<readonly ({ id: string } & Pick<RuleLatencies, 'operators' | 'io'>)[]>;
  /** Named connections. */
  connections(): Promise<readonly { id: string; status: ConnectionState }[]>;
  /** Losses that nobody has acknowledged. */
  losses(): number;
  /** Folder of the copies. */
  readonly folder: string;
  /** Copies older than this are removed, milliseconds. */
  readonly retainedMs: number;
  readonly log: Logger;
}

export class MetricsService {
  readonly #options: MetricsOptions;
  /** Names of the metrics, made with the first document, when its code is loaded. */
  #names: ReturnType<typeof makeNames> | undefined;
  #latest: { at: number; text: Promise<Buffer> } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #copying: Promise<void> = Promise.resolve();

  constructor(options: MetricsOptions) {
    this.#options = options;
  }

  /** The document for Prometheus, in UTF-8. */
  document(): Promise<Buffer> {
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
    const from = startTime === undefined ? Date.now() - hourMs : secondsOf('startTime', startTime);
    const to = endTime === undefined ? Date.now() : secondsOf('endTime', endTime);
    await this.#copying;
    const wanted = (await this.#list()).filter(({ at }) => at >= from && at <= to);
    if (wanted.length === 0) throw serverErrors.noCopiesThen();
    // Concatenated gzip files are one gzip file.
    return Buffer.concat(await Promise.all(wanted.map(({ name }) => readFile(join(this.#options.folder, name)))));
  }

  async close(): Promise<void> {
    this.setCopying(false);
    await this.#copying;
  }

  async #make(): Promise<Buffer> {
    const { ids, figures, cpuTimes, memory, planes, latencies, connections, losses } = this.#options;
    const { MetricsText, makeNames } = await import('./metrics-text.js');
    this.#names ??= makeNames();
    const text = new MetricsText(this.#names);
    const all = ids();
    // A connection that answers slowly is asked while the figures are gathered.
    const others = Promise.all([cpuTimes(), memory(), latencies(), connections(), planes()]);
    others.catch(() => {});
    for (let i = 0; i < all.length; i += slice) {
      for (const found of await Promise.all(all.slice(i, i + slice).map(figures))) {
        if (found !== undefined) text.add(found);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    const [times, used, measured, states, threads] = await others;
    // Rule tests run in the engine as well, but they are nothing to watch.
    for (const { id, cpuUs } of times) if (!isTestRun(id)) text.addCpuTime(id, cpuUs);
    for (const { id, bytes } of used) if (!isTestRun(id)) text.addMemory(id, bytes);
    for (const rule of measured) if (!isTestRun(rule.id)) text.addLatencies(rule.id, rule);
    for (const { id, status } of states) text.addConnection(id, status);
    text.addThreads(threads);
    text.addLosses(losses());
    const parts: Buffer[] = [];
    for (const piece of text.pieces()) {
      parts.push(Buffer.from(piece));
      if (parts.length % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    return Buffer.concat(parts);
  }

  #copy(): void {
    const { folder, retainedMs, log } = this.#options;
    this.#copying = this.#copying
      .then(async () => {
        const at = Date.now();
        await makeFolder(folder);
        await writeFile(join(folder, `metrics.${at}.gz`), await compress(await this.document()));
        for (const copy of await this.#list()) {
          if (retainedMs > 0 && at - copy.at > retainedMs) await rm(join(folder, copy.name), { force: true });
        }
      })
      .catch((error: unknown) => log.error(`keeping metrics failed: ${reasonOf(error)}`));
  }

  async #list(): Promise<{ name: string; at: number }[]> {
    const names = await readdir(this.#options.folder).catch(() => []);
    return names
      .filter((name) => copyName.test(name))
      .sort()
      .map((name) => ({ name, at: Number(copyName.exec(name)?.[1]) }));
  }
}

function secondsOf(name: string, text: string): number {
  if (!/^\d{1,12}$/.test(text)) {
    throw serverErrors.notSeconds(name, JSON.stringify(text.slice(0, 40)));
  }
  return Number(text) * 1000;
}
