/**
 * The cut of a rule: what its operators keep is copied, large numbers of rows are pinned and written later, slice by
 * slice.
 */
import type { Snapshot } from '../../../../../kernels/api.js';
import { finishWork } from '../../../../../kernels/state/deferred.js';
import { takeSnapshot } from '../../../../../kernels/state/snapshot.js';
import type { Logger } from '../../../../base/log/log.js';
import type { KeptOperator } from '../../../../model/kept.js';
import { Barrier } from '../../acknowledge/barrier.js';
import type { PlaneHost, RunningRule } from '../../running/running.js';
import type { CheckpointFiles } from './files.js';
import type { CheckpointHead } from './head.js';
import { endsOf, nodesOf, pendingOf, positionsOf } from './of-rule.js';
import { type Pieces, type Segment, SegmentChain } from './segments.js';
import { StateCopy } from './state-copy.js';

/** Everything that has to go to disk at once. */
export interface Cut {
  readonly head: CheckpointHead;
  readonly state: StateCopy;
  /** Input that other rules had sent, in the order of the head. */
  readonly pending: readonly Uint8Array[];
  /** Rows that are left to it. */
  readonly snapshot: Snapshot | undefined;
  /** Resolves when all output from before is with the outside. */
  readonly isOut: Promise<void>;
  /** The longest time that rows waited for it, ms. */
  pauseMs: number;
  /** Bytes that went to disk. */
  writtenBytes: number;
}

/** Whose work it is to free memory. */
const nobody: ReadonlySet<RunningRule> = new Set();
/** Bytes of rows that are written between two pieces of work, about. */
export const mostSliceBytes = 256 << 10;

/** So many cuts save groups at once when there was no memory to keep them as they were. */
const cutsAtOnce = 16;

export class Cutter {
  /** Epoch of the last cut. */
  epoch = 0;
  /** Numbers of the sinks that can be cut back. */
  cutBack: readonly string[] = [];
  readonly #chain = new SegmentChain();
  /** That is being written. */
  #snapshot: Snapshot | undefined;
  /** How many of the next cuts do. */
  #cutsAtOnce = 0;

  constructor(
    private readonly isExact: boolean,
    /** What the operators of the rule keep. */
    private readonly kept: readonly KeptOperator[],
    private readonly files: CheckpointFiles,
    private readonly host: Pick<PlaneHost, 'kernel' | 'now' | 'work'>,
    /** The thread lives, however long a call of the kernel takes. */
    private readonly beat: () => void,
    private readonly log: Logger,
  ) {}

  /** Does what operators are in the middle of: what that sends belongs before the cut. */
  finish(rule: RunningRule): void {
    this.host.work(new Set([rule]), () => finishWork(rule.host.kernel, nodesOf(rule)));
  }

  /** Copies the state; undefined when that can't be now. */
  take(rule: RunningRule): Cut | undefined {
    const began = performance.now();
    const ends = this.isExact ? endsOf(rule) : {};
    // One that is not open yet could not be cut back to this checkpoint. What is open and can't any more is no longer
    // waited for.
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

  /** Brings the rows that `next` gives to disk, if there are any; returns the head with where all rows are. */
  async rowsToDisk(cut: Cut, next: (pieces: Pieces) => boolean): Promise<CheckpointHead> {
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

  /** Gives up the snapshot under way: the next one has all rows. */
  abandon(): void {
    if (this.#snapshot !== undefined) this.#chain.forget();
    this.#close();
  }

  /** Unpins what the snapshot under way has. */
  #close(): void {
    const snapshot = this.#snapshot;
    this.#snapshot = undefined;
    if (snapshot !== undefined) this.host.work(nobody, () => snapshot.close());
  }
}

/** Resolves when all that the sinks have now is with the outside; never, when it is lost. */
function allOut(rule: RunningRule): Promise<void> {
  return new Promise((resolve) => {
    const mark = new Barrier({ keepsLost: true, advance: () => mark.left === 0 && resolve() }, Date.now());
    for (const sink of rule.sinks) sink.hold(mark);
    mark.passed(false);
  });
}
