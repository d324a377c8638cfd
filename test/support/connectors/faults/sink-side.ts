/** A sink under test: its other side, and a server with rules that write to it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { costly, eventually } from '../../harness.js';
import type { Greeting } from '../../servers/tls.js';
import { missing, type OtherSide, type Refusal, type Row, Site } from './site.js';

export interface SinkSide extends OtherSide {
  /** Properties of an action; each message is one row with `id`. */
  readonly props: Row;
  /** Ids of the rows that are there, each as often as it came. */
  arrived(): Promise<readonly number[]> | readonly number[];
  /** Meets the server of the test, where it is the one that connects. */
  meet?(site: Site): Promise<void>;
  readonly refusal?: Refusal;
  readonly tls?: SpokenTls;
  readonly rejects?: Rejection;
  readonly full?: Fullness;
  /** Nothing confirms a message, so that what was under way when it was killed may be gone. */
  readonly mayLose?: boolean;
  /** One that hangs loses its connection, which is counted, and what comes meanwhile. Resolves when it is back. */
  isBack?(): Promise<unknown>;
}

/** How the sink is told to speak TLS. */
export interface SpokenTls {
  /** Properties for a port; `otherCa` is a certificate, base64, that signs no other. */
  props(port: number, otherCa: string): Row;
  /** Port of the side, where nobody speaks TLS. */
  readonly plainPort: number;
  /** What comes before TLS on this wire. */
  readonly greeting?: Greeting;
  /** Text of the properties that is shown nowhere. */
  readonly secret?: string;
}

/** One row that the other side, or the sink, will not have. */
export interface Rejection {
  /** Has it refuse the row with the id. */
  prepare?(id: number): unknown;
  /** Members of that row. */
  readonly row?: Row | ((id: number) => Row);
  readonly props?: Row;
  readonly reason: RegExp;
}

/** It has no room. */
export interface Fullness {
  readonly props?: Row;
  fill(): unknown;
  /** There is room again. */
  free(): unknown;
  readonly reason: RegExp;
}

/** What a side may lack: faults that are tried only where there is something to try. `rows`: it takes other things. */
export type Ability =
  | 'rows'
  | 'absence'
  | 'kill'
  | 'hang'
  | 'restart'
  | 'empty'
  | 'refusal'
  | 'tls'
  | 'rejects'
  | 'full';

export interface SinkWords {
  /** Name of the other side, where there are several. */
  readonly name?: string;
  /** Why it lacks something. */
  readonly lacks?: Readonly<Partial<Record<Ability, string>>>;
}

/** Abilities that come with data of the side. */
const described = ['refusal', 'tls', 'rejects', 'full'] as const;

export class SinkTrial {
  site!: Site;
  side!: SinkSide;
  readonly name: string;
  #next = 0;

  constructor(
    readonly suite: Test,
    readonly type: string,
    private readonly open: () => Promise<SinkSide>,
    private readonly words: SinkWords,
  ) {
    this.name = words.name ?? type;
  }

  async start(): Promise<void> {
    this.side = await this.open();
    for (const name of described) {
      const isThere = this.side[name] !== undefined;
      assert.is(isThere, this.words.lacks?.[name] === undefined, `${this.name} has ${name}, or says why it lacks it`);
    }
    this.site = await Site.open();
    await this.side.meet?.(this.site);
  }

  async stop(): Promise<void> {
    this.side?.resume();
    await this.site?.server.stop();
    await this.side?.close();
  }

  /** Adds a test; `needs` is what the side must have for it. */
  test(what: string, run: () => Promise<void>, needs?: Ability): void {
    if (needs !== undefined && this.lacks(needs)) return;
    this.suite(`${this.name} sink: ${what}`, run);
  }

  lacks(ability: Ability): boolean {
    return this.words.lacks?.[ability] !== undefined;
  }

  /** Ids of a test's own. */
  fresh(count: number): number {
    this.#next += count;
    return this.#next - count;
  }

  props(): Row {
    return { sendSingle: true, ...this.side.props };
  }

  action(props: Row = {}): Row {
    return { [this.type]: { ...this.props(), ...props } };
  }

  /** Waits for the first rows of a flow that goes on. */
  arrive(from: number, count: number): Promise<unknown> {
    return eventually(`${count} rows`, async () => (await this.lost(from, count)) === 0);
  }

  /** Waits for all rows of a flow. */
  arriveAll(from: number, count: number): Promise<unknown> {
    const look = costly(async () => (await this.lost(from, count)) === 0);
    return eventually(`${count} rows`, look);
  }

  async lost(from: number, count: number): Promise<number> {
    return missing(await this.side.arrived(), from, count).length;
  }

  /** A stream of rows with ids from `from` on that does not end: the end of input bounds the time of sinks. */
  flow(from: number, count: number, props: Row = {}, more: Row = {}): Promise<string> {
    const path = join(this.site.server.data, `flow${from}`);
    mkdirSync(path);
    // Members that all rows have are written once: they may be long.
    const rest = Object.keys(more).length === 0 ? '}\n' : `,${JSON.stringify(more).slice(1)}\n`;
    const lines = Array.from({ length: count }, (_, i) => `{"id":${from + i}${rest}`);
    // Of ASCII alone, which is written several times faster than as UTF-8.
    writeFileSync(join(path, 'rows.lines'), lines.join(''), 'latin1');
    return this.site.stream('file', '.', { path, fileType: 'lines', interval: '1s', actionAfterRead: 1, ...props });
  }

  /** A stream of the rows. */
  streamOf(rows: readonly Row[]): Promise<string> {
    const file = join(this.site.server.data, `rows${this.fresh(1)}.given`);
    writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    return this.site.stream('file', file, { fileType: 'lines' });
  }

  /** Waits until the status of the rule has a text. */
  told(id: string, reason: RegExp): Promise<unknown> {
    let status = '';
    const found = eventually(`the reason ${reason}`, async () => {
      status = JSON.stringify(await this.site.status(id));
      return reason.test(status);
    });
    return found.catch((error: Error) => {
      throw new Error(`${error.message}: ${status}`);
    });
  }
}
