/**
 * Lets a rule that comes to a running source catch up. Its missing input is in the log of the source, or in the
 * checkpoint as input from other rules; a rule whose tables are being read misses nothing, but takes what comes later.
 * Meanwhile its nodes stand below a copy of the stream, which gets the missing input first, and then the input that the
 * source has read since. When none is left, copy and stream have read the same, and the nodes go to the stream.
 */
import type { Kernel, NodeHandle, StreamCounters, StreamHandle } from '../../../../../kernels/api.js';
import { noMemory } from '../../../../../kernels/memory/error.js';
import { inputOf, moveNodes, nodesBelow, setInput, useSameColumns } from '../../../../../kernels/streams/copy.js';
import { reasonOf } from '../../../../base/errors.js';
import type { Barrier } from '../../acknowledge/barrier.js';
import type { BranchHold } from '../../acknowledge/branch-hold.js';
import type { FedSource } from '../../feed/fed-source.js';
import { feedInput, openSourceStream } from '../../feed/feed-stream.js';
import type { InputBranch } from '../../feed/input-branches.js';
import { inMb } from '../../memory/memory.js';
import type { RunningBranch, RunningLag, RunningRule, RunningSource } from '../../running/running.js';

/** Missing input that the rule gets before the input that the source reads. */
export interface Earlier {
  /** Number of its messages, as far as that is known; 0 otherwise. */
  readonly messages: number;
  /** Reads the next piece; undefined at the end. Rejects when it can't be read now. */
  next(): Promise<{ readonly bytes: Uint8Array; readonly messages: number } | undefined>;
  /** To be called when the rule has had the piece; `hold` is undefined for a rule without checkpoints. */
  taken(hold: BranchHold | undefined): void;
  /** To be called when the rule gets no more of the missing input. */
  close(): void;
  /** Position of the rule behind the last piece, as its checkpoints name it. */
  readonly position: unknown;
  /** Input that a checkpoint has to hold, since nobody else keeps it. */
  rest(): Uint8Array[];
  /** What the rule waits for, where it misses nothing. */
  readonly reason?: string;
}

/** Input that the source has read since the rule came. */
interface Part {
  bytes: Uint8Array;
  readonly barrier: Barrier | undefined;
  readonly event: 'reset' | 'end' | undefined;
  /** Position of the source behind the input. */
  position: unknown;
}

/** The longest work in one go, ms. */
const sliceMs = 4;
/** Time until input that had no room, or could not be read, is tried again, ms. */
const retryMs = 100;
const pieceBytes = 64 * 1024;
/** Longest time that the end of a rule waits for its input, ms. */
const finishMs = 1000;
const lostAtEnd = 'the rule ended before they had their turn';
const noBytes = new Uint8Array(0);

export class CatchUp implements RunningBranch, InputBranch {
  readonly stream: StreamHandle;
  readonly rules: ReadonlySet<RunningRule>;
  workUs = 0;
  isStarved = false;
  readonly #kernel: Kernel;
  readonly #nodes: ReadonlySet<NodeHandle>;
  readonly #hosts: ReadonlySet<number>;
  /** State of the stream when the rule came. */
  #begin: Uint8Array | undefined;
  #queue: Part[] = [];
  #bytes = 0;
  #blocks = 0;
  #wake: (() => void) | undefined;
  #fullSince = 0;
  #hasBegun = false;
  #isClosed = false;
  #position: unknown;
  /** Messages of the missing input that the rule has had. */
  #got = 0;
  #earlier: Earlier | undefined;
  readonly #reason: string | undefined;
  /** Messages that the source had read when the rule came. */
  readonly #before: number;
  #whenOver: (() => void)[] = [];

