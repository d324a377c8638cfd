/**
 * Publishes messages as events, each with the readings of all its rows. What the server has not confirmed when a
 * connection breaks is published again on the next one.
 */
import { eachRow, rowAt } from '../../../kernels/values/rows.js';
import type { Value } from '../../../kernels/values/value.js';
import { HaumeaError, reasonOf } from '../../base/errors.js';
import { type CountedMessage, InOrderCounts } from '../../base/structures/in-order-counts.js';
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

class Waiting implements CountedMessage {
  constructor(
    readonly topic: string,
    readonly text: string,
    readonly bytes: number,
  ) {}

  /** What a dead letter holds. */
  get payload(): Buffer {
    return Buffer.from(this.text);
  }
}

/** Messages that the server may not have confirmed. */
const mostUnconfirmed = 1000;
const usualTopic = 'application';

export class EdgexSink implements Sink {
  readonly peer: string;
  readonly #names: EventNames;
  readonly #cutter = new MessageCutter();
  readonly #counts: InOrderCounts;
  #bus: EdgexBus | undefined;
  /** Messages that were not published on this connection, in order. */
  #queue: Waiting[] = [];
  /** Messages in flight on this connection, in order. */
  #unconfirmed = new Set<Waiting>();
  #isScheduled = false;
  #isClosed = false;

  constructor(
    public conf: EdgexSinkConf,
    readonly context: SinkContext,
  ) {
    this.peer = edgexPeer(conf);
    this.#counts = new InOrderCounts(context);
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
      const message = Buffer.from(view);
      try {
        const waiting = this.#messageOf(message);
        this.#counts.add(waiting);
        this.#queue.push(waiting);
      } catch (error) {
        const bad: CountedMessage = { payload: message, bytes: message.length };
        this.#counts.add(bad);
        this.#counts.done(bad, reasonOf(error));
      }
    });
    if (left > 0) this.#counts.rest(left);
    this.#schedule();
  }

  flush(): Promise<void> {
    return this.#counts.flush();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#counts.close();
    const bus = this.#bus;
    this.#bus = undefined;
    await bus?.close();
  }

  #messageOf(message: Buffer): Waiting {
    const rows = this.conf.dataTemplate === '' ? rowsIn(message) : rowsOfJson(message);
    const event = eventOf(rows, this.#names, (reason) => this.context.failed(0, 0, reason));
    const content = this.conf.messageType === 'request' ? requestOf(event) : event;
    return new Waiting(this.#topicOf(event), eventText(content), message.length);
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
      bus.publish(one.topic, { contentType: this.conf.contentType, payload: one.text }).then(
        () => this.#done(bus, one),
        (error: unknown) => {
          const isFinal = error instanceof HaumeaError && error.kind === 'sink';
          if (isFinal) this.#done(bus, one, reasonOf(error));
          else this.#refused(bus, reasonOf(error));
        },
      );
    }
    if (given > 0) this.#queue.splice(0, given);
  }

  /** @param refusal reason why the server will never take it */
  #done(bus: EdgexBus, one: Waiting, refusal?: string): void {
    if (this.#bus !== bus || !this.#unconfirmed.delete(one)) return;
    this.#counts.done(one, refusal);
    if (this.#queue.length > 0) this.#schedule();
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
