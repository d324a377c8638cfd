/** The kernel instance: implements interface Kernel (kernels/api.ts) over the Wasm module. */

import type {
  HostCalls,
  Kernel,
  KernelOptions,
  LinkedNode,
  LoadReport,
  LookupAnswer,
  NodeCounters,
  NodeHandle,
  Saved,
  StreamCounters,
  StreamHandle,
  StreamSpec,
  TimeInWork,
  Timeliness,
  Waiting,
} from './api.js';
import { carriedKeys, checkAnswer, giveAnswer, keysAt } from './calls/answer.js';
import { hostCallImport } from './calls/host-call.js';
import type { NodeEntry, StreamEntry } from './entries.js';
import { feedLeft, NodeFlag, node as nodeLayout, protocolErrorTexts } from './gen/layouts.js';
import type { KernelExports } from './memory/abi.js';
import { Arena } from './memory/arena.js';
import { isStackOverflow, KernelError, noMemory, ProtocolError } from './memory/error.js';
import { kernelModule } from './module.js';
import { sharedImage } from './node-image.js';
import { evaluateProgram } from './plan/evaluate.js';
import type { ColumnUse, ConstValue, Program } from './plan/ir.js';
import { zoneOf } from './plan/zones.js';
import {
  countersAt,
  latenciesAt,
  partitionsAt,
  streamCountersAt,
  timelinessOf,
  waitingIn,
} from './reading/counters.js';
import { chunksOf } from './reading/output.js';
import { readTable } from './reading/table.js';
import { keyAt, sharingKey } from './sharing.js';
import type { LoadedSnapshot } from './snapshot-api.js';
import { Identity } from './state/identity.js';
import { type RowTransfer, type StateReader, StateTransfer, type StateWriter } from './state/state.js';
import { type ColumnKernel, releaseColumns, useColumns } from './streams/columns.js';
import { encodeStreamSpec, namingBytes } from './streams/stream-spec.js';
import type { Histogram } from './values/histogram.js';
import { ValueAccess } from './values/value.js';

export type { KernelOptions } from './api.js';
export { KernelError, ProtocolError } from './memory/error.js';

const nodeAt = nodeLayout.at;
const defaultMaxValueBytes = 2 ** 24;
const mostMemoryBytes = 2 ** 32;
const none: readonly NodeHandle[] = [];

/** Makes a kernel instance; `module` as compiled by `kernelModule`, of another thread maybe. */
export function createKernel(
  host: HostCalls,
  module: WebAssembly.Module = kernelModule(),
  options: KernelOptions = {},
): Kernel {
  return new WasmKernel(host, module, options);
}

class WasmKernel implements Kernel {
  private readonly exports: KernelExports;
  private readonly arena: Arena;
  private readonly access: ValueAccess;
  private readonly maxMemoryBytes: number;
  private readonly streams = new Map<StreamHandle, StreamEntry>();
  private readonly nodes = new Map<NodeHandle, NodeEntry>();
  private readonly shared = new Map<string, NodeHandle>();
  /** Error that a callback of the host threw; it is thrown on when the kernel has returned. */
  private callbackError: { error: unknown } | undefined;
  private failure: KernelError | undefined;
  /** True while the kernel runs: callbacks must not call it. */
  private isBusy = false;
  readonly saving: RowTransfer;
  private readonly columnKernel: ColumnKernel;

