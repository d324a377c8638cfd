/** Publishes rows to a memory topic. The credit comes back when every reader of the topic has taken them. */

import { Recent } from '../../base/structures/recent.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';
import { MemoryBus } from '../topics/bus.js';
import { runsOf } from './runs.js';

export interface MemorySinkConf {
  topic: string;
  /** Member that holds the kind of change; when empty, every row is set under its key. */
  rowkindField: string;
  /** Member that holds the key of a deleted row. */
  keyField: string;
}

/** Topics whose metadata are kept. */
const mostTopics = 1000;

export class MemorySink implements Sink {
  readonly topic: string;
  readonly #bus: MemoryBus;
  readonly #metas: Recent<string, Buffer>;
  #waiting = 0;
  #onIdle: (() => void)[] = [];

  constructor(
    conf: MemorySinkConf,
    readonly context: SinkContext,
  ) {
    this.#bus = context.shared('memory.bus', () => new MemoryBus());
    const { topic, rowkindField, keyField } = conf;
    this.topic = topic;
    // Lookup tables that keep rows by key read the kind of change from there (host/plan/joins/lookup.ts).
    const changes = rowkindField === '' ? {} : { rowkindField, keyField };
    this.#metas = new Recent(mostTopics, (name): Buffer => Buffer.from(JSON.stringify({ topic: name, ...changes })));
  }

  async open(): Promise<void> {}

  write(chunk: SinkChunk): void {
    const { messages, values } = chunk;
    const topic = values === undefined ? this.topic : String(values.topic);
    const size = chunk.bytes.length;
    if (this.#bus.subscribersOf(topic).length === 0) {
      this.context.accepted(size, messages);
      return;
    }
    this.#waiting++;
    this.#bus.publish(topic, runsOf(chunk, this.#metas.get(topic)), (lost) => {
      if (lost === undefined) this.context.accepted(size, messages);
      else this.context.failed(size, messages, lost);
      if (--this.#waiting === 0) for (const call of this.#onIdle.splice(0)) call();
    });
  }

  flush(): Promise<void> {
    if (this.#waiting === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  async close(): Promise<void> {}
}
