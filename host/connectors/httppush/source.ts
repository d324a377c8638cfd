/**
 * Takes bodies that the data server received; they wait there, and their clients for an answer, while the sinks are
 * full.
 */
import { randomUUID } from 'node:crypto';
import { BroadcastChannel } from 'node:worker_threads';
import { FrameBuffer } from '../messages/frames.js';
import { ownThread, type PushMessage, pushChannel } from '../push-channel.js';
import type { Source, SourceContext } from '../running.js';

const openTimeoutMs = 3000;

export class PushSource implements Source {
  readonly #id = randomUUID();
  readonly #frames = new FrameBuffer();
  #channel: BroadcastChannel | undefined;
  #opened: (reason: string | undefined) => void = () => {};

  constructor(
    readonly method: string,
    readonly context: SourceContext,
  ) {
    context.onFlow(
      () => this.#post({ kind: 'flow', id: this.#id, isFull: true }),
      () => this.#post({ kind: 'flow', id: this.#id, isFull: false }),
    );
  }

  async open(): Promise<void> {
    this.#shut();
    const channel = new BroadcastChannel(pushChannel);
    channel.unref();
    channel.onmessage = (event: unknown) => this.#take((event as { data: PushMessage }).data);
    this.#channel = channel;
    let timer: NodeJS.Timeout | undefined;
    const reason = await new Promise<string | undefined>((resolve) => {
      this.#opened = resolve;
      timer = setTimeout(() => resolve('the data server does not answer'), openTimeoutMs);
      const path = pathOf(this.context.dataSource);
      const { isFull } = this.context;
      this.#post({ kind: 'open', id: this.#id, thread: ownThread(), method: this.method, path, isFull });
    });
    clearTimeout(timer);
    if (reason !== undefined) {
      this.#shut();
      throw new Error(reason);
    }
  }

  async close(): Promise<void> {
    this.#post({ kind: 'close', id: this.#id });
    this.#opened('closed');
    this.#shut();
  }

  #shut(): void {
    this.#channel?.close();
    this.#channel = undefined;
  }

  #post(message: PushMessage): void {
    this.#channel?.postMessage(message);
  }

  #take(message: PushMessage): void {
    if (message.id !== this.#id) return;
    if (message.kind === 'opened') this.#opened(message.reason);
    else if (message.kind === 'data') this.#write(message);
    else if (message.kind === 'refused') this.context.exception(message.reason);
  }

  /**
   * Writes a pushed body. While the sinks are full only bodies already under way come, and the data server keeps them
   * few.
   */
  #write({ seq, body, traceparent }: Extract<PushMessage, { kind: 'data' }>): void {
    this.#frames.add(body, traceparent === undefined ? undefined : Buffer.from(JSON.stringify({ traceparent })));
    this.context.write(this.#frames.bytes);
    this.#frames.clear();
    void this.context.whenTaken().then((isTaken) => {
      this.#post({ kind: isTaken ? 'taken' : 'unfit', id: this.#id, seq });
    });
  }
}

/** Paths begin with a slash, given or not. */
function pathOf(dataSource: string): string {
  return dataSource.startsWith('/') ? dataSource : `/${dataSource}`;
}