  /** Moves the nodes of a rule that was just linked. Throws KernelError without memory, and changes nothing then. */
  constructor(
    readonly source: FedSource,
    /** Returns the position of the source; undefined where it has none. */
    private readonly here: () => unknown,
    readonly rule: RunningRule,
    earlier: Earlier,
    /** Called when the rule has caught up, or has gone. */
    private readonly over: () => void,
  ) {
    const { kernel } = source.host;
    this.#kernel = kernel;
    this.rules = new Set([rule]);
    this.#nodes = new Set(rule.nodes.map(({ handle }) => handle));
    this.#hosts = new Set([rule.run]);
    this.#earlier = earlier;
    this.#reason = earlier.reason;
    this.#before = source.counters.messages;
    this.#position = earlier.position;
    this.stream = openSourceStream(kernel, source.form, source.spec);
    try {
      for (const [i, own] of rule.sources.entries())
        if (own === source) useSameColumns(kernel, source.stream, this.stream, rule.columnsOf(i));
      this.#begin = inputOf(kernel, source.stream);
      if (this.#begin === undefined) throw noMemory();
    } catch (error) {
      kernel.closeStream(this.stream);
      throw error;
    }
    this.#move(source.stream, this.stream, false);
    source.branches.all.add(this);
    lagOf(rule).add(source, this);
  }

  /** Input that the rule has had and no checkpoint holds. */
  get #hold(): BranchHold | undefined {
    return this.rule.checkpoints?.fromBranch;
  }

