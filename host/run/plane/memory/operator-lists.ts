/**
 * Lists of operators that rules of one shape share: with thousands of rules each list of its own would be most of a
 * rule.
 */
import type { OperatorPlan } from '../../../../kernels/plan/ir.js';

const maxLists = 100;

export class OperatorLists {
  readonly #known = new Map<string, OperatorPlan[]>();
  /** The equal list that was there first. */
  readonly #first = new WeakMap<OperatorPlan[], OperatorPlan[]>();

  /** Returns an equal list that another rule has already, if there is one. */
  same(operators: OperatorPlan[]): OperatorPlan[] {
    const first = this.#first.get(operators);
    if (first !== undefined) return first;
    const key = JSON.stringify(operators);
    let known = this.#known.get(key);
    if (known === undefined) {
      // Rules of many shapes gain nothing from it: the table must not outgrow what it saves.
      if (this.#known.size >= maxLists) this.#known.clear();
      this.#known.set(key, operators);
      known = operators;
    }
    this.#first.set(operators, known);
    return known;
  }
}
