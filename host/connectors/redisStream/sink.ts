/** Adds an entry for each row; what the server has not answered when a connection breaks is added again. */
import { readExactJson } from '../../base/text/exact-json.js';
import type { RedisCommand } from '../../clients/redis/client.js';
import { RedisSender } from '../../clients/redis/sender.js';
import { keyOf } from '../../clients/redis/value-text.js';
import { MessageCutter } from '../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';
import { type RedisConnectionConf, redisSettings } from '../servers/redis.js';
import { redisStreamErrors } from './errors.js';

export interface RedisStreamSinkConf extends Omit<RedisConnectionConf, 'addr'> {
  address: string;
  stream: string;
  field: string;
  maxLen: number;
}

export class RedisStreamSink implements Sink {
  readonly peer: string;
  readonly #sender: RedisSender;
  readonly #cutter = new MessageCutter();
  readonly #bound: readonly string[];

  constructor(
    readonly conf: RedisStreamSinkConf,
    readonly context: SinkContext,
  ) {
    this.#sender = new RedisSender(redisSettings({ ...conf, addr: conf.address }, context.paths), context);
    this.peer = this.#sender.peer;
    // The server may keep some more, which is much faster for it.
    this.#bound = conf.maxLen > 0 ? ['MAXLEN', '~', String(conf.maxLen)] : [];
  }

  renew(conf: RedisStreamSinkConf): void {
    this.#sender.renew(redisSettings({ ...conf, addr: conf.address }, this.context.paths));
  }

  open(): Promise<void> {
    return this.#sender.open();
  }

  write(chunk: SinkChunk): void {
    const stream = String(chunk.values?.stream ?? this.conf.stream);
    const bytes = Buffer.from(chunk.bytes);
    let left = bytes.length;
    this.#cutter.cut({ ...chunk, bytes }, (view) => {
      left -= view.length;
      const message = view as Buffer;
      try {
        this.#sender.add([['XADD', stream, ...this.#bound, '*', ...this.#fieldsOf(message)]], message);
      } catch (error) {
        this.#sender.refuse(message, (error as Error).message);
      }
    });
    if (left > 0) this.context.accepted(left, 0);
  }

  flush(): Promise<void> {
    return this.#sender.flush();
  }

  async close(): Promise<void> {
    this.#sender.close();
  }

  #fieldsOf(message: Buffer): RedisCommand {
    const { field } = this.conf;
    if (field !== '') return [field, message];
    const fields = Object.entries(rowOf(message)).flatMap(([name, value]) => [name, keyOf(value)]);
    if (fields.length === 0) throw redisStreamErrors.noMembers();
    return fields;
  }
}

function rowOf(message: Buffer): object {
  let row: unknown;
  try {
    row = readExactJson(message.toString());
  } catch {
    row = undefined;
  }
  if (typeof row !== 'object' || row === null || Array.isArray(row)) throw redisStreamErrors.noObject();
  return row;
}
