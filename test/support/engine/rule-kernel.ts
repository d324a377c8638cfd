/**
 * A statement in a kernel, without connectors: the planner's nodes below streams that tests feed, rows in, rows out.
 */

import { zoneOffsetMs } from '../../../host/functions/calendar/time-zone.js';
import { callHost } from '../../../host/functions/registry.js';
import type { Catalog, RuleOptions } from '../../../host/model/engine.js';
import type { KeptByNode } from '../../../host/model/kept.js';
import { planRule } from '../../../host/plan/index.js';
import { keptBy } from '../../../host/plan/kept/index.js';
import type { FindBrought } from '../../../host/plugins/define.js';
import { savedAs } from '../../../host/run/plane/state/checkpoint/saved-as.js';
import { withMessages } from '../../../host/run/props/messages.js';
import type {
  HostCalls,
  Kernel,
  LoadReport,
  NodeHandle,
  OutputChunk,
  StreamHandle,
  StreamSpec,
} from '../../../kernels/api.js';
import { createKernel, type KernelOptions } from '../../../kernels/index.js';
import type { NodePlan, RulePlan, WaitingPlan } from '../../../kernels/plan/ir.js';
import type { LoadedSnapshot, Snapshot, SnapshotOrder } from '../../../kernels/snapshot-api.js';
import { takeSnapshot } from '../../../kernels/state/snapshot.js';
import { inputOf, moveNodes, nodesBelow, setInput, useSameColumns } from '../../../kernels/streams/copy.js';
import { sourceOfColumns } from '../../../kernels/traits.js';
import { kernelUnderTest } from '../kernel/drive.js';
import { lines } from '../kernel/streams.js';
import { catalogOf, ruleOf } from './planned-rules.js';

export interface KernelRule {
  readonly kernel: Kernel;
  /** Gives rows to a stream or table by its name, at a time by the clock (epoch ms). */
  feed(name: string, rows: readonly object[] | Uint8Array, now?: number): void;
  /** Ends the input of a stream or table. */
  end(name: string): void;
  /**
   * The rule's nodes move to twins of its streams and tables, or back from there; the streams get the same input as
   * before.
   */
  move(): void;
  /** The first node of the kind. */
  /** All of them, in the order of their making. */
  readonly nodes: readonly NodeHandle[];
  node(kind: NodePlan['kind']): NodeHandle;
  /** Name of the function that a node asks. */
  calledBy(node: NodeHandle): string | undefined;
  /** Messages since the last call: rows, or the text of an error. */
  taken(): (object[] | string)[];
  /** Messages with rows that came too late since the last call, where `lateProps` ask for them. */
  takenLate(): object[][];
  /** As `taken`, the text as it was written. */
  written(): string[];
  /** Everything that streams and nodes keep. */
  save(): Uint8Array;
  /** Puts what another kernel of the same statement kept in the place of what this one keeps. */
  load(bytes: Uint8Array, portion?: number): LoadReport;
  /** As `save`, with the rows left to a snapshot. */
  snapshot(order: SnapshotOrder): { state: Uint8Array; snapshot: Snapshot };
  /** As `load` of what `snapshot` saved. */
  loadWith(bytes: Uint8Array, loadedSnapshot: LoadedSnapshot): LoadReport;
  /** Releases nodes and streams. */
  close(): void;
}

interface Linked {
  stream: StreamHandle;
  name: string;
  indexes: number[];
}

/** Gives the bytes, in portions. */
export function readerOf(bytes: Uint8Array, portion = Number.POSITIVE_INFINITY): (into: Uint8Array) => number {
  let left = bytes;
  return (into) => {
    const part = left.subarray(0, Math.min(into.length, portion));
    into.set(part);
    left = left.subarray(part.length);
    return part.length;
  };
}

/** Text of rows as the streams take it. */
export const textOf = (rows: readonly object[]): Buffer =>
  Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));