  constructor(
    private readonly host: HostCalls,
    module: WebAssembly.Module,
    options: KernelOptions,
  ) {
    const guarded =
      <A extends number[]>(call: (...args: A) => void) =>
      (...args: A): void => {
        try {
          call(...args);
        } catch (error) {
          this.callbackError ??= { error };
        }
      };
    const instance = new WebAssembly.Instance(module, {
      host: {
        output: guarded((segments: number, count: number) => this.output(segments, count)),
        packet: guarded((stream: number, at: number, length: number) =>
          this.host.onPacket(stream, this.arena.bytes(at, length)),
        ),
        acknowledge: guarded((stream: number, ids: number, count: number) =>
          this.host.onAcknowledge(stream, this.arena.u32s(ids, count)),
        ),
        exhausted: guarded((node: number) => this.host.onExhausted?.(node >>> 0)),
        tick: guarded((host: number) => this.host.onTick?.(host)),
        stateOut: guarded((at: number, length: number) => this.saving.state.write(this.arena.bytes(at >>> 0, length))),
        stateIn: (at: number, length: number) => {
          let taken = 0;
          guarded(() => {
            taken = this.saving.state.read(this.arena.bytes(at >>> 0, length));
          })();
          return taken;
        },
        clock: () => performance.now() * 1000,
        ask: guarded((node: number, request: number, count: number, table: number, keys: number, isEach: number) => {
          const at = table >>> 0;
          if (isEach) this.host.onAskEach?.(node >>> 0, request, carriedKeys(this.access, at, keys, count));
          else this.host.onAsk?.(node >>> 0, request, keysAt(this.access, at, keys, count), count);
        }),
        zoneOffset: (zone: number, at: number) => this.host.zoneOffset?.(zoneOf(zone), at) ?? 0,
        call: hostCallImport(
          () => this.access,
          (fn, columns) => this.host.call(fn, columns),
        ),
      },
      env: {
        abort: (_message: number, _file: number, line: number) => {
          throw new Error(`kernel aborted at line ${line}`);
        },
      },
    });
    this.exports = instance.exports as unknown as KernelExports;
    this.arena = new Arena(this.exports);
    const state = new StateTransfer(this.exports, this.arena, this.streams, this.nodes);
    const { exports: kernel, arena, streams, nodes, shared } = this;
    this.saving = { kernel, arena, state, streams, nodes, shared, run: this.run.bind(this) };
    this.columnKernel = { exports: kernel, arena };
    const maxValueBytes = options.maxValueBytes ?? defaultMaxValueBytes;
    this.exports.setValueLimit(maxValueBytes);
    this.access = new ValueAccess(
      this.exports.memory,
      (size, isCounted) => this.exports.hostScratch(size, isCounted),
      maxValueBytes,
    );
    const seed = crypto.getRandomValues(new Uint32Array(6));
    this.exports.setHashSeed(...(seed as unknown as [number, number, number, number, number, number]));
    this.maxMemoryBytes = options.maxMemoryBytes ?? mostMemoryBytes;
    this.exports.setMemoryLimit(this.maxMemoryBytes);
    if (!this.exports.kernelInit()) throw new KernelError('no memory for the kernel', false);
    if (options.measuresAll === true) this.exports.measureAll(1);
    if (options.longRows !== undefined) this.exports.setLongRows(options.longRows);
  }

  openStream(spec: StreamSpec): StreamHandle {
    const bytes = encodeStreamSpec(spec);
    return this.run('open a stream', () =>
      this.arena.lend([bytes], (at) => {
        const inlet = this.exports.inletNew();
        const stream = inlet === 0 ? 0 : this.exports.streamOpen(at as number, bytes.length) >>> 0;
        if (stream === 0) {
          if (inlet !== 0) this.exports.inletFree(inlet);
          throw noMemory();
        }
        const identity = new Identity().bytes(namingBytes(spec)).value();
        this.streams.set(stream, { inlet, identity, columns: [], readers: new Map(), children: 0 });
        return stream;
      }),
    );
  }

  closeStream(stream: StreamHandle): void {
    const entry = this.stream(stream);
    if (entry.children > 0) throw new Error(`stream ${stream} still has ${entry.children} operators`);
    this.run('close a stream', () => {
      this.exports.streamClose(stream);
      this.exports.inletFree(entry.inlet);
    });
    this.streams.delete(stream);
  }

  useColumns(stream: StreamHandle, columns: readonly ColumnUse[]): number[] {
    return this.run('use columns', () => useColumns(this.columnKernel, stream, this.stream(stream), columns));
  }

  releaseColumns(stream: StreamHandle, indexes: readonly number[], columns?: readonly ColumnUse[]): void {
    this.run('release columns', () => releaseColumns(this.columnKernel, stream, this.stream(stream), indexes, columns));
  }

  addNode(parent: { stream: StreamHandle } | { node: NodeHandle } | null, linked: LinkedNode): NodeHandle {
    const { plan } = linked;
    if ((parent === null) !== (plan.kind === 'merge')) {
      throw new RangeError(`a node of kind ${plan.kind} ${parent === null ? 'needs' : 'cannot have'} a parent`);
    }
    const parentAt = parent === null ? 0 : 'stream' in parent ? parent.stream : parent.node;
    const above = parent !== null && 'node' in parent ? this.node(parent.node) : null;
    const parentEntry = parent !== null && 'stream' in parent ? this.stream(parent.stream) : above;
    const target = plan.kind === 'port' || plan.kind === 'lookup' ? this.node(linked.target ?? 0) : null;
    const branches = plan.kind === 'merge' ? plan.branches.length : (above?.branches ?? 1);
    const image = sharedImage(linked, branches);
    const key = image.isShareable ? sharingKey(parentAt, image) : null;
    const place = parent !== null && 'stream' in parent ? linked.place : undefined;
    const sharedAs = keyAt(key, place);
    const known = sharedAs === null ? undefined : this.shared.get(sharedAs);
    if (known !== undefined) {
      const entry = this.node(known);
      entry.uses++;
      entry.saved ??= linked.saved;
      return known;
    }
    const { kind, program, spec } = image;
    const flags = image.sendsErrors ? NodeFlag.sendError : 0;
    const node =
      this.run('add an operator', () =>
        this.arena.lend([program, spec], (programAt, specAt) =>
          this.exports.nodeAdd(
            kind,
            parentAt,
            flags,
            linked.host,
            programAt as number,
            program?.length ?? 0,
            specAt as number,
            spec.length,
            linked.now ?? Date.now(),
          ),
        ),
      ) >>> 0;
    if (node === 0) throw noMemory();
    const targetAt = target === null ? 0 : (linked.target ?? 0);
    this.nodes.set(node, {
      parent: parentAt,
      target: targetAt,
      branches,
      key,
      place,
      uses: 1,
      children: 0,
      ports: undefined,
      saved: linked.saved,
    });
    if (parentEntry !== null) parentEntry.children++;
    if (target !== null) {
      target.ports ??= new Set();
      target.ports.add(node);
    }
    if (sharedAs !== null) this.shared.set(sharedAs, node);
    return node;
  }

