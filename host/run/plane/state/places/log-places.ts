import type { FedSource } from '../../feed/fed-source.js';
import type { RunningRule } from '../../running/running.js';
import type { Places } from './places.js';

/** What the log has at the start. */
export interface LogContent {
  /** Number of the first message that not all rules had safe. */
  readonly freed: number;
  /** Number of the first message that rules without checkpoints had not out. */
  readonly out: number;
  /** Number behind the last one. */
  readonly end: number;
}

export function numberIn(place: unknown): number | undefined {
  const { log } = (place ?? {}) as { log?: unknown };
  return Number.isSafeInteger(log) && (log as number) >= 0 ? (log as number) : undefined;
}

export class LogPlaces {
  /** Of rules that the log has not come to. */
  readonly #numbers = new Map<RunningRule, number>();

  constructor(
    private readonly source: FedSource,
    private readonly places: Places,
  ) {}

  /** Messages up to here were in checkpoints, whether they came into the log or not. */
  last = 0;

  /** The log is taken again; returns from where on. Rules whose place lies behind that wait. */
  begin({ freed, out }: LogContent): number {
    const { source, places } = this;
    for (const rule of source.users) {
      if (rule.isTable(source)) continue;
      const place = numberIn(places.of(rule));
      if (place !== undefined) this.last = Math.max(this.last, place);
      if (place !== undefined && place < freed) noteMissing(source, rule, freed - place);
      // What a rule has that keeps nothing it had when it was out.
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

  /** Rules that take messages from before the number. */
  rulesBefore(number: number): RunningRule[] {
    const { source } = this;
    return [...source.users].filter((rule) => !rule.isTable(source) && (this.#numbers.get(rule) ?? 0) < number);
  }

  /** The next place that a rule waits for; Infinity without one. */
  get next(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const [rule, number] of this.#numbers) {
      if (this.source.users.has(rule)) next = Math.min(next, number);
      else this.#numbers.delete(rule);
    }
    return next;
  }

  /** All messages before this one were taken. */
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
 * Tells in status, log and list of losses what a rule would need and nobody keeps any more; undefined: nobody knows how
 * much.
 */
export function noteMissing(source: FedSource, rule: RunningRule, messages: number | undefined): void {
  const rest = 'while the rule did not run, and nobody keeps it any more';
  const reason = `others took what came on stream ${source.name} ${rest}`;
  rule.inputLost(source, messages ?? 0, reason);
  const count = messages === undefined ? {} : { messages };
  source.host.lost({ resource: 'rule', name: rule.id, what: 'messages', reason, ...count });
}
