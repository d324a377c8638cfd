/**
 * What programs of a pattern read: values of rows of a match, each a column of their own batch, and the values that
 * must be kept of each row for them.
 */
import type { LookPlan } from '../../../kernels/nodes/pattern.js';
import type { ColumnType } from '../../../kernels/plan/ir.js';
import { type AggregateValue, type ColumnValue, childrenOf, type Value, type Values } from '../values/value.js';

/** An aggregate over rows of a match; its arguments are over looks, for one row of the match after the other. */
export interface MatchAggregate {
  readonly value: AggregateValue;
  readonly args: readonly Value[];
  readonly filter: Value | null;
}

export class Looks {
  readonly plans: LookPlan[] = [];
  readonly columns: ColumnValue[] = [];
  /** Values that are kept of each row. */
  readonly kept: Value[] = [];
  readonly aggregates: MatchAggregate[] = [];
  /** In arguments of aggregates: the variable of each row, and the number of the match. */
  readonly classifier: ColumnValue;
  readonly matchNumber: ColumnValue;
  private readonly known = new Map<string, number>();

  /** @param index of the relation whose columns they are */
  constructor(
    private readonly index: number,
    private readonly values: Values,
  ) {
    this.classifier = values.column(index, { kind: 'field', name: 'variable', type: { type: 'any' } });
    this.matchNumber = values.column(index, { kind: 'field', name: 'match', type: { type: 'any' } });
  }

  /** Place of a value among those that are kept. */
  keep(value: Value): number {
    const at = this.kept.indexOf(value);
    return at >= 0 ? at : this.kept.push(value) - 1;
  }

  /** The column of a look; equal ones have one. */
  column(plan: LookPlan, of: Value | null): ColumnValue {
    const key = JSON.stringify(plan);
    let at = this.known.get(key);
    if (at === undefined) {
      at = this.plans.push(plan) - 1;
      this.known.set(key, at);
      const type: ColumnType = of?.kind === 'column' && of.use.kind === 'field' ? of.use.type : { type: 'any' };
      const column = this.values.column(this.index, { kind: 'field', name: `look ${at}`, type });
      this.columns.push(column);
    }
    return this.columns[at]!;
  }

  aggregate(value: AggregateValue, variables: readonly number[], isFinal: boolean): ColumnValue {
    const known = this.aggregates.findIndex((one) => one.value === value);
    const args = value.args.map((arg) => this.#ofRow(arg));
    const filter = value.filter === null ? null : this.#ofRow(value.filter);
    const column = known >= 0 ? known : this.aggregates.push({ value, args, filter }) - 1;
    return this.column({ kind: 'aggregate', column, variables, isFinal }, null);
  }

  /** The value of one row of the match: what does not depend on the match is kept, the rest is computed of that. */
  #ofRow(value: Value, done = new Map<Value, Value>()): Value {
    const before = done.get(value);
    if (before !== undefined) return before;
    const made = this.#madeOfRow(value, (inner) => this.#ofRow(inner, done));
    done.set(value, made);
    return made;
  }

  #madeOfRow(value: Value, of: (inner: Value) => Value): Value {
    if (value === this.classifier) return this.column({ kind: 'classifier', variables: [] }, null);
    if (value === this.matchNumber) return this.column({ kind: 'matchNumber' }, null);
    if (value.kind === 'const') return value;
    const isOfMatch = someOf(value, (one) => one === this.classifier || one === this.matchNumber);
    if (value.kind !== 'op' || !isOfMatch) return this.column({ kind: 'current', column: this.keep(value) }, value);
    const operands = value.operands.map((one) => one && of(one));
    return this.values.op(value.op, operands, value.args.map(of), value.imm, value.isVolatile);
  }

  /** True for a condition that looks at rows behind the one that it is asked of. */
  looksAhead(value: Value): boolean {
    return someOf(value, (one) => {
      const plan = one.kind === 'column' ? this.planOf(one) : undefined;
      return plan?.kind === 'row' && (plan.shift ?? 0) > 0;
    });
  }

  planOf(column: ColumnValue): LookPlan | undefined {
    const at = this.columns.indexOf(column);
    return at < 0 ? undefined : this.plans[at];
  }
}

/** True when a value, or one that it is made of, passes the test. */
function someOf(value: Value, test: (one: Value) => boolean, seen = new Set<Value>()): boolean {
  if (seen.has(value)) return false;
  seen.add(value);
  return test(value) || childrenOf(value).some((one) => someOf(one, test, seen));
}
