/**
 * The stateful operators alone: compiled from assembly/testing/window.ts with a probe below them, fed with rows of plain
 * values and read back as messages.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NodePlan } from '../../kernels/ir.js';
import { encodeEventTime, encodeSort, encodeWindow } from '../../kernels/window-spec.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Value of a column: integers of 64 bits are bigint, numbers are doubles, undefined is a missing column. */
export type Value =
  | undefined
  | null
  | boolean
  | bigint
  | number
  | string
  | Failure
  | Value[]
  | { [key: string]: Value };

export class Failure {
  constructor(readonly text: string) {}
}

/** A message that arrived below the operators. */
export interface Message {
  rows: Value[][];
  error: string | null;
}

const tags = {
  missing: 0,
  null: 1,
  bool: 2,
  i64: 3,
  f64: 4,
  str: 5,
  array: 8,
  object: 9,
  error: 10,
  mixed: 0xff,
} as const;
const colSize = 64 + 8192 + 1024 + 8192;
const valsAt = 64;
const tagsAt = 64 + 8192;

type Call = (...args: number[]) => number;

/** Compiles the test kernel, once for each state of the sources. */
function compile(): Uint8Array<ArrayBuffer> {
  const sources = join(root, 'assembly');
  const names = readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .sort();
  const hash = createHash('sha1');
  for (const name of names) hash.update(name).update(readFileSync(join(sources, name)));
  const target = join(root, 'kernels/build', `test-window-${hash.digest('hex').slice(0, 12)}.wasm`);
  if (!existsSync(target)) {
    const folder = mkdtempSync(join(tmpdir(), 'haumea-kernel-'));
    try {
      cpSync(sources, join(folder, 'assembly'), { recursive: true });
      cpSync(join(sources, 'testing/window-kinds.ts'), join(folder, 'assembly/flow/kinds.ts'));
      const flags = ['-O3', '--noAssert', '--runtime', 'stub', '--enable', 'simd,bulk-memory'];
      const asc = join(root, 'node_modules/assemblyscript/bin/asc.js');
      const entry = join(folder, 'assembly/testing/window.ts');
      const made = join(folder, 'kernel.wasm');
      execFileSync(process.execPath, [asc, entry, ...flags, '--outFile', made], { stdio: ['ignore', 'pipe', 'pipe'] });
      mkdirSync(join(root, 'kernels/build'), { recursive: true });
      // Only modules of older sources go: another test file may be about to put the present one in place.
      for (const name of readdirSync(join(root, 'kernels/build'))) {
        const isOld = /^test-window-[0-9a-f]+\.wasm$/.test(name) && name !== basename(target);
        if (isOld) rmSync(join(root, 'kernels/build', name), { force: true });
      }
      cpSync(made, `${target}.${process.pid}`);
      renameSync(`${target}.${process.pid}`, target);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return new Uint8Array(readFileSync(target));
}

export class WindowKernel {
  readonly memory: WebAssembly.Memory;
  private readonly exports: Record<string, Call>;
  private readonly globals: Record<string, { value: number }>;
  private readonly messages: Message[] = [];
  private open: Message | null = null;
  private readonly columns: number;
  private readonly blocks: number[] = [];
  private readonly selection: number;
  private text = 0;
  private textEnd = 0;
  private readonly textSize: number;

  constructor(maxColumns = 8, textSize = 1 << 20) {
    const module = new WebAssembly.Module(compile());
    // Functions of the host that these operators never reach.
    const absent = new Proxy({}, { get: () => () => 0 });
    const instance = new WebAssembly.Instance(module, {
      host: absent,
      env: { abort: () => assertNever('abort') },
      probe: {
        rows: () => this.takeRows(),
        begin: () => {
          this.open = { rows: [], error: null };
        },
        end: (_node: number, off: number, len: number) => {
          const message = this.open ?? { rows: [], error: null };
          if (off !== 0) message.error = this.readText(off, len);
          this.messages.push(message);
          this.open = null;
        },
      },
    });
    this.exports = instance.exports as unknown as Record<string, Call>;
    this.globals = instance.exports as unknown as Record<string, { value: number }>;
    this.memory = (instance.exports as unknown as { memory: WebAssembly.Memory }).memory;
    this.call('contextInit');
    this.call('stageInit');
    this.columns = this.call('alloc', maxColumns * 4, 0);
    for (let i = 0; i < maxColumns; i++) {
      const block = this.call('alloc', colSize, 0);
      this.blocks.push(block);
      this.view.setUint32(this.columns + 4 * i, block, true);
    }
    this.selection = this.call('alloc', 4096, 0);
    this.textSize = textSize;
    this.text = this.call('alloc', textSize, 0);
  }

  call(name: string, ...args: number[]): number {
    const found = this.exports[name];
    if (found === undefined) throw new Error(`the test kernel has no ${name}`);
    return found(...args);
  }

  get view(): DataView {
    return new DataView(this.memory.buffer);
  }

  get bytesInUse(): bigint {
    return BigInt(this.call('bytesInUse'));
  }

  /** Makes a node of the plan below `parent` (0: at the top), with a probe below it when it is the last. */
  add(
    plan: NodePlan,
    options: { parent?: number; sendError?: boolean; zoneMs?: number; isLast?: boolean } = {},
  ): number {
    const kinds = { window: 4, eventTime: 3, sort: 5 } as const;
    if (plan.kind !== 'window' && plan.kind !== 'eventTime' && plan.kind !== 'sort') throw new Error(plan.kind);
    const node = this.call('nodeNew', kinds[plan.kind], options.parent ?? 0);
    const spec =
      plan.kind === 'window'
        ? encodeWindow(plan, options.zoneMs ?? 0)
        : plan.kind === 'eventTime'
          ? encodeEventTime(plan, null)
          : encodeSort(plan);
    const at = this.call('alloc', spec.length, node + 32);
    new Uint8Array(this.memory.buffer, at, spec.length).set(spec);
    this.view.setUint32(node + 100, at, true);
    this.view.setUint32(node + 104, spec.length, true);
    this.view.setUint32(node + 24, ((options.sendError ?? true) ? 1 : 0) | 2, true);
    if (this.call(`${plan.kind}Open`, node) === 0) throw new Error('no memory');
    if (options.isLast ?? true) this.call('nodeNew', 99, node);
    return node;
  }

  /** Frees the node with its probe. */
  remove(node: number, kind: 'window' | 'eventTime' | 'sort' = 'window'): void {
    const child = this.view.getUint32(node + 8, true);
    if (child !== 0 && this.view.getUint32(child, true) === 99) this.call('nodeRelease', child);
    this.call(`${kind}Free`, node);
    this.call('free', this.view.getUint32(node + 100, true), this.view.getUint32(node + 104, true), node + 32);
    this.call('nodeRelease', node);
  }

  /** Bytes charged to the node. */
  held(node: number): number {
    return Number(this.view.getBigUint64(node + 32, true));
  }

  /** Gives rows to the node and returns the messages that came out. A Failure in column `errorColumn` is a failed row. */
  push(node: number, rows: Value[][], options: { now?: number; kind?: string; errorColumn?: number } = {}): Message[] {
    this.call('scratchReset');
    this.load(rows);
    this.call('setNow', options.now ?? 0);
    this.setBatch(rows.length, options.errorColumn === undefined ? 0 : this.blocks[options.errorColumn]);
    this.call(`${options.kind ?? 'window'}Push`, node);
    return this.taken();
  }

  /** Makes the rows that were loaded the current batch. */
  setBatch(rows: number, errors = 0): void {
    this.call('setBatch', this.columns, rows, this.selection, rows, errors);
  }

  /** Fires what is due. */
  tick(now: number): Message[] {
    this.call('setNow', now);
    for (let node = this.call('takeDue', now); node !== 0; node = this.call('takeDue', now))
      this.call('windowTick', node);
    return this.taken();
  }

  watermark(node: number, ms: number): Message[] {
    this.call('windowWatermark', node, ms);
    return this.taken();
  }

  taken(): Message[] {
    return this.messages.splice(0);
  }

  /** Writes rows into the column blocks of the batch. */
  load(rows: Value[][]): void {
    this.textEnd = this.text;
    const width = Math.max(0, ...rows.map((row) => row.length));
    for (let c = 0; c < width; c++) {
      const block = this.blocks[c];
      if (block === undefined) throw new Error('too many columns');
      let uniform = -1;
      rows.forEach((row, r) => {
        const tag = this.write(block + valsAt + 8 * r, row[c]);
        this.view.setUint8(block + tagsAt + r, tag);
        uniform = uniform === -1 || uniform === tag ? tag : tags.mixed;
      });
      this.view.setUint8(block, uniform);
      this.view.setUint8(block + 1, 0);
    }
    rows.forEach((_row, r) => {
      this.view.setUint32(this.selection + 4 * r, r, true);
    });
  }

  private write(at: number, value: Value): number {
    const view = this.view;
    view.setBigUint64(at, 0n, true);
    if (value === undefined) return tags.missing;
    if (value === null) return tags.null;
    if (typeof value === 'boolean') {
      view.setUint8(at, value ? 1 : 0);
      return tags.bool;
    }
    if (typeof value === 'bigint') {
      view.setBigInt64(at, value, true);
      return tags.i64;
    }
    if (typeof value === 'number') {
      view.setFloat64(at, value, true);
      return tags.f64;
    }
    if (typeof value === 'string' || value instanceof Failure) {
      const bytes = Buffer.from(typeof value === 'string' ? value : value.text);
      const to = this.room(bytes.length);
      new Uint8Array(this.memory.buffer, to, bytes.length).set(bytes);
      view.setUint32(at, to, true);
      view.setUint32(at + 4, bytes.length, true);
      return typeof value === 'string' ? tags.str : tags.error;
    }
    if (Array.isArray(value)) {
      const to = this.room(value.length * 16);
      value.forEach((item, i) => {
        view.setBigUint64(to + 16 * i + 8, BigInt(this.write(to + 16 * i, item)), true);
      });
      view.setUint32(at, to, true);
      view.setUint32(at + 4, value.length, true);
      return tags.array;
    }
    const members = Object.entries(value).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const to = this.room(members.length * 24);
    members.forEach(([key, item], i) => {
      const member = to + 24 * i;
      const tag = this.write(member, item);
      const bytes = Buffer.from(key);
      const keyAt = this.room(bytes.length);
      new Uint8Array(this.memory.buffer, keyAt, bytes.length).set(bytes);
      view.setUint32(member + 8, tag, true);
      view.setUint32(member + 12, bytes.length, true);
      view.setUint32(member + 16, keyAt, true);
    });
    view.setUint32(at, to, true);
    view.setUint32(at + 4, members.length, true);
    return tags.object;
  }

  private room(size: number): number {
    const at = this.textEnd;
    this.textEnd = (at + size + 15) & ~7;
    if (this.textEnd > this.text + this.textSize - 16) throw new Error('the text of a test batch is too long');
    return at;
  }

  private takeRows(): void {
    const view = this.view;
    const cols = Number(this.globals.cols?.value);
    const sel = Number(this.globals.sel?.value);
    const count = Number(this.globals.selLen?.value);
    const errors = Number(this.globals.rowErrors?.value);
    const target = this.open ?? { rows: [], error: null };
    for (let i = 0; i < count; i++) {
      const row = view.getUint32(sel + 4 * i, true);
      const values: Value[] = [];
      for (let c = 0; c < this.width; c++) values.push(this.readAt(view.getUint32(cols + 4 * c, true), row));
      if (this.open === null) {
        const failed = errors !== 0 && view.getUint8(errors + tagsAt + row) === tags.error;
        this.messages.push({
          rows: failed ? [] : [values],
          error: failed ? (this.readAt(errors, row) as Failure).text : null,
        });
      } else target.rows.push(values);
    }
  }

  /** Columns that the probe reads. */
  width = 0;

  private readAt(block: number, row: number): Value {
    return this.read(block + valsAt + 8 * row, this.view.getUint8(block + tagsAt + row));
  }

  private read(at: number, tag: number): Value {
    const view = this.view;
    const off = view.getUint32(at, true);
    const len = view.getUint32(at + 4, true);
    switch (tag) {
      case tags.missing:
        return undefined;
      case tags.null:
        return null;
      case tags.bool:
        return view.getUint8(at) === 1;
      case tags.i64:
        return view.getBigInt64(at, true);
      case tags.f64:
        return view.getFloat64(at, true);
      case tags.str:
        return this.readText(off, len);
      case tags.error:
        return new Failure(this.readText(off, len));
      case tags.array:
        return Array.from({ length: len }, (_, i) => this.read(off + 16 * i, view.getUint8(off + 16 * i + 8)));
      case tags.object:
        return Object.fromEntries(
          Array.from({ length: len }, (_, i) => {
            const member = off + 24 * i;
            const key = this.readText(view.getUint32(member + 16, true), view.getUint32(member + 12, true));
            return [key, this.read(member, view.getUint8(member + 8))] as const;
          }),
        );
      default:
        throw new Error(`value with tag ${tag}`);
    }
  }

  private readText(off: number, len: number): string {
    return Buffer.from(this.memory.buffer, off, len).toString('utf8');
  }
}

function assertNever(what: string): never {
  throw new Error(`the kernel called ${what}`);
}
