/** The text, JSON and source kernels as tests call them: bytes in, plain values out. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StreamSpec } from '../../kernels/api.js';
import type { ColumnUse } from '../../kernels/ir.js';
import { encodeColumnUse, encodeStreamSpec } from '../../kernels/stream-spec.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const output = join(root, 'kernels/build/test-json.wasm');

/** Exports of assembly/testing/json.ts. */
export interface TextExports {
  // biome-ignore lint/suspicious/noExplicitAny: the border to Wasm
  [name: string]: any;
  memory: WebAssembly.Memory;
}

function newestSource(folder: string): number {
  return Math.max(
    ...readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => statSync(join(folder, name)).mtimeMs),
  );
}

function isCurrent(): boolean {
  try {
    return statSync(output).mtimeMs > newestSource(join(root, 'assembly'));
  } catch {
    return false;
  }
}

/** Compiles the test entry when a source is newer, and instantiates it. */
export function loadTextKernel(): TextExports {
  if (!isCurrent()) {
    mkdirSync(join(root, 'kernels/build'), { recursive: true });
    const temporary = `${output}.${process.pid}`;
    const flags = ['-O3', '--noAssert', '--runtime', 'stub', '--enable', 'simd,bulk-memory', '-o', temporary];
    execFileSync(process.execPath, [
      join(root, 'node_modules/assemblyscript/bin/asc.js'),
      join(root, 'assembly/testing/json.ts'),
      ...flags,
    ]);
    renameSync(temporary, output);
  }
  const module = new WebAssembly.Module(readFileSync(output));
  const imports: Record<string, Record<string, () => number>> = {};
  const { imports: importsOf } = WebAssembly.Module as unknown as {
    imports(module: WebAssembly.Module): { module: string; name: string }[];
  };
  for (const { module: from, name } of importsOf(module)) {
    imports[from] ??= {};
    imports[from][name] = () => 0;
  }
  const exports = new WebAssembly.Instance(module, imports).exports as unknown as TextExports;
  exports.contextInit();
  return exports;
}

enum Tag {
  missing = 0,
  nothing = 1,
  bool = 2,
  i64 = 3,
  f64 = 4,
  str = 5,
  bytes = 6,
  time = 7,
  array = 8,
  object = 9,
  error = 10,
}

/** Values as tests compare them: I64 as bigint, TIME as { time }, BYTES as { bytes }, MISSING as undefined. */
export function readValue(kernel: TextExports, tag: number, payload: bigint): unknown {
  const view = new DataView(kernel.memory.buffer);
  const off = Number(payload & 0xffffffffn);
  const length = Number(payload >> 32n);
  const text = (at: number, size: number) => Buffer.from(kernel.memory.buffer, at, size).toString();
  switch (tag) {
    case Tag.missing:
      return undefined;
    case Tag.nothing:
      return null;
    case Tag.bool:
      return payload === 1n;
    case Tag.i64:
      return BigInt.asIntN(64, payload);
    case Tag.f64:
      return new Float64Array(new BigUint64Array([payload]).buffer)[0];
    case Tag.str:
      return text(off, length);
    case Tag.bytes:
      return { bytes: text(off, length) };
    case Tag.time:
      return { time: BigInt.asIntN(64, payload) };
    case Tag.array:
      return Array.from({ length }, (_, i) =>
        readValue(kernel, view.getUint8(off + i * 16 + 8), view.getBigUint64(off + i * 16, true)),
      );
    case Tag.object: {
      const object: Record<string, unknown> = {};
      for (let at = off; at < off + length * 24; at += 24) {
        const key = text(view.getUint32(at + 16, true), view.getUint32(at + 12, true));
        const value = readValue(kernel, view.getUint8(at + 8), view.getBigUint64(at, true));
        Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
      }
      return object;
    }
    case Tag.error:
      return { error: text(off, length) };
    default:
      throw new Error(`tag ${tag}`);
  }
}

const colVals = 64;
const colTags = 64 + 8192;
const colRaw = 64 + 8192 + 1024;

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

const defaults: StreamSpec = {
  framing: 'lines',
  format: 'json',
  schema: null,
  strict: false,
  wholeNumbersAreInts: false,
  maxDepth: 64,
  maxMessageBytes: 1 << 20,
};

/** A source with its columns and an input buffer. */
export class TestSource {
  readonly node: number;
  readonly indexes: number[] = [];
  private readonly buffer: number;
  private pending = Buffer.alloc(0);

  constructor(
    readonly kernel: TextExports,
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
        const tag = view.getUint8(block + colTags + row);
        const payload = view.getBigUint64(block + colVals + row * 8, true);
        if (tag === Tag.missing && payload !== 0n) throw new Error('a missing value has a payload');
        values.push(readValue(kernel, tag, payload));
        const text = hasRaw ? view.getBigUint64(block + colRaw + row * 8, true) : 0n;
        texts.push(text >> 32n === 0n ? undefined : (readValue(kernel, Tag.str, text) as string));
        const shared = view.getUint8(block);
        if (shared !== 0xff && shared !== tag) throw new Error(`uniform ${shared}, row ${row} has ${tag}`);
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
        if (errors === 0 || view.getUint8(errors + colTags + row) !== Tag.error) return undefined;
        return readValue(kernel, Tag.str, view.getBigUint64(errors + colVals + row * 8, true)) as string;
      }),
      stopped,
      more: kernel.fillMore.value !== 0,
      packets: Array.from({ length: kernel.packetCount.value }, (_, i) =>
        Buffer.from(
          Buffer.from(kernel.memory.buffer, view.getUint32(list + i * 8, true), view.getUint32(list + i * 8 + 4, true)),
        ),
      ),
      acks: Array.from({ length: kernel.ackCount.value }, (_, i) => view.getUint16(kernel.ackList.value + i * 2, true)),
      protocolError: kernel.protocolError.value,
    };
  }
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

export const field = (name: string): ColumnUse => ({ kind: 'field', name, type: { type: 'any' } });

/** A PUBLISH packet. */
export function publish(
  topic: string,
  payload: Uint8Array | string,
  options: { qos?: number; id?: number; properties?: Buffer } = {},
): Buffer {
  const qos = options.qos ?? 0;
  const name = Buffer.from(topic);
  const head = Buffer.alloc(2);
  head.writeUInt16BE(name.length);
  const id = Buffer.alloc(qos ? 2 : 0);
  if (qos) id.writeUInt16BE(options.id ?? 1);
  const properties = options.properties
    ? Buffer.concat([varint(options.properties.length), options.properties])
    : Buffer.alloc(0);
  const body = Buffer.concat([head, name, id, properties, Buffer.from(payload as string)]);
  return Buffer.concat([Buffer.from([0x30 | (qos << 1)]), varint(body.length), body]);
}

export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push((rest & 127) | (rest > 127 ? 128 : 0));
    rest >>>= 7;
  } while (rest);
  return Buffer.from(bytes);
}
