/**
 * What programs of a pattern read: values of rows of a match, each a column of their own batch, and the values that
 * must be kept of each row for them.
 */
import { type LookPlan, ofRow } from '../../../kernels/nodes/pattern.js';
import type { ColumnType } from '../../../kernels/plan/ir.js';
import type { AggregateValue, ColumnValue, Value, Values } from '../values/value.js';

/** An aggregate over rows of a match, with its arguments as indexes of kept values. */
export interface MatchAggregate {
  readonly value: AggregateValue;
  readonly args: readonly number[];
  readonly filter: number | null;
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
    const args = value.args.map((arg) =>
      arg === this.classifier ? ofRow.classifier : arg === this.matchNumber ? ofRow.matchNumber : this.keep(arg),
    );
    const filter = value.filter === null ? null : this.keep(value.filter);
    const column = known >= 0 ? known : this.aggregates.push({ value, args, filter }) - 1;
    return this.column({ kind: 'aggregate', column, variables, isFinal }, null);
  }

  planOf(column: ColumnValue): LookPlan | undefined {
    const at = this.columns.indexOf(column);
    return at < 0 ? undefined : this.plans[at];
  }
}
