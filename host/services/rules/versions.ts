/** Earlier texts of rules, as clients may see them. */
import type { RuleJson } from '../../meta/definitions/rule-definition.js';
import type { RuleHistory, RuleVersion } from '../../meta/definitions/rule-history.js';
import { ruleErrors } from '../errors/rules.js';
import { maskRule } from '../secrets/rule.js';
import type { RuleRegistry } from './registry.js';

export class RuleVersionService {
  constructor(
    private readonly registry: RuleRegistry,
    private readonly history: RuleHistory,
  ) {}

  /** Numbers and times, the newest first. */
  list(id: string): Omit<RuleVersion, 'rule'>[] {
    this.registry.stored(id);
    return this.history
      .versions(id)
      .map(({ number, until }) => ({ number, until }))
      .reverse();
  }

  /** A version without passwords: sent back as an update, it has those that the rule has now. */
  get(id: string, number: string): Omit<RuleVersion, 'rule'> & { readonly rule: RuleJson } {
    this.registry.stored(id);
    const found = this.history.versions(id).find((one) => String(one.number) === number);
    if (found === undefined) throw ruleErrors.versionMissing(id, number);
    return { ...found, rule: maskRule(found.rule) };
  }
}