  #move(from: StreamHandle, to: StreamHandle, isShared: boolean): void {
    const nodes = nodesBelow(this.#kernel, from, this.#nodes, this.#hosts);
    moveNodes(this.#kernel, nodes, from, to, isShared);
  }

  get users(): ReadonlySet<RunningRule> {
    return this.rules;
  }

  get counters(): StreamCounters {
    return this.#kernel.streamCounters(this.stream);
  }

  get waitingMessages(): number {
    if (this.#reason === undefined) return Math.max(0, (this.#earlier?.messages ?? 0) - this.#got);
    return Math.max(0, this.source.counters.messages - this.#before - this.counters.messages);
  }

  get waitingBytes(): number {
    return this.#bytes;
  }

  get memoryBytes(): number {
    return this.#bytes + this.counters.memoryBytes;
  }

  get blocksSince(): number {
    if (this.#fullSince > 0) return this.#fullSince;
    return this.#queue.find(({ barrier }) => barrier !== undefined)?.barrier?.since ?? Number.POSITIVE_INFINITY;
  }

  get text(): string {
    const { name } = this.source;
    const waiting = this.waitingMessages;
    if (this.#reason !== undefined) return this.#bytes === 0 ? '' : `${waitingOf(waiting, name)} ${this.#reason}`;
    const earlier = waiting === 0 ? '' : `${waiting.toLocaleString('en')} messages from before and `;
    return `catches up with stream ${name}: ${earlier}${inMb(this.#bytes)} from since wait for it`;
  }

  /** Position of the rule behind all input that it has had. */
  get position(): unknown {
    return this.#position;
  }

  /** Input that a checkpoint of the rule has to hold. */
  rest(): Uint8Array[] {
    return [...(this.#earlier?.rest() ?? []), ...this.#queue.map(({ bytes }) => bytes)];
  }

  // Methods for the source

  add(bytes: Uint8Array, barrier: Barrier | undefined): void {
    if (this.#isClosed) return;
    // Input that waits for a rule with checkpoints counts as out for rules without them.
    if (this.rule.checkpoints !== undefined) barrier?.keep();
    else if (barrier !== undefined) barrier.left++;
    this.#append({ bytes, barrier, event: undefined, position: undefined });
    if (this.#bytes <= this.rule.inputLimitBytes || this.#fullSince > 0) return;
    this.#fullSince = Date.now();
    this.source.sinkIsFull(true);
  }

  numbered(): void {
    const last = this.#queue.at(-1);
    if (last !== undefined) last.position = this.here();
  }

  reset(): void {
    this.#append({ bytes: noBytes, barrier: undefined, event: 'reset', position: this.here() });
  }

  end(): void {
    this.#append({ bytes: noBytes, barrier: undefined, event: 'end', position: this.here() });
  }

  #append(part: Part): void {
    if (this.#isClosed) return;
    this.#queue.push(part);
    this.#bytes += part.bytes.length;
  }

  // Methods for the rule

  sinkIsFull(isFull: boolean): void {
    this.#blocks += isFull ? 1 : -1;
    if (this.#blocks === 0) this.#wake?.();
  }

  /** Begins to work, once the tables of the rule are read. */
  begin(): void {
    if (this.#hasBegun || this.#isClosed) return;
    this.#hasBegun = true;
    void this.#run();
  }

  /** Resolves when the rule has caught up, or has gone. */
  whenOver(): Promise<void> {
    return new Promise((resolve) => (this.#isClosed ? resolve() : this.#whenOver.push(resolve)));
  }

  /** Sentence on the input that is lost, as the rule ends; undefined without any. */
  lose(): string | undefined {
    const messages = this.waitingMessages;
    // What a position names comes again, and what a checkpoint holds.
    const isKept = this.position !== undefined || this.source.places?.pendingOf(this.rule) !== undefined;
    if (this.#reason === undefined || messages === 0 || (isKept && this.rule.checkpoints !== undefined))
      return undefined;
    this.rule.inputLost(this.source, messages, lostAtEnd);
    return `the rule ends while ${waitingOf(messages, this.source.name)} ${this.#reason}: they are lost`;
  }

  /** Moves the nodes back to the stream, and gives up the waiting input. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#wake?.();
    this.#earlier?.close();
    const left = this.#queue.splice(0);
    this.#bytes = 0;
    const { stream, branches } = this.source;
    branches.all.delete(this);
    this.#move(this.stream, stream, true);
    this.#kernel.closeStream(this.stream);
    for (const { barrier } of left) this.#leave(barrier, true);
    this.#release();
    for (let i = 0; i < this.#blocks; i++) this.source.sinkIsFull(true);
    lagOf(this.rule).delete(this.source);
    this.over();
    for (const call of this.#whenOver.splice(0)) call();
  }

  #leave(barrier: Barrier | undefined, isLost: boolean): void {
    if (this.rule.checkpoints !== undefined) barrier?.kept(isLost);
    else barrier?.passed(isLost);
  }

  #release(): void {
    if (this.#fullSince === 0) return;
    this.#fullSince = 0;
    this.source.sinkIsFull(false);
  }

  async #run(): Promise<void> {
    let end = performance.now() + sliceMs;
    while (!this.#isClosed) {
      while (this.#blocks > 0 && !this.#isClosed) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      if (this.#isClosed) return;
      if (this.#earlier !== undefined) await this.#takeEarlier(this.#earlier);
      else if (this.#queue.length > 0) await this.#takePart();
      else {
        this.#arrived();
        return;
      }
      if (performance.now() < end) continue;
      await new Promise((resolve) => setImmediate(resolve));
      end = performance.now() + sliceMs;
    }
  }

  async #takeEarlier(earlier: Earlier): Promise<void> {
    let piece: Awaited<ReturnType<Earlier['next']>>;
    try {
      piece = await earlier.next();
    } catch (error) {
      this.source.log.warn(`rule ${this.rule.id} can't go on: ${reasonOf(error)}; it is tried again`);
      await pause();
      return;
    }
    if (this.#isClosed) return;
    if (piece === undefined) {
      // The partial message that the stream had goes before the input that was read since.
      if (!setInput(this.#kernel, this.stream, this.#begin!)) {
        await pause();
        return;
      }
      this.#earlier = undefined;
      this.#begin = undefined;
      earlier.close();
      return;
    }
    const position = earlier.position;
    if (!(await this.#feed(piece.bytes))) return;
    this.#position = position;
    this.#got += piece.messages;
    earlier.taken(this.#hold);
  }

  async #takePart(): Promise<void> {
    const part = this.#queue[0]!;
    const { bytes, barrier, event, position } = part;
    if (event === 'reset') this.#kernel.resetInput(this.stream);
    else if (event === 'end') this.#work(() => this.#kernel.endInput(this.stream, this.source.host.now()));
    else if (!(await this.#feed(bytes, barrier))) return;
    this.#queue.shift();
    this.#bytes -= bytes.length;
    this.isStarved = position === undefined && bytes.length > 0;
    if (!this.isStarved) this.#position = position;
    if (barrier !== undefined) {
      this.#hold?.hold(barrier);
      this.source.host.holdWaiting(barrier, this.rules);
      this.#leave(barrier, false);
    }
    if (this.#fullSince > 0 && this.#bytes <= this.rule.inputLimitBytes / 2) this.#release();
  }

  /**
   * Resolves when the kernel has taken all bytes; false when the rule ended meanwhile. No checkpoint is taken in
   * between.
   */
  async #feed(bytes: Uint8Array, barrier?: Barrier): Promise<boolean> {
    const { host, name } = this.source;
    for (let at = 0; at < bytes.length; ) {
      const piece = bytes.subarray(at, at + pieceBytes);
      let taken = piece.length;
      this.#work(
        () => {
          const fed = feedInput(this.#kernel, { stream: this.stream, name }, piece, host.now(), false);
          taken = fed.malformed === undefined ? fed.taken : piece.length;
        },
        piece,
        barrier,
      );
      at += taken;
      this.isStarved = at < bytes.length;
      if (taken < piece.length) await pause();
      if (this.#isClosed) return false;
    }
    return true;
  }

  #work(call: () => void, bytes?: Uint8Array, barrier?: Barrier): void {
    this.source.host.work(this.rules, call, { source: this.source, place: this, bytes, barrier });
  }

  #arrived(): void {
    const got = this.#got;
    this.close();
    this.rule.tookFromBranch(this.source, got);
    if (this.source.isEnded) this.source.host.ended(this.source);
    if (this.#reason !== undefined) return;
    this.rule.log.info(
      'has caught up with stream ' +
        `${this.source.name}${got > 0 ? `: ${got.toLocaleString('en')} messages from before` : ''}`,
    );
  }
}

/** The catching up of a rule, over all its sources. */
class CatchingUp implements RunningLag {
  readonly #branches = new Map<RunningSource, CatchUp>();
  readonly isWaiting = true;

  constructor(private readonly rule: RunningRule) {
    rule.lag = this;
  }

  add(source: RunningSource, branch: CatchUp): void {
    this.#branches.set(source, branch);
  }

  delete(source: RunningSource): void {
    this.#branches.delete(source);
    if (this.#branches.size === 0 && this.rule.lag === this) this.rule.lag = undefined;
  }

  get text(): string {
    return [...this.#branches.values()].flatMap(({ text }) => text || []).join(', ');
  }

  get isStarved(): boolean {
    return [...this.#branches.values()].some(({ isStarved }) => isStarved);
  }

  get memoryBytes(): number {
    return [...this.#branches.values()].reduce((bytes, branch) => bytes + branch.memoryBytes, 0);
  }

  branchOf(source: RunningSource): CatchUp | undefined {
    return this.#branches.get(source);
  }

  /** What a rule with checkpoints has not had comes again. */
  async finish(): Promise<void> {
    if (this.rule.checkpoints !== undefined) return;
    const patience = new Promise<void>((resolve) => void setTimeout(resolve, finishMs).unref());
    await Promise.race([Promise.all([...this.#branches.values()].map((branch) => branch.whenOver())), patience]);
  }

  whenAtPlace(): undefined {
    return undefined;
  }

  settle(): void {}

  /** Loses nothing where the place of the rule is in its checkpoint. */
  leave(): string[] {
    const branches = [...this.#branches.values()];
    const losses = branches.flatMap((branch) => branch.lose() ?? []);
    for (const branch of branches) branch.close();
    return losses;
  }
}

function lagOf(rule: RunningRule): CatchingUp {
  return rule.lag instanceof CatchingUp ? rule.lag : new CatchingUp(rule);
}

/** Input from other rules that the rule had not taken at its last end. */
export function pendingEarlier(bytes: Uint8Array): Earlier {
  let left: Uint8Array | undefined = bytes;
  return {
    messages: 0,
    position: undefined,
    next: async () => left && { bytes: left, messages: 0 },
    taken: () => {
      left = undefined;
    },
    close: () => {},
    rest: () => (left === undefined ? [] : [left]),
  };
}

/** Nothing is missing: the rule is at the position, and waits until its tables are read. */
export function nothingEarlier(position: unknown): Earlier {
  return {
    messages: 0,
    position,
    next: async () => undefined,
    taken: () => {},
    close: () => {},
    rest: () => [],
    reason: 'until its tables are read',
  };
}

function waitingOf(messages: number, stream: string): string {
  const count = messages === 1 ? '1 message' : `${messages.toLocaleString('en')} messages`;
  return `${count} of stream ${stream} wait${messages === 1 ? 's' : ''} for it`;
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, retryMs));
}
