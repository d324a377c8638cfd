/** Stored rules: the definition as it was sent, and apart from it whether the rule is to run. */
import { storedErrors } from '../errors.js';
import { kinds } from '../kinds.js';
import type { OnLost, Store, StoreChange } from '../store.js';
import { type RuleJson, readRuleJson } from './rule-definition.js';
import { RuleHistory } from './rule-history.js';

/** What lists show of a definition. */
export type RuleHead = Pick<RuleJson, 'name' | 'version' | 'tags'>;

export class RuleRepository {
  readonly #store: Store;
  /** Heads of rules by the text that they were read from: lists of thousands are asked for again and again. */
  readonly #heads = new Map<string, { readonly text: string; readonly head: RuleHead }>();
  /** Rules that are kept in memory only (member `temp`). */
  readonly #temporary = new Map<string, RuleJson>();

  /** What rules were before their updates. */
  readonly history: RuleHistory;

  constructor(store: Store) {
    this.#store = store;
    this.history = new RuleHistory(store);
  }

  has(id: string): boolean {
    return this.#temporary.has(id) || this.#store.get(kinds.rule, id) !== undefined;
  }

  /** Ids of all rules, ordered. */
  ids(): string[] {
    const stored = this.#store.keys(kinds.rule);
    return this.#temporary.size === 0 ? stored : [...stored, ...this.#temporary.keys()].sort();
  }

  /** Returns a rule as it was sent, with `triggered` as it is now when it was ever given or changed. */
  get(id: string): RuleJson | undefined {
    const temporary = this.#temporary.get(id);
    if (temporary !== undefined) return temporary;
    const text = this.#store.get(kinds.rule, id);
    if (text === undefined) return undefined;
    let rule: RuleJson;
    try {
      rule = readRuleJson(JSON.parse(text));
    } catch (error) {
      throw storedErrors.damaged(id, { cause: error });
    }
    const triggered = this.#triggered(id);
    return triggered === undefined ? rule : { ...rule, triggered };
  }

  /** Name, version and tags of a rule; a record that can't be read has none, and must not hide others from a list. */
  head(id: string): RuleHead {
    const temporary = this.#temporary.get(id);
    if (temporary !== undefined) return temporary;
    const text = this.#store.get(kinds.rule, id);
    const known = this.#heads.get(id);
    if (text === undefined) {
      this.#heads.delete(id);
      return {};
    }
    if (known?.text === text) return known.head;
    let head: RuleHead = {};
    try {
      const { name, version, tags } = readRuleJson(JSON.parse(text));
      head = { name, version, tags };
    } catch {
      // Whoever asks for the rule itself gets the reason.
    }
    this.#heads.set(id, { text, head });
    return head;
  }

  /** To be called for a rule that is gone. */
  forgetHead(id: string): void {
    this.#heads.delete(id);
  }

  /** Stores the definition; `triggered` only when the client gave it. */
  async put(id: string, rule: RuleJson, onLost?: OnLost): Promise<void> {
    const isStored = this.#store.get(kinds.rule, id) !== undefined;
    if (rule.temp !== true) await this.#store.batch(this.changes(id, rule), onLost);
    else if (isStored) await this.#store.batch(this.changes(id, null), onLost);
    if (rule.temp === true) this.#temporary.set(id, { id, ...rule });
    else this.#temporary.delete(id);
  }

  /** Changes that store a definition, or delete it when `rule` is null. */
  changes(id: string, rule: RuleJson | null): StoreChange[] {
    if (rule === null) {
      const gone = [kinds.rule, kinds.ruleState].map((kind): StoreChange => [kind, id, null]);
      return [...gone, ...this.history.changes(id, null)];
    }
    const { triggered, ...rest } = rule;
    const text = JSON.stringify({ id, ...rest });
    return [
      [kinds.rule, id, text],
      ...this.history.changes(id, text),
      [kinds.ruleState, id, typeof triggered === 'boolean' ? JSON.stringify({ triggered }) : null],
    ];
  }

  async setTriggered(id: string, triggered: boolean, onLost?: OnLost): Promise<void> {
    const temporary = this.#temporary.get(id);
    if (temporary !== undefined) {
      this.#temporary.set(id, { ...temporary, triggered });
      return;
    }
    if (this.#triggered(id) === triggered) return;
    await this.#store.put(kinds.ruleState, id, JSON.stringify({ triggered }), onLost);
  }

  async delete(id: string, onLost?: OnLost): Promise<void> {
    if (!this.#temporary.delete(id)) await this.#store.batch(this.changes(id, null), onLost);
  }

  /** Removes a rule that is kept in memory only; a stored one of its name shows again. */
  forgetTemporary(id: string): void {
    this.#temporary.delete(id);
  }

  #triggered(id: string): boolean | undefined {
    const text = this.#store.get(kinds.ruleState, id);
    if (text === undefined) return undefined;
    return (JSON.parse(text) as { triggered: boolean }).triggered;
  }
}
