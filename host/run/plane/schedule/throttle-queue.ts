/**
 * A throttle queue: input of a shared source waits here for throttled rules. Their nodes move to a copy of the stream,
 * which reads the same bytes later. They move back when no input waits any more, since stream and copy have then read
 * the same.
 *
 * The waiting input is cut into segments that begin between two inputs, with the state of the stream at that point. So
 * the oldest segment can be dropped as a whole, wherever messages end, and its number of messages is known, since the
 * source has counted them.
 */
import type { Kernel, NodeHandle, StreamCounters, StreamHandle } from '../../../../kernels/api.js';
import { noMemory } from '../../../../kernels/memory/error.js';
import { inputOf, moveNodes, nodesBelow, setInput, useSameColumns } from '../../../../kernels/streams/copy.js';
import type { Barrier } from '../acknowledge/barrier.js';
import type { FedSource } from '../feed/fed-source.js';
import { feedInput, openSourceStream } from '../feed/feed-stream.js';
import type { InputBranch } from '../feed/input-branches.js';
import { inMb } from '../memory/memory.js';
import type { RunningBranch, RunningRule } from '../running/running.js';
import type { WhenFull } from '../stage/stage.js';
import type { FairQueue, Turn } from './fair-queue.js';
import { QueuePosition } from './queue-position.js';
import { SliceSize } from './slice-size.js';

export interface ThrottleTerms {
  /** Most bytes that may wait. */
  readonly most: number;
  /** Whether the source waits beyond that bound, or the oldest input is dropped. */
  readonly whenFull: WhenFull;
}

/** Waiting input, or an event between two inputs. */
interface Part {
  bytes: Uint8Array;
  readonly barrier: Barrier | undefined;
  readonly event: 'reset' | 'end' | undefined;
  /** Position of the source behind the input; undefined within one read. */
  position?: unknown;
}

interface Segment {
  /**
   * State of the stream at the segment's begin; undefined for the first one, which goes on from the state of the copy.
   */
  readonly begin: Uint8Array | undefined;
  /** Messages that the source had read when the segment began. */
  readonly messages: number;
  readonly parts: Part[];
  bytes: number;
}

/** Segments into which a full queue is cut, to be dropped one at a time. */
const segments = 16;
/** Bytes of a partial message beyond which no segment begins. */
const longMessage = 64 * 1024;
/** Time until input that the kernel had no room for is tried again, ms. */
const retryMs = 100;
/** Bytes of a kernel call on the way to a place that a checkpoint can name. */
const settledBytes = 16 * 1024;
const noBytes = new Uint8Array(0);

export class ThrottleQueue implements Turn, RunningBranch, InputBranch {
  readonly stream: StreamHandle;
  readonly rules = new Set<RunningRule>();
  workUs = 0;
  readonly #kernel: Kernel;
  readonly #nodes: ReadonlySet<NodeHandle>;
  /** Runs of the rules that came: nodes that trace their rows move with them. */
  readonly #hosts: ReadonlySet<number>;
  readonly #size: SliceSize;
  #queue: Segment[];
  #bytes = 0;
  /** Messages that the source had read before the queue began. */
  readonly #base: number;
  /** Messages that were dropped. */
  #dropped = 0;
  /** State that the copy takes over before it reads on; undefined without a need. */
  #begin: Uint8Array | undefined;
  /** Number of full sinks of the rules. */
  #blocks = 0;
  /** Time since which the full queue holds up the source, epoch ms; 0 while it does not. */
  #fullSince = 0;
  /** Time since which the kernel has had no room, epoch ms; 0 while it has. */
  #starvedSince = 0;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Messages of the source at the end of the input; undefined while more come. */
  #end: number | undefined;
  #askers: (() => void)[] = [];
  readonly #place: QueuePosition;
  /** The rules are about to end at their place, and read no more. */
  #isHalted = false;
  /** Some of its rules have checkpoints. */
  readonly #isKept: boolean;
  /** All of the rules have checkpoints: input that waits for them counts as no missing output. */
  readonly #isSafe: boolean;

