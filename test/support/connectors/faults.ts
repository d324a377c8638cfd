/**
 * Faults that every connector must live through, against a real other side: it is absent, goes away, hangs, refuses us;
 * messages are huge or empty; rules share its connection; the engine is killed. A connector's test describes its other
 * side and calls `sinkFaults` or `sourceFaults`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, freePort, startServer, type TestServer, temporaryFolder } from '../harness.js';
import { Lines } from './lines.js';

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
interface Refusal {
  readonly props: Row;
  readonly reason: RegExp;
  /** Text that is shown nowhere. */
  readonly secret: string;
}

export interface SinkSide extends OtherSide {
  /** Properties of an action; each message is one row with `id`. */
  readonly props: Row;
  /** Ids of the rows that are there, each as often as it came. */
  arrived(): Promise<readonly number[]> | readonly number[];
  readonly refusal?: Refusal;
  /** Rows, one a ms, that flow until it is back: a rule whose input ends waits 5 s for its sinks. */
  readonly rowsOverKill?: number;
  /** Nothing confirms a message, so that what was under way when it was killed may be gone. */
  readonly mayLose?: boolean;
}

export interface SourceSide extends OtherSide {
  readonly dataSource: string;
  readonly props: Row;
  /** Sends messages; resolves when they are there. */
  send(messages: readonly (string | Buffer)[]): Promise<void>;
  readonly refusal?: Refusal;
  /** What we have not acknowledged comes again: nothing is lost with `qos` 1. */
  readonly keeps: boolean;
  /** The connector makes the messages itself, and each of them decodes. */
  readonly isTable?: boolean;
}

/** Longest time in which REST answers while the other side hangs, ms. */
const answersMs = 15_000;

/** A server of the test, with what tests ask of it. */
class Site {
  readonly server: TestServer;
  static #number = 0;

  private constructor(server: TestServer) {
    this.server = server;
  }

  static async open(data?: string): Promise<Site> {
    const port = String(await freePort());
    return new Site(await startServer({ data, env: { KUIPER__SOURCE__HTTPSERVERPORT: port } }));
  }

