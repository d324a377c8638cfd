/** One run: messages go through a topology while faults happen, and the results are compared. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pause } from '../process.js';
import type { ChaosOptions } from './args.js';
import { Broker } from './broker.js';
import { brokenBy, type Comparison, compare, isPromise, type Promised } from './compare.js';
import { ChaosEngine } from './engine.js';
import { type FaultFigures, Faults } from './faults.js';
import { type Feed, FileFeed, feedAll, MqttFeed } from './feeds.js';
import { keeperNames, openKeeper } from './keepers/index.js';
import type { Keeper } from './keepers/keeper.js';
import { messagesOf } from './messages.js';
import { FileOutput, LedgerOutput, MqttOutput, type Output } from './outputs.js';
import { freePort, Repeatable, type Victim } from './processes.js';
import { RunClock } from './run-clock.js';
import { scheduleOf } from './schedule.js';
import { Tap } from './tap.js';
import { outTopic, type Site, streamProps, streamSql, type Topology } from './topologies.js';

export interface ChaosResult extends Comparison {
  readonly topology: string;
  readonly seed: number;
  readonly qos: number;
  readonly promised: Promised;
  /** Breaches of the promise; empty when it was kept. */
  readonly broken: readonly string[];
  readonly kills: number;
  /** Rows among those lost that a broker lost, which had confirmed them. */
  readonly lostByBrokers: number;
  /** Figures of the faults, by kind. */
  readonly faults: Readonly<Record<string, FaultFigures>>;
  /** Time from the last message until all rows were there, ms. */
  readonly settleMs: number;
  readonly peakBytes: number;
  readonly messages: number;
}

/** Time without progress after which no more rows are expected, ms. */
const patienceMs = 20_000;
/** Longest wait until all rules run and are connected, ms. */
const startMs = 60_000;
/** Time within which repeated rows come, ms. */
const quietMs = 500;
const pollMs = 100;

