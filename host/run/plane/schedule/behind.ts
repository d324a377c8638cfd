/**
 * Parties that are behind the others, since they took more than their share of the time of the data plane while there
 * was not enough. Where nobody else reads their sources these are slowed; otherwise what they have yet to read waits in
 * a lane.
 */
import { KernelError } from '../../../../kernels/memory/error.js';
import { reasonOf } from '../../../base/errors.js';
import type { Logger } from '../../../base/log/log.js';
import type { Party } from '../running/parties.js';
import type { RunningBehind, RunningRule, RunningSource } from '../running/running.js';
import { Lane, type LaneSource, type LaneTerms } from './lane.js';
import type { PutsBehind } from './share-watch.js';
import type { TurnQueue } from './turn-queue.js';
import { Turns } from './turns.js';

export interface BehindHost {
  readonly rules: ReadonlySet<RunningRule>;
  now(): number;
  later(call: () => void): void;
  /** Work of rules is about to count at another place. */
  moving(): void;
}

/** Longest time that the end of a rule waits for what it has yet to read, ms. */
const finishMs = 1000;

/** A source whose input can wait for its turn: for all of its rules, or for some of them. */
interface ThrottledSource extends LaneSource {
  /** From now on its input waits for its turn. */
  throttle(turns: Pick<Turns, 'add'>, now: () => number): TurnQueue;
  /** Works off what waits; input waits no longer. */
  unthrottle(): void;
}

/** A party that is behind: its sources are slowed where nobody else reads them, otherwise it has a lane. */
class Slowed implements RunningBehind {
  readonly #inputs = new Map<ThrottledSource, TurnQueue>();
  readonly #lanes = new Map<RunningSource, Lane>();
  readonly rules: Set<RunningRule>;
  /** Called when nothing waits any more: while others read on that may be for moments. */
  whenEmpty: (() => void) | undefined;
  #finished: Promise<void> | undefined;

