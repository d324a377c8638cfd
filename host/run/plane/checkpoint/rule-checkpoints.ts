/**
 * Checkpoints of one rule: between two pieces of work what its operators keep is copied out of the kernel, with the positions of its
 * sources; large numbers of rows are pinned there instead, and written in slices between other work. All goes to disk while rows flow on, and counts when it is there and all output from before it is with the
 * outside. Only then messages that it holds are acknowledged to their sources.
 */
import type { Kernel, LoadFailure, Shelf, Snapshot } from '../../../../kernels/api.js';
import { takeSnapshot } from '../../../../kernels/snapshot.js';
import { reasonOf } from '../../../base/errors.js';
import type { Logger } from '../../../base/log.js';
import type { CheckpointOrder } from '../../link/protocol.js';
import { Barrier } from '../barrier.js';
import type { Keeper } from '../keepers.js';
import type { RunningCheckpoints, RunningRule } from '../running.js';
import { CheckpointFiles, type CheckpointHead, type ReadCheckpoint } from './files.js';
import { endsOf, isStarved, nameOf, nodesOf, positionsOf, seenOf, whenTaken } from './of-rule.js';
import { Pieces, type Segment, SegmentChain } from './segments.js';
import { readRows } from './shelves.js';
import { StateCopy, stateReader } from './state-copy.js';

/** What it needs of the data plane. */
export interface CheckpointHost {
  /** Time of rows and windows, epoch ms. */
  now(): number;
  readonly kernel: Kernel;
  /** Runs a call of the kernel that is for these rules; nothing is done when the kernel is broken. */
  work(rules: ReadonlySet<RunningRule>, call: () => void): void;
}

/** Everything that has to go to disk at once. */
interface Cut {
  readonly head: CheckpointHead;
  readonly state: StateCopy;
  /** Rows that are left to it. */
  readonly snapshot: Snapshot | undefined;
  /** Of messages that are in it. */
  readonly barriers: readonly Barrier[];
  /** Resolves when all output from before is with the outside. */
  readonly isOut: Promise<void>;
  /** The longest time that rows waited for it, ms. */
  pauseMs: number;
  /** Bytes that went to disk. */
  writtenBytes: number;
}

/** Time until a checkpoint that failed is tried again, ms; and until one that could not be taken is. */
const retryMs = 5000;
const soonMs = 200;
/** Longest wait of the sources for the first checkpoint, and time between two looks whether it can be taken, ms. */
const firstMs = 5000;
const pollMs = 5;
/** Whose work it is to free memory. */
const nobody: ReadonlySet<RunningRule> = new Set();
/** Bytes of rows that are written between two pieces of work, about. */
const mostSliceBytes = 256 << 10;
/** A clock that is behind by so much was set back, ms. */
const smallStepMs = 1000;

export class RuleCheckpoints implements RunningCheckpoints, Keeper {
  count = 0;
  /** Epoch ms, 0 never. */
  lastAt = 0;
  lastBytes = 0;
  lastWrittenBytes = 0;
  lastPauseMs = 0;
  lastMs = 0;
  failure = '';
  restored = '';
  #rule: RunningRule | undefined;
  #epoch = 0;
  #found: ReadCheckpoint | undefined;
  /** Pages of what was found. */
  #shelf: Shelf | undefined;
  readonly #chain = new SegmentChain();
  /** That is being written. */
  #snapshot: Snapshot | undefined;
  #pending: Barrier[] = [];
  #writing: Promise<void> | undefined;
  /** Stops the waiting for sinks. */
  #giveUp: () => void = () => {};
  #isAgain = false;
  /** Input waits for its turn, and a checkpoint for that. */
  #isAwaiting = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  /** Taken at the end of the rule. */
  #last: Cut | undefined;
  #lastRows = new Pieces();
  /** Numbers of the sinks that can be cut back. */
  #cutBack: readonly string[] = [];
  /** What was seen of the rule at the last cut. */
  #seen = '';

  private constructor(
    readonly order: CheckpointOrder,
    readonly files: CheckpointFiles,
    readonly host: CheckpointHost,
    /** The thread lives, however long a call of the kernel takes. */
    private readonly beat: () => void,
    private readonly log: Logger,
  ) {}

  /** Reads the newest checkpoint that is whole; those that are not are named in the log. */
  static async open(
    order: CheckpointOrder,
    host: CheckpointHost,
    beat: () => void,
    log: Logger,
  ): Promise<RuleCheckpoints> {
    const files = new CheckpointFiles(order.folder);
    const checkpoints = new RuleCheckpoints(order, files, host, beat, log);
    for (const { epoch, path } of await files.list()) {
      checkpoints.#epoch = Math.max(checkpoints.#epoch, epoch);
      try {
        const found = await files.read(path);
        checkpoints.#shelf =
          found.head.rows &&
          (await readRows(files, found.head.rows, (call) => host.work(nobody, () => call(host.kernel))));
        checkpoints.#found = found;
        break;
      } catch (error) {
        const what = `the checkpoint ${path} can't be used: ${reasonOf(error)}; the one before is taken if there is one`;
        log.error(what);
        checkpoints.failure = what;
      }
    }
    return checkpoints;
  }

