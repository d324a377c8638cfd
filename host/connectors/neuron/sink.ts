/**
 * Has Neuron write values. A message is out when the system has it; what it has not when the connection breaks is sent
 * on the next one, before all others.
 */
import { reasonOf } from '../../base/errors.js';
import { readExactJson, writeExactJson } from '../../base/text/exact-json.js';
import { PairPool, type SharedPair } from '../../clients/sp/pair.js';
import { textTemplate, type Values } from '../../http/text-template.js';
import { MessageCutter } from '../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';
import { neuronErrors } from './errors.js';

export interface NeuronSinkConf {
  url: string;
  nodeName: string;
  groupName: string;
  tags: string[];
  raw: boolean;
}

interface Waiting {
  readonly message: Buffer;
  /** Credit that goes back when it is out. */
  readonly bytes: number;
  /** Connections that ended while it was sent. */
  losses: number;
}

/** So much may be with the socket and not with the system, bytes. */
const maxBuffered = 1 << 20;
/** Length that nng takes unless it is told otherwise; a longer message ends the connection, bytes. */
const usuallyTaken = 1 << 20;
/** A longer message is given up when so many connections have ended over it. */
const mostLosses = 3;

export class NeuronSink implements Sink {
  readonly peer: string;
  readonly #pair: SharedPair;
  readonly #cutter = new MessageCutter();
  readonly #tags: readonly ((row: Values) => string)[];
  /** Not given to the socket. */
  #queue: Waiting[] = [];
  /** Given to the socket, not yet to the system, in order. */
  #sent: Waiting[] = [];
  #isConnected = false;
  #isScheduled = false;
  #isClosed = false;
  readonly #onIdle: (() => void)[] = [];
  readonly #user = {
    lost: (reason: string) => {
      this.#isConnected = false;
      this.#takeBack();
      if (!this.#isClosed) this.context.disconnected(reason, true);
    },
  };

  constructor(
    readonly conf: NeuronSinkConf,
    readonly context: SinkContext,
  ) {
    this.peer = `nng ${conf.url}`;
    this.#tags = conf.tags.map(textTemplate);
    this.#pair = context.shared('sp.pairs', () => new PairPool()).take(conf.url);
  }

  async open(): Promise<void> {
    await this.#pair.open(this.#user);
    this.#isConnected = !this.#isClosed;
    this.#send();
  }

  write(chunk: SinkChunk): void {
    const { nodeName, groupName } = { ...this.conf, ...chunk.values };
    let left = chunk.bytes.length;
    this.#cutter.cut(chunk, (view) => {
      const bytes = view.length;
      left -= bytes;
      try {
        const row = Buffer.from(view);
        const message = this.conf.raw ? row : this.#messageOf(row, nodeName, groupName);
        this.#queue.push({ message, bytes, losses: 0 });
      } catch (error) {
        this.context.refused(view, bytes, 1, reasonOf(error));
      }
    });
    if (left > 0) this.context.accepted(left, 0);
    this.#schedule();
  }

  flush(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#isConnected = false;
    this.#pair.giveBack(this.#user);
  }

  get #isIdle(): boolean {
    return this.#queue.length === 0 && this.#sent.length === 0;
  }

  #messageOf(text: Buffer, nodeName: string, groupName: string): Buffer {
    const row = rowOf(text);
    const names = this.#tags.length === 0 ? Object.keys(row) : this.#tags.map((tag) => tag(row));
    const tags = names.flatMap((name) => {
      if (Object.hasOwn(row, name)) return [{ tag_name: name, value: row[name] }];
      this.context.failed(0, 0, `the row has no member ${name} for a tag`);
      return [];
    });
    return Buffer.from(writeExactJson({ group_name: groupName, node_name: nodeName, tags }));
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#send();
    });
  }

  #send(): void {
    let given = 0;
    while (this.#isConnected && given < this.#queue.length && this.#pair.waitingBytes < maxBuffered) {
      const one = this.#queue[given++]!;
      this.#sent.push(one);
      this.#pair.send(one.message, () => this.#passed(one));
    }
    if (given > 0) this.#queue.splice(0, given);
  }

  /** What the system does not have is sent again, but for a message that every connection ends over. */
  #takeBack(): void {
    const [first, ...others] = this.#sent;
    this.#sent = [];
    if (first === undefined) return;
    const { message, bytes } = first;
    const isGivenUp = message.length > usuallyTaken && ++first.losses >= mostLosses && !this.#isClosed;
    this.#queue = [...(isGivenUp ? [] : [first]), ...others, ...this.#queue];
    if (!isGivenUp) return;
    this.context.refused(message, bytes, 1, reasonOf(neuronErrors.tooLong(message.length, mostLosses)));
    this.#whenIdle();
  }

  #whenIdle(): void {
    if (this.#isIdle) for (const call of this.#onIdle.splice(0)) call();
  }

  #passed(one: Waiting): void {
    if (this.#isClosed) return;
    this.#sent.shift();
    this.context.accepted(one.bytes, 1);
    if (this.#queue.length > 0) this.#schedule();
    this.#whenIdle();
  }
}

function rowOf(text: Buffer): Values {
  try {
    const row = readExactJson(text.toString());
    if (typeof row === 'object' && row !== null && !Array.isArray(row)) return row as Values;
  } catch {
    // As for all that is no object.
  }
  throw neuronErrors.noRow();
}
