/** Earlier texts of rules that were updated: the last ones, bounded. A rule that was only created has none. */
import { type Clock, systemClock } from '../../base/time/clock.js';
import { kinds } from '../kinds.js';
import type { Store, StoreChange } from '../store.js';
import type { RuleJson } from './rule-definition.js';

export interface RuleVersion {
  /** From 1, also when the first ones are not kept any more. */
  readonly number: number;
  /** When an update took its place, epoch ms. */
  readonly until: number;
  readonly rule: RuleJson;
}

const mostVersions = 20;
/** Characters of all versions of a rule together. */
const mostText = 256 << 10;

export class RuleHistory {
  constructor(
    private readonly store: Store,
    private readonly clock: Clock = systemClock,
  ) {}

  /** The earlier texts of a rule, the oldest first. */
  versions(id: string): readonly RuleVersion[] {
    const text = this.store.get(kinds.ruleHistory, id);
    return text === undefined ? [] : readVersions(text);
  }

  /** What is stored with the next text of a rule, or with its end (null). */
  changes(id: string, next: string | null): StoreChange[] {
    const old = this.store.get(kinds.rule, id);
    if (next !== null && old === next) return [];
    if (next === null || old === undefined) {
      // What is left of a rule that is gone is none of a new one with its name.
      return this.store.get(kinds.ruleHistory, id) === undefined ? [] : [[kinds.ruleHistory, id, null]];
    }
    return [[kinds.ruleHistory, id, JSON.stringify(this.#with(id, old))]];
  }

  #with(id: string, old: string): readonly RuleVersion[] {
    let known = this.versions(id);
    let rule: RuleJson;
    try {
      rule = JSON.parse(old) as RuleJson;
    } catch {
      // A record that is damaged is replaced, not kept.
      return known;
    }
    const number = (known.at(-1)?.number ?? 0) + 1;
    known = [...known, { number, until: this.clock.now(), rule }].slice(-mostVersions);
    while (known.length > 1 && JSON.stringify(known).length > mostText) known = known.slice(1);
    return known;
  }
}

/** A record that is damaged has no versions: it must not stand in the way of the next update. */
function readVersions(text: string): readonly RuleVersion[] {
  try {
    const read: unknown = JSON.parse(text);
    return Array.isArray(read) ? (read as RuleVersion[]) : [];
  } catch {
    return [];
  }
}