  /**
   * Moves the nodes of the rules to a copy of the stream. Throws KernelError without memory, and changes nothing then.
   */
  constructor(
    readonly source: FedSource,
    rules: Iterable<RunningRule>,
    private readonly terms: ThrottleTerms,
    private readonly turns: FairQueue,
    now: () => number,
    /** Called when no input waits any more. */
    private readonly emptied: () => void,
  ) {
    const { kernel } = source.host;
    this.#kernel = kernel;
    this.#size = new SliceSize(now);
    for (const rule of rules) this.rules.add(rule);
    this.#nodes = new Set([...this.rules].flatMap(({ nodes }) => nodes.map(({ handle }) => handle)));
    this.#hosts = new Set([...this.rules].map(({ run }) => run));
    const { stream } = source;
    this.stream = openSourceStream(kernel, source.form, source.spec);
    try {
      for (const rule of this.rules) {
        for (const [i, own] of rule.sources.entries()) {
          if (own === source) useSameColumns(kernel, stream, this.stream, rule.columnsOf(i));
        }
      }
      const input = inputOf(kernel, stream);
      if (input === undefined || !setInput(kernel, this.stream, input)) throw noMemory();
    } catch (error) {
      kernel.closeStream(this.stream);
      throw error;
    }
    const kept = [...this.rules].filter(({ checkpoints }) => checkpoints !== undefined).length;
    this.#isKept = kept > 0;
    this.#isSafe = kept === this.rules.size;
    this.#place = new QueuePosition(source.position(), () => this.goOn());
    this.#base = source.counters.messages;
    this.#queue = [{ begin: undefined, messages: this.#base, parts: [], bytes: 0 }];
    moveNodes(kernel, this.#nodesBelow(stream), stream, this.stream, false);
    source.branches.all.add(this);
  }

  #nodesBelow(stream: StreamHandle): NodeHandle[] {
    return nodesBelow(this.#kernel, stream, this.#nodes, this.#hosts);
  }

  get users(): ReadonlySet<RunningRule> {
    return this.rules;
  }

  get counters(): StreamCounters {
    return this.#kernel.streamCounters(this.stream);
  }

  get #mayDrop(): boolean {
    return this.terms.whenFull === 'drop oldest';
  }

  get isWaiting(): boolean {
    return this.#queue.some(({ parts }) => parts.length > 0);
  }

  get isReady(): boolean {
    return (
      this.isWaiting && this.#blocks === 0 && this.#retry === undefined && !this.#place.isResting && !this.#isHalted
    );
  }

  get waitingBytes(): number {
    return this.#bytes;
  }

  get memoryBytes(): number {
    return this.#bytes + this.counters.memoryBytes;
  }