  releaseNode(node: NodeHandle): void {
    const entry = this.node(node);
    if (entry.uses > 1) {
      entry.uses--;
      return;
    }
    if (entry.children > 0) throw new Error(`operator ${node} still has ${entry.children} operators below it`);
    const ports = entry.ports?.size ?? 0;
    if (ports > 0) throw new Error(`${ports} ports or lookups still refer to operator ${node}`);
    this.run('release an operator', () => this.exports.nodeRemove(node));
    this.nodes.delete(node);
    const sharedAs = keyAt(entry.key, entry.place);
    if (sharedAs !== null && this.shared.get(sharedAs) === node) this.shared.delete(sharedAs);
    const parent = this.nodes.get(entry.parent) ?? this.streams.get(entry.parent);
    if (parent !== undefined) parent.children--;
    this.nodes.get(entry.target)?.ports?.delete(node);
  }

  inputBuffer(stream: StreamHandle): Uint8Array {
    const { inlet } = this.stream(stream);
    return this.arena.bytes(this.exports.inletAt(inlet) >>> 0, this.exports.inletRoom(inlet));
  }

  feed(stream: StreamHandle, length: number, now: number, skips = false): number {
    const { inlet } = this.stream(stream);
    if (!(length >= 0 && length <= this.exports.inletRoom(inlet))) {
      throw new RangeError(`${length} bytes do not fit the input buffer`);
    }
    const outcome = this.run('take input', () => this.exports.feed(stream, inlet, length, now, skips));
    if (outcome === 0) return length;
    if (outcome >= feedLeft) return length - (outcome - feedLeft);
    throw new ProtocolError(protocolErrorTexts[outcome] ?? `error ${outcome}`);
  }

  unreadBytes(stream: StreamHandle): number {
    return this.arena.u32(this.stream(stream).inlet + 4); // restLen of assembly/tree/inlet.ts
  }

  endInput(stream: StreamHandle, now: number): void {
    const { inlet } = this.stream(stream);
    this.run('end the input', () => this.exports.endInput(stream, inlet, now));
  }

  resetInput(stream: StreamHandle): void {
    const { inlet } = this.stream(stream);
    this.run('reset the input', () => this.exports.resetInput(stream, inlet));
  }

  failureCount(): number {
    return this.exports.failureCount();
  }

  nextDeadline(): number {
    return this.exports.nextDeadline();
  }

  tick(now: number): void {
    if (this.exports.nextDeadline() <= now) this.run('run timers', () => this.exports.tick(now));
  }

  setClockBack(ms: number, now: number): void {
    this.run('set the clock back', () => {
      this.exports.finishWork(0);
      this.exports.clockSetBack(ms, now);
      // Nodes were added after those above them.
      for (const node of this.nodes.keys()) this.exports.nodeSetBack(node, ms);
    });
  }

  setLoadedBack(nodes: readonly NodeHandle[], ms: number, now: number): void {
    this.run('set the clock of loaded state back', () => {
      this.exports.clockSetBack(0, now);
      for (const node of nodes) this.exports.loadedSetBack(node, ms);
    });
  }

  flush(node: NodeHandle): void {
    this.node(node);
    this.run('flush', () => this.exports.flush(node, Date.now()));
  }

  answer(node: NodeHandle, request: number, answer: LookupAnswer, now: number): boolean {
    this.node(node);
    checkAnswer(answer);
    return this.run('take an answer', () =>
      giveAnswer(this.exports, this.arena, this.access, node, request, answer, now),
    );
  }

  waiting(node: NodeHandle): Waiting {
    this.node(node);
    return waitingIn(this.exports, this.arena, node);
  }

  gatheredBatch(node: NodeHandle): number {
    return this.exports.gatheredBatch(node) >>> 0;
  }

  gathering(stream: StreamHandle): readonly NodeHandle[] {
    const { exports } = this;
    let node = exports.gatheringFirst(stream) >>> 0;
    if (node === 0) return none;
    const nodes: number[] = [];
    for (; node !== 0; node = exports.gatheringNext(node) >>> 0) nodes.push(node);
    return nodes as NodeHandle[];
  }

