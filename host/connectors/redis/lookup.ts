/** Looks rows up by their key: those of a batch are asked for together. */
import type { LookupAnswer } from '../../../kernels/api.js';
import type { Value } from '../../../kernels/values/value.js';
import { reasonOf } from '../../base/errors.js';
import { readExactJson } from '../../base/text/exact-json.js';
import { isReply, RedisPool, type SharedRedis } from '../../clients/redis/client.js';
import { keyOf } from '../../clients/redis/value-text.js';
import type { Lookup, LookupContext, LookupRequest } from '../running.js';
import { type RedisConnectionConf, redisSettings } from '../servers/redis.js';
import { redisErrors } from './errors.js';

type Row = Readonly<Record<string, Value>>;

/** JSON texts of the rows of a key, or the error when there is no answer. */
type Found = readonly (string | null)[] | Error;

export class RedisLookup implements Lookup {
  readonly #client: SharedRedis;
  readonly #isList: boolean;

  constructor(
    conf: Omit<RedisConnectionConf, 'db'> & { dataType: 'string' | 'list' },
    { dataSource, shared, paths }: LookupContext,
  ) {
    const settings = redisSettings({ ...conf, db: Number(dataSource) }, paths);
    this.#client = shared('redis.clients', () => new RedisPool()).take(settings);
    this.#isList = conf.dataType === 'list';
  }

  async ask({ names, keys, count, fields }: LookupRequest): Promise<LookupAnswer> {
    const values = keys[0];
    if (values === undefined || names.length !== 1) {
      throw redisErrors.severalColumns(names.join(', '));
    }
    await this.#client.open(this, () => {});
    const texts = Array.from({ length: count }, (_, i) => keyOf(values[i]));
    const found = await (this.#isList ? this.#lists(texts) : this.#strings(texts));
    return answerOf(found, fields);
  }

  async close(): Promise<void> {
    this.#client.giveBack(this);
  }

  async #strings(keys: readonly string[]): Promise<Found[]> {
    const found = (await this.#client.send(['MGET', ...keys])) as (string | null)[];
    return found.map((text) => [text]);
  }

  #lists(keys: readonly string[]): Promise<Found[]> {
    return Promise.all(
      keys.map((key) =>
        this.#client.send(['LRANGE', key, '0', '-1']).then(
          (texts) => texts as string[],
          (error: unknown) => {
            // A key of another type is an error for that key alone.
            if (isReply(error)) return error;
            throw error;
          },
        ),
      ),
    );
  }
}

function answerOf(found: readonly Found[], fields: readonly string[] | null): LookupAnswer {
  const of: number[] = [];
  const rows: Row[] = [];
  const failed = new Map<number, string>();
  found.forEach((texts, i) => {
    try {
      if (texts instanceof Error) throw texts;
      const own = texts.filter((text) => text !== null).map(rowOf);
      of.push(...own.map(() => i));
      rows.push(...own);
    } catch (error) {
      failed.set(i, reasonOf(error));
    }
  });
  const read = fields ?? [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const columns = Object.fromEntries(read.map((name) => [name, rows.map((row) => row[name])]));
  return { of, columns, failed };
}

function rowOf(text: string): Row {
  const row = readExactJson(text);
  if (typeof row === 'object' && row !== null && !Array.isArray(row)) return row as Row;
  throw redisErrors.noRow();
}
