/** One soak: messages at a rate, rules that come and go, samples, and their verdicts. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChaosEngine } from '../chaos/engine.js';
import { pause } from '../process.js';
import type { SoakOptions } from './args.js';
import { Churn } from './churn.js';
import { Counts } from './counts.js';
import { Feeder } from './feeder-process.js';
import { GrowingFiles } from './growing-files.js';
import { counting, lastingRules, rowsRule, type Site, setUp } from './rules.js';
import { loadOfMachine, look, measures, type Sample } from './samples.js';
import { type Trend, trendOf, type Verdict, verdictOf } from './trend.js';

export interface Judged {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly trend: Trend | undefined;
  readonly verdict: Verdict;
  /** Value with the lasting rules alone: before other rules came, and after they were gone. */
  readonly before: number;
  readonly after: number;
}

export interface SoakResult {
  readonly seconds: number;
  readonly rateAsked: number;
  /** Messages a second that were sent. */
  readonly rate: number;
  readonly sent: number;
  /** Messages that each counting rule has counted. */
  readonly counted: Readonly<Record<string, number>>;
  /** Rows of single messages: wanted, received, lost, come again. */
  readonly rows: {
    readonly expected: number;
    readonly received: number;
    readonly lost: number;
    readonly repeated: number;
  };
  /** Processor time of the engine for a message, all threads, ns. */
  readonly cpuNsPerMessage: number;
  readonly maxLateMs: number;
  readonly changes: Readonly<Record<string, number>>;
  readonly failedRequests: number;
  readonly judged: readonly Judged[];
  /** Faults that were found; empty when there are none. */
  readonly findings: readonly string[];
}

export interface SoakContext {
  readonly program: readonly string[];
  readonly say: (line: string) => void;
  /** Ends the run before its time. */
  readonly signal: AbortSignal;
  /** Gets a line of JSON for each look. */
  readonly samplesFile: string;
}

/** Part of the run before rules begin to come and go, and longest such time, ms. */
const calmPart = 0.05;
const maxCalmMs = 60_000;
/** Longest wait until all results are there. */
const settleMs = 60_000;
const tellMs = 60_000;
/** Longest answer to a change of a rule; a machine may have other things to do. */
const changeMs = 60_000;

/** Small bounds, so that files that are put aside are put aside within a run. */
const env = { KUIPER__BASIC__CONSOLELOG: 'false', KUIPER__BASIC__ROTATESIZE: String(256 << 10) };