export interface RuleWishes {
  options?: Partial<RuleOptions>;
  /** Properties of the sink. */
  props?: Record<string, unknown>;
  /** Properties of a second sink, which gets late rows. */
  lateProps?: Record<string, unknown>;
  limits?: KernelOptions;
  /** Takes what nodes ask for. */
  onAsk?: HostCalls['onAsk'];
  onAskEach?: HostCalls['onAskEach'];
  /** Functions of users. */
  brought?: FindBrought;
  /** How rows wait for answers. */
  waiting?: WaitingPlan;
  /** Time by the clock at which the rule begins, epoch ms. */
  begin?: number;
  /** A kernel that is there already; its output is not seen here. */
  kernel?: Kernel;
  /** Types of messages of schemas by SCHEMAID; messages of sinks of the format come as `bytes 0a 0b`. */
  messages?: NonNullable<Catalog['messages']>;
  /** What a stream or table declares, and how its messages come; lines of JSON without it. */
  declared?: (name: string) => Partial<StreamSpec>;
}

/** Opens the rule. Streams and tables are made by the statements. */
export function openRule(
  statements: readonly string[],
  sql: string,
  {
    options = {},
    props = {},
    lateProps,
    limits = {},
    kernel: given,
    declared,
    onAsk,
    onAskEach,
    brought,
    waiting,
    messages,
    begin = 0,
  }: RuleWishes = {},
): KernelRule {
  let output: string[] = [];
  let late: string[] = [];
  const nodes: NodeHandle[] = [];
  const takesLate = (handle: NodeHandle): boolean => {
    const node = plan.nodes[nodes.indexOf(handle)];
    return node?.kind === 'encode' && node.actions.includes(1);
  };
  const kernel =
    given ??
    createKernel(
      {
        onOutput: (chunk) =>
          (takesLate(chunk.node) ? late : output).push(
            ...(chunk.ends === null ? Buffer.from(chunk.bytes).toString().trimEnd().split('\n') : bytesIn(chunk)),
          ),
        onPacket: () => {},
        onAcknowledge: () => {},
        call: callHost,
        onAsk,
        onAskEach,
        zoneOffset: zoneOffsetMs,
      },
      kernelUnderTest,
      limits,
    );
  const rule = ruleOf(sql, { sendError: true, ...options }, [
    { type: 'file', props },
    ...(lateProps === undefined ? [] : [{ type: 'file', props: { ...lateProps, lateRows: true } }]),
  ]);
  const catalog = {
    ...catalogOf(...statements),
    ...(brought === undefined ? {} : { brought }),
    ...(messages && { messages }),
  };
  const planned = planRule(rule, catalog, (program, result) => kernel.evaluate(program, result));
  const plan = apart(withMessages(rule, planned, catalog));
  const sources = openSources(plan, kernel, declared);
  const kept = keptBy(plan, ['log']);
  for (const planned of plan.nodes) {
    const node = planned.kind === 'ask' && waiting !== undefined ? { ...planned, waiting } : planned;
    nodes.push(addNode(node, plan, kept, sources, nodes, kernel, begin, options.timezone));
  }
  const merges = nodes.filter((_node, i) => plan.nodes[i]!.kind === 'merge');
  const roots = [...new Set(sources.map((source) => source.stream)), ...merges];
  const all = [...new Set([...roots, ...nodes])];
  const streamOf = (name: string): StreamHandle => sources.find((source) => source.name === name)!.stream;
  const twins = new Map<StreamHandle, StreamHandle>();
  const moveOut = ({ stream, name }: Linked): void => {
    if (twins.has(stream)) return;
    const twin = kernel.openStream({ ...lines, ...declared?.(name) });
    const indexes = sources.flatMap((source) => (source.stream === stream ? source.indexes : []));
    useSameColumns(kernel, stream, twin, indexes);
    if (!setInput(kernel, twin, inputOf(kernel, stream)!)) throw new Error('the twin does not take the input');
    moveNodes(kernel, nodesBelow(kernel, stream, new Set(nodes), new Set()), stream, twin, false);
    twins.set(stream, twin);
  };
  const moveHome = (): void => {
    for (const [stream, twin] of twins) {
      moveNodes(kernel, nodesBelow(kernel, twin, new Set(nodes), new Set()), twin, stream, true);
      kernel.closeStream(twin);
    }
    twins.clear();
  };
  const feedTo = (stream: StreamHandle, bytes: Uint8Array, now: number): void => {
    for (let at = 0; at < bytes.length; ) {
      const buffer = kernel.inputBuffer(stream);
      const part = bytes.subarray(at, at + buffer.length);
      buffer.set(part);
      kernel.feed(stream, part.length, now);
      at += part.length;
    }
  };
  const written = (): string[] => {
    const messages = output;
    output = [];
    return messages;
  };
  return {
    kernel,
    feed: (name, rows, now = 0) => {
      const bytes = rows instanceof Uint8Array ? rows : textOf(rows);
      const stream = streamOf(name);
      feedTo(stream, bytes, now);
      const twin = twins.get(stream);
      if (twin !== undefined) feedTo(twin, bytes, now);
    },
    end: (name) => {
      const stream = streamOf(name);
      kernel.endInput(stream, 0);
      const twin = twins.get(stream);
      if (twin !== undefined) kernel.endInput(twin, 0);
    },
    move: () => {
      if (twins.size > 0) moveHome();
      else for (const source of sources) moveOut(source);
    },
    nodes,
    node: (kind) => nodes[plan.nodes.findIndex((node) => node.kind === kind)]!,
    calledBy: (handle) => {
      const node = plan.nodes[nodes.indexOf(handle)];
      return node?.kind === 'ask' ? plan.lookups?.[node.lookup ?? -1]?.table : undefined;
    },
    taken: () => written().map((message) => (message.startsWith('[') ? JSON.parse(message) : message)),
    takenLate: () => {
      const messages = late;
      late = [];
      return messages.map((message) => JSON.parse(message));
    },
    written,
    save: () => {
      const slices: Uint8Array[] = [];
      kernel.saveTree(roots, (bytes) => slices.push(bytes.slice()));
      return Buffer.concat(slices);
    },
    load: (bytes, portion) => kernel.loadTree(roots, readerOf(bytes, portion)),
    snapshot: (order) => {
      const slices: Uint8Array[] = [];
      const snapshot = takeSnapshot(kernel, all, order, (bytes) => slices.push(bytes.slice()));
      if (snapshot === null) throw new Error('there is no memory for a snapshot');
      return { state: Buffer.concat(slices), snapshot };
    },
    loadWith: (bytes, loadedSnapshot) => kernel.loadNode(all, readerOf(bytes), loadedSnapshot),
    close: () => {
      moveHome();
      for (const node of nodes.toReversed()) kernel.releaseNode(node);
      for (const { stream, indexes } of sources) kernel.releaseColumns(stream, indexes);
      for (const stream of new Set(sources.map((source) => source.stream))) kernel.closeStream(stream);
    },
  };
}

