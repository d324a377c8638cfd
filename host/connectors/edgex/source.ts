/**
 * Takes events as rows, with the types that EdgeX gives their values. While the sinks take no more, an MQTT broker is
 * not read; other servers can't be told to wait: messages are kept up to a bound, and what comes beyond it is dropped
 * and counted.
 */
import { rowBytes } from '../../../kernels/values/rows.js';
import { reasonOf } from '../../base/errors.js';
import { Drops } from '../drops.js';
import { FrameBuffer } from '../messages/frames.js';
import type { Source, SourceContext } from '../running.js';
import { openBus } from './bus/bus.js';
import { type EdgexConf, edgexPeer } from './bus/connection.js';
import type { Received } from './bus/envelope.js';
import { rowOfEvent } from './bus/events.js';
import type { EdgexBus } from './bus/form.js';

export interface EdgexSourceConf extends EdgexConf {
  topic: string;
  messageType: 'event' | 'request';
}

/** Messages that wait for the sinks, bytes. */
const mostWaiting = 8 << 20;
const usualTopic = 'rules-events';

export class EdgexSource implements Source {
  readonly peer: string;
  #bus: EdgexBus | undefined;
  #isClosed = false;
  readonly #frames = new FrameBuffer();
  #isScheduled = false;
  readonly #drops: Drops;

  constructor(
    public conf: EdgexSourceConf,
    readonly context: SourceContext,
  ) {
    this.#drops = new Drops(context);
    this.peer = edgexPeer(conf);
    context.onFlow(
      () => this.#bus?.pause?.(true),
      () => this.#bus?.pause?.(false),
    );
  }

  async open(): Promise<void> {
    const { conf, context } = this;
    const bus = await openBus(conf, context.paths, (reason) => {
      if (this.#bus !== bus) return;
      this.#bus = undefined;
      if (!this.#isClosed) context.disconnected(reason);
    });
    if (this.#isClosed) return bus.close();
    this.#bus = bus;
    const topic = conf.topic || context.dataSource || usualTopic;
    try {
      await bus.subscribe(topic, (read) => this.#take(read));
    } catch (error) {
      this.#bus = undefined;
      await bus.close();
      throw error;
    }
    if (context.isFull) bus.pause?.(true);
  }

  renew(conf: EdgexSourceConf): void {
    this.conf = conf;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#drops.tell();
    await this.#bus?.close();
    this.#bus = undefined;
  }

  #take(read: () => Received): void {
    if (this.#isClosed) return;
    if (this.#frames.sizeBytes > mostWaiting) {
      if (this.context.isFull) {
        this.#drops.add();
        return;
      }
      this.#pass();
    }
    try {
      const { payload, correlationId } = read();
      const isRequest = this.conf.messageType === 'request';
      const { row, meta } = rowOfEvent(payload, isRequest, (reason) => this.context.exception(reason));
      this.#frames.add(rowBytes(row), Buffer.from(metaText({ ...meta, correlationid: correlationId })));
    } catch (error) {
      this.context.exception(reasonOf(error));
      return;
    }
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => void this.#write());
  }

  async #write(): Promise<void> {
    if (this.context.isFull) await this.context.ready();
    this.#isScheduled = false;
    if (this.#isClosed) return;
    this.#pass();
  }

  #pass(): void {
    if (this.#frames.count > 0) this.context.write(this.#frames.bytes);
    this.#frames.clear();
  }
}

function metaText(meta: object): string {
  return JSON.stringify(meta, (_name, value: unknown) => (typeof value === 'bigint' ? Number(value) : value));
}
