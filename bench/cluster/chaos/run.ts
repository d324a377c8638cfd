/** Rounds: a fault while definitions, events and ticks go on; then all must be whole again, and is counted. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pause } from '../../process.js';
import { random } from '../../workloads/workload.js';
import { Definitions } from './definitions.js';
import { type Counted, type EventRule, Events, Ticks } from './events.js';
import { type FaultKind, play } from './faults.js';
import { NatsCluster } from './nats-cluster.js';
import { ChaosNode } from './nodes.js';

export interface ClusterChaosOptions {
  readonly rounds: number;
  readonly seed: number;
  readonly faults: readonly FaultKind[];
  /** Rules of each kind: by ticks, and by events of each qos. */
  readonly rules: number;
  readonly qos: readonly (1 | 2)[];
  /** Events a second of each rule. */
  readonly rate: number;
  readonly servers: number;
  readonly isKept: boolean;
}

export interface Round {
  readonly fault: FaultKind;
  readonly what: string;
  /** Longest time in which a rule sent no row, ms. */
  readonly gapMs: number;
  /** The rule. */
  readonly gapOf: string;
  /** From the end of the fault until all nodes see all rules run, ms. */
  readonly wholeMs: number;
  /** Rows of ticks beyond one: the rule ran twice. */
  readonly doubled: number;
  readonly broken: readonly string[];
}

export interface ClusterChaosResult {
  readonly seed: number;
  readonly rounds: readonly Round[];
  readonly definitions: { readonly acknowledged: number; readonly refused: number };
  readonly events: Readonly<Record<string, Counted>>;
}

const names = ['node1', 'node2', 'node3'];
const leaseMs = 3000;
/** Longest time in which a rule may send no row, ms. */
const mostGapMs = 5000;
const wholeTimeoutMs = 60_000;
/** Time without a new row after which no more are expected, ms. */
const patienceMs = 15_000;
/** Time before a fault, and after all is whole again, ms. */
const calmMs = 1000;

