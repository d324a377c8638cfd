/**
 * The stateful operators alone: compiled from assembly/testing/window.ts with a probe below them, fed with rows of
 * plain values and read back as messages.
 */
import { column, NodeFlag, node as nodeLayout, Tag } from '../../../kernels/gen/layouts.js';
import { eventTime } from '../../../kernels/nodes/event-time.js';
import type { Linking } from '../../../kernels/nodes/node.js';
import { sort } from '../../../kernels/nodes/sort.js';
import { window } from '../../../kernels/nodes/window.js';
import type { NodePlan } from '../../../kernels/plan/ir.js';
import { type Value, ValueAccess, type ValueError } from '../../../kernels/values/value.js';
import { testModule } from './test-module.js';

/** A message that arrived below the operators. */
export interface Message {
  rows: Value[][];
  error: string | null;
}

/** Number of the probe's kind in the test kernel. */
const { at: nodeAt } = nodeLayout;
const probeKind = 31;
/** Signal.WATERMARK of assembly/node/operator.ts. */
const watermarkSignal = 3;

type Call = (...args: number[]) => number;

export class WindowKernel {
  private readonly values: ValueAccess;
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
    const module = testModule('window');
    // Functions of the host that these operators never reach; zone 2 is two hours ahead of UTC.
    const zoneOffset = (zone: number) => zone * 3_600_000;
    const absent = new Proxy({}, { get: (_host, name) => (name === 'zoneOffset' ? zoneOffset : () => 0) });
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
    const { memory } = instance.exports as unknown as { memory: WebAssembly.Memory };
    this.values = new ValueAccess(memory, (size) => this.room(size));
    this.call('operatorsInit');
    this.call('contextInit');
    this.call('stageInit');
    this.columns = this.call('alloc', maxColumns * 4, 0);
    for (let i = 0; i < maxColumns; i++) {
      const block = this.call('alloc', column.size, 0);
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
    return this.values.view();
  }

  get bytesInUse(): bigint {
    return BigInt(this.call('bytesInUse'));
  }

  /** Makes a node of the plan below `parent` (0: at the top), with a probe below it when it is the last. */
  add(plan: NodePlan, options: { parent?: number; sendError?: boolean; zone?: number; isLast?: boolean } = {}): number {
    const kinds = { window: 4, eventTime: 3, sort: 5 } as const;
    if (plan.kind !== 'window' && plan.kind !== 'eventTime' && plan.kind !== 'sort') throw new Error(plan.kind);
    const node = this.call('nodeNew', kinds[plan.kind], options.parent ?? 0);
    const link: Linking = {
      columnMap: null,
      branches: 1,
      target: 0,
      zone: options.zone ?? 0,
      operand: (value) => value,
      started: (part) => part,
    };
    const spec =
      plan.kind === 'window'
        ? window.spec(plan, link)
        : plan.kind === 'eventTime'
          ? eventTime.spec(plan, link)
          : sort.spec(plan, link);
    const at = this.call('alloc', spec.length, node + nodeAt.memory);
    this.values.bytes().set(spec, at);
    this.view.setUint32(node + nodeAt.spec, at, true);
    this.view.setUint32(node + nodeAt.specSize, spec.length, true);
    const flags = ((options.sendError ?? true) ? NodeFlag.sendError : 0) | NodeFlag.messages;
    this.view.setUint16(node + nodeAt.flags, this.view.getUint16(node + nodeAt.flags, true) | flags, true);
    if (this.call(`${plan.kind}Open`, node) === 0) throw new Error('no memory');
    if (options.isLast ?? true) this.call('nodeNew', probeKind, node);
    return node;
  }

  /** Frees the node with its probe. */
  remove(node: number, kind: 'window' | 'eventTime' | 'sort' = 'window'): void {
    const child = this.view.getUint32(node + nodeAt.child, true);
    if (child !== 0 && this.view.getUint32(child + nodeAt.kind, true) === probeKind) this.call('nodeRelease', child);
    this.call(`${kind}Free`, node);
    const [spec, size] = [nodeAt.spec, nodeAt.specSize].map((at) => this.view.getUint32(node + at, true));
    this.call('free', spec as number, size as number, node + nodeAt.memory);
    this.call('nodeRelease', node);
  }

  /** Bytes charged to the node. */
  held(node: number): number {
    return Number(this.view.getBigUint64(node + nodeAt.memory, true));
  }

  /**
   * Gives rows to the node and returns the messages that came out. A ValueError in column `errorColumn` is a failed
   * row.
   */
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
    const bits = new BigUint64Array(new Float64Array([ms]).buffer);
    this.signal(node, watermarkSignal, bits[0]);
    return this.taken();
  }

  /** Hands a signal of assembly/node/operator.ts to the node. */
  signal(node: number, signal: number, value = 0n): void {
    (this.exports.signalTo as (...args: unknown[]) => void)(node, signal, value);
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
        const tag = this.values.write(block + column.at.vals + 8 * r, row[c]);
        this.view.setUint8(block + column.at.tags + r, tag);
        uniform = uniform === -1 || uniform === tag ? tag : Tag.mixed;
      });
      this.view.setUint8(block, uniform);
      this.view.setUint8(block + 1, 0);
    }
    rows.forEach((_row, r) => {
      this.view.setUint32(this.selection + 4 * r, r, true);
    });
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
        const failed = errors !== 0 && view.getUint8(errors + column.at.tags + row) === Tag.error;
        this.messages.push({
          rows: failed ? [] : [values],
          error: failed ? (this.readAt(errors, row) as ValueError).message : null,
        });
      } else target.rows.push(values);
    }
  }

  /** Columns that the probe reads. */
  width = 0;

  private readAt(block: number, row: number): Value {
    return this.values.read(this.view.getUint8(block + column.at.tags + row), block + column.at.vals + 8 * row);
  }

  private readText(off: number, len: number): string {
    return this.values.bytes().toString('utf8', off, off + len);
  }
}

function assertNever(what: string): never {
  throw new Error(`the kernel called ${what}`);
}
