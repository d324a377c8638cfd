/**
 * Checkpoints of one rule. Between two pieces of work the state of its operators is copied out of the kernel, with the
 * positions of its sources (cutter.ts); rules that it is joined with are cut at the same instant (groups.ts). The copy
 * goes to disk while rows flow on, and counts when it is there and all earlier output is with the outside (joint.ts).
 * Only then the messages that it holds are acknowledged to their sources.
 */
import { randomUUID } from 'node:crypto';
import { basename, dirname } from 'node:path';
import type { Kernel } from '../../../../../kernels/api.js';
import type { Logger } from '../../../../base/log/log.js';
import { systemClock, type Timer } from '../../../../base/time/clock.js';
import { topicUse } from '../../../../connectors/topic-use.js';
import type { CheckpointOrder } from '../../../link/protocol.js';
import { BranchHold } from '../../acknowledge/branch-hold.js';
import type { Retainer, RuleHold } from '../../acknowledge/retention.js';
import { stateBytesOf } from '../../memory/memory.js';
import type { PlaneHost, RunningCheckpoints, RunningRule } from '../../running/running.js';
import { ReadAhead } from './ahead.js';
import { findCommon } from './common/found.js';
import { CommonMember } from './common/member.js';
import { Cutter } from './cutter.js';
import { CheckpointFiles, type ReadCheckpoint } from './files.js';
import { Groups } from './groups.js';
import { type CheckpointHead, mostNamed } from './head.js';
import { Joint } from './joint.js';
import { hasStuckSink, isFed, isStarved, seenOf, UnderWay, whenTaken } from './of-rule.js';
import { Outcomes } from './outcomes.js';
import { type FoundState, findState, restoreState } from './restore.js';
import { shownIn } from './restored.js';
import { outcomeOf, type PartOwner, RulePart } from './rule-part.js';
import { forgetState, Shared } from './shared.js';

/** Time until a failed checkpoint is tried again, and time until one that could not be taken is, ms. */
const retryMs = 5000;
const soonMs = 200;
/**
 * Longest wait of the sources for the first checkpoint, of one rule and of several in common, and time between two
 * looks whether it can be taken, ms.
 */
const firstMs = 5000;
const firstCommonMs = 30_000;
const pollMs = 5;
/** Refusals of a checkpoint of several rules until input is not left to wait for its turn. */
const mostRefusals = 10;
/** Rules whose work it is to free memory: none. */
const nobody: ReadonlySet<RunningRule> = new Set();
/** Bytes of state beyond which a checkpoint is taken before the end of a rule, and the longest time for that, ms. */
const muchBytes = 4 << 20;
const lightenMs = 60_000;

export class RuleCheckpoints extends Outcomes implements RunningCheckpoints, Retainer, PartOwner {
  restored = '';
  atStart = '';
  rule: RunningRule | undefined;
  #found: FoundState | undefined;
  readonly cutter: Cutter;
  /** Its part in checkpoints of several rules; undefined for a rule that has checkpoints of its own. */
  readonly common: CommonMember | undefined;
  readonly #groups: Groups<RuleCheckpoints>;
  /** Messages that the rule holds, by source. */
  #holds: readonly RuleHold[] = [];
  #fromBranch: BranchHold | undefined;
  /** Checkpoint on its way to disk. */
  #joint: Joint<RulePart> | undefined;
  /** Removal of the files of an earlier run. */
  clearing: Promise<void> | undefined;
  #isAgain = false;
  /** A checkpoint waits for input that waits for its turn. */
  #isAwaiting = false;
  readonly #underWay = new UnderWay();
  /** Number of refused checkpoints since the last one taken. */
  #refusals = 0;
  isClosed = false;
  #timer: Timer | undefined;
  /** Part that was taken at the end of the rule. */
  #last: RulePart | undefined;
  /** Figures of input and output at the last cut. */
  #seen = '';

  private constructor(
    readonly order: CheckpointOrder,
    readonly files: CheckpointFiles,
    readonly host: PlaneHost,
    /** Shows that the thread lives, however long a kernel call takes. */
    private readonly beat: () => void,
    readonly log: Logger,
    readonly shared: Shared | undefined,
  ) {
    super();
    this.cutter = new Cutter(order.qos > 1, shownIn(order.kept), files, host, beat, log);
    this.#groups = host.shared('checkpoint.groups', () => new Groups<RuleCheckpoints>());
    this.common = order.common && new CommonMember(this, order.common, host);
  }

