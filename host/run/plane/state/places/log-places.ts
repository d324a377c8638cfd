import type { FedSource } from '../../feed/fed-source.js';
import type { RunningRule } from '../../running/running.js';
import type { Places } from './places.js';

/** Content of the log at the start. */
export interface LogContent {
  /** Number of the first message that not all rules have safe. */
  readonly freed: number;
  /** Number of the first message whose output was not all out. */
  readonly out: number;
  /** Number behind the last message. */
  readonly end: number;
}

export function numberIn(place: unknown): number | undefined {
  const { log } = (place ?? {}) as { log?: unknown };
  return Number.isSafeInteger(log) && (log as number) >= 0 ? (log as number) : undefined;
}

export class LogPlaces {
  /** Place of each rule that the replay has not reached. */
  readonly #numbers = new Map<RunningRule, number>();

  constructor(
    private readonly source: FedSource,
    private readonly places: Places,
  ) {}

  /** Number up to which messages were in checkpoints, whether they came into the log or not. */
  last = 0;

  /** Begins the replay; returns the number of its first message. Rules whose place lies behind that wait. */
  begin({ freed, out }: LogContent): number {
    const { source, places } = this;
    for (const rule of source.users) {
      // A rule whose tables are being read takes all of it later.
      if (rule.isTable(source) || places.ahead.has(rule)) continue;
      const place = numberIn(places.of(rule));
      if (place !== undefined) this.last = Math.max(this.last, place);
      if (place !== undefined && place < freed) noteMissing(source, rule, freed - place);
      // A rule without checkpoints has had all messages whose output is out.
      const number = place ?? (rule.checkpoints === undefined ? out : freed);
      this.#numbers.set(rule, Math.max(freed, number));
    }
    const first = this.#numbers.size === 0 ? freed : Math.min(...this.#numbers.values());
    const ahead = [...this.#numbers].filter(([, number]) => number > first);
    for (const [rule, number] of ahead) if (!places.has(rule)) places.set(rule, { log: number });
    if (!places.wait(ahead.map(([rule]) => rule))) this.#numbers.clear();
    this.reached(first);
    return first;
  }

  /** Rules that take messages before the number. */
  rulesBefore(number: number): RunningRule[] {
    const { source } = this;
    return [...source.users].filter((rule) => !rule.isTable(source) && (this.#numbers.get(rule) ?? 0) < number);
  }

  /** Number of the next message that a rule waits for; Infinity without one. */
  get next(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const [rule, number] of this.#numbers) {
      if (this.source.users.has(rule)) next = Math.min(next, number);
      else this.#numbers.delete(rule);
    }
    return next;
  }

  /** Notes that all messages before the number were taken. */
  reached(number: number): void {
    const { places } = this;
    const { users } = this.source;
    const here = [...this.#numbers].flatMap(([rule, place]) => (place <= number ? [rule] : []));
    for (const rule of here) this.#numbers.delete(rule);
    const rules = number === Number.POSITIVE_INFINITY ? [...places.rules] : here.filter((rule) => users.has(rule));
    places.reached(rules);
    places.share(users);
  }
}

/**
 * Tells in status, log and list of losses of messages that a rule needs and nobody keeps; undefined for an unknown
 * number.
 */
export function noteMissing(source: FedSource, rule: RunningRule, messages: number | undefined): void {
  const rest = 'while the rule did not run, and nobody keeps it any more';
  const reason = `others took what came on stream ${source.name} ${rest}`;
  rule.inputLost(source, messages ?? 0, reason);
  const count = messages === undefined ? {} : { messages };
  source.host.lost({ resource: 'rule', name: rule.id, what: 'messages', reason, ...count });
}
