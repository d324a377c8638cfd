/**
 * Groups of rules that are throttled, since they took more than their share of the time of the data plane while there
 * was not enough. Sources that only the group reads are throttled as a whole; input of other sources waits in a
 * throttle queue.
 */
import { KernelError } from '../../../../kernels/memory/error.js';
import { reasonOf } from '../../../base/errors.js';
import type { Logger } from '../../../base/log/log.js';
import type { FedSource } from '../feed/fed-source.js';
import type { RuleGroup } from '../running/rule-groups.js';
import type { RunningLag, RunningRule, RunningSource } from '../running/running.js';
import { FairQueue } from './fair-queue.js';
import type { Throttler } from './share-watch.js';
import { ThrottleQueue, type ThrottleTerms } from './throttle-queue.js';
import type { TurnQueue } from './turn-queue.js';

export interface ThrottlingHost {
  readonly rules: ReadonlySet<RunningRule>;
  now(): number;
  later(call: () => void): void;
  /** To be called before the work of rules counts for another source or branch. */
  moving(): void;
}

/** Longest time that the end of a rule waits for its unread input, ms. */
const finishMs = 1000;

/** A source whose input can wait for its turn: for all of its rules, or for some of them. */
interface ThrottledSource extends FedSource {
  /** Lets the input of the source wait for its turn from now on. */
  throttle(turns: Pick<FairQueue, 'add'>, now: () => number): TurnQueue;
  /** Works off the waiting input, and lets no more input wait. */
  unthrottle(): void;
}

/** A group that is throttled: as a whole source where nobody else reads it, otherwise through a throttle queue. */
class Throttled implements RunningLag {
  readonly #inputs = new Map<ThrottledSource, TurnQueue>();
  readonly #branches = new Map<RunningSource, ThrottleQueue>();
  readonly rules: Set<RunningRule>;
  /** Called when no input waits any more; while others read on that may be for moments. */
  whenEmpty: (() => void) | undefined;
  #finished: Promise<void> | undefined;

