/**
 * A kernel that passes payloads through unchanged: tests of the host side need no planner and no expressions with it.
 */
import type {
  HostCalls,
  Kernel,
  LinkedNode,
  LoadReport,
  NodeCounters,
  NodeHandle,
  StreamCounters,
  StreamHandle,
  StreamSpec,
  Timeliness,
  Waiting,
} from '../../../kernels/api.js';

interface FakeStream {
  spec: StreamSpec;
  rest: Buffer;
  /** Slices of a frame behind `rest`, joined when it is whole: large messages come in hundreds. */
  slices: Buffer[];
  /** Bytes of the frame that are not here yet. */
  missing: number;
  input: Buffer;
  messages: number;
  nodes: Map<NodeHandle, LinkedNode>;
}

const inputBytes = 64 * 1024;

/** Encode nodes write every payload of their stream; other nodes do nothing. */
export class FakeKernel implements Kernel {
  readonly streams = new Map<StreamHandle, FakeStream>();
  readonly nodes = new Map<NodeHandle, { stream: StreamHandle; plan: LinkedNode; rows: number }>();
  #next = 1;

  constructor(readonly host: HostCalls) {}

  openStream(spec: StreamSpec): StreamHandle {
    const handle = this.#next++;
    const input = Buffer.alloc(inputBytes);
    this.streams.set(handle, {
      spec,
      rest: Buffer.alloc(0),
      slices: [],
      missing: 0,
      input,
      messages: 0,
      nodes: new Map(),
    });
    return handle;
  }

