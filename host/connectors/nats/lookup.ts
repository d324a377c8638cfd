/** Looks rows up in a bucket by their key: those of a batch are asked for together. */
import { type KV, Kvm } from '@nats-io/kv';
import type { LookupAnswer } from '../../../kernels/api.js';
import type { Value } from '../../../kernels/values/value.js';
import { reasonOf } from '../../base/errors.js';
import { readExactJson } from '../../base/text/exact-json.js';
import { type NatsConnection, natsReason } from '../../clients/nats/client.js';
import { NatsPool, type SharedNats } from '../../clients/nats/pool.js';
import type { Lookup, LookupContext, LookupRequest } from '../running.js';
import { natsErrors } from './errors.js';
import { type NatsConnectionConf, natsSettings } from './settings.js';
import { withTimeout } from './timeout.js';

type Row = Readonly<Record<string, Value>>;

/** What a key may be made of. */
const keyForm = /^[-/=.\w]+$/;

export class NatsLookup implements Lookup {
  readonly #client: SharedNats;
  #bucket: { readonly connection: NatsConnection; readonly kv: KV } | undefined;

  constructor(
    readonly conf: NatsConnectionConf,
    readonly context: LookupContext,
  ) {
    this.#client = context.shared('nats.clients', () => new NatsPool()).take(natsSettings(conf, context.paths));
  }

  async ask({ names, keys, count, fields }: LookupRequest): Promise<LookupAnswer> {
    const values = keys[0];
    if (values === undefined || names.length !== 1) throw natsErrors.severalColumns(names.join(', '));
    const kv = await this.#open();
    // One timer for all: a timer for each key costs as much as its question.
    const all = Promise.all(Array.from({ length: count }, (_, i) => this.#get(kv, String(values[i]))));
    const texts = await withTimeout(all, this.conf.timeout);
    const of: number[] = [];
    const rows: Row[] = [];
    const failed = new Map<number, string>();
    texts.forEach((text, i) => {
      if (text === undefined) return;
      try {
        rows.push(rowOf(text));
        of.push(i);
      } catch (error) {
        failed.set(i, reasonOf(error));
      }
    });
    const read = fields ?? [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const columns = Object.fromEntries(read.map((name) => [name, rows.map((row) => row[name])]));
    return { of, columns, failed };
  }

  async close(): Promise<void> {
    await this.#client.giveBack(this);
  }

  async #open(): Promise<KV> {
    const connection = await this.#client.open(this, () => {});
    if (this.#bucket?.connection === connection) return this.#bucket.kv;
    try {
      const kv = await withTimeout(new Kvm(connection).open(this.context.dataSource), this.conf.timeout);
      // Without a question a bucket that does not exist is found empty.
      await withTimeout(kv.status(), this.conf.timeout);
      this.#bucket = { connection, kv };
      return kv;
    } catch (error) {
      throw natsErrors.connection(`bucket ${this.context.dataSource}: ${natsReason(error)}`);
    }
  }

  async #get(kv: KV, key: string): Promise<string | undefined> {
    if (!keyForm.test(key) || key.startsWith('.') || key.endsWith('.')) return undefined;
    const entry = await kv.get(key);
    return entry === null || entry.operation !== 'PUT' ? undefined : entry.string();
  }
}

function rowOf(text: string): Row {
  const row = readExactJson(text);
  if (typeof row === 'object' && row !== null && !Array.isArray(row)) return row as Row;
  throw natsErrors.noRow();
}
