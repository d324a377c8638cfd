/** A running source: one connector instance and one kernel stream, for one rule or for all rules of a shared stream. */
import type { NodeHandle, StreamCounters, StreamHandle } from '../../../../kernels/api.js';
import type { AllowedPaths } from '../../../base/files/allowed-paths.js';
import type { Logger } from '../../../base/log/log.js';
import { redactedLog } from '../../../base/secrets/redact.js';
import type { Connector, SourceForm } from '../../../connectors/define.js';
import { messagesOf } from '../../../connectors/framings.js';
import type { Repetitions } from '../../../connectors/repetitions.js';
import type { Source, SourceContext } from '../../../connectors/running.js';
import type { SourceSpec } from '../../link/protocol.js';
import { Acknowledgements, type Barrier } from '../acknowledge/barrier.js';
import { EarlyBatches } from '../acknowledge/early-batches.js';
import type { Gathering } from '../acknowledge/gathering.js';
import { Keepers } from '../acknowledge/keepers.js';
import { Connection, type ConnectionOwner } from '../connect/connection.js';
import type { Reconnects } from '../connect/reconnects.js';
import { defaultMaxMessageBytes, type Fed, feedInput, openSourceStream } from '../feed/feed-stream.js';
import { LaneInputs } from '../feed/lane-inputs.js';
import { UnfedInput } from '../feed/unfed-input.js';
import type { RunningRule, RunningSource } from '../running/running.js';
import type { SlowedInput } from '../schedule/slowed-input.js';
import type { RulePlaces } from '../state/rule-places.js';
import { Flow } from './flow.js';
import { flushGathered, holdInput } from './hold-input.js';
import { LateStart } from './late-start.js';
import { PacedInput } from './paced-input.js';
import { isSameBut } from './same-spec.js';
import { SourceFaults } from './source-faults.js';
import type { SourceHost } from './source-host.js';
import { SourceLog } from './source-log.js';
import { inputLog, repetitionsOf, rulePlaces } from './source-parts.js';

