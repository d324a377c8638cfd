/**
 * Parties that are behind the others, since they took more than their share of the time of the data plane while there was not enough.
 * Where nobody else reads their sources these are slowed.
 */
import type { Logger } from '../../../base/log.js';
import type { Party } from '../parties.js';
import type { RunningBehind, RunningRule } from '../running.js';
import type { PutsBehind } from '../share-watch.js';
import { SlowedInput, type SlowedSource } from './slowed-input.js';
import { Turns } from './turns.js';

export interface BehindHost {
  readonly rules: ReadonlySet<RunningRule>;
  now(): number;
  later(call: () => void): void;
}

/** A party that is behind. */
interface Entry extends RunningBehind {
  readonly rules: ReadonlySet<RunningRule>;
  readonly since: number;
  /** Others have come to its sources, or it has gone. */
  readonly isOver: boolean;
  /** It goes on as before. */
  end(): void;
}

/** Its sources are slowed. */
class Slowed implements Entry {
  readonly #inputs = new Map<SlowedSource, SlowedInput>();

  constructor(
    readonly rules: ReadonlySet<RunningRule>,
    sources: Iterable<SlowedSource>,
    readonly since: number,
    turns: Turns,
    now: () => number,
  ) {
    for (const source of sources) {
      const input = new SlowedInput(source, turns, now);
      this.#inputs.set(source, input);
      source.slowed = input;
    }
  }

  get isWaiting(): boolean {
    return [...this.#inputs.values()].some((input) => input.isWaiting);
  }

  get isOver(): boolean {
    return [...this.#inputs.keys()].some(({ users }) => users.size === 0 || !isAmong(users, this.rules));
  }

  get text(): string {
    const names = [...this.#inputs.keys()].map(({ name }) => name);
    return `behind the others, since it takes more than its share of the processor: source${names.length > 1 ? 's' : ''} ${names.join(', ')} slowed`;
  }

  end(): void {
    for (const [source, input] of this.#inputs) {
      input.settle();
      source.slowed = undefined;
    }
  }
}

export class Behind implements PutsBehind {
  readonly #turns: Turns;
  readonly #entries = new Set<Entry>();
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

  put({ rules, sources }: Party, part: number): void {
    const among = new Set(rules);
    const own = [...sources] as unknown as SlowedSource[];
    if (!own.every(({ users }) => isAmong(users, among))) return;
    const entry = new Slowed(among, own, this.host.now(), this.#turns, () => this.host.now());
    this.#entries.add(entry);
    const percent = Math.round(part * 100);
    for (const rule of rules) {
      rule.behind = entry;
      const line = `takes ${percent} % of the time of the data plane while others wait: it comes behind them, sources slowed`;
      this.#tell(rule, 'warn', line);
    }
  }

  look(parts: ReadonlyMap<Party, number> | undefined, enough: number): void {
    for (const entry of this.#entries) {
      const party = parts && [...parts.keys()].find((one) => one.rules.some((rule) => entry.rules.has(rule)));
      const isModest = parts === undefined || party === undefined || parts.get(party)! < enough;
      if (!entry.isOver && (entry.isWaiting || !isModest)) continue;
      this.#end(entry);
    }
  }

  #end(entry: Entry): void {
    this.#entries.delete(entry);
    entry.end();
    const seconds = Math.round((this.host.now() - entry.since) / 1000);
    for (const rule of entry.rules) {
      if (rule.behind === entry) rule.behind = undefined;
      if (!rule.isEnding)
        this.#tell(rule, 'info', `has caught up after ${seconds} s and comes behind the others no longer`);
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
