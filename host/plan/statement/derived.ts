/**
 * Derived tables: the rows of one SELECT as those that another reads. Columns of the outer statement are values of
 * their own, which an operator between the two (`derive`) makes of what the inner one gives; so nothing that one level
 * computes (aggregates, parts of windows, numbers of rows) is mistaken for that of the other.
 */

import type { ColumnType, ColumnUse } from '../../../kernels/plan/ir.js';
import { nearest } from '../../base/text/nearest.js';
import type { Span } from '../../sql/ast.js';
import { selectErrors } from '../errors/select.js';
import type { OutputRow } from '../logical/logical.js';
import { pick, wholeObject } from '../sinks/output.js';
import { firstPresent } from '../values/joined-row.js';
import type { Relation } from '../values/source.js';
import type { ColumnValue, Value, Values } from '../values/value.js';

/** Output of a SELECT: its row and the times of the row. */
export interface Result {
  row: OutputRow;
  /** Event time of a row, epoch ms; null in processing time. */
  time: Value | null;
  /** When a row was made, epoch ms; null where that is not known. */
  arrival: Value | null;
  /** How much later than the event time of a row the value is, ms; null where it has nothing to do with it. */
  timeOffset(value: Value): number | null;
  /** The refusal of a column that a row does not have, where there is more to say of it. */
  notFound?(name: string, span: Span | undefined): Error | undefined;
}

export class DerivedTable implements Relation {
  readonly isTable = false;
  readonly isLookup = false;
  readonly declared: readonly string[] | null;
  /** Values of the columns in the inner statement, as they are sent. */
  readonly columns = new Map<ColumnValue, Value>();
  /** Values of the columns in the inner statement, as they are computed. */
  private readonly computed = new Map<ColumnValue, Value>();
  private isComplete = false;

  /**
   * @param index negative: it is no source of the rule
   * @param sent the row as a rule of its own would send it: what it would leave out its rows do not have
   */
  constructor(
    readonly index: number,
    readonly name: string,
    private readonly result: Result,
    private readonly sent: OutputRow,
    readonly values: Values,
  ) {
    const { entries, star, set } = result.row;
    this.declared = star === null && set === undefined ? entries.map((entry) => entry.name) : null;
  }

  get ownName(): string {
    return this.name;
  }

  has(name: string): boolean {
    return this.declared === null || this.declared.includes(name);
  }

  column(name: string, span?: Span): Value {
    if (!this.has(name)) throw this.result.notFound?.(name, span) ?? unknownColumn(name, this, span);
    const inner = pick(name, this.result.row, this.values);
    return this.lifted({ kind: 'field', name, type: typeOf(inner) }, pick(name, this.sent, this.values), inner);
  }

  row(): Value {
    if (this.declared === null) return this.lifted({ kind: 'row' }, wholeObject(this.sent, this.values));
    const args = this.declared.flatMap((name) => [this.values.text(name), this.column(name)]);
    return this.values.op('nested.objectOf', [], args);
  }

  rowTime(): Value {
    const { time } = this.result;
    return time === null ? this.arrival() : this.lifted({ kind: 'meta', key: 'event_time' }, time);
  }

  /** The first column that is the event time as it is. */
  get timeColumn(): string | null {
    return this.result.row.entries.find(({ value }) => this.result.timeOffset(value) === 0)?.name ?? null;
  }

  timeOffset(value: Value): number | null {
    if (value.kind !== 'column') return null;
    const inner = this.computed.get(value);
    if (inner === undefined) return null;
    return inner === this.result.time ? 0 : this.result.timeOffset(inner);
  }

  arrival(): Value {
    const { arrival } = this.result;
    return arrival === null ? this.values.null() : this.lifted({ kind: 'arrival' }, arrival);
  }

  meta(): Value {
    throw noMetadata(this);
  }

  allMeta(): Value {
    throw noMetadata(this);
  }

  /** The statement above is bound: what is asked for from now on is made of the columns that are there. */
  complete(): void {
    this.isComplete = true;
  }

  private lifted(use: ColumnUse, sent: Value, inner = sent): Value {
    const column = this.values.column(this.index, use);
    if (!this.columns.has(column)) {
      if (this.isComplete && use.kind === 'field') {
        return this.values.op('nested.member', [this.row(), this.values.text(use.name)]);
      }
      this.columns.set(column, sent);
      this.computed.set(column, inner);
    }
    return column;
  }
}

/** The rows of several SELECTs, each as a derived table of its own: a row has the columns of one of them. */
export class UnionTable implements Relation {
  readonly isTable = false;
  readonly isLookup = false;
  readonly declared: readonly string[] | null;

  constructor(
    readonly index: number,
    readonly name: string,
    readonly branches: readonly DerivedTable[],
    readonly values: Values,
  ) {
    this.declared = branches.every(({ declared }) => declared !== null) ? (branches[0]?.declared ?? null) : null;
  }

  get ownName(): string {
    return this.name;
  }

  has(name: string): boolean {
    return this.branches.some((branch) => branch.has(name));
  }

  column(name: string, span?: Span): Value {
    if (!this.has(name)) throw unknownColumn(name, this, span);
    return this.ofAny((branch) => branch.column(name, span));
  }

  row(): Value {
    return this.ofAny((branch) => branch.row());
  }

  rowTime(): Value {
    return this.ofAny((branch) => branch.rowTime());
  }

  /** Where it is the same in all. */
  get timeColumn(): string | null {
    const [name, other] = new Set(this.branches.map(({ timeColumn }) => timeColumn));
    return other === undefined ? (name ?? null) : null;
  }

  timeOffset(value: Value): number | null {
    const parts = value.kind === 'op' && value.op === 'logic.present' ? value.args : [value];
    const offsets = this.branches.map((branch, i) => {
      const part = parts[i];
      return part === undefined ? null : branch.timeOffset(part);
    });
    const [offset = null] = offsets;
    return parts.length === offsets.length && offsets.every((one) => one === offset) ? offset : null;
  }

  arrival(): Value {
    return this.ofAny((branch) => branch.arrival());
  }

  meta(): Value {
    throw noMetadata(this);
  }

  allMeta(): Value {
    throw noMetadata(this);
  }

  private ofAny(value: (branch: DerivedTable) => Value): Value {
    return firstPresent(this.values, this.branches.map(value));
  }
}

/** Throws a `plan` error unless all rows have the same columns, in whatever order. */
export function checkColumns(rows: readonly OutputRow[]): void {
  const all = rows.map(({ entries, star, set }) =>
    star === null && set === undefined ? entries.map(({ name }) => name) : null,
  );
  const [first] = all;
  all.forEach((names, i) => {
    if (first == null || names === null) return;
    const missing = first.find((name) => !names.includes(name));
    const further = names.find((name) => !first.includes(name));
    if (missing !== undefined) {
      throw selectErrors.unionColumnMissing(i, missing);
    }
    if (further !== undefined) {
      throw selectErrors.unionColumnFurther(i, further);
    }
  });
}

const any: ColumnType = { type: 'any' };

function typeOf(value: Value): ColumnType {
  return value.kind === 'column' && value.use.kind === 'field' ? value.use.type : any;
}

function unknownColumn(name: string, { ownName, declared }: Relation, span?: Span): Error {
  const meant = nearest(name, declared ?? []);
  return selectErrors.unknownFieldOf(name, ownName, meant, span);
}

function noMetadata({ ownName }: Relation): Error {
  return selectErrors.noMetadata(ownName);
}