  closeStream(stream: StreamHandle): void {
    if (this.#stream(stream).nodes.size > 0) throw new Error('a stream is closed before its nodes are released');
    this.streams.delete(stream);
  }

  useColumns(_stream: StreamHandle, columns: readonly unknown[]): number[] {
    return columns.map((_column, i) => i);
  }

  releaseColumns(): void {}

  tableRows(): [] {
    return [];
  }

  saveNode(): void {}

  loadNode(): LoadReport {
    return { loaded: 0, unclaimed: 0, brokenOff: null, failed: [] };
  }

  readonly saving = {
    run: <T>(_doing: string, call: () => T): T => call(),
    kernel: { nextDeferred: () => 0, sampleOften: () => {} },
  };

  setLoadedBack(): void {}

  saveTree(): void {}

  loadTree(): LoadReport {
    return { loaded: 0, unclaimed: 0, brokenOff: null, failed: [] };
  }

  addNode(parent: { stream: StreamHandle } | { node: NodeHandle } | null, plan: LinkedNode): NodeHandle {
    // A merge node and what stands below it belong to no stream.
    const stream = parent === null ? 0 : 'stream' in parent ? parent.stream : this.nodes.get(parent.node)!.stream;
    const handle = this.#next++;
    this.nodes.set(handle, { stream, plan, rows: 0 });
    if (stream !== 0) this.#stream(stream).nodes.set(handle, plan);
    return handle;
  }

  releaseNode(node: NodeHandle): void {
    const known = this.nodes.get(node);
    if (known === undefined) throw new Error(`node ${node} is not there`);
    if (known.stream !== 0) this.#stream(known.stream).nodes.delete(node);
    this.nodes.delete(node);
  }

  inputBuffer(stream: StreamHandle): Uint8Array {
    return this.#stream(stream).input;
  }

  feed(stream: StreamHandle, length: number): number {
    const state = this.#stream(stream);
    state.slices.push(Buffer.from(state.input.subarray(0, length)));
    state.missing -= length;
    if (state.missing > 0) return length;
    const bytes = Buffer.concat([state.rest, ...state.slices.splice(0)]);
    const payloads: Buffer[] = [];
    let at = 0;
    if (state.spec.framing === 'lines') {
      for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, at)) {
        payloads.push(bytes.subarray(at, end));
        at = end + 1;
      }
    } else if (state.spec.framing === 'frames') {
      while (at + 8 <= bytes.length) {
        const start = at + 8 + bytes.readUInt32LE(at + 4);
        const end = start + bytes.readUInt32LE(at);
        state.missing = end - bytes.length;
        if (end > bytes.length) break;
        payloads.push(bytes.subarray(start, end));
        at = end;
      }
    } else {
      at = this.#packets(stream, bytes, payloads);
    }
    state.rest = Buffer.from(bytes.subarray(at));
    this.#emit(stream, state, payloads);
    return length;
  }

  endInput(stream: StreamHandle): void {
    const state = this.#stream(stream);
    if (state.rest.length > 0 && state.spec.framing === 'lines') this.#emit(stream, state, [state.rest]);
    state.rest = Buffer.alloc(0);
  }

  unreadBytes(stream: StreamHandle): number {
    const { rest, slices } = this.#stream(stream);
    return slices.reduce((sum, { length }) => sum + length, rest.length);
  }

  resetInput(stream: StreamHandle): void {
    const state = this.#stream(stream);
    Object.assign(state, { rest: Buffer.alloc(0), slices: [], missing: 0 });
  }

  failureCount(): number {
    return 0;
  }

  nextDeadline(): number {
    return Number.POSITIVE_INFINITY;
  }

  tick(): void {}
  setClockBack(): void {}

  flush(): void {}

  answer(): boolean {
    return false;
  }

  waiting(): Waiting {
    return { batches: 0, rows: 0, first: 0, last: 0, found: 0, asked: 0 };
  }

  gatheredBatch(_node: NodeHandle): number {
    return 0;
  }

  gathering(_stream: StreamHandle): readonly NodeHandle[] {
    return [];
  }

  counters(node: NodeHandle): NodeCounters {
    return figures(this.nodes.get(node)?.rows ?? 0);
  }

  busyUs(): number {
    return 0;
  }

  beginWork(): void {}

  timeInWork(): { us: number; hostUs: number; rows: number } {
    return { us: 0, hostUs: 0, rows: 0 };
  }

  partitions(): { kept: number; forgotten: number } {
    return { kept: 0, forgotten: 0 };
  }
  timeliness(): Timeliness {
    return { late: 0, ahead: 0, watermark: 0, waiting: 0 };
  }

  latencies(): null {
    return null;
  }

  streamCounters(stream: StreamHandle): StreamCounters {
    const { messages } = this.#stream(stream);
    return { ...figures(messages), messages, bytes: 0, decodeErrors: 0, oversized: 0 };
  }

  memory(): { inUse: number; workspace: number; total: number; max: number } {
    return { workspace: 0, inUse: this.nodes.size + this.streams.size, total: 0, max: 2 ** 32 };
  }

  evaluate(): { error: string } {
    return { error: 'not here' };
  }

  #stream(stream: StreamHandle): FakeStream {
    const found = this.streams.get(stream);
    if (found === undefined) throw new Error(`stream ${stream} is not there`);
    return found;
  }

  #emit(stream: StreamHandle, state: FakeStream, payloads: Buffer[]): void {
    state.messages += payloads.length;
    if (payloads.length === 0) return;
    for (const node of state.nodes.keys()) {
      const entry = this.nodes.get(node)!;
      entry.rows += payloads.length;
      const { plan } = entry.plan;
      if (plan.kind !== 'encode') continue;
      const isLines = plan.output.framing === 'lines';
      const parts = payloads.map((payload) => (isLines ? Buffer.concat([payload, Buffer.from('\n')]) : payload));
      let end = 0;
      const ends = Uint32Array.from(parts, (part) => {
        end += part.length;
        return end;
      });
      const chunk = {
        node,
        host: entry.plan.host,
        bytes: Buffer.concat(parts),
        ends: isLines ? null : ends,
        messages: parts.length,
        rows: parts.length,
        errors: new Set<number>(),
      };
      this.host.onOutput(chunk, Date.now());
    }
    void stream;
  }

  #packets(stream: StreamHandle, bytes: Buffer, payloads: Buffer[]): number {
    let at = 0;
    const acknowledge: number[] = [];
    for (;;) {
      let length = 0;
      let shift = 0;
      let body = at + 1;
      for (;;) {
        if (body >= bytes.length) return this.#acknowledged(stream, acknowledge, at);
        const byte = bytes[body++]!;
        length |= (byte & 127) << shift;
        shift += 7;
        if (byte < 128) break;
      }
      const end = body + length;
      if (end > bytes.length) return this.#acknowledged(stream, acknowledge, at);
      const type = bytes[at]! >> 4;
      const qos = (bytes[at]! >> 1) & 3;
      if (type === 3 && qos < 2) {
        let start = body + 2 + bytes.readUInt16BE(body);
        if (qos === 1) {
          acknowledge.push(bytes.readUInt16BE(start));
          start += 2;
        }
        if (this.#stream(stream).spec.mqttVersion === 5) start += 1 + bytes[start]!;
        payloads.push(bytes.subarray(start, end));
      } else {
        this.host.onPacket(stream, bytes.subarray(at, end));
      }
      at = end;
    }
  }

  #acknowledged(stream: StreamHandle, ids: number[], at: number): number {
    if (ids.length > 0) this.host.onAcknowledge(stream, Uint32Array.from(ids));
    return at;
  }
}

function figures(rows: number): NodeCounters {
  return {
    recordsIn: rows,
    recordsOut: rows,
    exceptions: 0,
    lastException: '',
    lastExceptionAt: 0,
    lastInvocation: 0,
    memoryBytes: 0,
    busyUs: 0,
    tickUs: 0,
  };
}
