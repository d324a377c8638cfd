/**
 * Checkpoints of one rule: between two pieces of work what its operators keep is copied out of the kernel, with the
 * positions of its sources (cutter.ts), and those of the rules that it is joined with at the same instant (groups.ts).
 * All goes to disk while rows flow on, and counts when it is there and all output from before it is with the outside
 * (joint.ts). Only then messages that it holds are acknowledged to their sources.
 */
import { randomUUID } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { reasonOf } from '../../../../base/errors.js';
import type { Logger } from '../../../../base/log/log.js';
import { systemClock, type Timer } from '../../../../base/time/clock.js';
import { topicUse } from '../../../../connectors/topic-use.js';
import type { CheckpointOrder } from '../../../link/protocol.js';
import { BranchHold } from '../../acknowledge/branch-hold.js';
import type { Retainer, RuleHold } from '../../acknowledge/retention.js';
import { stateBytesOf } from '../../memory/memory.js';
import type { PlaneHost, RunningCheckpoints, RunningRule } from '../../running/running.js';
import { Cutter } from './cutter.js';
import { CheckpointFiles, type ReadCheckpoint } from './files.js';
import { Groups } from './groups.js';
import { type CheckpointHead, mostNamed } from './head.js';
import { Joint } from './joint.js';
import { hasStuckSink, isFed, isStarved, seenOf, UnderWay, whenTaken } from './of-rule.js';
import { type FoundState, findState, restoreState } from './restore.js';
import { shownIn } from './restored.js';
import { outcomeOf, type PartOwner, RulePart } from './rule-part.js';

/** Time until a checkpoint that failed is tried again, ms; and until one that could not be taken is. */
const retryMs = 5000;
const soonMs = 200;
/** Longest wait of the sources for the first checkpoint, and time between two looks whether it can be taken, ms. */
const firstMs = 5000;
const pollMs = 5;
/** Refusals of a checkpoint of several rules until input is not left to wait for its turn. */
const mostRefusals = 10;
/** Whose work it is to free memory. */
const nobody: ReadonlySet<RunningRule> = new Set();
/**
 * State that is more than that is brought to disk in pieces before the end of a rule, bytes; and how long that may
 * take, ms.
 */
const muchBytes = 4 << 20;
const lightenMs = 60_000;

export class RuleCheckpoints implements RunningCheckpoints, Retainer, PartOwner {
  count = 0;
  /** Epoch ms, 0 never. */
  lastAt = 0;
  lastBytes = 0;
  lastWrittenBytes = 0;
  lastPauseMs = 0;
  lastMs = 0;
  failure = '';
  failedSince = Number.POSITIVE_INFINITY;
  restored = '';
  atStart = '';
  rule: RunningRule | undefined;
  #found: FoundState | undefined;
  readonly cutter: Cutter;
  readonly #groups: Groups<RuleCheckpoints>;
  /** Messages that it holds, of each source. */
  #holds: readonly RuleHold[] = [];
  #fromBranch: BranchHold | undefined;
  /** On its way to disk. */
  #joint: Joint<RulePart> | undefined;
  /** Files of an earlier run go. */
  #clearing: Promise<void> | undefined;
  #isAgain = false;
  /** Input waits for its turn, and a checkpoint for that. */
  #isAwaiting = false;
  readonly #underWay = new UnderWay();
  /** How often it could not be taken since the last one. */
  #refusals = 0;
  isClosed = false;
  #timer: Timer | undefined;
  /** Taken at the end of the rule. */
  #last: RulePart | undefined;
  /** What was seen of the rule at the last cut. */
  #seen = '';

  private constructor(
    readonly order: CheckpointOrder,
    readonly files: CheckpointFiles,
    readonly host: PlaneHost,
    /** The thread lives, however long a call of the kernel takes. */
    private readonly beat: () => void,
    readonly log: Logger,
  ) {
    this.cutter = new Cutter(order.qos > 1, shownIn(order.kept), files, host, beat, log);
    this.#groups = host.shared('checkpoint.groups', () => new Groups<RuleCheckpoints>());
  }