export async function runSoak(options: SoakOptions, context: SoakContext): Promise<SoakResult> {
  const folder = mkdtempSync(join(tmpdir(), 'haumea-soak-'));
  const soak = new Soak(options, context, folder);
  try {
    await soak.open();
    return await soak.run();
  } finally {
    await soak.close();
    if (options.isKept) context.say(`kept: ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  }
}

class Soak {
  readonly #counts = new Counts();
  readonly #files = new GrowingFiles();
  readonly #samples: { hours: number; sample: Sample }[] = [];
  readonly #site: { outFolder: string; brokerUrl: string };
  #feeder!: Feeder;
  #engine!: ChaosEngine;
  #began = 0;
  #told = 0;

  constructor(
    readonly options: SoakOptions,
    readonly context: SoakContext,
    readonly folder: string,
  ) {
    this.#site = { outFolder: join(folder, 'out'), brokerUrl: '' };
  }

  get #data(): string {
    return join(this.folder, 'data');
  }

  async open(): Promise<void> {
    mkdirSync(this.#site.outFolder);
    mkdirSync(join(this.context.samplesFile, '..'), { recursive: true });
    writeFileSync(this.context.samplesFile, '');
    this.#feeder = await Feeder.open(this.context.program, (result) => this.#counts.take(result));
    this.#site.brokerUrl = `tcp://127.0.0.1:${this.#feeder.port}`;
    this.#engine = await ChaosEngine.open(this.context.program, this.folder, env);
    const site: Site = this.#site;
    for (const request of setUp(site)) await this.#engine.call(...request);
    const subscribed = this.#feeder.next('subscribed');
    for (const rule of lastingRules(site)) await this.#engine.call('POST', '/rules', rule);
    await subscribed;
    for (const { id } of lastingRules(site)) while (!(await this.#engine.runs(id))) await pause(50);
  }

  async run(): Promise<SoakResult> {
    const { durationMs, rate } = this.options;
    this.#began = performance.now();
    const cpuBefore = (await this.#look()).cpuMs!;
    this.#feeder.send({ rate, durationMs });
    await this.#sampling(Math.min(maxCalmMs, durationMs * calmPart));
    const before = await this.#look();
    this.context.say(
      `  ${before.rss! >> 20} MB resident, ${(before.kernel! / 2 ** 20).toFixed(1)} MB of the kernel in use`,
    );
    const churn = new Churn(
      ([method, path, body]) => this.#engine.call(method, path, body, changeMs),
      this.#site,
      this.options,
    );
    await Promise.all([this.#churning(churn, durationMs), this.#sampling(durationMs)]);
    await this.#feeder.stop();
    const seconds = (performance.now() - this.#began) / 1000;
    const { sent } = this.#feeder.figures;
    const cpuMs = (await this.#look()).cpuMs! - cpuBefore;
    const judged = this.#judge();
    await churn.clear();
    const settled = await this.#settled(sent);
    await pause(Math.min(10_000, durationMs / 20));
    const after = (await look(this.#engine, this.#data)).sample;
    const figures = await this.#feeder.tell();
    const findings = [...settled, ...this.#findings(judged), ...this.#counts.findings, ...(await this.#troubles())];
    if (figures.lost > 0) findings.push(`${figures.lost} rows are lost`);
    if (figures.repeated > 0) findings.push(`${figures.repeated} rows came again or out of order`);
    for (const failure of churn.failures) findings.push(`a request failed: ${failure}`);
    return {
      seconds,
      rateAsked: rate,
      rate: sent / seconds,
      sent,
      counted: this.#counts.totals,
      rows: { expected: figures.expected, received: figures.rows, lost: figures.lost, repeated: figures.repeated },
      cpuNsPerMessage: (cpuMs * 1e6) / sent,
      maxLateMs: this.#counts.maxLateMs,
      changes: churn.counts,
      failedRequests: churn.failed,
      judged: judged.map((one) => ({ ...one, before: before[one.name]!, after: after[one.name] ?? Number.NaN })),
      findings,
    };
  }

  #isOver(endMs: number): boolean {
    return this.context.signal.aborted || performance.now() - this.#began >= endMs;
  }

  async #churning(churn: Churn, endMs: number): Promise<void> {
    const everyMs = 1000 / this.options.churn;
    for (let due = performance.now(); !this.#isOver(endMs); due = Math.max(due + everyMs, performance.now())) {
      await churn.change();
      await pause(Math.max(0, due + everyMs - performance.now()));
    }
  }

  async #sampling(endMs: number): Promise<void> {
    const { sampleMs } = this.options;
    while (!this.#isOver(endMs)) {
      const left = endMs - (performance.now() - this.#began);
      await pause(Math.min(sampleMs, left));
      const sample = await this.#look();
      if (performance.now() - this.#told >= tellMs) this.#tell(sample);
      if (!this.#engine.process.isRunning) throw new Error(`the engine has ended:\n${this.#engine.process.output}`);
    }
  }

  async #look(): Promise<Sample> {
    const { sample, sizes } = await look(this.#engine, this.#data);
    const { sent, rows } = this.#feeder.figures;
    const all = { ...sample, late: this.#counts.late(), sent, rows, load: loadOfMachine() };
    const hours = (performance.now() - this.#began) / 3_600_000;
    this.#samples.push({ hours, sample: all });
    this.#files.take(hours, sizes);
    appendFileSync(this.context.samplesFile, `${JSON.stringify({ hours, ...all })}\n`);
    return all;
  }

  #tell({ rss, kernel, heapData, sent, late }: Sample): void {
    this.#told = performance.now();
    const seconds = (this.#told - this.#began) / 1000;
    const mb = (bytes: number) => (bytes / 2 ** 20).toFixed(1);
    this.context.say(
      `  ${(seconds / 60).toFixed(0)} min: ${Math.round(sent! / seconds)} msg/s, ${mb(rss!)} MB resident, ` +
        `kernel ${mb(kernel!)} MB, heap ${mb(heapData!)} MB, windows late by ${late!.toFixed(0)} ms`,
    );
  }

  #judge(): Omit<Judged, 'before' | 'after'>[] {
    return measures.map(({ name, title, unit, figure, bound }) => {
      const points = this.#samples.map(({ hours, sample }) => ({ hours, value: sample[name] ?? Number.NaN }));
      const trend = trendOf(points, figure);
      return { name, title, unit, trend, verdict: verdictOf(trend, bound) };
    });
  }

  #findings(judged: readonly Pick<Judged, 'title' | 'verdict'>[]): string[] {
    const growing = judged.filter(({ verdict }) => verdict === 'grows').map(({ title }) => `${title} grows`);
    return [...growing, ...this.#files.growing(this.#data)];
  }

  /** Waits for all results; returns what is missing. */
  async #settled(sent: number): Promise<string[]> {
    const end = performance.now() + settleMs;
    for (;;) {
      const missing = counting.filter((name) => this.#counts.totals[name] !== sent);
      const { rows, expected } = await this.#feeder.tell();
      if (missing.length === 0 && rows >= expected) return [];
      if (performance.now() > end) {
        const texts = missing.map(
          (name) => `rule soak_${name} has counted ${this.#counts.totals[name] ?? 0} of ${sent} messages`,
        );
        return rows < expected ? [...texts, `${expected - rows} rows of ${rowsRule} have not come`] : texts;
      }
      await pause(100);
    }
  }

  /** Faults that the status of the lasting rules shows, one sentence each. */
  async #troubles(): Promise<string[]> {
    const troubles: string[] = [];
    for (const { id } of lastingRules(this.#site)) {
      const status = await this.#engine.status(id);
      if (status?.status !== 'Running')
        troubles.push(`rule ${id} is ${status?.status ?? 'silent'}: ${status?.message ?? ''}`);
      else if (Number(status.exceptionsTotal) > 0) troubles.push(`rule ${id} has ${status.exceptionsTotal} exceptions`);
    }
    return troubles;
  }

  async close(): Promise<void> {
    await this.#engine?.close();
    await this.#feeder?.close();
  }
}
