/** A sink that makes a text or bytes of each row, and sends those of many rows in one request. */
import type { OutputChunk } from '../../../kernels/api.js';
import { eachRow, rowAt } from '../../../kernels/values/rows.js';
import type { Value } from '../../../kernels/values/value.js';
import { reasonOf } from '../../base/errors.js';
import { type BatchContext, type BatchOptions, BatchSender } from '../../http/batch-sender.js';

export type Row = { readonly [name: string]: Value };
type Values = Readonly<Record<string, unknown>>;

export class RowSink {
  readonly #sender: BatchSender;

  constructor(
    readonly peer: string,
    /** Bytes of a row, with the rendered properties of its message; throws why it has none. */
    readonly encode: (row: Row, values: Values) => Uint8Array,
    /** How properties say that requests are made, also after they were renewed. */
    readonly optionsOf: (conf: object) => BatchOptions,
    conf: object,
    readonly context: BatchContext,
  ) {
    this.#sender = new BatchSender(optionsOf(conf), context);
  }

  open(): Promise<void> {
    return this.#sender.open();
  }

  write({ bytes, ends, values = {} }: OutputChunk & { readonly values?: Values }): void {
    let from = 0;
    for (const end of ends ?? []) {
      const message = Buffer.from(bytes.buffer, bytes.byteOffset + from, end - from);
      from = end;
      try {
        const parts: Uint8Array[] = [];
        eachRow(message, (at) => parts.push(this.encode(rowAt(message, at), values)));
        if (parts.length === 0) this.context.accepted(message.length, 1);
        else this.#sender.add(parts.length === 1 ? parts[0]! : Buffer.concat(parts), message.length);
      } catch (error) {
        this.context.refused(message, message.length, 1, reasonOf(error));
      }
    }
  }

  renew(conf: object): void {
    this.#sender.renew(this.optionsOf(conf));
  }

  flush(): Promise<void> {
    return this.#sender.flush();
  }

  async close(): Promise<void> {
    this.#sender.close();
  }
}
