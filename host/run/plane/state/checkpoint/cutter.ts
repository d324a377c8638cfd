/**
 * The cut of a rule: the state of its operators is copied; large numbers of rows are pinned and written later, slice by
 * slice.
 */

import type { Snapshot } from '../../../../../kernels/snapshot-api.js';
import { finishWork } from '../../../../../kernels/state/deferred.js';
import { takeSnapshot } from '../../../../../kernels/state/snapshot.js';
import type { Logger } from '../../../../base/log/log.js';
import type { KeptOperator } from '../../../../model/kept.js';
import type { Segment, SegmentedRows } from '../../../link/moving.js';
import { Barrier } from '../../acknowledge/barrier.js';
import type { PlaneHost, RunningRule } from '../../running/running.js';
import type { CheckpointFiles } from './files.js';
import type { CheckpointHead } from './head.js';
import { endsOf, nodesOf, pendingOf, positionsOf } from './of-rule.js';
import { type Pieces, SegmentChain } from './segments.js';
import { StateCopy } from './state-copy.js';

/** The parts of a checkpoint that are taken at one instant. */
export interface Cut {
  readonly head: CheckpointHead;
  readonly state: StateCopy;
  /** Pending input from other rules, in the order of the head. */
  readonly pending: readonly Uint8Array[];
  /** Snapshot of the rows that are written later; undefined without any. */
  readonly snapshot: Snapshot | undefined;
  /** Resolves when all earlier output is with the outside. */
  readonly isOut: Promise<void>;
  /** Longest time that rows waited for the checkpoint, ms. */
  pauseMs: number;
  /** Bytes that went to disk. */
  writtenBytes: number;
}

/** Rules whose work it is to free memory: none. */
const nobody: ReadonlySet<RunningRule> = new Set();
/** Bytes of rows that are written between two pieces of work, roughly. */
export const mostSliceBytes = 256 << 10;

/** Number of cuts that copy groups at once, after the memory was too short to pin them. */
const cutsAtOnce = 16;

export class Cutter {
  /** Epoch of the last cut. */
  epoch = 0;
  /** Numbers of the sinks that can be cut back. */
  cutBack: readonly string[] = [];
  readonly #chain = new SegmentChain();
  /** Snapshot that is being written. */
  #snapshot: Snapshot | undefined;
  /** Rows on their way to disk while the rule goes on. */
  #precopy: Promise<SegmentedRows | undefined> | undefined;
  /** Number of the next cuts that copy groups at once. */
  #cutsAtOnce = 0;

  constructor(
    private readonly isExact: boolean,
    /** Operators of the rule that keep state. */
    private readonly kept: readonly KeptOperator[],
    private readonly files: CheckpointFiles,
    private readonly host: Pick<PlaneHost, 'kernel' | 'now' | 'work'>,
    /** Shows that the thread lives, however long a kernel call takes. */
    private readonly beat: () => void,
    private readonly log: Logger,
  ) {}

  /** Finishes work in pieces: the rows that it sends belong before the cut. */
  finish(rule: RunningRule): void {
    this.host.work(new Set([rule]), () => finishWork(rule.host.kernel, nodesOf(rule)));
  }