/** The plan with an end of each message of bytes. */
function apart(plan: RulePlan): RulePlan {
  const nodes = plan.nodes.map((node) =>
    node.kind === 'encode' && node.output.format === 'protobuf'
      ? { ...node, output: { ...node.output, framing: 'messages' as const } }
      : node,
  );
  return { ...plan, nodes };
}

function bytesIn({ bytes, ends, errors }: OutputChunk): string[] {
  let from = 0;
  return Array.from(ends ?? [], (end, i) => {
    const message = Buffer.from(bytes.subarray(from, end));
    from = end;
    if (errors.has(i)) return message.toString();
    return `bytes ${message.toString('hex').replace(/(..)(?=.)/g, '$1 ')}`.trimEnd();
  });
}

/** A stream that the statement reads twice is there once. */
function openSources(plan: RulePlan, kernel: Kernel, declared?: RuleWishes['declared']): Linked[] {
  const streams = new Map<string, StreamHandle>();
  return plan.sources.map(({ stream: name, columns }) => {
    const stream = streams.get(name) ?? kernel.openStream({ ...lines, ...declared?.(name) });
    streams.set(name, stream);
    return { stream, name, indexes: kernel.useColumns(stream, columns) };
  });
}

function addNode(
  node: NodePlan,
  { nodes }: RulePlan,
  kept: KeptByNode,
  sources: Linked[],
  made: NodeHandle[],
  kernel: Kernel,
  now: number,
  zone = 'UTC',
): NodeHandle {
  const numbered = sourceOfColumns(nodes, node);
  const { input } = node;
  const parent =
    input === null ? null : 'source' in input ? { stream: sources[input.source]!.stream } : { node: made[input.node]! };
  return kernel.addNode(parent, {
    plan: node,
    columnMap: numbered === null ? null : sources[numbered]!.indexes,
    host: 1,
    sendError: true,
    now,
    ...(kept.has(made.length) ? { saved: savedAs(kept.get(made.length)!) } : {}),
    zone,
    ...(node.kind === 'port' ? { target: made[node.into]! } : {}),
    ...(node.kind === 'lookup' ? { target: made[node.table]! } : {}),
  });
}
