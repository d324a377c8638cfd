/** Publishes messages; what the server has not answered when a connection breaks is published again. */
import { type RedisConf, redisProofs } from '../../clients/redis/connection.js';
import { RedisSender } from '../../clients/redis/sender.js';
import { MessageCutter } from '../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';

export interface RedisPubConf extends Omit<RedisConf, 'addr'> {
  address: string;
  channel: string;
}

export class RedisPubSink implements Sink {
  readonly peer: string;
  readonly #sender: RedisSender;
  readonly #cutter = new MessageCutter();

  constructor(
    readonly conf: RedisPubConf,
    readonly context: SinkContext,
  ) {
    this.#sender = new RedisSender({ ...conf, addr: conf.address }, context);
    this.peer = this.#sender.peer;
  }

  readonly renewable = redisProofs;

  renew(props: Readonly<Record<string, unknown>>): void {
    this.#sender.renew(props);
  }

  open(): Promise<void> {
    return this.#sender.open();
  }

  write(chunk: SinkChunk): void {
    const channel = String(chunk.values?.channel ?? this.conf.channel);
    let left = chunk.bytes.length;
    this.#cutter.cut(chunk, (view) => {
      left -= view.length;
      const message = Buffer.from(view);
      this.#sender.add([['PUBLISH', channel, message]], message);
    });
    if (left > 0) this.context.accepted(left, 0);
  }

  flush(): Promise<void> {
    return this.#sender.flush();
  }

  async close(): Promise<void> {
    this.#sender.close();
  }
}