  /** Puts the state back into a rule that was just linked, and lets sources that do not run yet go on where they were. */
  begin(rule: RunningRule): void {
    this.#rule = rule;
    const found = this.#found;
    this.#found = undefined;
    if (found !== undefined) this.#restore(rule, found);
    this.drop();
    for (const source of new Set(rule.sources)) if (!rule.isTable(source)) source.keepers.add(this);
    // What an orderly end has left is used once: later nothing would tell that it is old.
    if (found !== undefined && this.order.qos === 0) this.#writing = this.files.clear();
    this.#arm(this.order.intervalMs);
  }

  /** Gives back what the kernel holds for a rule that does not come. */
  drop(): void {
    const shelf = this.#shelf;
    this.#shelf = undefined;
    if (shelf !== undefined) this.host.work(nobody, () => shelf.close());
  }

  get isRestored(): boolean {
    return this.restored !== '';
  }

  /** Before the first row there has to be a checkpoint. */
  get needsFirst(): boolean {
    return this.order.qos > 1 && !this.isRestored;
  }

  /**
   * Sinks that can be cut back need a place to be cut back to before the first row: resolves when there is one, or when that
   * takes too long to be waited for.
   */
  async first(rule: RunningRule): Promise<void> {
    const end = performance.now() + firstMs;
    while (!this.#isClosed && performance.now() < end && !rule.sinks.every(({ isTried }) => isTried)) {
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
    if (this.#isClosed) return;
    // In a turn of its own: see `endsOf`.
    await new Promise((resolve) => setImmediate(resolve));
    this.request();
    await this.#writing;
  }

  hold(barrier: Barrier): void {
    if (this.#isClosed || this.#pending.at(-1) === barrier) return;
    barrier.left++;
    this.#pending.push(barrier);
  }

  get isHolding(): boolean {
    return this.#pending.length > 0;
  }

  /** Takes a checkpoint as soon as can be. */
  request(): void {
    if (this.#isClosed) return;
    if (this.#writing !== undefined) {
      this.#isAgain = true;
      return;
    }
    const rule = this.#rule;
    if (rule === undefined || rule.isEnding) return;
    const cut = isStarved(rule) ? undefined : this.#cut(rule);
    if (cut === undefined) {
      this.#arm(soonMs);
      this.#requestWhenTaken(rule);
      return;
    }
    this.#writing = this.#write(cut).finally(() => {
      this.#writing = undefined;
      if (this.#isClosed) return;
      this.#arm(this.failure === '' ? this.order.intervalMs : retryMs);
      if (this.#isAgain) {
        this.#isAgain = false;
        // Not in the middle of what others do one after the other.
        setImmediate(() => this.request());
      }
    });
  }

  /** Of a rule that comes behind the others there is one between two pieces of its input. */
  #requestWhenTaken(rule: RunningRule): void {
    const taken = this.#isAwaiting ? undefined : whenTaken(rule);
    if (taken === undefined) return;
    this.#isAwaiting = true;
    void taken.then(() => {
      this.#isAwaiting = false;
      if (this.#writing === undefined) this.request();
    });
  }

  /** Copies what the rule keeps at its end; to be called while it is linked. Then `end` brings it to disk. */
  takeLast(rule: RunningRule): boolean {
    this.#leave();
    this.#giveUp();
    this.#close();
    const last = isStarved(rule) ? undefined : this.#cut(rule);
    if (last === undefined) return false;
    const rows = new Pieces();
    try {
      // The kernel keeps nothing of a rule that is gone.
      this.#writeRows(rule, last, rows, Number.MAX_SAFE_INTEGER);
    } catch (error) {
      this.log.error(`no checkpoint could be taken: ${reasonOf(error)}`);
      this.#pending = [...last.barriers, ...this.#pending];
      return false;
    } finally {
      this.#close();
    }
    this.#last = last;
    this.#lastRows = rows;
    return true;
  }

  /** Brings the last checkpoint to disk; with `isOut` all output is with the outside, without it the last one stays. */
  async end(isOut: boolean): Promise<void> {
    this.#leave();
    this.#giveUp();
    await this.#writing;
    const last = this.#last;
    this.#last = undefined;
    this.drop();
    let isKept = false;
    if (last !== undefined && isOut) {
      try {
        const began = performance.now();
        const rows = this.#lastRows;
        const head = await this.#rowsToDisk(last, (pieces) => {
          pieces.takeAll(rows);
          return false;
        });
        await this.files.write(head, last.state.pieces);
        await Promise.all((this.#rule?.sinks ?? []).map((sink) => sink.sync()));
        await this.#publish(last, head, began);
        isKept = true;
      } catch (error) {
        this.log.error(`no checkpoint could be written: ${reasonOf(error)}`);
      }
    }
    for (const barrier of [...(last?.barriers ?? []), ...this.#pending.splice(0)]) barrier.passed(!isKept);
  }

  #leave(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const source of this.#rule?.sources ?? []) source.keepers.delete(this);
  }

  #arm(ms: number): void {
    clearTimeout(this.#timer);
    if (ms > 0 && !this.#isClosed) this.#timer = setTimeout(() => this.#due(), ms).unref();
  }

  #due(): void {
    // Nothing came in, nothing went out: the last one is as good as a new one.
    const isIdle =
      this.failure === '' &&
      this.#pending.length === 0 &&
      this.#rule !== undefined &&
      this.#seen === seenOf(this.#rule);
    if (isIdle) this.#arm(this.order.intervalMs);
    else this.request();
  }

  /** Copies the state; undefined when the kernel could not give it. */
  #cut(rule: RunningRule): Cut | undefined {
    const began = performance.now();
    const ends = this.order.qos > 1 ? endsOf(rule) : {};
    // One that is not open yet could not be cut back to this checkpoint. What is open and can't any more is no longer waited for.
    const isMissing = (i: string) => ends[i] === undefined && rule.sinks[Number(i)]?.connection.status !== 1;
    if (this.#cutBack.some(isMissing)) return undefined;
    const lost = this.#cutBack.filter((i) => ends[i] === undefined);
    if (lost.length > 0)
      this.log.warn('a sink can be cut back to checkpoints no longer: after a kill its output may come twice');
    this.#cutBack = Object.keys(ends);
    const state = new StateCopy();
    let isWhole = false;
    let snapshot: Snapshot | undefined;
    this.host.work(new Set([rule]), () => {
      const write = (bytes: Uint8Array) => {
        state.add(bytes);
        this.beat();
      };
      snapshot = takeSnapshot(rule.host.kernel, nodesOf(rule), this.#chain.next(), write) ?? undefined;
      isWhole = true;
    });
    this.#snapshot = snapshot;
    if (snapshot !== undefined) this.#chain.taken(snapshot);
    if (!isWhole) {
      this.#chain.forget();
      return undefined;
    }
    state.end();
    const seen = seenOf(rule);
    this.#seen = seen;
    const head: CheckpointHead = {
      rule: rule.id,
      epoch: ++this.#epoch,
      at: this.host.now(),
      stateBytes: state.bytes,
      sources: positionsOf(rule),
      sinks: ends,
    };
    const barriers = this.#pending;
    this.#pending = [];
    return {
      head,
      state,
      snapshot,
      barriers,
      isOut: this.#allOut(rule),
      pauseMs: performance.now() - began,
      writtenBytes: state.bytes,
    };
  }

  /** Writes some of the rows that the cut has pinned; false when these were the last. */
  #writeRows(rule: RunningRule, cut: Cut, pieces: Pieces, most: number): boolean {
    const { snapshot } = cut;
    if (snapshot === undefined || snapshot.pages === 0) return false;
    let outcome: ReturnType<Snapshot['write']> | undefined;
    const began = performance.now();
    this.host.work(new Set([rule]), () => {
      do {
        outcome = snapshot.write(Math.min(most, mostSliceBytes), (bytes) => pieces.add(bytes));
        this.beat();
      } while (outcome === 'more' && pieces.bytes < most);
    });
    cut.pauseMs = Math.max(cut.pauseMs, performance.now() - began);
    if (outcome === 'all') return false;
    if (outcome === 'changed') throw new Error('the clock was set back meanwhile');
    if (outcome === 'memory') throw new Error('the memory of the kernel is exhausted');
    if (outcome === undefined) throw new Error('the kernel is broken');
    return true;
  }

  /** Brings the rows that `next` gives to disk, if there are any; returns the head with where all rows are. */
  async #rowsToDisk(cut: Cut, next: (pieces: Pieces) => boolean): Promise<CheckpointHead> {
    const { snapshot, head } = cut;
    if (snapshot === undefined) return head;
    let own: Segment | undefined;
    try {
      if (snapshot.pages > 0) own = await this.files.writeSegment(head.epoch, next);
    } catch (error) {
      this.#chain.forget();
      await this.files.abandonSegment(head.epoch).catch(() => {});
      throw error;
    } finally {
      if (this.#snapshot === snapshot) this.#close();
    }
    cut.writtenBytes = cut.state.bytes + (own?.bytes ?? 0);
    const rows = this.#chain.written(snapshot, own);
    if (rows === undefined) return head;
    const stateBytes = rows.segments.reduce((sum, { bytes }) => sum + bytes, head.stateBytes);
    return { ...head, stateBytes, rows };
  }

  /** Unpins what the snapshot under way has. */
  #close(): void {
    const snapshot = this.#snapshot;
    this.#snapshot = undefined;
    if (snapshot === undefined) return;
    this.host.work(nobody, () => snapshot.close());
  }

  /** Resolves when all that the sinks have now is with the outside; never, when it is lost. */
  #allOut(rule: RunningRule): Promise<void> {
    return new Promise((resolve) => {
      const mark = new Barrier({ keepsLost: true, advance: () => mark.left === 0 && resolve() }, Date.now());
      for (const sink of rule.sinks) sink.hold(mark);
      mark.passed(false);
    });
  }

  async #write(cut: Cut): Promise<void> {
    const { head, barriers } = cut;
    const began = performance.now();
    const givenUp = new Promise<boolean>((resolve) => {
      this.#giveUp = () => resolve(false);
    });
    try {
      const whole = await this.#rowsToDisk(cut, (pieces) => {
        if (this.#isClosed) throw new Error('the rule ends');
        return this.#writeRows(this.#rule!, cut, pieces, pieces.bytes + mostSliceBytes);
      });
      await this.files.write(whole, cut.state.pieces);
      if (await Promise.race([cut.isOut.then(() => true), givenUp])) {
        await Promise.all((this.#rule?.sinks ?? []).map((sink) => sink.sync()));
        await this.#publish(cut, whole, began);
        for (const barrier of barriers) barrier.passed(false);
        return;
      }
      await this.files.abandon(head.epoch);
    } catch (error) {
      const what = `no checkpoint could be written: ${reasonOf(error)}`;
      if (this.#isClosed) this.log.debug(what);
      else if (this.failure !== what) this.log.error(what);
      this.failure = what;
    }
    this.#pending = [...barriers, ...this.#pending];
  }

  async #publish({ pauseMs, writtenBytes }: Cut, head: CheckpointHead, began: number): Promise<void> {
    await this.files.publish(head.epoch);
    if (this.failure !== '' && this.count > 0) this.log.info('checkpoints are written again');
    this.failure = '';
    this.count++;
    this.lastAt = Date.now();
    this.lastBytes = head.stateBytes;
    this.lastWrittenBytes = writtenBytes;
    this.lastPauseMs = Math.round(pauseMs * 1000) / 1000;
    this.lastMs = Math.round(performance.now() - began);
    for (const source of new Set(this.#rule?.sources)) source.keepers.committed(this, head.sources[source.name]);
    this.#rule?.sinks.forEach((sink, i) => {
      if (head.sinks[i] !== undefined) sink.commit(head.sinks[i]);
    });
  }

  #restore(rule: RunningRule, { head, state }: ReadCheckpoint): void {
    const { kernel } = rule.host;
    const nodes = nodesOf(rule);
    let failed: readonly LoadFailure[] = [];
    let unclaimed = 0;
    let loaded = 0;
    this.host.work(new Set([rule]), () => {
      const read = stateReader(state);
      ({ failed, unclaimed, loaded } = kernel.loadNode(
        nodes,
        (into) => {
          this.beat();
          return read(into);
        },
        this.#shelf,
      ));
      const behind = head.at - this.host.now();
      if (behind > smallStepMs) kernel.setLoadedBack(nodes, behind, head.at);
    });
    for (const source of new Set(rule.sources)) {
      const position = rule.isTable(source) ? undefined : head.sources[source.name];
      const isLate = source.hasStarted && 'others read the stream already, and get no row twice';
      const reason = position === undefined ? undefined : isLate || source.seek(position);
      if (reason !== undefined) this.log.warn(`${source.label} can't go on where it was: ${reason}`);
    }
    if (this.order.qos > 1) {
      this.#cutBack = Object.keys(head.sinks).filter((i) => rule.sinks[Number(i)] !== undefined);
      rule.sinks.forEach((sink, i) => {
        if (head.sinks[i] !== undefined) sink.cutBack(head.sinks[i]);
      });
    }
    const when = new Date(head.at).toISOString();
    const names = failed.map(({ of, text }) => `${nameOf(rule, nodes.indexOf(of as never))} (${text})`);
    const isWhole = failed.length === 0 && unclaimed === 0;
    this.restored = isWhole
      ? `goes on with its state of ${when}`
      : `goes on with a part of its state of ${when}: ${loaded} operators have theirs, ${unclaimed} are gone or others${
          names.length === 0 ? '' : `, these begin empty: ${names.join(', ')}`
        }`;
    if (isWhole) this.log.info(this.restored);
    else this.log.warn(this.restored);
    this.lastAt = head.at;
    this.lastBytes = head.stateBytes;
  }
}
