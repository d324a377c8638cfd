/** The text, JSON and source kernels as tests call them: bytes in, plain values out. */
import type { StreamSpec } from '../../../kernels/api.js';
import { column, Tag } from '../../../kernels/gen/layouts.js';
import type { ColumnUse } from '../../../kernels/plan/ir.js';
import { encodeColumnUse, encodeStreamSpec } from '../../../kernels/streams/stream-spec.js';
import { type Value, ValueAccess } from '../../../kernels/values/value.js';
import { lines } from './streams.js';
import { testModule, unreached } from './test-module.js';

/** Exports of assembly/testing/json.ts. */
export interface TextExports {
  // biome-ignore lint/suspicious/noExplicitAny: the border to Wasm
  [name: string]: any;
  memory: WebAssembly.Memory;
}

export interface TextKernel extends TextExports {
  readonly values: ValueAccess;
  /** Reads a value by its payload. */
  value(tag: number, payload: bigint): Value;
}

/** A kernel of its own; it reads values only. */
export function loadTextKernel(): TextKernel {
  const exports = new WebAssembly.Instance(testModule('json'), unreached).exports as unknown as TextExports;
  exports.contextInit();
  const values = new ValueAccess(exports.memory, () => 0);
  const slot = exports.alloc(8, 0);
  return {
    ...exports,
    values,
    value: (tag, payload) => {
      values.view().setBigUint64(slot, payload, true);
      return values.read(tag, slot);
    },
  };
}

const columnRaw = column.at.raw;

export interface FilledBatch {
  /** Values by column, then row. */
  columns: unknown[][];
  /** Raw number texts by column, then row. */
  raw: (string | undefined)[][];
  uniform: number[];
  errors: (string | undefined)[];
  stopped: number;
  more: boolean;
  packets: Buffer[];
  acks: number[];
  protocolError: number;
}

const defaults: StreamSpec = { ...lines, maxMessageBytes: 1 << 20 };

/** A source with its columns and an input buffer. */
export class TestSource {
  readonly node: number;
  readonly indexes: number[] = [];
  private readonly buffer: number;
  private pending = Buffer.alloc(0);

  constructor(
    readonly kernel: TextKernel,
    spec: Partial<StreamSpec>,
    columns: ColumnUse[],
    private readonly capacity = 1 << 20,
  ) {
    this.node = kernel.nodeNew(1, 0);
    const bytes = encodeStreamSpec({ ...defaults, ...spec });
    const at = this.copyIn(bytes);
    if (kernel.sourceInit(this.node, at, bytes.length) !== 0) throw new Error('sourceInit failed');
    kernel.free(at, bytes.length, 0);
    for (const column of columns) this.use(column);
    this.buffer = kernel.alloc(capacity + 64, 0);
  }

  use(column: ColumnUse): number {
    const { kind, name, type } = encodeColumnUse(column);
    const nameAt = this.copyIn(name);
    const typeAt = type === null ? 0 : this.copyIn(type);
    const index = this.kernel.sourceUse(this.node, kind, nameAt, name.length, typeAt);
    this.kernel.free(nameAt, name.length, 0);
    if (type !== null) this.kernel.free(typeAt, type.length, 0);
    if (index < 0) throw new Error(`sourceUse: ${index}`);
    this.indexes.push(index);
    return index;
  }

  close(): void {
    this.kernel.sourceFree(this.node);
    this.kernel.nodeRelease(this.node);
    this.kernel.free(this.buffer, this.capacity + 64, 0);
  }

  private copyIn(bytes: Uint8Array): number {
    const at = this.kernel.alloc(bytes.length, 0);
    new Uint8Array(this.kernel.memory.buffer).set(bytes, at);
    return at;
  }

  /** Takes bytes as a feed loop does and returns the batches they gave. */
  feed(bytes: Uint8Array): FilledBatch[] {
    const input = Buffer.concat([this.pending, bytes]);
    if (input.length > this.capacity) throw new Error('test input is larger than the buffer');
    new Uint8Array(this.kernel.memory.buffer).set(input, this.buffer);
    const batches: FilledBatch[] = [];
    let p = this.buffer;
    const end = this.buffer + input.length;
    for (;;) {
      const stopped = this.kernel.sourceFill(this.node, p, end) >>> 0;
      if (stopped < p || stopped > end) throw new Error(`stopped at ${stopped - this.buffer} of ${input.length}`);
      const batch = this.read(stopped - this.buffer);
      p = stopped;
      batches.push(batch);
      if (!batch.more || batch.protocolError) break;
    }
    this.pending = Buffer.from(input.subarray(p - this.buffer));
    return batches;
  }

  private read(stopped: number): FilledBatch {
    const kernel = this.kernel;
    const view = new DataView(kernel.memory.buffer);
    const rows = kernel.filledRows.value;
    const table = kernel.colsTable.value;
    const errors = kernel.filledErrors.value;
    const columns: unknown[][] = [];
    const raw: (string | undefined)[][] = [];
    const uniform: number[] = [];
    for (const index of this.indexes) {
      const block = view.getUint32(table + index * 4, true);
      const hasRaw = view.getUint8(block + 1) === 1;
      const values: unknown[] = [];
      const texts: (string | undefined)[] = [];
      for (let row = 0; row < rows; row++) {
        const tag = view.getUint8(block + column.at.tags + row);
        const at = block + column.at.vals + row * 8;
        if (tag === Tag.missing && view.getBigUint64(at, true) !== 0n) throw new Error('a missing value has a payload');
        values.push(kernel.values.read(tag, at));
        const text = hasRaw ? kernel.values.read(Tag.str, block + columnRaw + row * 8) : '';
        texts.push(text === '' ? undefined : (text as string));
        const shared = view.getUint8(block);
        if (shared !== Tag.mixed && shared !== tag) throw new Error(`uniform ${shared}, row ${row} has ${tag}`);
      }
      columns.push(values);
      raw.push(texts);
      uniform.push(view.getUint8(block));
    }
    const list = kernel.packetList.value;
    return {
      columns,
      raw,
      uniform,
      errors: Array.from({ length: rows }, (_, row) => {
        if (errors === 0 || view.getUint8(errors + column.at.tags + row) !== Tag.error) return undefined;
        return kernel.values.read(Tag.str, errors + column.at.vals + row * 8) as string;
      }),
      stopped,
      more: kernel.fillMore.value !== 0,
      packets: Array.from({ length: kernel.packetCount.value }, (_, i) =>
        Buffer.from(
          Buffer.from(kernel.memory.buffer, view.getUint32(list + i * 8, true), view.getUint32(list + i * 8 + 4, true)),
        ),
      ),
      acks: Array.from({ length: kernel.ackCount.value }, (_, i) => view.getUint32(kernel.ackList.value + i * 4, true)),
      protocolError: kernel.protocolError.value,
    };
  }
}

/** Bytes that a piece of work leaves behind each time but the first, which may make what serves all. */
export function leftBehind(kernel: TextKernel, work: () => void): bigint {
  const inUse = (): bigint => kernel.bytesInUse();
  work();
  const before = inUse();
  work();
  return inUse() - before;
}

/** All batches put together. */
export function joined(batches: FilledBatch[]): {
  columns: unknown[][];
  errors: (string | undefined)[];
  packets: Buffer[];
  acks: number[];
} {
  return {
    columns: (batches[0]?.columns ?? []).map((_, i) => batches.flatMap((batch) => batch.columns[i] ?? [])),
    errors: batches.flatMap((batch) => batch.errors),
    packets: batches.flatMap((batch) => batch.packets),
    acks: batches.flatMap((batch) => batch.acks),
  };
}