  /** Reads the newest checkpoint that is whole; those that are not are named in the log. */
  static async open(order: CheckpointOrder, host: PlaneHost, beat: () => void, log: Logger): Promise<RuleCheckpoints> {
    const files = new CheckpointFiles(order.folder);
    const checkpoints = new RuleCheckpoints(order, files, host, beat, log);
    await checkpoints.#groups.marks(dirname(order.folder)).finish(basename(order.folder), log);
    const found = await findState(files, {
      check: (head) => checkpoints.#checkOthers(head),
      work: (call) => host.work(nobody, () => call(host.kernel)),
      log,
    });
    checkpoints.#found = found;
    checkpoints.cutter.epoch = found.epoch;
    checkpoints.failure = found.refusals.at(-1) ?? '';
    return checkpoints;
  }

  /** Rules that feed each other go on from the same instant, all of them from the one before if need be. */
  async #checkOthers({ joint }: CheckpointHead): Promise<void> {
    for (const name of joint?.others ?? []) {
      if (!(await this.#groups.isDamaged(dirname(this.order.folder), name))) continue;
      throw new Error(`it counts only with that of ${name.folder}, which is damaged`);
    }
  }

  /**
   * Puts the state back into a rule that was just linked, and lets sources that do not run yet go on where they were.
   */
  begin(rule: RunningRule): void {
    this.rule = rule;
    const found = this.#found?.checkpoint;
    if (this.#found !== undefined) this.#noteRefusals(rule, this.#found);
    if (this.#found !== undefined && found !== undefined) this.#goOn(rule, this.#found, found);
    else for (const [i, end] of Object.entries(this.order.ends ?? {})) rule.sinks[Number(i)]?.cutBack(end);
    this.drop();
    const sources = [...new Set(rule.sources)];
    const read = sources.filter((source) => !rule.isTable(source));
    this.#holds = [...this.#holds, ...read.map((source) => source.retention.add(this))];
    if (this.order.qos > 0) {
      const parts = {
        sources: sources.filter((source) => isFed(rule, source)).map(({ spec }) => spec),
        sinks: rule.sinks.map(({ spec }) => spec),
      };
      const isRead = this.order.qos > 1;
      const shared = sources.filter(
        (source) => isRead && source.spec.isShared && source.places?.rewinds === true && !rule.isTable(source),
      );
      this.#groups.add(this, { use: topicUse(parts), shared });
    }
    // What an orderly end has left is used once: later nothing would tell that it is old.
    if (found !== undefined && this.order.qos === 0) this.#clearing = this.files.clear();
    this.#arm(this.order.intervalMs);
  }

  /** Gives back what the kernel holds for a rule that does not come. */
  drop(): void {
    const loadedSnapshot = this.#found?.loadedSnapshot;
    this.#found = undefined;
    if (loadedSnapshot !== undefined) this.host.work(nobody, () => loadedSnapshot.close());
  }

  /** What can't be read was safe: messages that it held are acknowledged. */
  #noteRefusals(rule: RunningRule, { refusals, checkpoint }: FoundState): void {
    if (refusals.length === 0) return;
    const reason = refusals.join('; ');
    if (checkpoint === undefined) this.atStart = `began without its state: ${reason}`;
    this.host.lost({
      resource: 'rule',
      name: rule.id,
      what: checkpoint === undefined ? 'state' : 'newestState',
      reason,
    });
  }

  #goOn(rule: RunningRule, found: FoundState, { head }: ReadCheckpoint): void {
    if (this.order.qos > 1)
      this.cutter.cutBack = Object.keys(head.sinks).filter((i) => rule.sinks[Number(i)] !== undefined);
    const { host, beat, log, order } = this;
    const { text, isWhole, damaged } = restoreState(rule, found, {
      host,
      beat,
      log,
      isExact: order.qos > 1,
      kept: order.kept,
    });
    this.restored = text;
    this.atStart =
      found.refusals.length === 0 ? text : `${text}; newer ones can't be used: ${found.refusals.join('; ')}`;
    if (damaged.length > 0)
      host.lost({ resource: 'rule', name: rule.id, what: 'partOfState', reason: damaged.join('; ') });
    // Until something comes in or goes out there is no need of another.
    if (isWhole && this.failure === '') this.#seen = seenOf(rule);
    this.lastAt = head.at;
    this.lastBytes = head.stateBytes;
  }

  /** Where the rule goes on in a source, while it is linked; undefined when that is not known. */
  placeIn(source: string): unknown {
    return this.#found?.checkpoint?.head.sources[source];
  }

  get isRestored(): boolean {
    return this.restored !== '';
  }

  /** Others are cut at the same instant. */
  get isJoined(): boolean {
    return this.#groups.of(this).length > 1;
  }

  /** Before the first row there has to be a checkpoint. */
  get needsFirst(): boolean {
    return this.order.qos > 1 && !this.isRestored;
  }

  /**
   * Sinks that can be cut back need a place to be cut back to before the first row: resolves when there is one, or when
   * that takes too long to be waited for.
   */
  async first(rule: RunningRule): Promise<void> {
    const end = performance.now() + firstMs;
    const isPatient = () => !this.isClosed && performance.now() < end;
    while (isPatient() && !rule.sinks.every(({ isTried }) => isTried)) await pause(pollMs);
    // In a turn of its own: see `endsOf`.
    await new Promise((resolve) => setImmediate(resolve));
    // One under way is from before the sinks were open.
    const former = this.#joint;
    do {
      this.request();
      if (this.#joint !== undefined && this.#joint !== former) break;
      await pause(pollMs);
    } while (isPatient());
    if (!this.isClosed) await this.#joint?.outcome;
  }

  get fromBranch(): BranchHold {
    if (this.#fromBranch === undefined) {
      this.#fromBranch = new BranchHold();
      this.#holds = [...this.#holds, this.#fromBranch];
    }
    return this.#fromBranch;
  }

  get isHolding(): boolean {
    return this.#holds.some((hold) => hold.isHolding);
  }

  /** Takes a checkpoint as soon as can be. */
  request(): void {
    if (this.isClosed) return;
    const members = this.#groups.of(this);
    const busy = members.find((one) => one.#joint !== undefined);
    if (busy !== undefined) {
      busy.#isAgain = true;
      return;
    }
    if (this.#underWay.isWaitedFor(members.flatMap(({ rule }) => rule ?? []))) {
      this.#arm(soonMs);
      return;
    }
    // That none of several rules has input that waits for its turn may not happen by itself.
    const isLate = members.length > 1 && ++this.#refusals > mostRefusals;
    if (isLate) for (const one of members) for (const source of one.rule?.sources ?? []) source.settle();
    const parts = this.#take(members, [], []);
    if (parts !== undefined) {
      this.#refusals = 0;
      this.#bring(parts, []);
      return;
    }
    this.#arm(soonMs);
    this.#requestWhenTaken(members);
  }

  /** Of throttled rules there is one between two pieces of their input. */
  #requestWhenTaken(members: readonly RuleCheckpoints[]): void {
    if (this.#isAwaiting) return;
    const taken = members.flatMap(({ rule }) => (rule && whenTaken(rule)) ?? []);
    if (taken.length === 0) return;
    this.#isAwaiting = true;
    void Promise.all(taken).then(() => {
      this.#isAwaiting = false;
      if (this.#joint === undefined) this.request();
    });
  }

  /** Whether there is something to be cut now. */
  get #canCut(): boolean {
    return this.rule !== undefined && !this.rule.isEnding && !isStarved(this.rule);
  }

  /** Cuts all members at once; undefined when one can't be cut now. `carried` are others' that count with them. */
  #take(
    members: readonly RuleCheckpoints[],
    enders: readonly RuleCheckpoints[],
    carried: readonly RulePart[],
  ): RulePart[] | undefined {
    if (!members.every((one) => (enders.includes(one) ? !isStarved(one.rule!) : one.#canCut))) return undefined;
    const isAlone = members.length + carried.length === 1;
    const ids = members.map(() => randomUUID());
    for (const one of members) one.cutter.finish(one.rule!);
    const nameOfMember = (one: RuleCheckpoints) => ({
      folder: basename(one.order.folder),
      epoch: one.cutter.epoch,
    });
    const cuts = members.map((one) => [one, one.cutter.take(one.rule!)] as const);
    const names = members.map(nameOfMember);
    const parts: RulePart[] = [];
    cuts.forEach(([one, cut], i) => {
      if (cut === undefined) return;
      const others = names.length > mostNamed ? [] : names.filter((_name, j) => j !== i);
      const head = isAlone ? cut.head : { ...cut.head, joint: { id: ids[i]!, others } };
      const claims = one.#holds.map((hold) => hold.claim());
      parts.push(new RulePart(one, { ...cut, head }, { ...names[i]!, id: ids[i]! }, claims, enders.includes(one)));
    });
    if (parts.length === members.length) {
      for (const one of members) one.#seen = seenOf(one.rule!);
      return parts;
    }
    for (const part of parts) part.undo();
    return undefined;
  }

  /** Brings what was cut to disk, after all that is on its way. */
  #bring(parts: readonly RulePart[], after: readonly Promise<unknown>[]): void {
    const clearing = parts.flatMap(({ owner }) => (owner as RuleCheckpoints).#clearing ?? []);
    const joint = new Joint(parts, this.#groups.marks(dirname(this.order.folder)), [...after, ...clearing]);
    for (const { owner } of parts) (owner as RuleCheckpoints).#joint = joint;
    void joint.outcome.then(() => {
      for (const { owner } of parts) (owner as RuleCheckpoints).#settled(joint);
    });
  }

  #settled(joint: Joint<RulePart>): void {
    if (this.#joint !== joint) return;
    this.#joint = undefined;
    if (this.isClosed) return;
    this.#arm(this.failure === '' ? this.order.intervalMs : retryMs);
    if (!this.#isAgain) return;
    this.#isAgain = false;
    // Not in the middle of what others do one after the other.
    setImmediate(() => this.request());
  }

  /**
   * Takes a checkpoint before the end of a rule with much state, piece by piece while rows flow: what is copied at once
   * at the end is what has changed since. Resolves when that is done, or can't be.
   */
  async lighten(): Promise<void> {
    const { rule } = this;
    if (rule === undefined || this.isClosed || this.order.qos === 0 || stateBytesOf(rule) < muchBytes) return;
    const end = performance.now() + lightenMs;
    // One under way may be from long before.
    for (let isOwn = false; ; isOwn = true) {
      const { outcome } = this.#joint ?? {};
      let isSettled = outcome === undefined;
      void outcome?.then(() => {
        isSettled = true;
      });
      while (!isSettled && !this.isClosed && performance.now() < end) {
        // It counts only when all output from before is out, which may take for ever.
        if (this.#groups.of(this).some((one) => one.rule !== undefined && hasStuckSink(one.rule))) return;
        await pause(pollMs);
      }
      if (isOwn || !isSettled || this.isClosed) return;
      this.request();
    }
  }

  /** Copies what the rule keeps at its end; to be called while it is linked. Then `end` brings it to disk. */
  takeLast(): boolean {
    // With those of others that end with it.
    if (this.#last === undefined) this.#takeLast([this]);
    return this.#last !== undefined;
  }

  /** As `takeLast`, for all rules that it is joined with: they all end now. */
  takeLastOfAll(): void {
    if (this.#last === undefined) this.#takeLast(this.#groups.of(this));
  }

  #takeLast(enders: readonly RuleCheckpoints[]): void {
    const group = this.#groups.of(this);
    const joints = [...new Set(group.flatMap((one) => one.#joint ?? []))];
    const carried = joints.flatMap((joint) => joint.giveUp());
    for (const one of group) {
      if (enders.includes(one)) one.#leave();
      one.cutter.abandon();
      one.rule?.lag?.settle();
    }
    const parts = this.#take(group, enders, carried);
    const ofEnders = parts?.filter(({ isLast }) => isLast) ?? [];
    // The kernel keeps nothing of a rule that is gone.
    const isWhole = parts !== undefined && ofEnders.every((part) => part.takeRows());
    for (const one of enders) one.cutter.abandon();
    if (!isWhole) for (const part of parts ?? []) part.undo();
    // What others had taken at their end counts with it or not at all: alone it would be of another instant than the
    // rest.
    const all = isWhole ? [...carried, ...parts] : [];
    if (all.length > 0)
      this.#bring(
        all,
        joints.map(({ outcome }) => outcome),
      );
    if (isWhole) for (const part of ofEnders) (part.owner as RuleCheckpoints).#last = part;
  }

  /** Brings the last checkpoint to disk; with `isOut` all output is with the outside, without it the last one stays. */
  async end(isOut: boolean): Promise<void> {
    this.leave();
    const last = this.#last;
    this.#last = undefined;
    let isKept = false;
    if (last === undefined) {
      await Promise.all([this.#joint?.outcome, this.#clearing]);
    } else {
      last.settle(isOut);
      isKept = await outcomeOf(last);
    }
    for (const hold of this.#holds) hold.drop(!isKept);
    this.#holds = [];
  }

  /** The rule is no part of it any more; what is under way without its last state comes to nothing. */
  leave(): void {
    this.#leave();
    if (this.#last === undefined) this.#joint?.giveUp();
    this.drop();
  }

  #leave(): void {
    this.isClosed = true;
    this.#groups.delete(this);
    this.#timer?.close();
    for (const hold of this.#holds) hold.close();
    for (const source of this.rule?.sources ?? []) source.retention.delete(this);
  }

  #arm(ms: number): void {
    this.#timer?.close();
    if (ms > 0 && !this.isClosed) this.#timer = systemClock.after(ms, () => this.#due());
  }

  #due(): void {
    // Nothing came in, nothing went out: the last one is as good as a new one.
    const isIdle =
      this.failure === '' && !this.isHolding && this.rule !== undefined && this.#seen === seenOf(this.rule);
    if (isIdle) this.#arm(this.order.intervalMs);
    else this.request();
  }

  // What its parts call

  noteCounted({ head, pauseMs, writtenBytes, tookMs }: Parameters<PartOwner['noteCounted']>[0]): void {
    if (this.failure !== '' && this.count > 0) this.log.info('checkpoints are written again');
    this.failure = '';
    this.failedSince = Number.POSITIVE_INFINITY;
    this.count++;
    this.lastAt = Date.now();
    this.lastBytes = head.stateBytes;
    this.lastWrittenBytes = writtenBytes;
    this.lastPauseMs = Math.round(pauseMs * 1000) / 1000;
    this.lastMs = Math.round(tookMs);
    for (const source of new Set(this.rule?.sources))
      this.#tell(source.label, () => source.retention.committed(this, head.sources[source.name]));
    this.rule?.sinks.forEach((sink, i) => {
      if (head.sinks[i] !== undefined) this.#tell(`sink ${sink.spec.type}`, () => sink.commit(head.sinks[i]));
    });
  }

  /** A connector that can't make use of it takes it from nobody else. */
  #tell(label: string, call: () => void): void {
    try {
      call();
    } catch (error) {
      this.log.error(`${label} can't make use of a checkpoint that counts: ${reasonOf(error)}`);
    }
  }

  noteUnnamed(reason: string): void {
    const next = 'the next start of the rule tries again';
    this.failure = `the last checkpoint counts, but could not get its name: ${reason}; ${next}`;
    this.log.error(this.failure);
  }

  noteFailed(reason: string, isLast: boolean): void {
    const what = `no checkpoint could be written: ${reason}`;
    if (this.isClosed && !isLast) this.log.debug(what);
    else if (this.failure !== what) this.log.error(what);
    this.failure = what;
    this.failedSince = Math.min(this.failedSince, Date.now());
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
