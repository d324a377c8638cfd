/** A running source: one connector instance and one kernel stream, for one rule or for all rules of a shared stream. */
import type { NodeHandle, StreamCounters, StreamHandle } from '../../../../kernels/api.js';
import type { AllowedPaths } from '../../../base/files/allowed-paths.js';
import type { Logger } from '../../../base/log/log.js';
import { redactedLog } from '../../../base/secrets/redact.js';
import type { PipedProgram } from '../../../base/structures/piped-program.js';
import type { Connector, SourceForm, SourcePart } from '../../../connectors/define.js';
import { failureFrame } from '../../../connectors/messages/frames.js';
import { messagesOf } from '../../../connectors/messages/framings.js';
import type { Redeliveries } from '../../../connectors/messages/redeliveries.js';
import type { Source, SourceContext } from '../../../connectors/running.js';
import type { SourceSpec } from '../../link/protocol.js';
import { isSameOtherwise } from '../../link/same-spec.js';
import type { Acknowledgements, Barrier } from '../acknowledge/barrier.js';
import type { Gathering } from '../acknowledge/gathering.js';
import { Retention } from '../acknowledge/retention.js';
import { Connection, type ConnectionOwner } from '../connect/connection.js';
import type { Reconnects } from '../connect/reconnects.js';
import { defaultMaxMessageBytes, openSourceStream } from '../feed/feed-stream.js';
import { InputBranches } from '../feed/input-branches.js';
import type { SourceHost } from '../feed/source-host.js';
import type { HandedStream } from '../handed/handed-stream.js';
import type { RunningRule } from '../running/running.js';
import type { FairQueue } from '../schedule/fair-queue.js';
import type { TurnQueue } from '../schedule/turn-queue.js';
import type { RulePlaces } from '../state/rule-places.js';
import { type ChainedSource, InputChain } from './input-chain.js';
import { LateStart } from './late-start.js';
import { SourceFaults } from './source-faults.js';
import {
  decodingOf,
  handedStream,
  inputLog,
  needsOf,
  readinessOf,
  redeliveriesOf,
  rulePlaces,
  samplingStageOf,
  unpackingOf,
} from './source-parts.js';