  /** Throws KernelError without memory for a lane. */
  constructor(
    party: Party,
    readonly since: number,
    turns: Turns,
    now: () => number,
  ) {
    this.rules = new Set(party.rules);
    try {
      for (const source of party.sources as ReadonlySet<ThrottledSource>) {
        if (isAmong(source.users, this.rules)) continue;
        this.#lanes.set(source, new Lane(source, this.rules, termsOf(party.rules), turns, now, () => this.#emptied()));
      }
    } catch (error) {
      this.#closeLanes();
      throw error;
    }
    for (const source of party.sources as ReadonlySet<ThrottledSource>) {
      if (this.#lanes.has(source)) continue;
      this.#inputs.set(source, source.throttle(turns, now));
    }
    for (const rule of this.rules) {
      rule.behind = this;
      this.#passHolds(rule, (source, lane) => {
        lane.sinkIsFull(true);
        source.sinkIsFull(false);
      });
    }
  }

  get isWaiting(): boolean {
    return (
      [...this.#inputs.values()].some(({ isFull }) => isFull) ||
      [...this.#lanes.values()].some(({ isWaiting }) => isWaiting)
    );
  }

  /** Sources that others have come to, or that have gone, are slowed no longer. */
  prune(): void {
    for (const source of this.#inputs.keys()) {
      if (source.users.size === 0 || !isAmong(source.users, this.rules)) this.#free(source);
    }
  }

  /** It has gone, or nothing is left that waits for it. */
  get isOver(): boolean {
    return this.rules.size === 0 || this.#inputs.size + this.#lanes.size === 0;
  }

  get isStarved(): boolean {
    return [...this.#lanes.values()].some(({ isAtPlace }) => !isAtPlace);
  }

  whenAtPlace(): Promise<unknown> | undefined {
    const waits = [...this.#lanes.values()].flatMap((lane) => lane.whenAtPlace() ?? []);
    return waits.length === 0 ? undefined : Promise.all(waits);
  }

  settle(): void {
    for (const lane of this.#lanes.values()) lane.settle();
  }

  get text(): string {
    if (!this.isWaiting) return '';
    const slowed = namesOf(this.#inputs.keys(), 'slowed');
    const apart = [...this.#lanes.values()].map(({ text }) => text);
    const parts = [slowed, ...apart].filter((part) => part !== '');
    return `behind the others, since it takes more than its share of the processor: ${parts.join(', ')}`;
  }

  /** What is done to its sources. */
  get manner(): string {
    const parts = [namesOf(this.#inputs.keys(), 'slowed'), namesOf(this.#lanes.keys(), 'read apart from them')];
    return parts.filter((part) => part !== '').join(', ');
  }

  laneOf(source: RunningSource): Lane | undefined {
    return this.#lanes.get(source);
  }

  get memoryBytes(): number {
    let bytes = 0;
    for (const lane of this.#lanes.values()) bytes += lane.memoryBytes;
    return bytes / Math.max(1, this.rules.size);
  }

  finish(ending: ReadonlySet<RunningRule>, readsOn: boolean): Promise<void> | undefined {
    if (this.#lanes.size === 0 || !isAmong(this.rules, ending)) return undefined;
    this.#finished ??= Promise.all([...this.#lanes.values()].map((lane) => lane.finish(finishMs, readsOn))).then(
      () => {},
    );
    return this.#finished;
  }

  leave(rule: RunningRule): string[] {
    const losses: string[] = [];
    for (const [source, lane] of this.#lanes) {
      const count = lane.waitingMessages;
      if (count === 0) continue;
      const waited = count === 1 ? '1 message' : `${count.toLocaleString('en')} messages`;
      if (rule.checkpoints !== undefined) {
        rule.log.info(
          `the rule ends while ${waited} of ${source.name} wait for it, since it came behind the others: ` +
            'it goes on with them, as far as the input log still has them then',
        );
        continue;
      }
      rule.inputLost(source, count, lostAtEnd);
      losses.push(
        `the rule ends while ${waited} of ${source.name} wait for it, since it came behind the others: they are lost`,
      );
    }
    this.#release(rule);
    this.rules.delete(rule);
    for (const lane of this.#lanes.values()) lane.rules.delete(rule);
    if (this.rules.size === 0) this.#closeLanes();
    return losses;
  }

  /** It goes on as before; nothing waits in a lane. */
  end(): void {
    for (const source of this.#inputs.keys()) this.#free(source);
    for (const rule of this.rules) this.#release(rule);
    this.#closeLanes();
  }

  #emptied(): void {
    if (!this.isWaiting) this.whenEmpty?.();
  }

  #free(source: ThrottledSource): void {
    source.unthrottle();
    this.#inputs.delete(source);
  }

  #closeLanes(): void {
    for (const lane of this.#lanes.values()) lane.close();
    this.#lanes.clear();
  }

  /** What holds the lanes for it holds the sources again. */
  #release(rule: RunningRule): void {
    this.#passHolds(rule, (source, lane) => {
      source.sinkIsFull(true);
      lane.sinkIsFull(false);
    });
    if (rule.behind === this) rule.behind = undefined;
  }

  #passHolds(rule: RunningRule, pass: (source: RunningSource, lane: Lane) => void): void {
    for (const source of rule.sources) {
      const lane = this.#lanes.get(source);
      if (lane !== undefined) for (let i = 0; i < rule.holds; i++) pass(source, lane);
    }
  }
}

/** A party that is to be left as it is. */
class Left implements RunningBehind {
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
    for (const rule of rules) rule.behind = this;
  }

  prune(): void {}

  get text(): string {
    return `takes more than its share of the processor, and does not come behind the others: ${this.cause}`;
  }

  laneOf(): undefined {
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
    rule.behind = undefined;
    return [];
  }

  end(): void {
    for (const rule of this.rules) rule.behind = undefined;
  }
}

const lostAtEnd = 'the rule ended before they had their turn';

/** Why input of sources that others read as well can't wait for the party; undefined when it can. */
function obstacleOf({ rules, sources }: Party): string | undefined {
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

/** Rules that are on their way to where their sources are take input elsewhere; they are looked at again. */
function isHere({ rules, sources }: Party): boolean {
  return rules.every(
    (rule) =>
      rule.checkpoints === undefined ||
      rule.sources.every(
        (source) =>
          !sources.has(source) || isAmong(source.users, new Set(rules)) || source.places?.isHere(rule) === true,
      ),
  );
}

function termsOf(rules: readonly RunningRule[]): LaneTerms {
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

export class Behind implements PutsBehind {
  readonly #turns: Turns;
  readonly #entries = new Set<Slowed | Left>();
  /** Rules whose log has said so. */
  readonly #told = new WeakSet<RunningRule>();

  constructor(private readonly host: BehindHost) {
    this.#turns = new Turns({
      now: () => host.now(),
      later: (call) => host.later(call),
      others: () => host.rules.size - [...this.#entries].reduce((sum, { rules }) => sum + rules.size, 0),
    });
  }

  worked(ms: number): void {
    if (this.#entries.size > 0) this.#turns.worked(ms);
  }

  isBehind({ rules }: Party): boolean {
    return rules.some(({ behind }) => behind !== undefined);
  }

  put(party: Party, part: number): void {
    const percent = Math.round(part * 100);
    const line = `takes ${percent} % of the time of the data plane while others wait`;
    const obstacle = obstacleOf(party);
    if (obstacle !== undefined) {
      this.#entries.add(new Left(new Set(party.rules), this.host.now(), obstacle));
      for (const rule of party.rules) this.#tell(rule, 'warn', `${line}, and does not come behind them: ${obstacle}`);
      return;
    }
    if (!isHere(party)) return;
    let entry: Slowed;
    this.host.moving();
    try {
      entry = new Slowed(party, this.host.now(), this.#turns, () => this.host.now());
    } catch (error) {
      // It is tried again at the next look.
      if (!(error instanceof KernelError) || error.isFatal) throw error;
      for (const rule of party.rules)
        this.#tell(rule, 'warn', `${line}, and can't come behind them: ${reasonOf(error)}`);
      return;
    }
    this.#entries.add(entry);
    for (const rule of party.rules) this.#tell(rule, 'warn', `${line}: it comes behind them, ${entry.manner}`);
  }

  look(parts: ReadonlyMap<Party, number> | undefined, enough: number): void {
    for (const entry of this.#entries) {
      entry.prune();
      const party = parts && [...parts.keys()].find((one) => one.rules.some((rule) => entry.rules.has(rule)));
      const isModest = parts === undefined || party === undefined || parts.get(party)! < enough;
      if (entry.isOver || (isModest && !entry.isWaiting)) this.#end(entry);
      else entry.whenEmpty = isModest ? () => this.#end(entry) : undefined;
    }
  }

  #end(entry: Slowed | Left): void {
    this.#entries.delete(entry);
    this.host.moving();
    entry.end();
    const seconds = Math.round((this.host.now() - entry.since) / 1000);
    const end = entry instanceof Left ? 'takes no more than its share' : 'has caught up';
    for (const rule of entry.rules) {
      if (!rule.isEnding) this.#tell(rule, 'info', `${end} after ${seconds} s and comes behind the others no longer`);
      this.#told.add(rule);
    }
  }

  /** Says so in the log of the rule the first time; a rule that comes and goes would fill it. */
  #tell(rule: RunningRule, level: keyof Pick<Logger, 'warn' | 'info'>, line: string): void {
    if (this.#told.has(rule)) rule.debug(() => line);
    else rule.log[level](line);
  }
}

function isAmong(users: ReadonlySet<RunningRule>, rules: ReadonlySet<RunningRule>): boolean {
  for (const rule of users) if (!rules.has(rule)) return false;
  return true;
}
