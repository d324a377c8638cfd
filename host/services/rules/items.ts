/** Rules as items of imports and exports; the engine follows their changes. */
import { reasonOf } from '../../base/errors.js';
import type { RuleJson } from '../../meta/definitions/rule-definition.js';
import type { RuleRepository } from '../../meta/definitions/rules.js';
import type { StoreChange } from '../../meta/store.js';
import type { ReadRule, RuleItems } from '../../meta/transfer/import.js';
import { ruleErrors } from '../errors/rules.js';
import { unmaskRule } from '../secrets/rule.js';
import { asRuleError, type RuleRegistry } from './registry.js';

export class StoredRuleItems implements RuleItems {
  readonly #rules: RuleRepository;
  readonly #registry: RuleRegistry;

  constructor(registry: RuleRegistry) {
    this.#rules = registry.rules;
    this.#registry = registry;
  }

  /** All rules but temporary and unreadable ones. */
  export(): Record<string, string> {
    const entries = this.#rules.ids().flatMap((id): [string, string][] => {
      try {
        const rule = this.#rules.get(id);
        return rule === undefined || rule.temp === true ? [] : [[id, JSON.stringify(rule)]];
      } catch {
        return [];
      }
    });
    return Object.fromEntries(entries);
  }

  ids(): string[] {
    return this.#rules.ids();
  }

  read(id: string, text: string): ReadRule {
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch (error) {
      throw ruleErrors.notJson(id, reasonOf(error), { cause: error });
    }
    const { json, rule } = this.#registry.read(unmaskRule(body, this.#stored(id)), id);
    if (json.temp === true) throw ruleErrors.temporary(id);
    return { json, rule, isLarge: this.#registry.engine.isLarge?.(rule) === true };
  }

  prepare({ rule }: ReadRule, within: <T>(look: () => T) => T, signal: AbortSignal | undefined): Promise<void> {
    return this.#registry.prepare(rule, { within, signal });
  }

  check({ json, rule }: ReadRule): readonly StoreChange[] {
    asRuleError(() => this.#registry.check(rule));
    this.#registry.logUnknownMembers(rule.id, json);
    return this.#rules.changes(rule.id, { ...json, id: rule.id });
  }

  /** The stored rule, whose secrets a masked one keeps. */
  #stored(id: string): RuleJson | undefined {
    try {
      return this.#rules.get(id);
    } catch {
      return undefined;
    }
  }

  removal(id: string): readonly StoreChange[] {
    return this.#rules.changes(id, null);
  }

  release(id: string): Promise<void> {
    this.#rules.forgetTemporary(id);
    return this.#registry.release(id);
  }

  adopt(id: string): Promise<void> {
    this.#rules.forgetTemporary(id);
    return this.#registry.adopt(id);
  }
}
