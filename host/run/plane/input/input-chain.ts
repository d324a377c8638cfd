/**
 * The way of a source's input to the kernel, as a chain of stages: messages wait while the source is held, are
 * decompressed and sampled, wait for what their decoder lacks or for the decoder, those that came again are taken out,
 * the log takes its copy, throttled input waits for its turn, long reads are cut to pieces, and what the kernel has no
 * room for waits. A stage is in the chain where the source needs it. While one of them is full, or a sink, the
 * connector pauses.
 */
import type { Redeliveries } from '../../../connectors/messages/redeliveries.js';
import type { Barrier } from '../acknowledge/barrier.js';
import type { FedSource } from '../feed/fed-source.js';
import type { FairQueue } from '../schedule/fair-queue.js';
import { TurnQueue } from '../schedule/turn-queue.js';
import type { Input } from '../stage/input.js';
import { chained, type PassingStage, type Stage } from '../stage/stage.js';
import type { InputLog } from '../state/input-log/input-log.js';
import type { DecodingStage } from './decoding-stage.js';
import { Flow } from './flow.js';
import { HeldStage } from './held-stage.js';
import { InputAcknowledgement } from './input-acknowledgement.js';
import { KernelStage } from './kernel-stage.js';
import { LogStage } from './log-stage.js';
import { OwedReceipts } from './owed-receipts.js';
import { PacedStage } from './paced-stage.js';
import { PendingStage } from './pending-stage.js';
import type { ReadyStage } from './ready-stage.js';
import { RedeliveryStage } from './redelivery-stage.js';
import type { SampleStage } from './sample-stage.js';
import type { UnpackStage } from './unpack-stage.js';

/** The source, as its chain sees it. */
export interface ChainedSource extends FedSource {
  /** Notes messages that were skipped since there was no memory; false without any. */
  noteSkipped(count: number): boolean;
  /** The source can't go on. */
  givenUp(reason: string): void;
  /** Tells the sender that its input is malformed. */
  malformed(reason: string): void;
  /** Called at the end of the input, when nothing waits any more. */
  end(): void;
}

export class InputChain {
  readonly flow = new Flow();
  readonly log: LogStage;
  readonly acknowledgement: InputAcknowledgement;
  /** Since when a sink below the source is full, epoch ms. */
  fullSince = 0;
  #fullSinks = 0;
  /** What was read is worked on, and nothing more is read. */
  #isHeld = false;
  readonly #held = new HeldStage();
  readonly #redelivery: RedeliveryStage | undefined;
  readonly #unpack: UnpackStage | undefined;
  /** Messages that wait for their decoder, or for what it lacks. */
  readonly #ready: ReadyStage | DecodingStage | undefined;
  #throttle: TurnQueue | undefined;
  readonly #paced: PacedStage;
  readonly #pending: PendingStage;
  readonly #kernel: KernelStage;
  readonly #owed = new OwedReceipts();
  #first!: Stage<Input>;
  #starvedBy = '';
  /** No more comes: the source ends when nothing waits. */
  #isEnding = false;