  /** Reads the newest whole checkpoint; damaged ones are named in the log. */
  static async open(order: CheckpointOrder, host: PlaneHost, beat: () => void, log: Logger): Promise<RuleCheckpoints> {
    const files = new CheckpointFiles(order.folder);
    const shared = Shared.of(order, host);
    await shared?.fetch();
    const checkpoints = new RuleCheckpoints(order, files, host, beat, log, shared);
    const found = await checkpoints.#find((call) => host.work(nobody, () => call(host.kernel)));
    checkpoints.#found = found;
    checkpoints.cutter.epoch = found.epoch;
    checkpoints.failure = found.refusals.at(-1) ?? '';
    return checkpoints;
  }

  /** As `open`, in a folder where nothing of earlier runs counts any more. */
  static async anew(order: CheckpointOrder, host: PlaneHost, beat: () => void, log: Logger): Promise<RuleCheckpoints> {
    await new CheckpointFiles(order.folder).clear();
    return RuleCheckpoints.open(order, host, beat, log);
  }

  async #find(work: (call: (kernel: Kernel) => void) => void): Promise<FoundState> {
    const { order, files, log } = this;
    if (order.common !== undefined) return findCommon(files, order.common.from, work);
    await this.#groups.marks(dirname(order.folder)).finish(basename(order.folder), log);
    return ReadAhead.of(this.host).useOf(order.folder, (takeAhead) =>
      findState(files, { check: (head) => this.#checkOthers(head), work, takeAhead, log }),
    );
  }

  /**
   * Rejects when a checkpoint that counts with this one is damaged: joined rules go on from the same instant, if need
   * be from the checkpoints before.
   */
  async #checkOthers({ joint }: CheckpointHead): Promise<void> {
    for (const name of joint?.others ?? []) {
      if (!(await this.#groups.isDamaged(dirname(this.order.folder), name))) continue;
      throw new Error(`it counts only with that of ${name.folder}, which is damaged`);
    }
  }

  /**
   * Loads the state into a rule that was just linked, and lets sources that do not run yet go on from their positions.
   */
  begin(rule: RunningRule): void {
    this.rule = rule;
    const found = this.#found?.checkpoint;
    if (this.#found !== undefined) this.#noteRefusals(rule, this.#found);
    if (this.#found !== undefined && found !== undefined) this.#goOn(rule, this.#found, found);
    else for (const [i, end] of Object.entries(this.order.ends ?? {})) rule.sinks[Number(i)]?.cutBack(end);
    this.drop();
    const sources = [...new Set(rule.sources)];
    const read = sources.filter((source) => !rule.isTable(source) && this.order.isForMove !== true);
    this.#holds = [...this.#holds, ...read.map((source) => source.retention.add(this))];
    this.common?.begin(rule);
    if (this.order.qos > 0 && this.common === undefined) {
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
    // The state of an orderly stop is used once: later nothing would tell that it is old.
    if (found !== undefined && this.order.qos === 0) this.clearing = forgetState(this);
    this.#arm(this.order.intervalMs);
  }

  /** Gives back what the kernel holds for a rule that does not come. */
  drop(): void {
    const loadedSnapshot = this.#found?.loadedSnapshot;
    this.#found = undefined;
    if (loadedSnapshot !== undefined) this.host.work(nobody, () => loadedSnapshot.close());
  }

  /** Tells of checkpoints that can't be read as a loss, since their messages are acknowledged. */
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
    // There is no need of another checkpoint until input or output comes.
    if (isWhole && this.failure === '') this.#seen = seenOf(rule);
    this.lastAt = head.at;
    this.lastBytes = head.stateBytes;
  }

  /** Place of the rule in a source, while it is linked; undefined when that is not known. */
  placeIn(source: string): unknown {
    return this.#found?.checkpoint?.head.sources[source];
  }

  get isRestored(): boolean {
    return this.restored !== '';
  }

  /** Other rules are cut at the same instant. */
  get isJoined(): boolean {
    return this.#groups.of(this).length > 1;
  }

  /** A checkpoint has to be taken before the first row. */
  get needsFirst(): boolean {
    return this.order.qos > 1 && !this.isRestored && this.common?.isFirst !== false;
  }

  /**
   * Takes the checkpoint before the first row, to which sinks can be cut back. Resolves when it is over, or when it
   * takes too long.
   */
  async first(rule: RunningRule): Promise<void> {
    if (this.common !== undefined) {
      await Promise.race([this.common.whenFirst(), pause(firstCommonMs)]);
      return;
    }
    const end = performance.now() + firstMs;
    const isPatient = () => !this.isClosed && performance.now() < end;
    while (isPatient() && !rule.sinks.every(({ isTried }) => isTried)) await pause(pollMs);
    // The first checkpoint is taken in a turn of its own: see `endsOf`.
    await new Promise((resolve) => setImmediate(resolve));
    // A checkpoint under way is from before the sinks were open.
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

  /** Takes a checkpoint as soon as possible. */
  request(): void {
    if (this.isClosed || this.common?.want() === true) return;
    const members = this.#groups.of(this);
    const busy = members.find((one) => one.#joint !== undefined);
    if (busy !== undefined) {
      busy.#isAgain = true;
      return;
    }
    if (this.#isAtWork(members)) {
      this.#arm(soonMs);
      return;
    }
    const parts = this.#takeOrSettle(members);
    if (parts !== undefined) {
      this.#bring(parts, []);
      return;
    }
    this.#arm(soonMs);
    this.#requestWhenTaken(members);
  }

  #isAtWork(members: readonly RuleCheckpoints[]): boolean {
    return this.#underWay.isWaitedFor(members.flatMap(({ rule }) => rule ?? []));
  }

  #takeOrSettle(members: readonly RuleCheckpoints[]): RulePart[] | undefined {
    // Several rules may never all be without waiting input, unless it is worked off.
    const isLate = members.length + (this.common?.common.members ?? 0) > 1 && ++this.#refusals > mostRefusals;
    if (isLate) for (const one of members) for (const source of one.rule?.sources ?? []) source.settle();
    const parts = this.#take(members, [], []);
    if (parts !== undefined) this.#refusals = 0;
    return parts;
  }

  takeTogether(owners: readonly RuleCheckpoints[], number: number): RulePart[] | undefined {
    if (this.#isAtWork(owners)) return undefined;
    for (const { cutter } of owners) cutter.epoch = number - 1;
    return this.#takeOrSettle(owners);
  }

  /** Requests a checkpoint when the input of throttled rules reaches a place that it can name. */
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

  /** Whether the rule can be cut now. */
  get #canCut(): boolean {
    return this.rule !== undefined && !this.rule.isEnding && !isStarved(this.rule);
  }

  /**
   * Cuts all members at once; undefined when one can't be cut now. `carried` are parts of other rules that count with
   * them.
   */
  #take(
    members: readonly RuleCheckpoints[],
    enders: readonly RuleCheckpoints[],
    carried: readonly RulePart[],
  ): RulePart[] | undefined {
    if (!members.every((one) => (enders.includes(one) ? !isStarved(one.rule!) : one.#canCut))) return undefined;
    const isAlone = members.length + carried.length === 1;
    const ids = members.map(() => randomUUID());
    for (const one of members) one.cutter.finish(one.rule!);
    const cuts = members.map((one) => [one, one.cutter.take(one.rule!)] as const);
    const names = members.map(({ order, cutter }) => ({ folder: basename(order.folder), epoch: cutter.epoch }));
    const parts: RulePart[] = [];
    cuts.forEach(([one, cut], i) => {
      if (cut === undefined) return;
      const others = names.length > mostNamed ? [] : names.filter((_name, j) => j !== i);
      const { by, members: count } = one.order.common ?? {};
      const joint =
        by === undefined || count === undefined
          ? { joint: { id: ids[i]!, others } }
          : { common: { by, members: count } };
      const head = isAlone && by === undefined ? cut.head : { ...cut.head, ...joint };
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

  /** Brings the parts to disk, after the checkpoints that are on their way. */
  #bring(parts: readonly RulePart[], after: readonly Promise<unknown>[]): void {
    const clearing = parts.flatMap(({ owner }) => (owner as RuleCheckpoints).clearing ?? []);
    const marks = this.#groups.marks(dirname(this.order.folder));
    const joint = new Joint(parts, marks, [...after, ...clearing], this.shared?.keep);
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
    // The request must not interrupt the settling of other rules.
    setImmediate(() => this.request());
  }

  /**
   * Takes a checkpoint before the end of a rule with much state, piece by piece while rows flow. At the end only the
   * changes since then are copied. Resolves when that is done, or can't be.
   */
  async lighten(): Promise<void> {
    const { rule } = this;
    if (rule === undefined || this.isClosed || this.order.qos === 0 || stateBytesOf(rule) < muchBytes) return;
    if (this.common !== undefined) return;
    const end = performance.now() + lightenMs;
    // A checkpoint under way may be from long before.
    for (let isOwn = false; ; isOwn = true) {
      const { outcome } = this.#joint ?? {};
      let isSettled = outcome === undefined;
      void outcome?.then(() => {
        isSettled = true;
      });
      while (!isSettled && !this.isClosed && performance.now() < end) {
        // A checkpoint counts only when all earlier output is out, which may take for ever.
        if (this.#groups.of(this).some((one) => one.rule !== undefined && hasStuckSink(one.rule))) return;
        await pause(pollMs);
      }
      if (isOwn || !isSettled || this.isClosed) return;
      this.request();
    }
  }

  /** To be called when all input was read, and the rule is about to end. */
  async finished(): Promise<void> {
    await Promise.all([this.lighten(), this.common?.finished()]);
  }

  /** Copies the state of the rule at its end; to be called while it is linked. Then `end` brings it to disk. */
  takeLast(): boolean {
    if (this.common !== undefined) {
      this.cutter.abandon();
      return this.common.isLastKept;
    }
    // Its state was kept for the way here alone.
    if (this.order.isForMove === true) return false;
    // It may have been taken together with rules that end at the same time.
    if (this.#last === undefined) this.#takeLast([this]);
    return this.#last !== undefined;
  }

  /** Copies the state of all joined rules, since they all end now. */
  takeLastOfAll(): void {
    if (this.#last === undefined && this.order.isForMove !== true) this.#takeLast(this.#groups.of(this));
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
    // The rows are copied now: the kernel keeps nothing of a rule that is gone.
    const isWhole = parts !== undefined && ofEnders.every((part) => part.takeRows());
    for (const one of enders) one.cutter.abandon();
    if (!isWhole) for (const part of parts ?? []) part.undo();
    // The last parts of other rules count with this one or not at all: alone they would be of another instant.
    const all = isWhole ? [...carried, ...parts] : [];
    if (all.length > 0)
      this.#bring(
        all,
        joints.map(({ outcome }) => outcome),
      );
    if (isWhole) for (const part of ofEnders) (part.owner as RuleCheckpoints).#last = part;
  }

  /** Brings the last checkpoint to disk when all output is out (`isOut`); otherwise the one before stays. */
  async end(isOut: boolean): Promise<void> {
    this.leave();
    const last = this.#last;
    this.#last = undefined;
    let isKept = false;
    if (last === undefined) {
      await Promise.all([this.#joint?.outcome, this.clearing, this.common?.ended()]);
    } else {
      last.settle(isOut);
      isKept = await outcomeOf(last);
    }
    for (const hold of this.#holds) hold.drop(!isKept);
    this.#holds = [];
  }

  /** Ends the checkpoints of the rule; one under way without its last state comes to nothing. */
  leave(): void {
    this.#leave();
    if (this.#last === undefined) this.#joint?.giveUp();
    this.drop();
  }

  #leave(): void {
    this.isClosed = true;
    this.common?.close();
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
    // Without input and output the last checkpoint is as good as a new one.
    const isIdle =
      this.failure === '' && !this.isHolding && this.rule !== undefined && this.#seen === seenOf(this.rule);
    if (isIdle) this.#arm(this.order.intervalMs);
    else this.request();
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
