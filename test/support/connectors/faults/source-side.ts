/** A source under test: its other side, and a server with rules that read from it. */
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually } from '../../harness.js';
import type { Greeting } from '../../servers/tls.js';
import { Lines } from '../lines.js';
import { missing, type OtherSide, type Refusal, type Row, Site } from './site.js';

export type Message = string | Buffer;

export interface SourceSide extends OtherSide {
  readonly dataSource: string;
  readonly props: Row;
  /** FORMAT of the stream; json unless it is said. */
  readonly format?: string;
  /** Sends messages, where it is a client to the server; resolves when they are there. */
  send(messages: readonly Message[], to: Site): Promise<void>;
  readonly refusal?: Refusal;
  readonly tls?: SourceTls;
  /** What reaches us while the sinks take nothing is counted where it is dropped; without it, it waits. */
  readonly dropsWhenSlow?: boolean;
  /** The message with an id, where it is not a JSON object with it; `text` makes it large. */
  message?(id: number, text?: string): Message;
}

/** How the source is told to speak TLS. */
export interface SourceTls {
  /** Properties for a port with a certificate that nobody trusts; `otherCa` is one that signs no other, base64. */
  props(port: number, otherCa: string): Row;
  /** What comes before TLS on this wire. */
  readonly greeting?: Greeting;
  /** Text of the properties that is shown nowhere. */
  readonly secret?: string;
}

/**
 * What a side may lack: `ids` its messages have none, `absence` it is always there, `kill` no connection can be lost,
 * `hang` nobody can stand still, `broken` each message decodes, `large` no message can have 16 MB, `slow` there is
 * nothing that could come too fast, `keeps` what we have not acknowledged does not come again.
 */
export type SourceAbility =
  | 'ids'
  | 'absence'
  | 'kill'
  | 'hang'
  | 'broken'
  | 'large'
  | 'slow'
  | 'refusal'
  | 'tls'
  | 'keeps';

export interface SourceWords {
  /** Name of the other side, where there are several. */
  readonly name?: string;
  /** Why it lacks something, in a clause. */
  readonly lacks?: Readonly<Partial<Record<SourceAbility, string>>>;
}

/** A rule from the other side to a file. */
export interface Reading {
  readonly id: string;
  readonly stream: string;
  readonly at: Site;
  /** Ids in the file. */
  ids(): readonly number[];
}

/** Abilities that come with data of the side. */
const described = ['refusal', 'tls'] as const;

export class SourceTrial {
  site!: Site;
  side!: SourceSide;
  readonly name: string;
  #next = 0;

  constructor(
    readonly suite: Test,
    readonly type: string,
    private readonly open: () => Promise<SourceSide>,
    private readonly words: SourceWords,
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
  }

  async stop(): Promise<void> {
    this.side?.resume();
    await this.site?.server.stop();
    await this.side?.close();
  }

  /** Adds a test; `needs` is what the side must have for it. */
  test(what: string, run: () => Promise<void>, needs?: SourceAbility): void {
    if (needs !== undefined && this.lacks(needs)) return;
    this.suite(`${this.name} source: ${what}`, run);
  }

  lacks(ability: SourceAbility): boolean {
    return this.words.lacks?.[ability] !== undefined;
  }

  /** Ids of a test's own. */
  fresh(count: number): number {
    this.#next += count;
    return this.#next - count;
  }

  /** A message with an id; with a text it is larger. */
  message(id: number, text?: string): Message {
    return this.side.message?.(id, text) ?? JSON.stringify({ id, text });
  }

  messages(from: number, count: number, text?: string): Message[] {
    return Array.from({ length: count }, (_, i) => this.message(from + i, text));
  }

  stream(at: Site, props: Row = {}, own: Row = this.side.props): Promise<string> {
    const { dataSource, format } = this.side;
    return at.stream(this.type, dataSource, { ...own, ...props }, format);
  }

  async reading(at: Site, options: Row = {}, props: Row = {}, own?: Row): Promise<Reading> {
    const lines = new Lines();
    const stream = await this.stream(at, props, own);
    const action = { file: { path: lines.path, fileType: 'lines', sendSingle: true } };
    const id = await at.rule(stream, action, options);
    return { id, stream, at, ids: () => lines.ids() };
  }

  connected(at: Site, id: string): Promise<unknown> {
    return eventually('a connection', () => at.isConnected(id, 'source'));
  }

  /** Waits until all ids have come. */
  async has({ id, at, ids }: Reading, from: number, count: number): Promise<void> {
    let gone: number[] = [];
    const all = eventually(`${count} rows`, () => {
      gone = missing(ids(), from, count);
      return gone.length === 0;
    });
    await all.catch(async (error: Error) => {
      const status = JSON.stringify(await at.status(id).catch(() => undefined));
      throw new Error(`${error.message}: ${gone.length} are missing, the first is ${gone[0]! - from}; ${status}`);
    });
  }
}
