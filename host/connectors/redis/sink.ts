/**
 * Sets rows by key. Of a row it reads what names the key and the kind of change; otherwise its text passes as it is.
 */
import { readExactJson } from '../../base/text/exact-json.js';
import type { RedisCommand } from '../../clients/redis/client.js';
import { RedisSender } from '../../clients/redis/sender.js';
import { keyOf } from '../../clients/redis/value-text.js';
import { MessageCutter } from '../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';
import { type RedisConnectionConf, redisSettings } from '../servers/redis.js';
import { redisErrors } from './errors.js';

export interface RedisSinkConf extends RedisConnectionConf {
  key: string;
  field: string;
  keyType: 'single' | 'multiple';
  dataType: 'string' | 'list';
  expiration: number;
  rowkindField: string;
}

type Row = Readonly<Record<string, unknown>>;

const kinds = new Set(['insert', 'update', 'upsert', 'delete']);

export class RedisSink implements Sink {
  readonly peer: string;
  readonly #sender: RedisSender;
  readonly #cutter = new MessageCutter();
  readonly #readsRow: boolean;

  constructor(
    readonly conf: RedisSinkConf,
    readonly context: SinkContext,
  ) {
    this.#sender = new RedisSender(redisSettings(conf, context.paths), context);
    this.peer = this.#sender.peer;
    this.#readsRow = conf.field !== '' || conf.rowkindField !== '' || conf.keyType === 'multiple';
  }

  renew(conf: RedisSinkConf): void {
    this.#sender.renew(redisSettings(conf, this.context.paths));
  }

  open(): Promise<void> {
    return this.#sender.open();
  }

  write(chunk: SinkChunk): void {
    const key = String(chunk.values?.key ?? this.conf.key);
    let left = chunk.bytes.length;
    this.#cutter.cut(chunk, (view) => {
      const message = Buffer.from(view);
      left -= message.length;
      try {
        this.#sender.add(this.#commandsOf(message, key), message);
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

  #commandsOf(message: Buffer, key: string): RedisCommand[] {
    if (!this.#readsRow) return this.#set(key, message);
    const row = rowOf(message);
    const { keyType, field, rowkindField } = this.conf;
    const isDelete = kindOf(row, rowkindField) === 'delete';
    const commands = (name: string, value: string | Buffer) =>
      isDelete ? [[this.conf.dataType === 'list' ? 'LPOP' : 'DEL', name]] : this.#set(name, value);
    if (keyType === 'multiple') return Object.entries(row).flatMap(([name, value]) => commands(name, keyOf(value)));
    if (field === '') return commands(key, message);
    if (row[field] === undefined) throw redisErrors.noKeyMember(field);
    return commands(keyOf(row[field]), message);
  }

  #set(key: string, value: string | Buffer): RedisCommand[] {
    const { dataType, expiration } = this.conf;
    const ms = String(Math.ceil(expiration));
    if (dataType === 'string') return [expiration > 0 ? ['SET', key, value, 'PX', ms] : ['SET', key, value]];
    return expiration > 0
      ? [
          ['LPUSH', key, value],
          ['PEXPIRE', key, ms],
        ]
      : [['LPUSH', key, value]];
  }
}

function rowOf(message: Buffer): Row {
  let row: unknown;
  try {
    row = readExactJson(message.toString());
  } catch {
    row = undefined;
  }
  if (typeof row !== 'object' || row === null || Array.isArray(row)) {
    throw redisErrors.noObject();
  }
  return row as Row;
}

/** The kind of change; rows without one are set. */
function kindOf(row: Row, name: string): string {
  const kind = name === '' ? undefined : row[name];
  if (kind === undefined) return 'upsert';
  if (typeof kind === 'string' && kinds.has(kind)) return kind;
  throw redisErrors.kind(name, keyOf(kind));
}
