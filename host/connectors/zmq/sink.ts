/**
 * Publishes messages to whoever has subscribed. Without a subscriber a message goes nowhere, as the protocol has it;
 * one that is slow loses messages unless it is waited for.
 */
import { reasonOf } from '../../base/errors.js';
import { type SharedPublisher, ZmqPublishers } from '../../clients/zmq/publishers.js';
import { MessageCutter } from '../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';

export interface ZmqSinkConf {
  server: string;
  topic: string;
  waitForSlow: boolean;
}

interface Waiting {
  readonly topic: Buffer | undefined;
  readonly payload: Buffer;
  bytes: number;
}

export class ZmqSink implements Sink {
  readonly peer: string;
  readonly #publisher: SharedPublisher;
  readonly #cutter = new MessageCutter();
  #queue: Waiting[] = [];
  #isOpen = false;
  #isSending = false;
  #isClosed = false;
  #onIdle: (() => void)[] = [];

  constructor(
    readonly conf: ZmqSinkConf,
    readonly context: SinkContext,
  ) {
    this.peer = `zmq ${conf.server}`;
    const publishers = context.shared('zmq.publishers', () => new ZmqPublishers());
    this.#publisher = publishers.take(conf.server, conf.waitForSlow);
  }

  async open(): Promise<void> {
    await this.#publisher.open();
    this.#isOpen = true;
    void this.#send();
  }

  write(chunk: SinkChunk): void {
    const text = String(chunk.values?.topic ?? this.conf.topic);
    const topic = text === '' ? undefined : Buffer.from(text);
    const copy = Buffer.from(chunk.bytes);
    let left = copy.length;
    let last: Waiting | undefined;
    this.#cutter.cut({ ...chunk, bytes: copy }, (view) => {
      last = { topic, payload: view as Buffer, bytes: view.length };
      left -= view.length;
      this.#queue.push(last);
    });
    if (last === undefined) this.context.accepted(left, 0);
    else last.bytes += left;
    queueMicrotask(() => void this.#send());
  }

  flush(): Promise<void> {
    if (this.#queue.length === 0 && !this.#isSending) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#isOpen = false;
    this.#publisher.giveBack();
  }

  async #send(): Promise<void> {
    if (this.#isSending || !this.#isOpen) return;
    this.#isSending = true;
    while (this.#queue.length > 0 && this.#isOpen) await this.#sendAll(this.#queue.splice(0));
    this.#isSending = false;
    if (this.#queue.length === 0) for (const call of this.#onIdle.splice(0)) call();
  }

  async #sendAll(messages: readonly Waiting[]): Promise<void> {
    for (const [i, { topic, payload, bytes }] of messages.entries()) {
      // Others may go on with the socket.
      if (this.#isClosed) return;
      try {
        await this.#publisher.send(topic === undefined ? [payload] : [topic, payload]);
        if (!this.#isClosed) this.context.accepted(bytes, 1);
      } catch (error) {
        this.#queue = [...messages.slice(i), ...this.#queue];
        this.#isOpen = false;
        if (!this.#isClosed) this.context.disconnected(reasonOf(error));
        return;
      }
    }
  }
}
