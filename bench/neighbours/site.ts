/** An engine with rules on one shared stream: healthy ones that write to files, and one whose sink is in trouble. */
import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineUnderTest } from '../engine.js';
import { FIRST_ID } from '../messages/frames.js';
import { pause } from '../process.js';
import { Counter, type Counts, idIn } from './count.js';
import type { Feed } from './feed.js';

const stream = 'shared';
export const far = 'far';
const rowBytes = `{"id":${FIRST_ID}}\n`.length;
/** Time without progress after which no more rows are expected, ms. */
const patienceMs = 30_000;
const pollMs = 20;

export class Site {
  readonly paths: string[] = [];

  private constructor(
    readonly engine: EngineUnderTest,
    readonly folder: string,
  ) {}

  static async open(program: string[], folder: string): Promise<Site> {
    const engine = await EngineUnderTest.open({ url: '', pid: 0, command: program, env: {}, sourceProps: {}, folder });
    return new Site(engine, folder);
  }

  /** A stream of the feed's messages. */
  async stream(feed: Feed, name = stream): Promise<void> {
    const session = feed.qos === 0 ? {} : { clientid: name, enableClientSession: true };
    const props = { server: feed.url, qos: feed.qos, ...session };
    await this.engine.call('PUT', `/metadata/sources/mqtt/confKeys/${name}`, props);
    const options = `TYPE="mqtt", DATASOURCE="${feed.topic}", SHARED="true", CONF_KEY="${name}"`;
    await this.engine.call('POST', '/streams', { sql: `CREATE STREAM ${name} () WITH (${options})` });
  }

  /** A healthy rule that writes the numbers of its rows to a file. */
  async healthy(options: object = {}, name = stream): Promise<void> {
    const id = `near${this.paths.length}`;
    const path = join(this.folder, `${id}.rows`);
    this.paths.push(path);
    await this.engine.createRule(id, `SELECT id FROM ${name}`, { file: { path, sendSingle: true } }, options);
  }

  /** A rule that sends its rows by MQTT. */
  async sick(url: string, props: object, options: object = {}): Promise<void> {
    const action = { mqtt: { server: url, topic: 'out', qos: 1, sendSingle: true, ...props } };
    await this.engine.createRule(far, `SELECT id, text FROM ${stream}`, action, options);
  }

  /** Waits until a figure of the rule fits; fails when it changes no more before. */
  async figure(rule: string, name: string, fits: (value: number) => boolean): Promise<void> {
    let seen = Number.NaN;
    for (let since = performance.now(); ; await pause(pollMs)) {
      const status = await this.engine.status(rule);
      const value = Number(status[name]);
      if (fits(value)) return;
      if (value !== seen) since = performance.now();
      seen = value;
      if (performance.now() - since <= patienceMs) continue;
      throw new Error(`${name} of rule ${rule} stays at ${value}: ${status.status} ${status.message}`);
    }
  }

  connected(rule = far): Promise<void> {
    return this.figure(rule, 'sink_mqtt_0_0_connection_status', (value) => value === 1);
  }

  /** Waits until all rules of files have so many rows, or have got nothing more for long. */
  async written(rows: number): Promise<void> {
    let seen = -1;
    for (let since = performance.now(); performance.now() - since < patienceMs; await pause(pollMs)) {
      const sizes = this.paths.map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0);
      if (Math.min(...sizes) >= rows * rowBytes) return;
      const now = sizes.reduce((sum, size) => sum + size, 0);
      if (now !== seen) since = performance.now();
      seen = now;
    }
  }

  /** Counts of all result files, added up. */
  async counts(sent: number): Promise<Counts> {
    const sum = { different: 0, lost: 0, repeated: 0, reordered: 0 };
    for (const path of this.paths) {
      const counter = new Counter();
      const bytes = await readFile(path).catch(() => Buffer.alloc(0));
      for (let at = 0, end = bytes.indexOf(10); end >= 0; at = end + 1, end = bytes.indexOf(10, at)) {
        counter.take(idIn(bytes, at, end) - FIRST_ID);
      }
      const one = counter.of(sent);
      for (const name of ['different', 'lost', 'repeated', 'reordered'] as const) sum[name] += one[name];
    }
    return sum;
  }

  close(): Promise<void> {
    return this.engine.close();
  }
}
