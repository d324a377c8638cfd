/**
 * Publishes messages as events, each with the readings of all its rows. What the server has not confirmed when a
 * connection breaks is published again on the next one.
 */
import { eachRow, rowAt } from '../../../kernels/values/rows.js';
import type { Value } from '../../../kernels/values/value.js';
import { reasonOf } from '../../base/errors.js';
import { readExactJson } from '../../base/text/exact-json.js';
import { MessageCutter } from '../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';
import { openBus } from './bus/bus.js';
import { type EdgexConf, edgexPeer } from './bus/connection.js';
import { edgexErrors } from './bus/errors.js';
import { type EdgexEvent, type EventNames, eventOf, requestOf } from './bus/events.js';
import type { EdgexBus } from './bus/form.js';
import { eventText } from './bus/readings.js';

export interface EdgexSinkConf extends EdgexConf, EventNames {
  topic: string;
  topicPrefix: string;
  messageType: 'event' | 'request';
  contentType: string;
  dataTemplate: string;
}

type Row = { readonly [name: string]: Value };

interface Waiting {
  readonly topic: string;
  readonly payload: string;
  /** Credit that goes back when the server has it. */
  readonly bytes: number;
}

/** Messages that the server may not have confirmed. */
const mostUnconfirmed = 1000;
const usualTopic = 'application';

export class EdgexSink implements Sink {
  readonly peer: string;
  readonly #names: EventNames;
  readonly #cutter = new MessageCutter();
  #bus: EdgexBus | undefined;
  /** Messages that were not published on this connection, in order. */
  #queue: Waiting[] = [];
  /** Messages in flight on this connection, in order. */
  #unconfirmed = new Set<Waiting>();
  #isScheduled = false;
  #isClosed = false;
  readonly #onIdle: (() => void)[] = [];

  constructor(
    public conf: EdgexSinkConf,
    readonly context: SinkContext,
  ) {
    this.peer = edgexPeer(conf);
    const { deviceName, profileName, metadata, sourceName } = conf;
    this.#names = { deviceName, profileName, metadata, sourceName: sourceName || context.ruleId };
  }

  async open(): Promise<void> {
    const bus = await openBus(this.conf, this.context.paths, (reason) => this.#lost(bus, reason));
    if (this.#isClosed) return bus.close();
    this.#bus = bus;
    this.#send();
    return undefined;
  }

  renew(conf: EdgexSinkConf): void {
    this.conf = conf;
  }

  write(chunk: SinkChunk): void {
    let left = chunk.bytes.length;
    this.#cutter.cut(chunk, (view) => {
      left -= view.length;
      try {
        this.#queue.push({ ...this.#messageOf(Buffer.from(view)), bytes: view.length });
      } catch (error) {
        this.context.refused(view, view.length, 1, reasonOf(error));
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
    this.#isClosed = true;
    const bus = this.#bus;
    this.#bus = undefined;
    await bus?.close();
  }

  get #isIdle(): boolean {
    return this.#queue.length === 0 && this.#unconfirmed.size === 0;
  }

  #messageOf(message: Buffer): Pick<Waiting, 'topic' | 'payload'> {
    const rows = this.conf.dataTemplate === '' ? rowsIn(message) : rowsOfJson(message);
    const event = eventOf(rows, this.#names, (reason) => this.context.failed(0, 0, reason));
    const content = this.conf.messageType === 'request' ? requestOf(event) : event;
    return { topic: this.#topicOf(event), payload: eventText(content) };
  }

  #topicOf({ profileName, deviceName, sourceName }: EdgexEvent): string {
    const { topic, topicPrefix } = this.conf;
    if (topicPrefix !== '') return `${topicPrefix}/${profileName}/${deviceName}/${sourceName}`;
    return topic === '' ? usualTopic : topic;
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
    const bus = this.#bus;
    let given = 0;
    while (bus !== undefined && given < this.#queue.length && this.#unconfirmed.size < mostUnconfirmed) {
      const one = this.#queue[given++]!;
      this.#unconfirmed.add(one);
      bus.publish(one.topic, { contentType: this.conf.contentType, payload: one.payload }).then(
        () => this.#confirmed(bus, one),
        (error: unknown) => this.#refused(bus, reasonOf(error)),
      );
    }
    if (given > 0) this.#queue.splice(0, given);
  }

  #confirmed(bus: EdgexBus, one: Waiting): void {
    if (this.#bus !== bus || !this.#unconfirmed.delete(one)) return;
    this.context.accepted(one.bytes, 1);
    if (this.#queue.length > 0) this.#schedule();
    if (this.#isIdle) for (const call of this.#onIdle.splice(0)) call();
  }

  /** The server may take it later: it is asked again as if the connection had been lost. */
  #refused(bus: EdgexBus, reason: string): void {
    if (this.#bus !== bus) return;
    this.#lost(bus, reason);
    void bus.close();
  }

  #lost(bus: EdgexBus, reason: string): void {
    if (this.#bus !== bus) return;
    this.#bus = undefined;
    this.#queue = [...this.#unconfirmed, ...this.#queue];
    this.#unconfirmed = new Set();
    if (!this.#isClosed) this.context.disconnected(reason, true);
  }
}

function rowsIn(message: Buffer): Row[] {
  const rows: Row[] = [];
  eachRow(message, (at) => rows.push(rowAt(message, at)));
  return rows;
}

function rowsOfJson(message: Buffer): Row[] {
  let value: unknown;
  try {
    value = readExactJson(message.toString());
  } catch {
    throw edgexErrors.noRow();
  }
  const rows = Array.isArray(value) ? value : [value];
  if (rows.some((row) => typeof row !== 'object' || row === null)) throw edgexErrors.noRow();
  return rows as Row[];
}
