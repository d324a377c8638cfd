/**
 * Common checkpoints of the rules that a divided rule consists of. One begins with an order to those that read the
 * stream, and goes with the rows from one to the next. It counts when all have their part on disk: from then on all
 * start from it, after whatever end.
 */
import { systemClock, type Timer } from '../../base/time/clock.js';
import type { CommonCheckpoints, CommonNews } from '../../model/common-state.js';
import type { RuleDefinition } from '../../model/engine.js';
import { parallelErrors } from './errors.js';
import type { Split } from './split.js';

/** Time until a checkpoint that came to nothing is tried again, ms. */
const retryMs = 5000;

/** A checkpoint under way. */
interface UnderWay {
  readonly number: number;
  readonly isLast: boolean;
  /** Rules whose part is not there yet. */
  readonly missing: Set<string>;
  /** Rules that have not carried out what was decided. */
  readonly unsettled: Set<string>;
  decide(counts: boolean): void;
  settle(): void;
  /** Resolves with whether it counts, when all have carried that out. */
  readonly over: Promise<boolean>;
}

export class JointState {
  /** The last checkpoint of the run counts: its rules end with it. */
  isLastKept = false;
  #split: Split | undefined;
  #number = 0;
  #isNew = true;
  /** All rules run. */
  #isRunning = false;
  #isWanted = false;
  readonly #finished = new Set<string>();
  #underWay: UnderWay | undefined;
  #last: Promise<boolean> | undefined;
  #timer: Timer | undefined;

  constructor(private readonly common: CommonCheckpoints) {}

  /** Finds out where the rules of the next start go on; rejects when that can't be told. */
  async begin(split: Split): Promise<void> {
    this.#split = split;
    this.isLastKept = false;
    this.#last = undefined;
    this.#finished.clear();
    const all = rulesOf(split);
    const kept = await this.common.kept(
      all.map(({ id }) => id),
      split.output.common?.by ?? '',
    );
    if (kept === undefined) throw parallelErrors.unread();
    this.#number = kept.last;
    this.#isNew = kept.newest === 0;
    for (const { common } of all) if (common !== undefined) common.from.number = kept.newest;
    if (split.output.common !== undefined) split.output.common.from.refusals = kept.refusals;
  }

  /** All rules run: checkpoints can be taken. */
  started(): void {
    if (this.#isRunning || this.#split === undefined) return;
    this.#isRunning = true;
    // Sinks are cut back to the first one, so it comes before the first row.
    if (this.#isNew && this.#options.qos > 1) void this.#take(false);
    else this.#arm(this.#intervalMs);
    this.#finish();
  }

  get #options(): RuleDefinition['options'] {
    return this.#split!.output.options;
  }

  get #intervalMs(): number {
    return this.#options.qos > 0 ? this.#options.checkpointIntervalMs : 0;
  }

  #arm(ms: number): void {
    this.#timer?.close();
    if (ms > 0 && this.#isRunning) this.#timer = systemClock.after(ms, () => void this.#take(false));
  }

  /** Takes the checkpoint with which the rules end; false when it does not count, or not in time. */
  last(patienceMs: number): Promise<boolean> {
    if (!this.#isRunning) return Promise.resolve(this.isLastKept);
    const patience = systemClock.after(patienceMs, () => this.#giveUp());
    return this.#takeLast().finally(() => patience.close());
  }

  #takeLast(): Promise<boolean> {
    this.#last ??= this.#take(true).then((counts) => {
      this.isLastKept = counts;
      if (!counts) this.#last = undefined;
      return counts;
    });
    return this.#last;
  }

  #giveUp(): void {
    this.#underWay?.decide(false);
    if (this.#underWay?.isLast !== true) this.#isRunning = false;
  }

  /** The rules end, or have failed: what is under way comes to nothing. Resolves when it has. */
  async end(): Promise<void> {
    this.#isRunning = false;
    this.#timer?.close();
    const { over } = this.#underWay ?? {};
    this.#underWay?.decide(false);
    await over;
  }

  /** A rule does not run any more. */
  ended(id: string): void {
    const { missing, unsettled, decide, settle } = this.#underWay ?? {};
    if (missing?.has(id)) decide?.(false);
    if (unsettled?.delete(id) && unsettled.size === 0) settle?.();
  }

  noticed(id: string, news: CommonNews): void {
    if (news.what === 'wanted') this.#want();
    else if (news.what === 'finished') this.#finish(id);
    else if (news.number === this.#underWay?.number) this.#note(id, news, this.#underWay);
  }

  #note(id: string, { what }: CommonNews, { missing, unsettled, decide, settle }: UnderWay): void {
    if (what === 'failed') decide(false);
    if (what === 'there' && missing.delete(id) && missing.size === 0) decide(true);
    if (what === 'settled' && unsettled.delete(id) && unsettled.size === 0) settle();
  }

  #want(): void {
    if (this.#underWay === undefined) void this.#take(false);
    else this.#isWanted = true;
  }

  /** When all of those that read the stream are at its end, the rules end with a last checkpoint. */
  #finish(id?: string): void {
    if (id !== undefined) this.#finished.add(id);
    if (this.#isRunning && this.#split?.feeders.every((feeder) => this.#finished.has(feeder.id))) void this.#takeLast();
  }

  async #take(isLast: boolean): Promise<boolean> {
    this.#timer?.close();
    while (this.#underWay !== undefined) await this.#underWay.over;
    if (!this.#isRunning || this.#split === undefined) return false;
    const ids = rulesOf(this.#split).map((rule) => rule.id);
    const feeders = this.#split.feeders.map((rule) => rule.id);
    const number = ++this.#number;
    const decided = open<boolean>();
    const settled = open<void>();
    const run = async (): Promise<boolean> => {
      const counts = await decided.promise;
      this.common.order(ids, counts ? 'keep' : 'drop', number, isLast);
      await settled.promise;
      this.#underWay = undefined;
      return counts;
    };
    this.#underWay = {
      number,
      isLast,
      missing: new Set(ids),
      unsettled: new Set(ids),
      decide: decided.resolve,
      settle: settled.resolve,
      over: run(),
    };
    this.common.order(feeders, 'cut', number, isLast);
    const counts = await this.#underWay.over;
    const isWanted = this.#isWanted;
    this.#isWanted = false;
    if (counts && isLast) this.#isRunning = false;
    else if (isWanted) void this.#take(false);
    else this.#arm(counts ? this.#intervalMs : retryMs);
    return counts;
  }
}

/** The rules in the order in which they start. */
export function rulesOf({ output, parts, feeders }: Split): readonly RuleDefinition[] {
  return [output, ...parts, ...feeders];
}

function open<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