  /** Copies the state; undefined when that is not possible now. */
  take(rule: RunningRule): Cut | undefined {
    const began = performance.now();
    const ends = this.isExact ? endsOf(rule) : {};
    // A sink that is not open yet could not be cut back to this checkpoint. One that is open and can't be cut back any
    // more is not waited for.
    const isMissing = (i: string) => ends[i] === undefined && rule.sinks[Number(i)]?.connection.status !== 1;
    if (this.cutBack.some(isMissing)) return undefined;
    const lost = this.cutBack.filter((i) => ends[i] === undefined);
    if (lost.length > 0)
      this.log.warn('a sink can be cut back to checkpoints no longer: after a kill its output may come twice');
    this.cutBack = Object.keys(ends);
    const state = new StateCopy();
    let isWhole = false;
    let snapshot: Snapshot | undefined;
    this.host.work(new Set([rule]), () => {
      const write = (bytes: Uint8Array) => {
        state.add(bytes);
        this.beat();
      };
      const order = { ...this.#chain.next(), atOnce: this.#cutsAtOnce > 0 };
      snapshot = takeSnapshot(rule.host.kernel, nodesOf(rule), order, write) ?? undefined;
      isWhole = true;
    });
    this.#snapshot = snapshot;
    if (snapshot !== undefined) this.#chain.taken(snapshot);
    if (!isWhole) {
      this.#chain.forget();
      return undefined;
    }
    if (this.#cutsAtOnce > 0) this.#cutsAtOnce--;
    state.end();
    const pending = pendingOf(rule);
    const lengths = pending.map(([stream, bytes]) => [stream, bytes.length] as const);
    const head: CheckpointHead = {
      rule: rule.id,
      epoch: ++this.epoch,
      at: this.host.now(),
      stateBytes: state.bytes,
      sources: positionsOf(rule),
      sinks: ends,
      kept: this.kept,
      ...(pending.length > 0 && { pending: Object.fromEntries(lengths) }),
    };
    return {
      head,
      state,
      pending: pending.map(([, bytes]) => bytes),
      snapshot,
      isOut: allOut(rule),
      pauseMs: performance.now() - began,
      writtenBytes: state.bytes,
    };
  }

  /** Writes some of the rows that the cut has pinned; false when these were the last. */
  writeRows(rule: RunningRule, cut: Cut, pieces: Pieces, most: number): boolean {
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
    if (outcome === 'memory') {
      this.#cutsAtOnce = cutsAtOnce;
      throw new Error('the memory of the kernel is exhausted');
    }
    if (outcome === undefined) throw new Error('the kernel is broken');
    return true;
  }

  /**
   * Brings the rows that `next` gives to disk, if there are any; returns the head with where all rows are.
   * @param isWanted false: another cut was taken meanwhile, and these rows are none of its chain
   */
  async rowsToDisk(cut: Cut, next: (pieces: Pieces) => boolean, isWanted = () => true): Promise<CheckpointHead> {
    const { snapshot, head } = cut;
    if (snapshot === undefined) return head;
    let own: Segment | undefined;
    try {
      if (snapshot.pages > 0) own = await this.files.writeSegment(head.epoch, next);
      if (!isWanted()) throw new Error('it was given up');
    } catch (error) {
      if (isWanted()) this.#chain.forget();
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

  /**
   * Brings the rows of a rule to disk while it goes on; returns where they are, undefined where there are few. Rejects
   * when the last part is taken meanwhile. There is one at a time.
   */
  precopy(rule: RunningRule): Promise<SegmentedRows | undefined> {
    this.#precopy ??= this.#copyAhead(rule).finally(() => {
      this.#precopy = undefined;
    });
    return this.#precopy;
  }

  async #copyAhead(rule: RunningRule): Promise<SegmentedRows | undefined> {
    this.finish(rule);
    const cut = this.take(rule);
    if (cut === undefined) return undefined;
    const isOwn = () => this.#snapshot === cut.snapshot;
    const next = (pieces: Pieces) => isOwn() && this.writeRows(rule, cut, pieces, pieces.bytes + mostSliceBytes);
    const { rows } = await this.rowsToDisk(cut, next, isOwn);
    if (rows !== undefined) await this.files.keepSegments(rows, cut.head.epoch);
    return rows;
  }

  /** Gives up the snapshot under way: the next one has all rows. */
  abandon(): void {
    if (this.#snapshot !== undefined) this.#chain.forget();
    this.#close();
  }

  /** Unpins the rows of the snapshot under way. */
  #close(): void {
    const snapshot = this.#snapshot;
    this.#snapshot = undefined;
    if (snapshot !== undefined) this.host.work(nobody, () => snapshot.close());
  }
}

/** Resolves when all output that the sinks have now is with the outside; never when some is lost. */
function allOut(rule: RunningRule): Promise<void> {
  return new Promise((resolve) => {
    const mark = new Barrier({ keepsLost: true, advance: () => mark.left === 0 && resolve() }, Date.now());
    for (const sink of rule.sinks) sink.hold(mark);
    mark.passed(false);
  });
}