export class SourceRun extends SourceFaults implements ChainedSource, SourceContext, ConnectionOwner {
  readonly users = new Set<RunningRule>();
  /** Places of rules with checkpoints in the source; undefined without such rules. */
  places: RulePlaces | undefined;
  readonly retention = new Retention((position) => {
    if (this.places?.isGiven(position) !== true) this.#source.commit?.(position);
  });
  readonly #chain: InputChain;
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
  /** Hand-overs to other data planes, by the run that asks for each; undefined before the first. */
  handed: Map<number, HandedStream> | undefined;
  #lateStart: LateStart | undefined;
  /** Time of all work for the source, the rules' nodes included, µs. */
  workUs = 0;
  readonly #source: Source;
  readonly form: SourceForm;
  readonly branches = new InputBranches();
  /** Messages that the other side may send again; undefined where it keeps no session. */
  readonly redeliveries: Redeliveries<Barrier> | undefined;
  isClosed = false;
  readonly part: SourcePart;
  #isDraining = false;
  #base: StreamCounters | undefined;
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
    this.part = source;
    this.masks(spec.secrets);
    this.name = spec.name;
    this.label = `source ${spec.name}`;
    this.dataSource = spec.dataSource;
    this.reconnects = host.reconnects;
    this.coalesceMs = host.coalesceMs;
    this.paths = host.paths;
    const form = source.form(spec.props);
    this.form = form;
    this.redeliveries = redeliveriesOf(form, defaultMaxMessageBytes);
    const failed = (reason: string) => this.exception(reason);
    const unpacked = (isDropped: boolean) => this.#chain.unpacked(isDropped);
    const unpack = unpackingOf(source, spec, form, defaultMaxMessageBytes, { failed, unpacked });
    const needs = needsOf(spec, form, (number) => host.userCalls.decoderOf(number));
    const maker = form.format === undefined ? host.userCalls.makerOf(spec.decoder?.fn) : undefined;
    const ready = (waits: (isWaiting: boolean) => void) => {
      if (maker !== undefined) return decodingOf(form, maker, waits);
      return needs && readinessOf(spec, form, needs, waits, failed);
    };
    const isBlocked = () => this.isFull || this.isClosed || this.#isDraining;
    const sample = samplingStageOf(source, spec, form, isBlocked, failed);
    this.#chain = new InputChain(this, this.redeliveries, unpack, ready, sample);
    this.endsSoon = form.endsSoon === true;
    this.stream = openSourceStream(host.kernel, form, spec);
    try {
      this.#source = source.create(spec.props, this);
    } catch (error) {
      host.kernel.closeStream(this.stream);
      throw error;
    }
    this.connection = new Connection(this);
  }

  /**
   * Messages of the input without the frames around them, to be shown to people; undefined for rows in the engine's own
   * form.
   */
  messagesIn(input: Uint8Array): Uint8Array[] | undefined {
    return messagesOf(this.form, input);
  }

  /** Has other properties from the next attempt to connect on; false when more differs than may. */
  renew(spec: SourceSpec): boolean {
    const conf = this.part.renewed(this.spec.props, spec.props);
    if (conf === undefined || !isSameOtherwise(this.spec, spec)) return false;
    this.masks(spec.secrets);
    this.spec = spec;
    this.#source.renew?.(conf);
    this.connection.hurry(0);
    return true;
  }

  async connect(): Promise<void> {
    await this.#source.open();
    this.isLost = false;
    for (const rule of this.users) rule.debug(() => `${this.label} is open`);
  }

  tried(): void {
    this.#tellHanded((one) => one.changed());
    if (this.isTried) return;
    this.isTried = true;
    this.host.tried(this);
  }

  protected noteLoss(): void {
    this.host.noteLoss();
  }

  givenUp(reason: string): void {
    this.connectionFailed(reason);
    this.#tellHanded((one) => one.refused(reason));
    this.host.refused(this, reason);
  }

  attemptFailed(reason: string): void {
    this.attemptLost(reason);
  }

  /** Does nothing once it is closed. */
  start(): void {
    if (this.isClosed || this.hasStarted || this.#lateStart?.isFree() === false) return;
    this.hasStarted = true;
    this.places?.start();
    this.#chain.log.begin(() => !this.isClosed && this.connection.start());
  }

  get #log() {
    return this.#chain.log.log;
  }

  /** Makes the places, when a rule with checkpoints comes; their code is to be loaded before. */
  keepPlaces(): void {
    this.places ??= rulePlaces(this, this.#source);
  }

  /**
   * Opens an input log in the folder, for messages whose acknowledgement the sender waits for; its code is to be loaded
   * before.
   */
  useLog(folder: string): void {
    if (this.#log !== undefined || this.acknowledgements === undefined) return;
    this.keepPlaces();
    const log = inputLog(folder, defaultMaxMessageBytes, this, this.places!);
    this.acknowledgements.log = log;
    this.#chain.useLog(log, this.hasStarted);
  }

  /** Hands the stream to other data planes, until the run ends; its code is to be loaded before. */
  hand(run: number, key: number): void {
    this.handed ??= new Map();
    this.handed.set(run, handedStream(this, key));
  }

  /** The rule reads it no more, and needs it for no other data plane. */
  left(rule: RunningRule): void {
    this.users.delete(rule);
    this.handed?.get(rule.run)?.close();
    this.handed?.delete(rule.run);
  }

  #tellHanded(tell: (handed: HandedStream) => void): void {
    for (const handed of this.handed?.values() ?? []) tell(handed);
  }

  get logTrouble(): string {
    return this.#chain.log.trouble;
  }

  replay(bytes: Uint8Array): void {
    this.#chain.replay(bytes);
  }

  startWithOthers(): void {
    if (this.hasStarted || this.isClosed) return;
    this.#startsLate().postpone();
  }

  awaitTables(rule: RunningRule, read: Promise<void>): void {
    if (!this.spec.isShared || this.isEnded || this.isClosed) return;
    if (!this.hasStarted) {
      void this.#startsLate().awaitTables(read);
      return;
    }
    this.keepPlaces();
    this.places?.awaitTables(rule);
  }

  #startsLate(): LateStart {
    this.#lateStart ??= new LateStart(() => this.start());
    return this.#lateStart;
  }

  /** Resolves when no more input comes: the input is at its end, or the source is closed. */
  whenOver(): Promise<void> {
    if (this.isEnded || this.isClosed) return Promise.resolve();
    return new Promise((resolve) => this.#whenOver.push(resolve));
  }

  /** Ends the input and frees the stream; its nodes must be released before. */
  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#lateStart?.cancel();
    this.connection.stop();
    this.#chain.acknowledgement.close();
    this.#chain.close();
    for (const call of this.#whenOver.splice(0)) call();
    this.places?.close();
    this.host.kernel.closeStream(this.stream);
    await this.#source.close().finally(() => this.#log?.close());
  }

  get readers(): ReadonlySet<RunningRule> {
    const readers = this.branches.readersOf(this.users);
    return this.places?.amongHere(readers) ?? readers;
  }

  get counters(): StreamCounters {
    return this.host.kernel.streamCounters(this.stream);
  }

  /** Its counters now, for rules that come: while nothing is read all that come have one object. */
  base(): StreamCounters {
    const now = this.counters;
    const names = Object.keys(now) as (keyof StreamCounters)[];
    if (this.#base === undefined || names.some((name) => now[name] !== this.#base?.[name])) this.#base = now;
    return this.#base;
  }

  // Methods for the connector

  get peer(): string | undefined {
    return this.#source.peer;
  }

  /** Log of the rule; a shared stream uses that of the data plane, since its lines belong to no single rule. */
  get log(): Logger {
    const [rule] = this.users;
    return redactedLog(this.spec.isShared || rule === undefined ? this.host.log : rule.log, this.redact);
  }

  get program(): PipedProgram | undefined {
    return this.host.userCalls.programOf(this.spec.program);
  }

  get isFull(): boolean {
    return this.#chain.isFull;
  }

  get waitsForTurn(): boolean {
    return this.#chain.waitsForTurn;
  }

  get isReadAhead(): boolean {
    const { position, pending } = this.#source;
    return this.waitsForTurn && this.#log === undefined && (position !== undefined || pending !== undefined);
  }

  get sampled(): Uint8Array | undefined {
    return this.#chain.sample?.held;
  }

  get starvedSince(): number {
    return this.#chain.starvedSince;
  }

  get starvedBy(): string {
    return this.#chain.starvedBy;
  }

  get lastInputAt(): number {
    return this.#chain.lastInputAt;
  }

  get fullSince(): number {
    return this.#chain.fullSince;
  }

  get acknowledgements(): Acknowledgements | undefined {
    return this.#chain.acknowledgement.waiting;
  }

  get hasAcknowledged(): boolean {
    return this.#chain.acknowledgement.hasSome;
  }

  get gatherings(): Map<NodeHandle, Gathering> {
    return this.#chain.acknowledgement.gatherings;
  }

  write(bytes: Uint8Array, receipts?: Uint32Array): boolean {
    if (this.isClosed || this.isEnded || this.#isDraining) return true;
    this.#chain.write(bytes, receipts);
    return !this.isFull;
  }

  sendError(reason: string): void {
    const isHanded = (this.handed?.size ?? 0) > 0;
    const isWanted = isHanded || [...this.users].some(({ sinks }) => sinks.some(({ sendError }) => sendError));
    if (isWanted && this.form.framing === 'frames') this.write(failureFrame(this.redact(reason)));
  }

  settle(): void {
    this.#chain.drain();
  }

  throttle(turns: Pick<FairQueue, 'add'>, now: () => number): TurnQueue {
    return this.#chain.throttle(turns, now);
  }

  unthrottle(): void {
    this.#chain.unthrottle();
  }

  malformed(reason: string): void {
    this.#whenMalformed(reason);
  }

  ready(): Promise<void> {
    if (!this.isFull || this.isClosed) return Promise.resolve();
    return this.#chain.flow.ready();
  }

  whenTaken(): Promise<boolean> {
    return this.#chain.whenTaken();
  }

  whenWorkedOn(): Promise<boolean> {
    return this.#chain.whenWorkedOn();
  }

  onFlow(pause: () => void, resume: () => void): void {
    this.#chain.flow.on(pause, resume);
  }

  onPacket(take: (packet: Uint8Array) => void): void {
    this.#takePacket = take;
  }

  onAcknowledge(take: (receipts: Uint32Array) => void): void {
    this.#chain.acknowledgement.open({ acknowledge: take, malformed: (reason) => this.#whenMalformed(reason) });
  }

  onMalformed(take: (reason: string) => void): void {
    this.#whenMalformed = take;
  }

  resetInput(): void {
    this.#chain.letHeld();
    this.settle();
    if (!this.isClosed) this.host.kernel.resetInput(this.stream);
    this.branches.reset();
    this.redeliveries?.reset();
    this.#log?.align();
    this.#chain.reset();
    this.#chain.acknowledgement.clear();
  }

  disconnected(given: string): void {
    if (this.isClosed) return;
    const reason = this.redact(given);
    this.connectionFailed(reason);
    this.isLost = true;
    // Frames come whole, and receipts for them are good on the next connection as well.
    if (this.form.framing !== 'frames') this.resetInput();
    this.connection.lost(reason);
    this.#tellHanded((one) => one.changed());
  }

  end(): void {
    if (this.isClosed || this.isEnded) return;
    if (this.#chain.end()) return;
    this.places?.reachedAll();
    const end = () => this.host.kernel.endInput(this.stream, this.host.now());
    this.host.work(this.readers, end, { source: this, place: this, bytes: undefined, barrier: undefined });
    this.branches.end();
    this.isEnded = true;
    for (const call of this.#whenOver.splice(0)) call();
    this.host.ended(this);
  }

  get delimiter(): string | undefined {
    return this.spec.delimiter;
  }

  hasRead(): void {
    void this.whenTaken().then(() => {
      for (const call of this.#whenOver.splice(0)) call();
    });
  }

  shared<T>(key: string, make: () => T): T {
    return this.host.shared(key, make);
  }

  // Methods for the data plane

  /** Control packet of this stream, within the input of the barrier; a view valid during the call. */
  packet(packet: Uint8Array, barrier: Barrier | undefined): void {
    if (!this.#chain.acknowledgement.redelivered(packet, barrier)) this.#takePacket(packet);
  }

  keepUnacknowledged(): void {
    this.#chain.acknowledgement.keepLost();
  }

  taken(receipts: Uint32Array, barrier: Barrier | undefined): void {
    this.#chain.acknowledgement.taken(receipts, barrier);
  }

  /** Reads nothing more, but stays connected until it is closed, so that output still sent is acknowledged. */
  drain(): void {
    this.#isDraining = true;
    this.#chain.dropPending();
    this.connection.stop();
  }

  get isCommitted(): boolean {
    return this.retention.isNeeded;
  }

  position(): unknown {
    return this.#log === undefined ? this.#source.position?.() : this.#log.position;
  }

  seek(position: unknown): string | undefined {
    return this.seekIn(this.#log ?? this.#source, position);
  }

  /** A sink below became full, or took up work again. */
  sinkIsFull(isFull: boolean): void {
    if (this.#chain.sinkIsFull(isFull)) this.host.waits();
  }

  hold(isHeld: boolean): void {
    if (!this.isClosed) this.#chain.hold(isHeld);
  }
}
