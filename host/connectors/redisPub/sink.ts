/** Publishes messages; what the server has not answered when a connection breaks is published again. */
import { RedisSender } from '../../clients/redis/sender.js';
import { MessageCutter } from '../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';
import { type RedisConnectionConf, redisSettings } from '../servers/redis.js';

export interface RedisPubConf extends Omit<RedisConnectionConf, 'addr'> {
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
    this.#sender = new RedisSender(redisSettings({ ...conf, addr: conf.address }, context.paths), context);
    this.peer = this.#sender.peer;
  }

  renew(conf: RedisPubConf): void {
    this.#sender.renew(redisSettings({ ...conf, addr: conf.address }, this.context.paths));
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