  async ask(method: string, path: string, body?: unknown): Promise<string> {
    const { status, text } = await this.server.request(method, path, body);
    assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
    return text;
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

  async stream(type: string, dataSource: string, props: Row): Promise<string> {
    const name = `f${process.pid}_${++Site.#number}`;
    await this.ask('PUT', `/metadata/sources/${type}/confKeys/${name}`, props);
    const options = `DATASOURCE="${dataSource}", TYPE="${type}", FORMAT="json", CONF_KEY="${name}"`;
    await this.ask('POST', '/streams', { sql: `CREATE STREAM ${name} () WITH (${options})` });
    return name;
  }

  /** A stream of rows with ids from `from` on, one line each. */
  async rows(from: number, count: number, props: Row = {}, more: Row = {}): Promise<string> {
    const file = join(this.server.data, `rows${++Site.#number}.in`);
    const lines = Array.from({ length: count }, (_, i) => `${JSON.stringify({ id: from + i, ...more })}\n`);
    writeFileSync(file, lines.join(''));
    return this.stream('file', file, { fileType: 'lines', ...props });
  }

  /** Starts a rule; returns its id. */
  async rule(stream: string, action: Row, options: Row = {}): Promise<string> {
    const id = `r${process.pid}_${++Site.#number}`;
    await this.ask('POST', '/rules', { id, sql: `SELECT * FROM ${stream}`, actions: [action], options });
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
    assert.not.ok(this.server.output().includes(secret), 'the log shows the secret');
  }
}

/** Ids from `from` on that have not arrived. */
function missing(arrived: readonly number[], from: number, count: number): number[] {
  const there = new Set(arrived);
  return Array.from({ length: count }, (_, i) => from + i).filter((id) => !there.has(id));
}

/** Adds the faults of a sink; `name` is that of the other side, where there are several. */
export function sinkFaults(test: Test, type: string, open: () => Promise<SinkSide>, name = type): void {
  let site: Site;
  let side: SinkSide;
  let next = 0;
  /** Ids of a test's own. */
  const fresh = (count: number) => {
    next += count;
    return next - count;
  };
  const action = (props: Row = {}) => ({ [type]: { sendSingle: true, ...side.props, ...props } });
  const arrive = (from: number, count: number) =>
    eventually(`${count} rows`, async () => missing(await side.arrived(), from, count).length === 0);
  const lost = async (from: number, count: number) => missing(await side.arrived(), from, count).length;

  test.before(async () => {
    side = await open();
    site = await Site.open();
  });
  test.after(async () => {
    side?.resume();
    await site?.server.stop();
    await side?.close();
  });

  test(`${name} sink: what was made while the other side was absent arrives when it is there`, async () => {
    await side.kill();
    const from = fresh(100);
    const id = await site.rule(await site.rows(from, 100), action());
    await eventually('a failure to connect', async () => {
      return String(await site.figure(id, 'sink', 'connection_last_disconnected_message')) !== '';
    });
    assert.not.ok(await site.isConnected(id, 'sink'));
    await side.start();
    await arrive(from, 100);
    await site.delete(id);
  });

  test(`${name} sink: nothing is lost, or unseen, when the other side is killed and comes back`, async () => {
    const count = side.rowsOverKill ?? 2000;
    const from = fresh(count);
    const id = await site.rule(await site.rows(from, count, { sendInterval: 1 }), action());
    await arrive(from, 200);
    await side.kill();
    await eventually('the end of the connection', async () => !(await site.isConnected(id, 'sink')));
    await side.start();
    let told = '';
    const all = eventually('the rest', async () => {
      const failed = Number(await site.figure(id, 'sink', 'exceptions_total'));
      const gone = missing(await side.arrived(), from, count);
      told = `${gone.length} rows are missing, the first is ${(gone[0] ?? 0) - from}, ${failed} exceptions`;
      const isLast = !gone.includes(from + count - 1);
      return isLast && (side.mayLose === true ? gone.length === 0 || failed > 0 : gone.length === 0);
    });
    await all.catch(async (error: Error) => {
      throw new Error(`${error.message}: ${told}; ${JSON.stringify(await site.status(id))}`);
    });
    await site.delete(id);
  });

  test(`${name} sink: one that hangs holds neither other rules nor the end of its own, nor memory`, async () => {
    const count = 20_000;
    const from = fresh(count);
    side.pause();
    const id = await site.rule(await site.rows(from, count, {}, { text: 'x'.repeat(1000) }), action());
    await site.worksBeside();
    await site.delete(id);
    const back = await site.rule(await site.rows(from, count, {}, { text: 'x'.repeat(1000) }), action());
    await site.worksBeside();
    side.resume();
    await arrive(from, count);
    await site.delete(back);
  });

  test(`${name} sink: rules that share a connection end each on its own`, async () => {
    const count = 1000;
    const [first, second] = [fresh(count), fresh(count)];
    const stopped = await site.rule(await site.rows(first, count, { sendInterval: 1 }), action());
    const staying = await site.rule(await site.rows(second, count, { sendInterval: 1 }), action());
    await arrive(first, 50);
    await site.delete(stopped);
    await arrive(second, count);
    await site.delete(staying);
  });

  test(`${name} sink: a message of 15 MB arrives or is counted, and those behind it arrive`, async () => {
    const from = fresh(3);
    const file = join(site.server.data, 'large.in');
    const large = { id: from + 1, text: 'x'.repeat(15_000_000) };
    writeFileSync(file, [{ id: from }, large, { id: from + 2 }].map((row) => `${JSON.stringify(row)}\n`).join(''));
    const id = await site.rule(await site.stream('file', file, { fileType: 'lines' }), action());
    await arrive(from, 1);
    await arrive(from + 2, 1);
    const isThere = (await lost(from + 1, 1)) === 0;
    const failed = await site.figure(id, 'sink', 'exceptions_total');
    assert.ok(isThere || failed === 1, `it did not arrive, and ${failed} failures were counted`);
    await site.delete(id);
  });

  test(`${name} sink: a wrong password is named, and shown nowhere`, async () => {
    if (side.refusal === undefined) return assert.is(side.refusal, undefined);
    const { props, reason, secret } = side.refusal;
    const id = await site.rule(await site.rows(fresh(10), 10), action(props));
    await eventually('the reason', async () => {
      return reason.test(JSON.stringify(await site.status(id)));
    });
    await site.hides(secret, id);
    await site.delete(id);
    return undefined;
  });

  test(`${name} sink: with qos 1 nothing is lost when the engine is killed`, async () => {
    const count = 3000;
    const from = fresh(count);
    const data = temporaryFolder();
    let own = await Site.open(data);
    const options = { qos: 1, checkpointInterval: '200ms' };
    await own.rule(await own.rows(from, count, { sendInterval: 1 }), action(), options);
    for (let n = 1; n <= 2; n++) {
      await arrive(from, n * 500);
      await own.server.stop('SIGKILL');
      own = await Site.open(data);
    }
    await arrive(from, count);
    await own.server.stop();
  });
}

/** Adds the faults of a source. */
export function sourceFaults(test: Test, type: string, open: () => Promise<SourceSide>): void {
  let site: Site;
  let side: SourceSide;
  let next = 0;
  const fresh = (count: number) => {
    next += count;
    return next - count;
  };
  const messages = (from: number, count: number) => Array.from({ length: count }, (_, i) => `{"id":${from + i}}`);

  test.before(async () => {
    side = await open();
    site = await Site.open();
  });
  test.after(async () => {
    side?.resume();
    await site?.server.stop();
    await side?.close();
  });

  /** A rule from the other side to a file; `ids` are those in the file. */
  async function reading(at: Site, options: Row = {}, props: Row = {}) {
    const lines = new Lines();
    const stream = await at.stream(type, side.dataSource, { ...side.props, ...props });
    const id = await at.rule(stream, { file: { path: lines.path, fileType: 'lines', sendSingle: true } }, options);
    return { id, stream, ids: () => lines.ids() };
  }
  const connected = (at: Site, id: string) => eventually('a connection', () => at.isConnected(id, 'source'));
  const has = (ids: () => readonly number[], from: number, count: number) =>
    eventually(`${count} rows`, () => missing(ids(), from, count).length === 0);

  test(`${type} source: one that is absent at the start is read when it is there`, async () => {
    await side.kill();
    const { id, ids } = await reading(site);
    await eventually('a failure to connect', async () => {
      return String(await site.figure(id, 'source', 'connection_last_disconnected_message')) !== '';
    });
    await side.start();
    await connected(site, id);
    const from = fresh(50);
    await side.send(messages(from, 50));
    await has(ids, from, 50);
    await site.delete(id);
  });

  test(`${type} source: it goes on when the other side was killed and is back`, async () => {
    const { id, ids } = await reading(site);
    await connected(site, id);
    const before = fresh(200);
    await side.send(messages(before, 200));
    await has(ids, before, 200);
    await side.kill();
    await eventually('the end of the connection', async () => !(await site.isConnected(id, 'source')));
    await side.start();
    await connected(site, id);
    const after = fresh(200);
    await side.send(messages(after, 200));
    await has(ids, after, 200);
    await site.delete(id);
  });

  test(`${type} source: messages that do not decode, and empty ones, are counted and named`, async () => {
    if (side.isTable) return;
    const { id, ids } = await reading(site);
    await connected(site, id);
    const from = fresh(3);
    const [a, b, c] = messages(from, 3) as [string, string, string];
    await side.send([a, '{"id":', b, '', c]);
    await has(ids, from, 3);
    const failures = Number(await site.figure(id, 'source', 'exceptions_total'));
    assert.ok(failures >= 1 && failures <= 2, `${failures} failures were counted`);
    await site.delete(id);
  });

  test(`${type} source: one that hangs holds neither other rules nor the end of its own`, async () => {
    const { id } = await reading(site);
    await connected(site, id);
    side.pause();
    await site.worksBeside();
    await site.delete(id);
    const absent = await reading(site);
    await site.worksBeside();
    await site.delete(absent.id);
    side.resume();
  });

  test(`${type} source: rules that share a connection end each on its own`, async () => {
    const first = await reading(site);
    await connected(site, first.id);
    const path = join(temporaryFolder(), 'second.out');
    const second = await site.rule(first.stream, { file: { path, fileType: 'lines', sendSingle: true } });
    await connected(site, second);
    await site.delete(second);
    const from = fresh(50);
    await side.send(messages(from, 50));
    await has(first.ids, from, 50);
    await site.delete(first.id);
  });

  test(`${type} source: a wrong password is named, and shown nowhere`, async () => {
    if (side.refusal === undefined) return assert.is(side.refusal, undefined);
    const { props, reason, secret } = side.refusal;
    const { id } = await reading(site, {}, props);
    await eventually('the reason', async () => reason.test(JSON.stringify(await site.status(id))));
    await site.hides(secret, id);
    await site.delete(id);
    return undefined;
  });

  test(`${type} source: with qos 1 nothing is lost when engine and other side are killed`, async () => {
    if (!side.keeps) return assert.not.ok(side.keeps);
    const data = temporaryFolder();
    let own = await Site.open(data);
    const { id, ids } = await reading(own, { qos: 1, checkpointInterval: '200ms' });
    await connected(own, id);
    const from = fresh(3000);
    await side.send(messages(from, 1000));
    await own.server.stop('SIGKILL');
    await side.send(messages(from + 1000, 500));
    own = await Site.open(data);
    await side.send(messages(from + 1500, 500));
    await side.kill();
    await side.start();
    await side.send(messages(from + 2000, 1000));
    await has(ids, from, 3000);
    await own.server.stop();
    return undefined;
  });
}
