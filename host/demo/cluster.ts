/**
 * `haumea demo --cluster`: NATS, several nodes and some rules, of which each reads a part of a stream; one node is
 * killed. It shows where the rules run, what moves when, and counts what is lost.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { JetStreamClient } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { HaumeaError, reasonOf } from '../base/errors.js';
import type { ClusterFigures } from '../base/program/demo-figures.js';
import { DemoEngine } from './engine.js';
import { freePortOf, NatsServer } from './nats-server.js';

export interface ClusterDemoOptions {
  readonly seconds: number;
  /** Messages a second. */
  readonly rate: number;
  readonly nodes: number;
  readonly rules: number;
  /** Figures as one line of JSON instead of a report. */
  readonly isJson: boolean;
}

const ackWait = '2s';
/** Part of the time after which a node is killed. */
const killPart = 0.4;
/** Longest wait for what is still on its way at the end, ms. */
const restMs = 20_000;
const lookMs = 100;

interface Node {
  readonly name: string;
  readonly engine: DemoEngine;
}

interface Answer {
  readonly hasLease: boolean;
  readonly unplaced: readonly string[];
  readonly leases: readonly { readonly rule: string; readonly node: string }[];
}

/** Runs it; returns the exit code: 1 when something was lost. */
export async function clusterDemo(options: ClusterDemoOptions, interrupted: Promise<unknown>): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'haumea-demo-'));
  const demo = new ClusterDemo(options, folder);
  try {
    const figures = await Promise.race([demo.run(), interrupted.then(() => undefined)]);
    if (figures === undefined) return 0;
    process.stdout.write(options.isJson ? `${JSON.stringify(figures)}\n` : reportOf(figures));
    return figures.lost > 0 ? 1 : 0;
  } catch (error) {
    process.stderr.write(`haumea demo: ${reasonOf(error)}\n`);
    return 1;
  } finally {
    await demo.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    if (!options.isJson) process.stdout.write('demo ended, everything removed\n');
  }
}

class ClusterDemo {
  #server: NatsServer | undefined;
  #client: NatsConnection | undefined;
  #nodes: Node[] = [];
  readonly #counts = new Map<string, number>();
  #sent = 0;

  constructor(
    private readonly options: ClusterDemoOptions,
    private readonly folder: string,
  ) {}

  async run(): Promise<ClusterFigures> {
    const { seconds, nodes, rules } = this.options;
    this.#server = await NatsServer.start(join(this.folder, 'nats'));
    const { url } = this.#server;
    const stream = await this.#openStreams(url);
    const key = randomBytes(32).toString('base64');
    const names = Array.from({ length: nodes }, (_, i) => `node${i + 1}`);
    this.#nodes = await Promise.all(names.map((name) => this.#startNode(name, url, key)));
    this.#say(`NATS at ${url}; ${this.#nodes.map(({ name, engine }) => `${name} at ${engine.base}`).join(', ')}`);
    const began = performance.now();
    for (let i = 0; i < rules; i++) await this.#define(i, url);
    const definitionsPerSecond = Math.round((3000 * rules) / (performance.now() - began));
    await this.#placed('', restMs);
    await this.#tell();
    const sending = this.#send(stream);
    await pause(seconds * killPart * 1000);
    const move = nodes > 1 ? await this.#killOne() : undefined;
    await sending;
    await this.#settled();
    await this.#tell();
    return { nodes, rules, ...this.#outcome(), definitionsPerSecond, moved: 0, ...move };
  }

  async close(): Promise<void> {
    await this.#client?.close().catch(() => {});
    await Promise.all(this.#nodes.map(({ engine }) => engine.close()));
    await this.#server?.close();
  }

  async #openStreams(servers: string): Promise<JetStreamClient> {
    const { default: transport } = await import('@nats-io/transport-node');
    const { default: streams } = await import('@nats-io/jetstream');
    const { connect } = transport;
    const { jetstream, jetstreamManager } = streams;
    const client = await connect({ servers });
    this.#client = client;
    const manager = await jetstreamManager(client);
    await manager.streams.add({ name: 'FLEET', subjects: ['fleet.>'] });
    await manager.streams.add({ name: 'RESULTS', subjects: ['result.>'] });
    client.subscribe('result.>', {
      callback: (_error, message) => {
        const { part, n } = message.json<{ part: number; n: number }>();
        const name = `${part} ${n}`;
        this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
      },
    });
    return jetstream(client);
  }

  async #startNode(name: string, servers: string, key: string): Promise<Node> {
    const env = { ...process.env, KUIPER__CLUSTER__SERVERS: servers, KUIPER__CLUSTER__NODE: name };
    const engine = new DemoEngine({
      folder: join(this.folder, name),
      restPort: await freePortOf(),
      dataPort: await freePortOf(),
      env: { ...env, KUIPER__CLUSTER__KEY: key },
    });
    await engine.answers();
    const end = performance.now() + restMs;
    while (!(await clusterOf(engine)).hasLease) {
      if (performance.now() > end) throw new HaumeaError('connection', `${name} does not join the cluster`);
      await pause(lookMs);
    }
    return { name, engine };
  }

