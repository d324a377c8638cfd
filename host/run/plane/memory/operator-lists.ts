/**
 * Lists of operators that rules of one shape share: with thousands of rules each list of its own would be most of a
 * rule.
 */
import type { OperatorPlan } from '../../../../kernels/plan/ir.js';

const maxLists = 100;

export class OperatorLists {
  readonly #known = new Map<string, OperatorPlan[]>();

  /** Returns an equal list that another rule has already, if there is one. */
  same(operators: OperatorPlan[]): OperatorPlan[] {
    const key = JSON.stringify(operators);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    // Rules of many shapes gain nothing from it: the table must not outgrow what it saves.
    if (this.#known.size >= maxLists) this.#known.clear();
    this.#known.set(key, operators);
    return operators;
  }
}