export class SourceRun extends SourceFaults implements RunningSource, SourceContext, ConnectionOwner {
  readonly users = new Set<RunningRule>();
  /** Nodes that may gather rows of its messages. */
  readonly gatherings = new Map<NodeHandle, Gathering>();
  /** Where rules with checkpoints go on that are not here yet; undefined without such rules. */
  places: RulePlaces | undefined;
  readonly keepers = new Keepers((position) => {
    if (this.places?.isGiven(position) !== true) this.#source.commit?.(position);
  });
  /** Of a source with messages that are to be acknowledged. */
  acknowledgements: Acknowledgements | undefined;
  hasAcknowledged = false;
  /** The input at work now, if it is to be acknowledged. */
  barrier: Barrier | undefined;
  readonly stream: StreamHandle;
  /** See `SourceForm`. */
  readonly endsSoon: boolean;
  readonly name: string;
  readonly label: string;
  readonly dataSource: string;
  readonly reconnects: Reconnects;
  readonly coalesceMs: number;
  readonly paths: AllowedPaths;
  readonly connection: Connection;
  isEnded = false;
  /** The first attempt to connect is over. */
  isTried = false;
  hasStarted = false;
  #lateStart: LateStart | undefined;
  /** Epoch ms, 0 never. */
  lastInputAt = 0;
  /** Time of all work for it, the rules' nodes included, µs. */
  workUs = 0;
  readonly #source: Source;
  readonly form: SourceForm;
  readonly lanes = new LaneInputs();
  /** What its other side sends again; undefined where that keeps no session. */
  readonly repetitions: Repetitions<Barrier> | undefined;
  #isClosed = false;
  #isDraining = false;
  #earlyBatches: EarlyBatches | undefined;
  /** Full sinks below this source. */
  #fullSinks = 0;
  /** Since when there is one, epoch ms. */
  fullSince = 0;
  readonly #flow = new Flow();
  /** Input that the kernel has no room for. */
  readonly #unfed = new UnfedInput(() => this.#feedAgain());
  /** Where the input of rules that are behind the others waits for their turn. */
  slowed: SlowedInput | undefined;
  readonly #paced = new PacedInput(this, (piece) => {
    if (!this.#unfed.isWaiting) return this.#work(piece, false);
    this.#unfed.add(piece);
    return true;
  });
  readonly #logged = new SourceLog((reason) => this.#isClosed || this.refused(reason));
  readonly #hasUnread = () => this.#unfed.isWaiting || this.isSlowed || this.host.kernel.unreadBytes(this.stream) > 0;
  #starvedBy = '';
  #endsWhenFed = false;
  #whenOver: (() => void)[] = [];
  #takePacket: (packet: Uint8Array) => void = () => {};
  #whenMalformed: (reason: string) => void = (reason) => this.exception(reason);

  constructor(
    public spec: SourceSpec,
    connector: Connector,
    readonly host: SourceHost,
    public key: string,
  ) {
    super();
    const { source } = connector;
    if (source === undefined) throw new Error(`${connector.name} is no source`);
    this.masks(spec.secrets);
    this.name = spec.name;
    this.label = `source ${spec.name}`;
    this.dataSource = spec.dataSource;
    this.reconnects = host.reconnects;
    this.coalesceMs = host.coalesceMs;
    this.paths = host.paths;
    const form = source.form(spec.props);
    this.form = form;
    this.repetitions = repetitionsOf(form, defaultMaxMessageBytes);
    this.endsSoon = form.endsSoon === true;
    this.stream = openSourceStream(host.kernel, form, spec);
    try {
      this.#source = source.create(spec.props, this);
    } catch (error) {
      host.kernel.closeStream(this.stream);
      throw error;
    }
    this.connection = new Connection(this, this.redact);
  }

  /**
   * What people are shown of input: its messages without the frames around them; nothing of rows in the engine's own
   * form.
   */
  messagesIn(input: Uint8Array): Uint8Array[] | undefined {
    return messagesOf(this.form, input);
  }

  /** Has other properties from the next attempt to connect on; false when more differs than may. */
  renew(spec: SourceSpec): boolean {
    if (!isSameBut(this.#source.renewable ?? [], this.spec, spec)) return false;
    this.masks(spec.secrets);
    this.spec = spec;
    this.#source.renew?.(spec.props);
    return true;
  }

  async connect(): Promise<void> {
    await this.#source.open();
    this.isLost = false;
    for (const rule of this.users) rule.debug(() => `${this.label} is open`);
    this.#noteAttempt();
  }

  #noteAttempt(): void {
    if (this.isTried) return;
    this.isTried = true;
    // The state of the connection follows at once.
    setImmediate(() => this.host.tried(this));
  }

  refused(reason: string): void {
    this.exception(reason);
    this.host.refused(this, reason);
  }

  attemptFailed(reason: string): void {
    this.#noteAttempt();
    this.attemptLost(reason);
  }

  /** Does nothing once it is closed. */
  start(): void {
    if (this.#isClosed || this.hasStarted) return;
    this.#lateStart?.cancel();
    this.hasStarted = true;
    this.places?.start();
    this.#logged.begin(() => !this.#isClosed && this.connection.start());
  }

  get #log() {
    return this.#logged.log;
  }

  /** A rule comes whose place in it is in checkpoints; loaded before. */
  keepPlaces(): void {
    this.places ??= rulePlaces(this, this.#source);
  }

  /** Messages that its sender waits for are kept in the folder until they are safe; loaded before. */
  useLog(folder: string): void {
    if (this.#log !== undefined || this.acknowledgements === undefined) return;
    this.keepPlaces();
    const log = inputLog(folder, defaultMaxMessageBytes, this, this.places!);
    this.acknowledgements.log = log;
    this.#logged.use(log, this.hasStarted);
  }

  get logTrouble(): string {
    return this.#logged.trouble;
  }

  replay(bytes: Uint8Array): void {
    this.#logged.replay(() => this.takeTurn(bytes));
  }

  startWithOthers(): void {
    if (this.hasStarted || this.#isClosed) return;
    this.#lateStart ??= new LateStart(() => this.start());
    this.#lateStart.postpone();
  }

  /** Resolves when no more input comes: it is at its end or the source is closed. */
  whenOver(): Promise<void> {
    if (this.isEnded || this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => this.#whenOver.push(resolve));
  }

  /** Ends the input and frees the stream; its nodes must be released before. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#lateStart?.cancel();
    this.connection.stop();
    this.#earlyBatches?.close();
    this.#paced.late?.drop();
    this.#unfed.drop();
    this.#flow.release();
    for (const call of this.#whenOver.splice(0)) call();
    this.places?.close();
    this.host.kernel.closeStream(this.stream);
    await this.#source.close().finally(() => this.#log?.close());
  }

  get readers(): ReadonlySet<RunningRule> {
    const readers = this.lanes.readersOf(this.users);
    return this.places?.amongHere(readers) ?? readers;
  }

  get counters(): StreamCounters {
    return this.host.kernel.streamCounters(this.stream);
  }

  // What the connector calls

  get peer(): string | undefined {
    return this.#source.peer;
  }

  /** That of the rule; the lines of a stream that rules share belong to none of them. */
  get log(): Logger {
    const [rule] = this.users;
    return redactedLog(this.spec.isShared || rule === undefined ? this.host.log : rule.log, this.redact);
  }

  get isFull(): boolean {
    return this.isBarred || this.isSlowed;
  }

  get isSlowed(): boolean {
    return this.#paced.late?.isWaiting === true;
  }

  get isReadAhead(): boolean {
    const { position, pending } = this.#source;
    return this.isSlowed && this.#log === undefined && (position !== undefined || pending !== undefined);
  }

  /** Since when the kernel has had no room for its input, epoch ms; 0 when it has. */
  get starvedSince(): number {
    return this.#unfed.since;
  }

  /** Who uses up the memory that its input needs; empty when nobody does. */
  get starvedBy(): string {
    return this.#unfed.isWaiting ? this.#starvedBy : '';
  }

  write(bytes: Uint8Array): boolean {
    if (this.#isClosed || this.isEnded || this.#isDraining) return true;
    for (const part of this.repetitions?.sift(bytes) ?? [bytes]) this.#take(part);
    return !this.isFull;
  }

  #take(bytes: Uint8Array): void {
    this.#log?.cut(bytes, this.#hasUnread);
    this.#paced.write(bytes);
  }

  takeTurn(bytes: Uint8Array): void {
    this.#paced.work(bytes);
  }

  settle(): void {
    this.#paced.late?.settle();
  }

  /** It takes turns, and may not have one now. */
  get isBarred(): boolean {
    return this.#fullSinks > 0 || this.#unfed.isWaiting;
  }

  /** Input begins to wait for its turn, or no longer does. */
  turnsWait(isWaiting: boolean): void {
    if (this.#isClosed) return;
    if (isWaiting && !this.isBarred) this.#flow.pause();
    if (isWaiting) return;
    this.#goOn();
    if (this.#endsWhenFed && !this.#unfed.isWaiting) this.end();
  }

  /** Goes on as soon as nothing waits. */
  #goOn(): void {
    if (this.isBarred) return;
    if (this.isSlowed) this.#paced.late?.goOn();
    else this.#flow.resume();
  }

  /**
   * Gives input to the kernel, or lets it wait for room; with `skips` one message is given up. False: it was malformed.
   */
  #work(bytes: Uint8Array, skips: boolean): boolean {
    let fed: Fed = { taken: bytes.length, malformed: undefined };
    const feed = () => {
      this.lastInputAt = Date.now();
      fed = feedInput(this.host.kernel, this, bytes, this.host.now(), skips);
      if (fed.taken < bytes.length) this.#hold(bytes.subarray(fed.taken));
    };
    this.barrier = this.acknowledgements?.begin(this.#log?.isReady === true && this.keepers.isNeeded);
    this.#earlyBatches?.came();
    this.host.work(this.readers, feed, this, bytes);
    this.lanes.add(bytes.subarray(0, fed.taken), this.barrier, this.#logged.isReplay);
    this.#endBarrier();
    if (this.#log?.isReady || (this.#paced.isLast && !this.#unfed.isWaiting)) this.lanes.numbered();
    if (fed.malformed === undefined) return true;
    this.#paced.late?.drop();
    this.#whenMalformed(fed.malformed);
    return false;
  }

  #hold(bytes: Uint8Array): void {
    const isFirst = !this.#unfed.isWaiting;
    this.#unfed.add(bytes);
    if (isFirst && this.#fullSinks === 0) this.#flow.pause();
  }

  /** Called from time to time while input waits for room. */
  #feedAgain(): void {
    if (this.#isClosed || this.isEnded) return;
    const { isHopeless, by } = this.host.starves(this);
    this.#starvedBy = by;
    const before = this.counters.oversized;
    this.#work(this.#unfed.take(), isHopeless);
    const skipped = isHopeless ? this.counters.oversized - before : 0;
    if (this.noteSkipped(skipped)) this.#unfed.refuse();
    if (this.#unfed.settle()) this.#goOn();
    if (this.#endsWhenFed && !this.#unfed.isWaiting && !this.isSlowed) this.end();
  }

  ready(): Promise<void> {
    if (!this.isFull || this.#isClosed) return Promise.resolve();
    return this.#flow.ready();
  }

  whenTaken(): Promise<boolean> {
    if (!this.isSlowed) return this.#unfed.whenTaken();
    return this.#paced.late!.whenEmpty().then(() => this.#unfed.whenTaken());
  }

  onFlow(pause: () => void, resume: () => void): void {
    this.#flow.on(pause, resume);
  }

  onPacket(take: (packet: Uint8Array) => void): void {
    this.#takePacket = take;
  }

  onAcknowledge(take: (receipts: Uint32Array) => void): void {
    this.acknowledgements = new Acknowledgements(take, this.repetitions, (reason) => this.#whenMalformed(reason));
    this.#earlyBatches = new EarlyBatches(this.acknowledgements, () => this.#sendGathered());
  }

  onMalformed(take: (reason: string) => void): void {
    this.#whenMalformed = take;
  }

  resetInput(): void {
    this.settle();
    if (!this.#isClosed) this.host.kernel.resetInput(this.stream);
    this.lanes.reset();
    this.repetitions?.reset();
    this.#log?.align();
    if (this.#unfed.isWaiting) {
      this.#unfed.drop();
      this.#goOn();
    }
    this.acknowledgements?.clear();
  }

  disconnected(given: string): void {
    if (this.#isClosed) return;
    const reason = this.redact(given);
    this.exception(reason);
    this.isLost = true;
    this.resetInput();
    this.connection.lost(reason);
  }

  end(): void {
    if (this.#isClosed || this.isEnded) return;
    this.#endsWhenFed = this.#unfed.isWaiting || this.isSlowed;
    if (this.#endsWhenFed) return;
    this.places?.reachedAll();
    this.host.work(this.readers, () => this.host.kernel.endInput(this.stream, this.host.now()), this);
    this.lanes.end();
    this.isEnded = true;
    for (const call of this.#whenOver.splice(0)) call();
    this.host.ended(this);
  }

  shared<T>(key: string, make: () => T): T {
    return this.host.shared(key, make);
  }

  // What the data plane calls

  /** Control packet of this stream; a view valid during the call. */
  packet(packet: Uint8Array): void {
    const { repetitions } = this;
    const again = repetitions?.repeatedIn(packet) ?? 0;
    const freed = repetitions?.freedIn(packet) ?? 0;
    if (again > 0) this.barrier?.repeat(again, repetitions?.originOf(again));
    else if (freed > 0) repetitions?.freed(freed, () => this.acknowledgements?.complete(freed));
    else this.#takePacket(packet);
  }

  /** From now on messages that a sink loses stay unacknowledged: no rule is left that got them. */
  keepUnacknowledged(): void {
    if (this.acknowledgements !== undefined) this.acknowledgements.keepsLost = true;
  }

  /** Messages taken over in the running call of the kernel, that receipts are owed for. */
  taken(receipts: Uint32Array): void {
    // Those of a log were acknowledged when they came.
    if (this.#logged.isLive && !this.#logged.isReplay) {
      this.barrier?.receipts.push(receipts.slice());
      this.repetitions?.taken(receipts, this.barrier);
    }
    if (this.hasAcknowledged) return;
    this.hasAcknowledged = true;
    for (const { sinks } of this.users) for (const sink of sinks) sink.acknowledged();
  }

  /** Takes nothing more, but stays connected: what still leaves the sinks is acknowledged until it is closed. */
  drain(): void {
    this.#isDraining = true;
    this.#unfed.drop();
    this.connection.stop();
  }

  #endBarrier(): void {
    const { barrier, acknowledgements } = this;
    if (barrier === undefined || acknowledgements === undefined) return;
    this.barrier = undefined;
    const isGathered = holdInput(this, barrier);
    this.#log?.add(barrier);
    acknowledgements.end(barrier);
    if (barrier.goesToLog && !isGathered) this.#log?.worked();
    else this.#earlyBatches?.worked(isGathered || this.keepers.isNeeded);
    if (acknowledgements.oldest !== undefined) this.host.waits();
  }

  #sendGathered(): void {
    if (this.#isClosed) return;
    this.host.work(this.users, () => flushGathered(this));
    if (this.#log === undefined) this.keepers.request();
    else this.#log.flush();
  }

  get isCommitted(): boolean {
    return this.keepers.isNeeded;
  }

  position(): unknown {
    return this.#log === undefined ? this.#source.position?.() : this.#log.position;
  }

  seek(position: unknown): string | undefined {
    return this.seekIn(this.#log ?? this.#source, position);
  }

  /** A sink below became full, or took up work again. */
  sinkIsFull(isFull: boolean): void {
    this.#fullSinks += isFull ? 1 : -1;
    if (isFull && this.#fullSinks === 1) {
      this.fullSince = Date.now();
      this.#flow.pause();
      this.host.waits();
    }
    if (!isFull) this.#goOn();
  }
}