  /** A stream and a rule for a part of the messages, at one node after the other. */
  async #define(part: number, server: string): Promise<void> {
    const { engine } = this.#nodes[part % this.#nodes.length] as Node;
    const key = { server, stream: 'FLEET', durable: `part${part}`, ackWait };
    await engine.call('PUT', `/metadata/sources/nats/confKeys/part${part}`, key);
    const options = `TYPE="nats", DATASOURCE="fleet.${part}", FORMAT="json", CONF_KEY="part${part}"`;
    await engine.call('POST', '/streams', { sql: `CREATE STREAM part${part} (n BIGINT) WITH (${options})` });
    const sink = { server, subject: `result.${part}`, jetStream: true, sendSingle: true };
    const sql = `SELECT ${part} AS part, n FROM part${part}`;
    await engine.call('POST', '/rules', { id: `rule${part}`, sql, actions: [{ nats: sink }] });
  }

  /** Sends until the time is over. */
  async #send(stream: JetStreamClient): Promise<void> {
    const { seconds, rate, rules } = this.options;
    const began = performance.now();
    for (;;) {
      const elapsed = performance.now() - began;
      const due = Math.floor((Math.min(elapsed, seconds * 1000) * rate) / 1000);
      const sends: Promise<unknown>[] = [];
      while (this.#sent < due) {
        const n = this.#sent++;
        sends.push(stream.publish(`fleet.${n % rules}`, JSON.stringify({ n })));
      }
      await Promise.all(sends);
      if (elapsed >= seconds * 1000) return;
      await pause(10);
    }
  }

  /** Kills the node with the most rules; resolves when all of them run elsewhere. */
  async #killOne(): Promise<{ readonly moved: number; readonly failOverMs: number }> {
    const { leases } = await clusterOf((this.#nodes[0] as Node).engine);
    const countOf = (name: string) => leases.filter(({ node }) => node === name).length;
    const victim = [...this.#nodes].sort((a, b) => countOf(b.name) - countOf(a.name))[0] as Node;
    const moved = countOf(victim.name);
    const killed = performance.now();
    victim.engine.kill();
    this.#nodes = this.#nodes.filter((node) => node !== victim);
    this.#say(`${victim.name} is killed (kill -9), with ${moved} rules`);
    await this.#placed(victim.name, restMs);
    const failOverMs = Math.round(performance.now() - killed);
    this.#say(`its rules run elsewhere after ${(failOverMs / 1000).toFixed(1)} s`);
    await this.#tell();
    return { moved, failOverMs };
  }

  /** Resolves when each rule runs, and none on the node that is gone. */
  async #placed(gone: string, timeoutMs: number): Promise<void> {
    const end = performance.now() + timeoutMs;
    const { engine } = this.#nodes[0] as Node;
    for (;;) {
      const { leases } = await clusterOf(engine);
      const list = (await engine.ask('/rules')) as { status: string }[];
      const isPlaced = leases.length === this.options.rules && leases.every(({ node }) => node !== gone);
      if (isPlaced && list.every(({ status }) => status === 'Running')) return;
      if (performance.now() > end) throw new HaumeaError('general', 'some rules do not run');
      await pause(lookMs);
    }
  }

  /** Resolves when each message has its row, or nothing more comes. */
  async #settled(): Promise<void> {
    const end = performance.now() + restMs;
    while (this.#counts.size < this.#sent && performance.now() < end) await pause(lookMs);
  }

  #outcome(): Pick<ClusterFigures, 'sent' | 'rows' | 'lost' | 'repeated'> {
    const rows = [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
    return { sent: this.#sent, rows, lost: this.#sent - this.#counts.size, repeated: rows - this.#counts.size };
  }

  async #tell(): Promise<void> {
    const { leases } = await clusterOf((this.#nodes[0] as Node).engine);
    const parts = this.#nodes.map(({ name }) => {
      const rules = leases.flatMap(({ node, rule }) => (node === name ? [rule] : []));
      return `  ${name}: ${rules.join(' ') || 'no rule'}`;
    });
    const { sent, rows } = this.#outcome();
    this.#say(`${sent} messages sent, ${rows} rows\n${parts.join('\n')}`);
  }

  #say(text: string): void {
    if (!this.options.isJson) process.stdout.write(`${text}\n`);
  }
}

async function clusterOf(engine: DemoEngine): Promise<Answer> {
  return (await engine.ask('/cluster?leases=true')) as Answer;
}

function reportOf({ sent, rows, lost, repeated, moved, failOverMs }: ClusterFigures): string {
  const move = failOverMs === undefined ? '' : `, ${moved} rules moved in ${(failOverMs / 1000).toFixed(1)} s`;
  return `${sent} messages, ${rows} rows${move}: ${lost} lost, ${repeated} repeated\n`;
}