export async function runClusterChaos(
  options: ClusterChaosOptions,
  program: readonly string[],
  say: (line: string) => void,
): Promise<ClusterChaosResult> {
  const folder = mkdtempSync(join(tmpdir(), 'haumea-cluster-chaos-'));
  const stage = await Stage.open(options, program, folder);
  try {
    return await stage.play(say);
  } finally {
    await stage.close();
    if (options.isKept) say(`kept: ${folder}`);
    else rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

class Stage {
  readonly #next: () => number;

  private constructor(
    private readonly options: ClusterChaosOptions,
    private readonly nats: NatsCluster,
    private readonly nodes: readonly ChaosNode[],
    private readonly events: Events,
    private readonly ticks: Ticks,
    private readonly definitions: Definitions,
  ) {
    this.#next = random(options.seed);
  }

  static async open(options: ClusterChaosOptions, program: readonly string[], folder: string): Promise<Stage> {
    const { servers, qos, rules, rate, seed } = options;
    const nats = await NatsCluster.open(folder, servers);
    const nodes: ChaosNode[] = [];
    try {
      const kinds = qos.flatMap((one) => Array.from({ length: rules }, (_, i) => [one, i] as const));
      const events = kinds.map(
        ([one, i]): EventRule => ({ id: `q${one}_${i}`, qos: one, subject: `event.q${one}_${i}` }),
      );
      const numbers = new Events(nats, events, rate);
      await numbers.open();
      const env = {
        KUIPER__CLUSTER__REPLICAS: String(servers),
        KUIPER__CLUSTER__LEASETTL: `${leaseMs}ms`,
        KUIPER__CLUSTER__KEY: randomBytes(32).toString('base64'),
      };
      const { ports } = nats;
      for (const name of names) nodes.push(await ChaosNode.open(program, folder, { name, ports, env }));
      const ticks = new Ticks(
        nats,
        Array.from({ length: rules }, (_, i) => `t${i}`),
      );
      const stage = new Stage(options, nats, nodes, numbers, ticks, new Definitions(nodes, random(seed + 1)));
      await stage.#define();
      await stage.#whole();
      return stage;
    } catch (error) {
      await Promise.allSettled(nodes.map((node) => node.close()));
      await nats.close();
      throw error;
    }
  }

  async play(say: (line: string) => void): Promise<ClusterChaosResult> {
    const { options, definitions, events } = this;
    const rounds: Round[] = [];
    const bag: FaultKind[] = [];
    events.start();
    for (let i = 0; i < options.rounds; i++) {
      // Each kind once before one comes again.
      if (bag.length === 0) bag.push(...options.faults);
      const [fault] = bag.splice(Math.floor(this.#next() * bag.length), 1) as [FaultKind];
      const round = await this.#round(fault);
      const { what, gapMs, gapOf, wholeMs, broken } = round;
      say(`${i + 1}. ${fault}: ${what}; gap ${gapMs} ms of ${gapOf}, whole after ${wholeMs} ms`);
      for (const line of broken) say(`  ! ${line}`);
      rounds.push(round);
    }
    await events.stop();
    await events.settled(patienceMs);
    const { acknowledged, refused } = definitions;
    const counted = Object.fromEntries(events.rules.map((rule) => [rule.id, events.countsOf(rule)]));
    return { seed: options.seed, rounds, definitions: { acknowledged, refused }, events: counted };
  }

  async close(): Promise<void> {
    await this.events.stop();
    this.ticks.stop();
    await Promise.all(this.nodes.map((node) => node.close()));
    await this.nats.close();
  }

  async #round(fault: FaultKind): Promise<Round> {
    const { nodes, nats, definitions, events, ticks } = this;
    const broken: string[] = [];
    const before = events.rules.map((rule) => events.countsOf(rule));
    definitions.start();
    ticks.start();
    await pause(calmMs);
    const what = await play(fault, { nodes, nats, leaseMs, next: this.#next }).catch((error: Error) => {
      broken.push(error.message);
      return 'it could not be done';
    });
    const over = performance.now();
    await this.#whole().catch((error: Error) => broken.push(error.message));
    const wholeMs = Math.round(performance.now() - over);
    await definitions.stop();
    await pause(calmMs);
    const gap = ticks.longestGap();
    ticks.stop();
    const { doubled } = ticks;
    if (gap.ms > mostGapMs) broken.push(`rule ${gap.rule} sent nothing for ${gap.ms} ms`);
    // The sink sends again what the server that was killed may not have got.
    if (doubled.length > 0 && fault !== 'leader' && fault !== 'natsDisk')
      broken.push(`${doubled.length} rows of a rule that ran twice: ${doubled.slice(0, 20).join(', ')}`);
    for (const node of nodes)
      broken.push(...(await definitions.missing(node).catch((error: Error) => [error.message])));
    definitions.tidy();
    await this.#count(before, broken);
    return { fault, what, gapMs: gap.ms, gapOf: gap.rule, wholeMs, doubled: doubled.length, broken };
  }

  /** Counts the events once all until now have come. */
  async #count(before: readonly Counted[], broken: string[]): Promise<void> {
    const { events } = this;
    await events.stop();
    await events.settled(patienceMs);
    for (const [i, rule] of events.rules.entries()) {
      const [was, is] = [before[i] as Counted, events.countsOf(rule)];
      if (is.lost > was.lost) broken.push(`${rule.id}: ${is.lost - was.lost} events lost`);
      if (rule.qos === 2 && is.repeated > was.repeated)
        broken.push(`${rule.id}: ${is.repeated - was.repeated} repeated`);
      if (is.wrong > was.wrong) broken.push(`${rule.id}: ${is.wrong - was.wrong} rows with a wrong total`);
    }
    events.start();
  }

  /** Resolves when NATS is whole and every node sees that all rules run. */
  async #whole(): Promise<void> {
    const end = performance.now() + wholeTimeoutMs;
    for (;;) {
      const lacks = await Promise.all(this.nodes.map((node) => node.lacks()));
      if (lacks.every((lack) => lack === '')) break;
      if (performance.now() > end) {
        throw new Error(lacks.map((lack, i) => `${names[i]} sees: ${lack || 'all run'}`).join('; '));
      }
      await pause(100);
    }
    await this.nats.whole(wholeTimeoutMs);
  }

  async #define(): Promise<void> {
    const { nats, events, ticks, nodes } = this;
    const call = (method: string, path: string, body: unknown) =>
      (nodes[0] as ChaosNode).engine.call(method, path, body);
    const server = nats.urls;
    const keys: Record<string, object> = {
      ticks: { server },
      ...Object.fromEntries(
        events.rules.map(({ id, qos }) => [
          id,
          { server, stream: 'EVENTS', ...(qos === 1 && { durable: id, ackWait: '2s' }) },
        ]),
      ),
    };
    const subjects = new Map([['ticks', 'tick'], ...events.rules.map(({ id, subject }) => [id, subject] as const)]);
    for (const [name, key] of Object.entries(keys)) {
      await call('PUT', `/metadata/sources/nats/confKeys/${name}`, key);
      const options = `TYPE="nats", DATASOURCE="${subjects.get(name)}", FORMAT="json", CONF_KEY="${name}"`;
      await call('POST', '/streams', { sql: `CREATE STREAM ${name} (n BIGINT) WITH (${options})` });
    }
    for (const id of ticks.rules) {
      const actions = [{ nats: { server, subject: 'witness', sendSingle: true } }];
      await call('POST', '/rules', { id, sql: `SELECT '${id}' AS rule, n FROM ticks`, actions });
    }
    for (const { id, qos } of events.rules) {
      const sql = `SELECT '${id}' AS rule, n${qos === 2 ? ', acc_sum(n) AS total' : ''} FROM ${id}`;
      const actions = [{ nats: { server, subject: `result.${id}`, jetStream: true, sendSingle: true } }];
      await call('POST', '/rules', { id, sql, actions, options: { qos, checkpointInterval: '200ms' } });
    }
  }
}