  /** Throws KernelError without memory for a throttle queue. */
  constructor(
    group: RuleGroup,
    readonly since: number,
    turns: FairQueue,
    now: () => number,
  ) {
    this.rules = new Set(group.rules);
    try {
      for (const source of group.sources as ReadonlySet<ThrottledSource>) {
        if (isAmong(source.users, this.rules)) continue;
        this.#branches.set(
          source,
          new ThrottleQueue(source, this.rules, termsOf(group.rules), turns, now, () => this.#emptied()),
        );
      }
    } catch (error) {
      this.#closeBranches();
      throw error;
    }
    for (const source of group.sources as ReadonlySet<ThrottledSource>) {
      if (this.#branches.has(source)) continue;
      this.#inputs.set(source, source.throttle(turns, now));
    }
    for (const rule of this.rules) {
      rule.lag = this;
      this.#passHolds(rule, (source, branch) => {
        branch.sinkIsFull(true);
        source.sinkIsFull(false);
      });
    }
  }

  get isWaiting(): boolean {
    return (
      [...this.#inputs.values()].some(({ isFull }) => isFull) ||
      [...this.#branches.values()].some(({ isWaiting }) => isWaiting)
    );
  }

  /** Ends the throttling of sources that others have come to, or that have gone. */
  prune(): void {
    for (const source of this.#inputs.keys()) {
      if (source.users.size === 0 || !isAmong(source.users, this.rules)) this.#free(source);
    }
  }

  /** The group has no rules any more, or no throttled source. */
  get isOver(): boolean {
    return this.rules.size === 0 || this.#inputs.size + this.#branches.size === 0;
  }

  get isStarved(): boolean {
    return [...this.#branches.values()].some(({ isAtPlace }) => !isAtPlace);
  }

  whenAtPlace(): Promise<unknown> | undefined {
    const waits = [...this.#branches.values()].flatMap((branch) => branch.whenAtPlace() ?? []);
    return waits.length === 0 ? undefined : Promise.all(waits);
  }

  settle(): void {
    for (const branch of this.#branches.values()) branch.settle();
  }

  get text(): string {
    if (!this.isWaiting) return '';
    const throttled = namesOf(this.#inputs.keys(), 'paused');
    const queued = [...this.#branches.values()].map(({ text }) => text);
    const parts = [throttled, ...queued].filter((part) => part !== '');
    return `throttled, since it takes more than its share of the processor: ${parts.join(', ')}`;
  }

  /** Text on how each of its sources is throttled. */
  get manner(): string {
    const parts = [namesOf(this.#inputs.keys(), 'paused'), namesOf(this.#branches.keys(), 'read through a queue')];
    return parts.filter((part) => part !== '').join(', ');
  }

  branchOf(source: RunningSource): ThrottleQueue | undefined {
    return this.#branches.get(source);
  }

  get memoryBytes(): number {
    let bytes = 0;
    for (const branch of this.#branches.values()) bytes += branch.memoryBytes;
    return bytes / Math.max(1, this.rules.size);
  }

  finish(ending: ReadonlySet<RunningRule>, readsOn: boolean): Promise<void> | undefined {
    if (this.#branches.size === 0 || !isAmong(this.rules, ending)) return undefined;
    this.#finished ??= Promise.all([...this.#branches.values()].map((branch) => branch.finish(finishMs, readsOn))).then(
      () => {},
    );
    return this.#finished;
  }

  leave(rule: RunningRule): string[] {
    const losses: string[] = [];
    for (const [source, branch] of this.#branches) {
      const count = branch.waitingMessages;
      if (count === 0) continue;
      const waited = count === 1 ? '1 message' : `${count.toLocaleString('en')} messages`;
      if (rule.checkpoints !== undefined) {
        rule.log.info(
          `the rule ends while ${waited} of ${source.name} wait for it, since it was throttled: ` +
            'it goes on with them, as far as the input log still has them then',
        );
        continue;
      }
      rule.inputLost(source, count, lostAtEnd);
      losses.push(`the rule ends while ${waited} of ${source.name} wait for it, since it was throttled: they are lost`);
    }
    this.#release(rule);
    this.rules.delete(rule);
    for (const branch of this.#branches.values()) branch.rules.delete(rule);
    if (this.rules.size === 0) this.#closeBranches();
    return losses;
  }

  /** Ends the throttling of all rules, whose queues are empty. */
  end(): void {
    for (const source of this.#inputs.keys()) this.#free(source);
    for (const rule of this.rules) this.#release(rule);
    this.#closeBranches();
  }

  #emptied(): void {
    if (!this.isWaiting) this.whenEmpty?.();
  }

  #free(source: ThrottledSource): void {
    source.unthrottle();
    this.#inputs.delete(source);
  }

  #closeBranches(): void {
    for (const branch of this.#branches.values()) branch.close();
    this.#branches.clear();
  }

  /** Lets the full sinks of a rule block the sources again, instead of their queues. */
  #release(rule: RunningRule): void {
    this.#passHolds(rule, (source, branch) => {
      source.sinkIsFull(true);
      branch.sinkIsFull(false);
    });
    if (rule.lag === this) rule.lag = undefined;
  }

  #passHolds(rule: RunningRule, pass: (source: RunningSource, branch: ThrottleQueue) => void): void {
    for (const source of rule.sources) {
      const branch = this.#branches.get(source);
      if (branch !== undefined) for (let i = 0; i < rule.blocks; i++) pass(source, branch);
    }
  }
}

/** A group that can't be throttled. */
class Unthrottled implements RunningLag {
  readonly isWaiting = false;
  readonly isStarved = false;
  readonly isOver = false;
  whenEmpty: (() => void) | undefined;
  readonly memoryBytes = 0;

  constructor(
    readonly rules: Set<RunningRule>,
    readonly since: number,
    private readonly cause: string,
  ) {
    for (const rule of rules) rule.lag = this;
  }

  prune(): void {}

  get text(): string {
    return `takes more than its share of the processor, and is not throttled: ${this.cause}`;
  }

  branchOf(): undefined {
    return undefined;
  }

  whenAtPlace(): undefined {
    return undefined;
  }

  settle(): void {}

  finish(): undefined {
    return undefined;
  }

  leave(rule: RunningRule): string[] {
    this.rules.delete(rule);
    rule.lag = undefined;
    return [];
  }

  end(): void {
    for (const rule of this.rules) rule.lag = undefined;
  }
}

const lostAtEnd = 'the rule ended before they had their turn';

/** Reason why shared sources can't be throttled for the group; undefined when they can. */
function obstacleOf({ rules, sources }: RuleGroup): string | undefined {
  const shared = [...sources].filter(({ users }) => !isAmong(users, new Set(rules)));
  if (shared.length === 0) return undefined;
  const isKept = rules.some(({ checkpoints }) => checkpoints !== undefined);
  if (isKept && shared.some(({ places }) => places?.readsAgain !== true)) {
    return 'others read its streams as well, and their place is in its checkpoints';
  }
  if (
    shared.some(({ acknowledgements }) => acknowledgements !== undefined) &&
    rules.some((rule) => rule.gathersInput)
  ) {
    return 'others read its streams as well, and messages are acknowledged when a batch of it is out';
  }
  return undefined;
}

/**
 * Whether all rules are at their sources' positions; rules that catch up take input elsewhere, and are looked at again.
 */
function isHere({ rules, sources }: RuleGroup): boolean {
  return rules.every(
    (rule) =>
      rule.checkpoints === undefined ||
      rule.sources.every(
        (source) =>
          !sources.has(source) || isAmong(source.users, new Set(rules)) || source.places?.isHere(rule) === true,
      ),
  );
}

function termsOf(rules: readonly RunningRule[]): ThrottleTerms {
  const mayDrop = rules.every(({ dropsInput, checkpoints }) => dropsInput && checkpoints === undefined);
  return {
    most: Math.max(...rules.map(({ inputLimitBytes }) => inputLimitBytes)),
    whenFull: mayDrop ? 'drop oldest' : 'block',
  };
}

function namesOf(sources: Iterable<RunningSource>, what: string): string {
  const names = [...sources].map(({ name }) => name);
  return names.length === 0 ? '' : `source${names.length > 1 ? 's' : ''} ${names.join(', ')} ${what}`;
}

export class Throttling implements Throttler {
  readonly #turns: FairQueue;
  readonly #entries = new Set<Throttled | Unthrottled>();
  /** Rules that are throttled when their sources have worked off what they read. */
  readonly #awaited = new Set<RunningRule>();
  /** Rules whose log has told of the throttling. */
  readonly #told = new WeakSet<RunningRule>();

  constructor(private readonly host: ThrottlingHost) {
    this.#turns = new FairQueue({
      now: () => host.now(),
      later: (call) => host.later(call),
      others: () => host.rules.size - [...this.#entries].reduce((sum, { rules }) => sum + rules.size, 0),
    });
  }

  worked(ms: number): void {
    if (this.#entries.size > 0) this.#turns.worked(ms);
  }

  isThrottled({ rules }: RuleGroup): boolean {
    return rules.some(({ lag }) => lag !== undefined);
  }

  throttle(group: RuleGroup, part: number): void {
    const percent = Math.round(part * 100);
    const line = `takes ${percent} % of the time of the data plane while others wait`;
    const obstacle = obstacleOf(group);
    if (obstacle !== undefined) {
      this.#entries.add(new Unthrottled(new Set(group.rules), this.host.now(), obstacle));
      for (const rule of group.rules) this.#tell(rule, 'warn', `${line}, and is not throttled: ${obstacle}`);
      return;
    }
    if (isHere(group)) this.#throttle(group, line);
    else this.#throttleWhenHere(group, line);
  }

  /**
   * Throttles the group when its sources have worked off what they read. A file is read in pieces that are more than a
   * slow rule takes in one go, so each look would find some of it waiting.
   */
  #throttleWhenHere(group: RuleGroup, line: string): void {
    const late = [...group.sources].filter(({ isReadAhead }) => isReadAhead);
    if (late.length === 0 || this.#awaited.has(group.rules[0]!)) return;
    for (const rule of group.rules) this.#awaited.add(rule);
    void Promise.all(late.map((source) => source.whenTaken())).then(() => {
      for (const rule of group.rules) this.#awaited.delete(rule);
      const isSame = group.rules.every((rule) => this.host.rules.has(rule) && !rule.isEnding);
      // What was not here by now is waited for after the next look.
      if (isSame && !this.isThrottled(group) && isHere(group)) this.#throttle(group, line);
    });
  }

  #throttle(group: RuleGroup, line: string): void {
    let entry: Throttled;
    this.host.moving();
    try {
      entry = new Throttled(group, this.host.now(), this.#turns, () => this.host.now());
    } catch (error) {
      // The next look tries again.
      if (!(error instanceof KernelError) || error.isFatal) throw error;
      for (const rule of group.rules) this.#tell(rule, 'warn', `${line}, and can't be throttled: ${reasonOf(error)}`);
      return;
    }
    this.#entries.add(entry);
    for (const rule of group.rules) this.#tell(rule, 'warn', `${line}: it is throttled, ${entry.manner}`);
  }

  look(parts: ReadonlyMap<RuleGroup, number> | undefined, enough: number): void {
    for (const entry of this.#entries) {
      entry.prune();
      const group = parts && [...parts.keys()].find((one) => one.rules.some((rule) => entry.rules.has(rule)));
      const isModest = parts === undefined || group === undefined || parts.get(group)! < enough;
      if (entry.isOver || (isModest && !entry.isWaiting)) this.#end(entry);
      else entry.whenEmpty = isModest ? () => this.#end(entry) : undefined;
    }
  }

  #end(entry: Throttled | Unthrottled): void {
    this.#entries.delete(entry);
    this.host.moving();
    entry.end();
    const seconds = Math.round((this.host.now() - entry.since) / 1000);
    const end = entry instanceof Unthrottled ? 'takes no more than its share' : 'has caught up';
    for (const rule of entry.rules) {
      if (!rule.isEnding) this.#tell(rule, 'info', `${end} after ${seconds} s and is throttled no longer`);
      this.#told.add(rule);
    }
  }

  /** Tells in the log of the rule the first time alone; a rule that comes and goes would fill it. */
  #tell(rule: RunningRule, level: keyof Pick<Logger, 'warn' | 'info'>, line: string): void {
    if (this.#told.has(rule)) rule.debug(() => line);
    else rule.log[level](line);
  }
}

function isAmong(users: ReadonlySet<RunningRule>, rules: ReadonlySet<RunningRule>): boolean {
  for (const rule of users) if (!rules.has(rule)) return false;
  return true;
}