  get waitingMessages(): number {
    return Math.max(0, (this.#end ?? this.source.counters.messages) - this.#read);
  }

  /** Messages of the source that were processed or dropped. */
  get #read(): number {
    return this.#base + this.counters.messages + this.#dropped;
  }

  get blocksSince(): number {
    if (this.#fullSince > 0) return this.#fullSince;
    for (const { parts } of this.#queue) {
      for (const { barrier } of parts) if (barrier?.isLogged === false) return barrier.since;
    }
    return Number.POSITIVE_INFINITY;
  }

  get text(): string {
    if (!this.isWaiting) return '';
    const messages = this.waitingMessages.toLocaleString('en');
    return `${messages} messages of ${this.source.name} wait (${inMb(this.#bytes)})`;
  }

  // Methods for the source

  add(bytes: Uint8Array, barrier: Barrier | undefined): void {
    if (this.#isClosed) return;
    if (this.#isSafe) barrier?.keep();
    else if (barrier !== undefined) barrier.left++;
    this.#append({ bytes, barrier, event: undefined });
    this.#cut();
    if (this.#bytes > this.terms.most) this.#full();
  }

  numbered(): void {
    const last = this.#queue.at(-1)!.parts.at(-1);
    if (last !== undefined) last.position = this.source.position();
  }

  reset(): void {
    this.#appendEvent('reset');
  }

  end(): void {
    this.#appendEvent('end');
  }

  #appendEvent(event: Part['event']): void {
    if (!this.#isClosed) this.#append({ bytes: noBytes, barrier: undefined, event, position: this.source.position() });
  }

  #append(part: Part): void {
    const last = this.#queue.at(-1)!;
    last.parts.push(part);
    last.bytes += part.bytes.length;
    this.#bytes += part.bytes.length;
    this.goOn();
  }

  /** Begins a segment when the last one is long enough and the oldest may have to be dropped. */
  #cut(): void {
    if (!this.#mayDrop || this.#queue.at(-1)!.bytes < this.terms.most / segments) return;
    const { stream, counters } = this.source;
    if (this.#kernel.unreadBytes(stream) > Math.max(longMessage, this.terms.most / segments)) return;
    const begin = inputOf(this.#kernel, stream);
    // Without memory for the state the segment becomes longer.
    if (begin !== undefined) this.#queue.push({ begin, messages: counters.messages, parts: [], bytes: 0 });
  }

  #full(): void {
    if (this.#mayDrop) {
      while (this.#bytes > this.terms.most && this.#queue.length > 1) this.#dropFirst();
    } else if (this.#fullSince === 0) {
      this.#fullSince = Date.now();
      this.source.sinkIsFull(true);
    }
  }

  #dropFirst(): void {
    const [first, next] = this.#queue as [Segment, Segment];
    this.#queue.shift();
    this.#bytes -= first.bytes;
    const count = Math.max(0, next.messages - this.#read);
    this.#dropped += count;
    this.#begin = next.begin;
    this.#size.forget();
    const cause = this.#blocks > 0 ? 'whose sink takes no more' : 'that takes more than its share of the processor';
    this.#lost(count, `more than ${inMb(this.terms.most)} waited for a rule ${cause}`);
    for (const { barrier } of first.parts) this.#leave(barrier, false);
  }

  #leave(barrier: Barrier | undefined, isLost: boolean): void {
    if (this.#isSafe) barrier?.kept(isLost);
    else barrier?.passed(isLost);
  }

  #lost(count: number, reason: string): void {
    if (count > 0) for (const rule of this.rules) rule.inputLost(this.source, count, reason);
  }

  // Methods for its rules

  /** A sink of a rule became full, or took up work again. */
  sinkIsFull(isFull: boolean): void {
    this.#blocks += isFull ? 1 : -1;
    if (!isFull) this.goOn();
  }

  /**
   * Takes no more input, unless it `readsOn`; resolves when all is processed, or after a time. Rules with checkpoints
   * that come back stop at a place that these can name, and go on there.
   */
  finish(longestMs: number, readsOn: boolean): Promise<void> {
    if (this.#isKept) {
      const comesBack = readsOn || this.source.acknowledgements?.keepsLost === true;
      const end = comesBack ? (this.whenAtPlace() ?? Promise.resolve()) : this.#whenEmpty(longestMs);
      return patient(end, longestMs).then(() => {
        this.#isHalted = true;
      });
    }
    if (!readsOn) {
      this.#isClosed = true;
      this.#end ??= this.source.counters.messages;
      this.#release();
    }
    return this.#whenEmpty(longestMs);
  }

  #whenEmpty(longestMs: number): Promise<void> {
    if (!this.isWaiting) return Promise.resolve();
    return patient(new Promise((resolve) => this.#askers.push(resolve)), longestMs);
  }

  /**
   * Moves the nodes back and returns the number of messages that still waited, which are lost. To be called when no
   * input waits, or at the end of the rules.
   */
  close(): number {
    const waiting = this.isWaiting ? this.waitingMessages : 0;
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.turns.remove(this);
    const barriers = this.#queue.flatMap(({ parts }) => parts.map(({ barrier }) => barrier));
    this.#queue = [];
    this.#bytes = 0;
    const { stream, branches } = this.source;
    branches.all.delete(this);
    moveNodes(this.#kernel, this.#nodesBelow(this.stream), this.stream, stream, true);
    this.#kernel.closeStream(this.stream);
    for (const barrier of barriers) this.#leave(barrier, true);
    this.#release();
    for (const call of this.#askers.splice(0)) call();
    this.#place.tell();
    return waiting;
  }

  // Questions of checkpoints

  get position(): unknown {
    return this.#place.position;
  }

  get isAtPlace(): boolean {
    return this.#place.isExact;
  }

  /**
   * Resolves when the queue is at a place that a checkpoint can name, where it rests until those who asked had their
   * turn.
   */
  whenAtPlace(): Promise<void> | undefined {
    return this.#place.whenExact();
  }

  /** Works on to a place that a checkpoint can name, if the kernel has room. */
  settle(): void {
    while (!this.isAtPlace && this.isWaiting && this.#retry === undefined) this.#take(settledBytes);
  }

  /** Lets the source go on. */
  #release(): void {
    if (this.#fullSince === 0) return;
    this.#fullSince = 0;
    this.source.sinkIsFull(false);
  }

  // Turns

  goOn(): void {
    if (this.isReady) this.turns.add(this);
  }

  work(ms: number): void {
    this.#size.spend(
      ms,
      (most) => this.#take(most),
      () => this.isReady,
    );
  }

  /** Works on at most `most` bytes; returns the number of bytes taken. */
  #take(most: number): number {
    if (this.#begin !== undefined) {
      if (!setInput(this.#kernel, this.stream, this.#begin)) {
        this.#waitForRoom();
        // The rule that uses up the memory may have to end.
        this.source.host.starves({ name: this.source.name, starvedSince: this.#starvedSince });
        return 0;
      }
      this.#begin = undefined;
    }
    const part = this.#next(most);
    if (part.event === 'reset') this.#kernel.resetInput(this.stream);
    else if (part.event === 'end') this.#work(() => this.#kernel.endInput(this.stream, this.source.host.now()));
    else this.#feed(part, most);
    if (part.event !== undefined) this.#place.reached(part.position);
    if (this.#fullSince > 0 && this.#bytes <= this.terms.most / 2) this.#release();
    if (part.event === 'end') this.source.host.ended(this.source);
    if (!this.isWaiting) {
      for (const call of this.#askers.splice(0)) call();
      this.emptied();
    }
    return Math.min(most, part.bytes.length);
  }

  /** Takes out the next part; small ones without a barrier come as one. */
  #next(most: number): Part {
    while (this.#queue[0]!.parts.length === 0) this.#queue.shift();
    const segment = this.#queue[0]!;
    const { parts } = segment;
    let count = 0;
    let length = 0;
    for (const { bytes, barrier, event } of parts) {
      if (barrier !== undefined || event !== undefined || length + bytes.length > most) break;
      length += bytes.length;
      count++;
    }
    const taken = parts.splice(0, Math.max(1, count));
    const first = taken[0]!;
    const bytes = taken.length === 1 ? first.bytes : Buffer.concat(taken.map((one) => one.bytes));
    const part = { ...first, bytes, position: taken.at(-1)!.position };
    segment.bytes -= part.bytes.length;
    this.#bytes -= part.bytes.length;
    return part;
  }

  #feed(part: Part, most: number): void {
    const { host, name } = this.source;
    const { bytes, barrier } = part;
    const piece = bytes.subarray(0, most);
    const before = this.#starvedSince === 0 ? 0 : this.counters.oversized;
    const isHopeless = this.#starvedSince > 0 && host.starves({ name, starvedSince: this.#starvedSince }).isHopeless;
    let taken = piece.length;
    this.#place.isExact = false;
    this.#work(
      () => {
        const fed = feedInput(this.#kernel, { stream: this.stream, name }, piece, host.now(), isHopeless);
        // The rest of malformed input is dropped, as the source does.
        taken = fed.malformed === undefined ? fed.taken : bytes.length;
      },
      piece,
      barrier,
    );
    if (isHopeless) {
      const skipped = this.counters.oversized - before;
      this.#dropped += skipped;
      this.#lost(skipped, 'memory is exhausted: they have no room (basic.maxDataMemory)');
    }
    if (taken >= piece.length) this.#starvedSince = 0;
    if (taken < bytes.length) this.#putBack({ ...part, bytes: bytes.subarray(taken) });
    else this.#done(part);
    if (taken < piece.length) this.#waitForRoom();
  }

  /** To be called when the rules have had the whole part. */
  #done({ barrier, position }: Part): void {
    if (barrier !== undefined) {
      for (const { checkpoints } of this.rules) checkpoints?.fromBranch.hold(barrier);
      this.source.host.holdWaiting(barrier, this.rules);
      this.#leave(barrier, false);
    }
    this.#place.reached(position);
  }

  #work(call: () => void, bytes?: Uint8Array, barrier?: Barrier): void {
    this.source.host.work(this.rules, call, { source: this.source, place: this, bytes, barrier });
  }

  #putBack(part: Part): void {
    const segment = this.#queue[0]!;
    segment.parts.unshift(part);
    segment.bytes += part.bytes.length;
    this.#bytes += part.bytes.length;
  }

  #waitForRoom(): void {
    if (this.#starvedSince === 0) this.#starvedSince = Date.now();
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.goOn();
    }, retryMs);
  }
}

/** Resolves when the promise does, or after a time. */
function patient(promise: Promise<void>, longestMs: number): Promise<void> {
  return new Promise((resolve) => {
    const patience = setTimeout(resolve, longestMs);
    void promise.then(() => {
      clearTimeout(patience);
      resolve();
    });
  });
}
