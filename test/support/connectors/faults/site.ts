/** What the faults of sinks and sources share: the other side, and a server that is asked over REST. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { loadConnector } from '../../../../host/connectors/index.js';
import { eventually, freePort, startServer, type TestServer, temporaryFolder } from '../../harness.js';

export type Row = Record<string, unknown>;

/** Another system, as the faults need it. */
export interface OtherSide {
  /** Starts it, or starts it again where it was with what it has on disk. */
  start(): Promise<void>;
  /** Kills it at once. */
  kill(): Promise<void>;
  /** It stays connected and does nothing any more, until it goes on. */
  pause(): void;
  resume(): void;
  /** Ends it, and whatever looks into it. */
  close(): Promise<void>;
}

/** Properties with which it does not let us in, and what the status says then. */
export interface Refusal {
  readonly props: Row;
  readonly reason: RegExp;
  /** Text that is shown nowhere. */
  readonly secret: string;
}

/** Longest time in which REST answers while the other side hangs, ms. */
const answersMs = 15_000;

/** Options of a rule whose rows go nowhere: its end need not wait for them. */
export const briefEnd = { forceExitTimeout: '100ms' };

/** A server of the test, with what tests ask of it. */
export class Site {
  readonly server: TestServer;
  static #number = 0;

  private constructor(
    server: TestServer,
    /** Where clients find the endpoints of sinks and sources. */
    readonly dataPort: number,
  ) {
    this.server = server;
  }

  static async open(data?: string): Promise<Site> {
    const port = await freePort();
    const env = {
      KUIPER__SOURCE__HTTPSERVERPORT: String(port),
      KUIPER__BASIC__CONNECTION__MAXRECONNECTINTERVAL: '500',
    };
    return new Site(await startServer({ data, env }), port);
  }

  async ask(method: string, path: string, body?: unknown): Promise<string> {
    const { status, text } = await this.server.request(method, path, body);
    assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
    return text;
  }

  /** Memory of the process that is not on disk, bytes. */
  memory(): number {
    const text = readFileSync(`/proc/${this.server.child.pid}/status`, 'utf8');
    return Number(/^RssAnon:\s+(\d+)/m.exec(text)?.[1]) * 1024;
  }

  async status(id: string): Promise<Row> {
    return JSON.parse(await this.ask('GET', `/rules/${id}/status`)) as Row;
  }

  /** The figure of a source or sink in the status. */
  async figure(id: string, of: 'source' | 'sink', name: string): Promise<unknown> {
    const now = await this.status(id);
    return Object.entries(now).find(([key]) => key.startsWith(of) && key.endsWith(name))?.[1];
  }

  async isConnected(id: string, of: 'source' | 'sink'): Promise<boolean> {
    return (await this.figure(id, of, 'connection_status')) === 1;
  }

  async stream(type: string, dataSource: string, props: Row, format = 'json'): Promise<string> {
    const name = `f${process.pid}_${++Site.#number}`;
    await this.ask('PUT', `/metadata/sources/${type}/confKeys/${name}`, props);
    const options = `DATASOURCE="${dataSource}", TYPE="${type}", FORMAT="${format}", CONF_KEY="${name}"`;
    await this.ask('POST', '/streams', { sql: `CREATE STREAM ${name} () WITH (${options})` });
    return name;
  }

  /** The properties with a named connection of `/connections`, where the connector has connections. */
  async onNamed(part: 'source' | 'sink', type: string, props: Row): Promise<Row> {
    const { connection } = await loadConnector(part, type);
    const names = Object.keys(props).filter(
      (name) => connection !== undefined && Object.hasOwn(connection.props, name),
    );
    if (names.length === 0) return props;
    const id = `c${process.pid}_${++Site.#number}`;
    const pick = (isOfIt: boolean) =>
      Object.fromEntries(Object.entries(props).filter(([k]) => names.includes(k) === isOfIt));
    await this.ask('POST', '/connections', { id, typ: type, props: pick(true) });
    return { ...pick(false), connectionSelector: id };
  }

  /** A stream of rows with ids from `from` on, one line each. */
  async rows(from: number, count: number, props: Row = {}, more: Row = {}): Promise<string> {
    const file = join(this.server.data, `rows${++Site.#number}.in`);
    const lines = Array.from({ length: count }, (_, i) => `${JSON.stringify({ id: from + i, ...more })}\n`);
    writeFileSync(file, lines.join(''));
    return this.stream('file', file, { fileType: 'lines', ...props });
  }

  /** Starts a rule; returns its id. */
  async rule(stream: string, action: Row, options: Row = {}, sql = `SELECT * FROM ${stream}`): Promise<string> {
    const id = `r${process.pid}_${++Site.#number}`;
    await this.ask('POST', '/rules', { id, sql, actions: [action], options });
    return id;
  }

  async delete(id: string): Promise<void> {
    const began = performance.now();
    await this.ask('DELETE', `/rules/${id}`);
    assert.ok(performance.now() - began < answersMs, `rule ${id} was deleted after ${performance.now() - began} ms`);
  }

  /** A rule beside works through rows from end to end. */
  async worksBeside(): Promise<void> {
    const path = join(temporaryFolder(), 'beside.out');
    const id = await this.rule(await this.rows(0, 1000), { file: { path, fileType: 'lines', sendSingle: true } });
    await eventually('the rows of a rule beside', async () => {
      return (await this.figure(id, 'sink', 'records_out_total')) === 1000;
    });
    await this.ask('DELETE', `/rules/${id}`);
  }

  /** Nothing that clients or the log see has the secret. */
  async hides(secret: string, id: string): Promise<void> {
    const paths = ['/rules', `/rules/${id}`, `/rules/${id}/status`, '/streams', '/connections', '/rules/status/all'];
    for (const path of paths) {
      const { text } = await this.server.request('GET', path);
      assert.not.ok(text.includes(secret), `${path} shows the secret`);
    }
    const log = readFileSync(join(this.server.data, 'log', 'stream.log'), 'utf8');
    assert.not.ok(`${this.server.output()}${log}`.includes(secret), 'the log shows the secret');
  }
}

/** Ids from `from` on that have not arrived. */
export function missing(arrived: readonly number[], from: number, count: number): number[] {
  const there = new Set(arrived);
  return Array.from({ length: count }, (_, i) => from + i).filter((id) => !there.has(id));
}