  constructor(
    private readonly source: ChainedSource,
    redeliveries: Redeliveries<Barrier> | undefined,
    unpack?: UnpackStage,
    ready?: (waits: (isWaiting: boolean) => void) => ReadyStage | DecodingStage | undefined,
    readonly sample?: SampleStage,
  ) {
    this.#unpack = unpack;
    this.#ready = ready?.((isWaiting) => this.#queueWaits(isWaiting));
    this.#redelivery = redeliveries && new RedeliveryStage(redeliveries);
    this.log = new LogStage(
      () => this.isWaiting || source.host.kernel.unreadBytes(source.stream) > 0,
      (reason) => source.isClosed || source.givenUp(reason),
    );
    this.#paced = new PacedStage(
      source,
      () => this.isBlocked,
      (isWaiting) => this.#queueWaits(isWaiting),
    );
    this.#pending = new PendingStage(
      () => this.#tryAgain(),
      () => this.#fullSinks === 0 && this.flow.pause(),
    );
    this.acknowledgement = new InputAcknowledgement(source, this.log, redeliveries);
    this.#kernel = new KernelStage(
      source,
      this.acknowledgement,
      this.log,
      () => this.isWaiting,
      {
        keep: (bytes) => this.#pending.keep(bytes),
        malformed: (reason) => this.#malformed(reason),
      },
      this.#owed,
    );
    this.#link();
  }

  /** Makes the chain of the stages that there are. */
  #link(): void {
    const stages: (PassingStage<Input> | undefined)[] = [
      this.#held,
      this.#unpack,
      this.sample,
      this.#ready,
      this.#redelivery,
      this.log.log && this.log,
      this.#throttle,
      this.#paced,
      this.#pending,
    ];
    this.#first = chained(
      stages.filter((stage) => stage !== undefined),
      this.#kernel,
    );
  }

  // Methods for the connector

  /** Takes what was read, and the receipts that are owed for its messages. */
  write(bytes: Uint8Array, receipts?: Uint32Array): void {
    if (receipts !== undefined && this.sample !== undefined) this.#acknowledge(receipts);
    else if (receipts !== undefined) this.#owed.add(receipts);
    this.#first.write({ bytes, isLast: true });
    if (receipts !== undefined && this.#unpack !== undefined && !this.isWaiting) this.#acknowledgeDropped();
  }

  /** A message came out of the first stage, or goes no further. */
  unpacked(isDropped: boolean): void {
    this.#owed.passed(isDropped);
  }

  /** Acknowledges messages that could not be decompressed and have none behind them that would do. */
  #acknowledgeDropped(): void {
    this.#acknowledge(this.#owed.leading);
  }

  #acknowledge(receipts: Uint32Array): void {
    const barrier = this.acknowledgement.begin();
    if (receipts.length > 0 && barrier !== undefined) this.acknowledgement.taken(receipts, barrier);
    if (barrier !== undefined) this.acknowledgement.end(barrier);
  }

  /** Works on all of what comes from the log, behind the stages that it has passed. */
  replay(bytes: Uint8Array): void {
    this.log.replay(() => this.#paced.write({ bytes, isLast: true, hasTurn: true }));
  }

  /** No more comes; returns whether something waits: the source is told when that is over. */
  end(): boolean {
    if (!this.#isHeld) {
      this.sample?.drain();
      this.sample?.close();
    }
    this.#isEnding = this.#isHeld || this.isWaiting;
    return this.#isEnding;
  }

  #endWhenDone(): void {
    if (this.#isEnding && !this.#isHeld && !this.isWaiting) this.source.end();
  }

  // Stages that come and go

  useLog(log: InputLog, hasBegun: boolean): void {
    this.log.use(log, hasBegun);
    this.#link();
  }

  /** Puts a throttle queue into the chain. */
  throttle(turns: Pick<FairQueue, 'add'>, now: () => number): TurnQueue {
    const isBlocked = () => this.isBlocked || this.#paced.isFull;
    this.#throttle = new TurnQueue(turns, now, isBlocked, (isWaiting) => this.#queueWaits(isWaiting));
    this.#link();
    return this.#throttle;
  }

  /** Processes the input that has waited in the throttle queue. */
  unthrottle(): void {
    this.#throttle?.drain();
    this.#throttle = undefined;
    this.#link();
  }

  // Who waits for whom

  /** Input must wait: a sink or the kernel is full. */
  get isBlocked(): boolean {
    return this.#fullSinks > 0 || this.#pending.isFull;
  }

  /** Input waits for its turn. */
  get waitsForTurn(): boolean {
    return this.#paced.isFull || this.#throttle?.isFull === true || this.#ready?.isFull === true;
  }

  /** Input waits in a stage. */
  get isWaiting(): boolean {
    return this.#pending.isFull || this.waitsForTurn;
  }

  get isFull(): boolean {
    return this.isBlocked || this.waitsForTurn || this.#isHeld;
  }

  /** Since when the kernel has had no room, epoch ms; 0 when it has. */
  get starvedSince(): number {
    return this.#pending.since;
  }

  /** Who uses up the memory that is needed; empty when nobody does. */
  get starvedBy(): string {
    return this.#pending.isFull ? this.#starvedBy : '';
  }

  get lastInputAt(): number {
    return this.#kernel.lastInputAt;
  }

  /** A sink below became full, or took up work again; returns whether it is the first one. */
  sinkIsFull(isFull: boolean): boolean {
    this.#fullSinks += isFull ? 1 : -1;
    const isFirst = isFull && this.#fullSinks === 1;
    if (isFirst) {
      this.fullSince = Date.now();
      this.flow.pause();
    }
    if (!isFull) this.#resume();
    return isFirst;
  }

  /** Reads no more, while what was read is worked on; or reads on. What the connector still writes waits. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#held.hold(isHeld);
    if (isHeld) {
      this.flow.pause();
      return;
    }
    this.#resume();
    this.#endWhenDone();
  }

  /** Works on what was written during a hold: its connection is lost, so it can't wait for the next one. */
  letHeld(): void {
    this.#held.drain();
  }

  /** Resolves when nothing waits; false when what waited was dropped. */
  async whenTaken(): Promise<boolean> {
    if (this.#held.isFull) await this.#held.whenEmpty();
    return this.whenWorkedOn();
  }

  /** As `whenTaken`, without what was written during a hold. */
  async whenWorkedOn(): Promise<boolean> {
    if (this.#ready?.isFull === true) await this.#ready.whenEmpty();
    if (this.#paced.isFull) await this.#paced.whenEmpty();
    if (this.#throttle?.isFull === true) await this.#throttle.whenEmpty();
    return this.#pending.whenTaken();
  }

  /** Works off what waits for its turn. */
  drain(): void {
    this.#paced.drain();
    this.#throttle?.drain();
  }

  /** Forgets what the kernel had no room for. */
  dropPending(): void {
    this.#pending.close();
  }

  /** The connection was lost: what waits for room is half a message maybe. */
  reset(): void {
    this.#unpack?.close();
    this.#ready?.cut();
    this.sample?.reset();
    if (!this.#pending.isFull) return;
    this.#pending.close();
    this.#resume();
  }

  close(): void {
    this.#held.close();
    this.#ready?.close();
    this.sample?.close();
    this.#dropWaiting();
    this.#pending.close();
    this.flow.release();
  }

  /** Goes on where nothing blocks it: with what waits, otherwise with what the connector reads. */
  #resume(): void {
    if (this.isBlocked) return;
    if (this.#paced.isFull) this.#paced.resume();
    else if (this.#throttle?.isFull === true) this.#throttle.resume();
    else if (this.#ready?.isFull !== true && !this.#isHeld) this.flow.resume();
  }

  #queueWaits(isWaiting: boolean): void {
    if (this.source.isClosed) return;
    if (isWaiting && !this.isBlocked) this.flow.pause();
    if (isWaiting) return;
    this.#resume();
    this.#endWhenDone();
  }

  #dropWaiting(): void {
    this.#paced.close();
    this.#throttle?.close();
  }

  #malformed(reason: string): void {
    this.#dropWaiting();
    this.source.malformed(reason);
  }

  /** Called from time to time while input waits for room. */
  #tryAgain(): void {
    const { source } = this;
    if (source.isClosed || source.isEnded) return;
    const { isHopeless, by } = source.host.starves(source);
    this.#starvedBy = by;
    const before = source.counters.oversized;
    this.#pending.retry(true, isHopeless);
    const skipped = isHopeless ? source.counters.oversized - before : 0;
    if (source.noteSkipped(skipped)) this.#pending.refuse();
    if (this.#pending.settle()) this.#resume();
    this.#endWhenDone();
  }
}
