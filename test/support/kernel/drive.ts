/** Drives a kernel as the data plane does: bytes in, messages out; with short forms of the plans that tests need. */
import '../../../kernels/nodes/specs/pattern.js';
import type { HostColumns, Kernel, LinkedNode, NodeHandle, OutputChunk, StreamHandle } from '../../../kernels/api.js';
import { createKernel, type KernelOptions } from '../../../kernels/index.js';
import {
  type ConstValue,
  col,
  constant,
  type NodeInput,
  type NodePlan,
  type Op,
  type OutputPlan,
  reg,
  type WindowPlan,
} from '../../../kernels/plan/ir.js';
import { output } from './streams.js';
import { testModule } from './test-module.js';

/** The kernel of the present sources. */
export const kernelUnderTest = testModule('kernel');

const decoder = new TextDecoder('utf-8', { fatal: true });

export interface Driver {
  readonly kernel: Kernel;
  /** Messages by node, as text, in the order of their arrival. */
  readonly messages: Map<NodeHandle, string[]>;
  readonly packets: Uint8Array[];
  readonly acknowledged: number[];
  /** Number of output callbacks. */
  calls: number;
  /** Rows reported with the outputs. */
  rows: number;
  /** Called for function numbers of `call.host`. */
  hostFunctions: Map<number, (columns: HostColumns) => void>;
  /** Hosts of the nodes whose ticks ran, in order. */
  readonly ticked: number[];
  /** Runs within `onOutput`. */
  onOutput: ((chunk: OutputChunk) => void) | undefined;
  of(node: NodeHandle): string[];
  feed(stream: StreamHandle, bytes: Uint8Array | string, now?: number, chunk?: number): void;
}

export function drive(options: KernelOptions = {}): Driver {
  const driver: Driver = {
    messages: new Map(),
    packets: [],
    acknowledged: [],
    calls: 0,
    rows: 0,
    hostFunctions: new Map(),
    ticked: [],
    onOutput: undefined,
    of: (node) => driver.messages.get(node) ?? [],
    feed: (stream, bytes, now = 1000, chunk = Number.POSITIVE_INFINITY) => {
      const all = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
      for (let at = 0; at < all.length; ) {
        const buffer = driver.kernel.inputBuffer(stream);
        const part = all.subarray(at, at + Math.min(chunk, buffer.length));
        buffer.set(part);
        const taken = driver.kernel.feed(stream, part.length, now);
        if (taken < part.length) throw new Error(`the kernel has room for ${taken} of ${part.length} bytes`);
        at += part.length;
      }
    },
    kernel: createKernel(
      {
        onOutput: (chunk) => {
          driver.calls++;
          driver.rows += chunk.rows;
          const list = driver.messages.get(chunk.node) ?? [];
          driver.messages.set(chunk.node, list);
          list.push(...split(chunk));
          driver.onOutput?.(chunk);
        },
        onPacket: (_stream, packet) => driver.packets.push(packet.slice()),
        onAcknowledge: (_stream, ids) => driver.acknowledged.push(...ids),
        onTick: (host) => driver.ticked.push(host),
        call: (fn, columns) => driver.hostFunctions.get(fn)?.(columns),
      },
      kernelUnderTest,
      options,
    ),
  };
  return driver;
}

function split(chunk: OutputChunk): string[] {
  if (chunk.ends === null) {
    const text = decoder.decode(chunk.bytes);
    if (!text.endsWith('\n')) throw new Error('the output ends within a message');
    return text.slice(0, -1).split('\n');
  }
  let from = 0;
  return Array.from(chunk.ends, (end) => {
    const text = Buffer.from(chunk.bytes.subarray(from, end)).toString('latin1');
    from = end;
    return Buffer.from(text, 'latin1').toString('utf8');
  });
}

export const f64 = (value: number): ConstValue => ({ tag: 'f64', value });
export const i64 = (value: number | bigint): ConstValue => ({ tag: 'i64', value: BigInt(value) });

/** A filter `column op constant`; the result stands in register `dst`. */
export function filter(op: Op['op'], column: number, value: ConstValue, dst = 0): NodePlan {
  return {
    kind: 'filter',
    input: { source: 0 },
    program: { ops: [{ op, dst, a: col(column), b: constant(0) }], consts: [value] },
    condition: reg(dst),
    name: 'filter',
  };
}

/** A window that sends its rows, with the columns to keep. */
export function windowOfRows(window: WindowPlan, keep: number[], input: NodeInput = { source: 0 }): NodePlan {
  return {
    kind: 'window',
    input,
    program: null,
    window,
    isEventTime: false,
    grouped: false,
    keys: [],
    keep: keep.map(col),
    aggs: [],
    sendEmpty: false,
    name: 'window',
  };
}

/** Encodes columns under names; a number is a column, a string names the field after it. */
export function encode(fields: Record<string, number>, wishes: Partial<OutputPlan> = {}): NodePlan {
  const shape: OutputPlan['shape'] = {
    kind: 'fields',
    fields: Object.keys(fields)
      .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      .map((name) => ({ name, operand: col(fields[name] as number), plain: true })),
  };
  return {
    kind: 'encode',
    input: { source: 0 },
    program: null,
    output: { ...output, shape, ...wishes },
    actions: [0],
    name: 'encode',
  };
}

export function linked(plan: NodePlan, wishes: Partial<LinkedNode> = {}): LinkedNode {
  return { plan, columnMap: null, host: 1, ...wishes };
}