  tableRows(join: NodeHandle, branch: number, columns: number): (string | null)[][] {
    this.node(join);
    return this.run('read a table', () => readTable(this.exports, this.arena, join, branch, columns));
  }

  saveNode(of: Saved, write: StateWriter): void {
    this.run('save state', () => this.saving.state.save([of].flat(), write));
  }

  loadNode(of: Saved, read: StateReader, loadedSnapshot?: LoadedSnapshot): LoadReport {
    return this.run('load state', () => this.saving.state.load([of].flat(), read, loadedSnapshot));
  }

  saveTree(roots: readonly (NodeHandle | StreamHandle)[], write: StateWriter): void {
    this.run('save state', () => this.saving.state.save(this.saving.state.below(roots), write));
  }

  loadTree(roots: readonly (NodeHandle | StreamHandle)[], read: StateReader): LoadReport {
    return this.run('load state', () => this.saving.state.load(this.saving.state.below(roots), read));
  }

  counters(node: NodeHandle): NodeCounters {
    this.node(node);
    return countersAt(this.exports, this.arena, node);
  }

  busyUs(node: NodeHandle): number {
    this.node(node);
    return this.arena.f64(node + nodeAt.busy);
  }

  beginWork(): void {
    this.exports.beginWork();
  }

  timeInWork(of: NodeHandle | StreamHandle): TimeInWork {
    if (!this.nodes.has(of) && !this.streams.has(of)) throw new RangeError(`operator ${of} is not there`);
    const us = this.exports.timeInWork(of);
    if (us === 0) return { us, hostUs: 0, rows: 0 };
    return { us, hostUs: this.arena.u32(of + nodeAt.workHost), rows: this.arena.u32(of + nodeAt.workRows) };
  }

  timeliness(node: NodeHandle): Timeliness {
    this.node(node);
    return timelinessOf(this.exports, node);
  }

  partitions(node: NodeHandle): { kept: number; forgotten: number } {
    this.node(node);
    return partitionsAt(this.exports, this.arena, node);
  }

  latencies(of: NodeHandle | StreamHandle): Histogram | null {
    if (!this.nodes.has(of) && !this.streams.has(of)) throw new RangeError(`operator ${of} is not there`);
    return latenciesAt(this.arena, of);
  }

  streamCounters(stream: StreamHandle): StreamCounters {
    this.stream(stream);
    return streamCountersAt(this.exports, this.arena, stream);
  }

  memory(): { inUse: number; workspace: number; total: number; max: number } {
    const { exports } = this;
    return {
      inUse: Number(exports.bytesInUse()),
      workspace: Number(exports.bytesOfWorkspace()),
      total: exports.memory.buffer.byteLength,
      max: this.maxMemoryBytes,
    };
  }

  evaluate(program: Program, result: number): { value: ConstValue } | { error: string } {
    return this.run('evaluate constants', () =>
      evaluateProgram(this.exports, this.arena, this.access, program, result),
    );
  }

  /** Passes the segments of the kernel's output on. */
  private output(segments: number, count: number): void {
    const now = Date.now();
    chunksOf(this.arena, segments, count, (chunk) => {
      try {
        this.host.onOutput(chunk, now);
      } catch (error) {
        this.callbackError ??= { error };
      }
    });
  }

  /** Calls the kernel; a trap makes this instance unusable and is reported with the node at work. */
  private run<T>(doing: string, call: () => T): T {
    if (this.failure !== undefined) throw this.failure;
    if (this.isBusy) throw new Error(`can't ${doing} while the kernel is at work`);
    this.isBusy = true;
    let result: T;
    try {
      result = call();
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError || isStackOverflow(error)) throw this.fail(doing, error);
      throw error;
    } finally {
      this.isBusy = false;
    }
    const thrown = this.callbackError;
    if (thrown === undefined) return result;
    this.callbackError = undefined;
    throw thrown.error;
  }

  private fail(doing: string, cause: Error): KernelError {
    const node = this.exports.currentNode() >>> 0;
    const where = node === 0 ? '' : ` in operator ${node} (host handle ${this.arena.u32(node + nodeAt.host)})`;
    this.failure = new KernelError(`kernel failure${where}, asked to ${doing}: ${cause.message}`, true, node, {
      cause,
    });
    return this.failure;
  }

  private stream(stream: StreamHandle): StreamEntry {
    const entry = this.streams.get(stream);
    if (entry === undefined) throw new RangeError(`no stream ${stream}`);
    return entry;
  }

  private node(node: NodeHandle): NodeEntry {
    const entry = this.nodes.get(node);
    if (entry === undefined) throw new RangeError(`no operator ${node}`);
    return entry;
  }
}