/** Runs a topology with faults; throws when it can't be run on this machine. */
export async function runChaos(
  topology: Topology,
  options: ChaosOptions,
  program: readonly string[],
  say: (line: string) => void,
): Promise<ChaosResult> {
  const folder = mkdtempSync(join(tmpdir(), 'haumea-chaos-'));
  try {
    const lines = linesOf(topology, options);
    let expected: readonly string[] = lines.get('s')!.map(rowOf);
    if (topology.expects === 'undisturbed') {
      say(`${topology.name}: an undisturbed run …`);
      const calm = await Stage.open(topology, options, program, join(folder, 'calm'));
      try {
        expected = await calm.undisturbed(lines);
      } finally {
        await calm.close();
      }
    }
    say(`${topology.name}: ${expected.length} rows expected, seed ${options.seed} …`);
    const stage = await Stage.open(topology, options, program, join(folder, 'chaos'));
    try {
      return await stage.disturbed(lines, expected);
    } finally {
      await stage.close();
    }
  } finally {
    if (options.isKept) say(`kept: ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  }
}

type Lines = ReadonlyMap<string, readonly string[]>;

function linesOf(topology: Topology, { rate, durationMs, seed }: ChaosOptions): Lines {
  const count = Math.max(1, Math.round((rate * durationMs) / 1000));
  const isClosed = topology.expects === 'undisturbed';
  return new Map(topology.feeds.map((stream) => [stream, messagesOf(stream, count, seed, isClosed).lines]));
}

/** The row that a message becomes. */
function rowOf(line: string): string {
  const { id, k, v } = JSON.parse(line) as Record<string, unknown>;
  return JSON.stringify({ id, k, v });
}

/** Engine, brokers, feeds and output of one run. */
class Stage {
  #feeds: { feed: Feed; lines: readonly string[] }[] = [];
  promised: Promised = 'nothing';

  private constructor(
    readonly topology: Topology,
    readonly options: ChaosOptions,
    readonly site: Site,
    readonly engine: ChaosEngine,
    readonly inner: Broker | undefined,
    readonly outer: Broker | undefined,
    /** Process that takes the results; undefined for files. */
    readonly sink: Victim | undefined,
    readonly output: Output,
    /** Tap between engine and brokers, where brokers are killed. */
    readonly innerTap: Tap | undefined,
    readonly outerTap: Tap | undefined,
    readonly keeper: Keeper | undefined,
  ) {}

  static async open(topology: Topology, options: ChaosOptions, program: readonly string[], folder: string) {
    mkdirSync(folder, { recursive: true });
    const brokerOf = (kind: string, name: string) =>
      kind === 'mqtt' ? Broker.open(join(folder, name), undefined, options.keeping) : undefined;
    const inner = await brokerOf(topology.input, 'broker-in');
    const outer = await brokerOf(topology.output, 'broker-out');
    const tapOf = (broker: Broker | undefined) =>
      broker !== undefined && options.faults.includes('crash') ? Tap.open(broker.port) : undefined;
    const [innerTap, outerTap] = [await tapOf(inner), await tapOf(outer)];
    const outFile = join(folder, 'out');
    const ledgerPort = topology.output === 'ledger' ? await freePort() : 0;
    const kept = keeperNames.find((name) => name === topology.output);
    const keeper = kept && (await openKeeper(kept));
    const site: Site = {
      inputFolder: (stream) => join(folder, `in-${stream}`),
      outFile,
      inUrl: (innerTap ?? inner)?.url ?? '',
      outUrl: (outerTap ?? outer)?.url ?? '',
      ledgerPort,
      keeperAction: keeper?.action,
    };
    const command = [process.execPath, ...program, 'bench', '--role', 'ledger', outFile, String(ledgerPort)];
    const ledger = ledgerPort === 0 ? undefined : new Repeatable('ledger', command, {});
    ledger?.start();
    let output: Output = new FileOutput(outFile);
    if (outer !== undefined) output = await MqttOutput.open(outer.url, outTopic);
    else if (ledger !== undefined) output = new LedgerOutput(outFile);
    else if (keeper !== undefined) output = keeper.output;
    const engine = await ChaosEngine.open(program, folder);
    const stage = new Stage(
      topology,
      options,
      site,
      engine,
      inner,
      outer,
      keeper?.process ?? ledger ?? outer?.process,
      output,
      innerTap,
      outerTap,
      keeper,
    );
    await stage.#define();
    return stage;
  }

  async #define(): Promise<void> {
    const { engine, topology, site, options } = this;
    for (const stream of topology.feeds) {
      const feed =
        this.inner === undefined
          ? new FileFeed(site.inputFolder(stream))
          : await MqttFeed.open(this.inner.url, `chaos/${stream}`);
      this.#feeds.push({ feed, lines: [] });
      await engine.call(
        'PUT',
        `/metadata/sources/${topology.input}/confKeys/${stream}`,
        streamProps(topology, stream, site),
      );
    }
    for (const stream of [...topology.feeds, ...Object.keys(topology.inner ?? {})]) {
      await engine.call('POST', '/streams', { sql: streamSql(topology, stream) });
    }
    const promised = new Set<Promised>();
    for (const { id, sql, action, options: more } of topology.rules(site)) {
      const own = { qos: options.qos, checkpointInterval: `${options.checkpointMs}ms`, ...more };
      await engine.call('POST', '/rules', { id, sql, actions: [action], options: own });
    }
    // The guarantee of a rule depends on the rules that feed it, so all of them are made first.
    for (const { id } of topology.rules(site)) {
      const explained = await engine.call('GET', `/rules/${id}/explain`);
      const [, found] = /"guarantee":"([a-z ]+)"/.exec(explained) ?? [];
      promised.add(options.qos > 0 && isPromise(found) ? found : 'nothing');
    }
    // Rules that promise different things promise nothing together: what one may lose another may send twice.
    this.promised = promised.size === 1 ? [...promised][0]! : 'nothing';
    await this.#whenRunning();
  }

  async #whenRunning(): Promise<void> {
    const rules = this.topology.rules(this.site);
    const end = performance.now() + startMs;
    while (!(await Promise.all(rules.map(({ id }) => this.engine.runs(id)))).every(Boolean)) {
      if (performance.now() > end) throw new Error(`not all rules run:\n${this.engine.process.output}`);
      await pause(20);
    }
  }

  /** Sends all messages at once, without faults; returns the rows that come out. */
  async undisturbed(lines: Lines): Promise<readonly string[]> {
    this.#take(lines);
    for (const { feed, lines: all } of this.#feeds) feed.send(all);
    const wanted = [...lines.values()].reduce((sum, { length }) => sum + length, 0);
    let rows: readonly string[] = [];
    let since = performance.now();
    let consumed = 0;
    for (;;) {
      await pause(pollMs);
      const now = await this.output.rows();
      const taken = await this.#consumed();
      if (now.length !== rows.length || taken !== consumed) since = performance.now();
      rows = now;
      consumed = taken;
      const quiet = performance.now() - since;
      if (quiet > 2 * quietMs && consumed >= wanted) return rows;
      if (quiet > patienceMs) throw new Error(`the undisturbed run has taken ${consumed} of ${wanted} messages`);
    }
  }

  /** Messages that the sources have taken in this run of the engine. */
  async #consumed(): Promise<number> {
    const [rule] = this.topology.rules(this.site);
    const status = (await this.engine.status(rule!.id)) ?? {};
    return this.topology.feeds.reduce((sum, s) => sum + Number(status[`source_${s}_0_records_in_total`] ?? 0), 0);
  }

  #take(lines: Lines): void {
    this.#feeds = this.#feeds.map(({ feed }, i) => ({ feed, lines: lines.get(this.topology.feeds[i]!)! }));
  }

  /** Messages at the rate while things go wrong. */
  async disturbed(lines: Lines, expected: readonly string[]): Promise<ChaosResult> {
    this.#take(lines);
    const { options, topology, engine } = this;
    const clock = new RunClock();
    const feeding = feedAll(this.#feeds, options.rate, clock);
    const { site, inner, outer, sink, output } = this;
    const whenRunning = () => this.#whenRunning();
    const faults = new Faults({ engine, inner, outer, sink, output, outFile: site.outFile, whenRunning, clock });
    await faults.play(scheduleOf(options));
    await feeding;
    const fed = performance.now();
    const wanted = new Set(expected);
    const settledAt = await this.#settled(wanted);
    await pause(quietMs);
    await faults.end();
    const untaken = this.innerTap?.untaken();
    await engine.close();
    await pause(pollMs);
    const rows = await output.rows();
    const comparison = compare(expected, rows);
    const lostByBrokers = this.#lostByBrokers(lines, new Set(rows), untaken);
    const lost = comparison.lost - lostByBrokers;
    return {
      topology: topology.name,
      seed: options.seed,
      qos: options.qos,
      promised: this.promised,
      broken: brokenBy({ ...comparison, lost }, this.promised, topology.isOrdered),
      kills: faults.kills,
      lostByBrokers,
      faults: faults.figures(),
      settleMs: Math.round(settledAt - fed),
      peakBytes: engine.peakBytes,
      messages: [...lines.values()].reduce((sum, { length }) => sum + length, 0),
      ...comparison,
    };
  }

  /**
   * Rows that are missing because a broker has lost the message: the engine has not acknowledged it, nor does it hold
   * it, or the broker of the results has confirmed it.
   */
  #lostByBrokers(lines: Lines, received: ReadonlySet<string>, untaken: ReadonlySet<string> | undefined): number {
    const { innerTap, outerTap } = this;
    if ((innerTap ?? outerTap) === undefined) return 0;
    return lines.get('s')!.filter((line) => {
      const row = rowOf(line);
      if (received.has(row)) return false;
      const isGone = innerTap !== undefined && !innerTap.taken.has(line) && untaken?.has(line) !== true;
      return isGone || outerTap?.confirmed.has(row) === true;
    }).length;
  }

  /** Waits until all rows are there, or nothing new comes; resolves with the time of the last news. */
  async #settled(wanted: ReadonlySet<string>): Promise<number> {
    let seen = -1;
    let since = performance.now();
    for (;;) {
      const rows = await this.output.rows();
      const now = new Set(rows.filter((row) => wanted.has(row))).size;
      if (now !== seen) since = performance.now();
      seen = now;
      if (seen >= wanted.size || performance.now() - since > patienceMs) return since;
      await pause(pollMs);
    }
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#feeds.map(({ feed }) => feed.close()));
    await this.output.close().catch(() => {});
    await this.engine.close();
    this.innerTap?.close();
    this.outerTap?.close();
    await this.inner?.process.end('SIGKILL');
    await this.sink?.end('SIGKILL');
    await this.keeper?.close();
  }
}
