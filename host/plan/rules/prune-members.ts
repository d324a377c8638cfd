/** Finds the members that a rule reads of columns that are objects: nothing else of them is decoded for it. */

import type { ColumnType, ColumnUse } from '../../../kernels/plan/ir.js';
import { hasMembers } from '../../../kernels/streams/columns.js';
import type { Logical } from '../logical/logical.js';
import { valuesOf } from '../operators/index.js';
import { type ColumnValue, childrenOf, type OpValue, type Value } from '../values/value.js';

/** A step into a value: the name of a member, or null for an element of a list, whichever it is. */
type Step = string | null;

/** Parts of a value that the rule reads, or all of it. */
interface Need {
  isWhole: boolean;
  readonly parts: Map<Step, Need>;
}

/**
 * Returns the uses of columns of streams, in the same order, with the part of their types that the rule looks at.
 * @param operators of the whole plan
 * @param more values that the sinks add
 */
export function narrowedUses(
  columns: readonly (readonly ColumnValue[])[],
  operators: readonly Logical[],
  more: readonly Value[],
): ColumnUse[][] {
  if (!columns.flat().some(({ use }) => hasMembers(use))) return columns.map((some) => some.map(({ use }) => use));
  const needs = new Needs(operators);
  for (const node of operators) {
    if (node.kind !== 'project' && node.kind !== 'derive') for (const value of valuesOf(node)) needs.visit(value);
  }
  for (const value of more) needs.visit(value);
  needs.visitUnread();
  return columns.map((some) => some.map((column) => needs.narrowed(column)));
}

/** Operations whose result is one of their operands as it is. */
const ofOneOf: ReadonlySet<OpValue['op']> = new Set(['logic.ifNotNull', 'logic.coalesce', 'logic.present']);

class Needs {
  /** Values of the columns of derived tables, in the inner statement. */
  readonly #derived = new Map<Value, Value>();
  readonly #ofColumns = new Map<Value, Need>();
  readonly #seen = new Set<Value>();

  constructor(operators: readonly Logical[]) {
    for (const node of operators) {
      if (node.kind === 'derive') for (const [column, value] of node.columns) this.#derived.set(column, value);
    }
  }

  /** Notes the columns and members that are read where the whole value is read. */
  visit(value: Value): void {
    if (this.#seen.has(value)) return;
    this.#seen.add(value);
    this.#visitPart(value, []);
  }

  /** Columns of derived tables that nobody reads are made nevertheless. */
  visitUnread(): void {
    for (const [column, value] of this.#derived) if (!this.#ofColumns.has(column)) this.visit(value);
  }

  /** Returns the use with only the part of its type that the rule reads. */
  narrowed(column: ColumnValue): ColumnUse {
    const { use } = column;
    const need = this.#ofColumns.get(column);
    if (need === undefined || use.kind !== 'field') return use;
    const read = narrow(use.type, need);
    return read === use.type ? use : { ...use, read };
  }

  /** Notes the columns and members that are read where a part of the value is read. */
  #visitPart(value: Value, path: readonly Step[]): void {
    const step = stepOf(value);
    if (step !== undefined) {
      for (const other of step.others) this.visit(other);
      this.#visitPart(step.of, step.name === undefined ? path : [step.name, ...path]);
      return;
    }
    if (value.kind === 'op' && ofOneOf.has(value.op)) {
      for (const child of childrenOf(value)) this.#visitPart(child, path);
      return;
    }
    if (value.kind !== 'column') {
      if (path.length > 0) this.visit(value);
      else for (const child of childrenOf(value)) this.visit(child);
      return;
    }
    this.#note(value, path);
    const inner = this.#derived.get(value);
    if (inner === undefined) return;
    if (path.length === 0) this.visit(inner);
    else this.#visitPart(inner, path);
  }

  #note(column: Value, path: readonly Step[]): void {
    let need = partOf(this.#ofColumns, column);
    for (const step of path) need = partOf(need.parts, step);
    need.isWhole = true;
  }
}

function partOf<K>(needs: Map<K, Need>, key: K): Need {
  const known = needs.get(key);
  if (known !== undefined) return known;
  const made: Need = { isWhole: false, parts: new Map() };
  needs.set(key, made);
  return made;
}

/**
 * A member, an element or a part of a list: what it is taken of, the step there if it is one, and what else is
 * computed.
 */
function stepOf(value: Value): { of: Value; name?: Step; others: Value[] } | undefined {
  if (value.kind !== 'op') return undefined;
  const [of, by, to] = value.operands;
  if (of == null) return undefined;
  const others = [by, to].filter((one) => one != null);
  if (value.op === 'nested.slice') return { of, others };
  if (value.op !== 'nested.member' && value.op !== 'nested.index') return undefined;
  const isText = by?.kind === 'const' && by.value.tag === 'str';
  if (isText && by.value.tag === 'str') return { of, name: by.value.value, others };
  return value.op === 'nested.index' ? { of, name: null, others } : undefined;
}

function narrow(type: ColumnType, { isWhole, parts }: Need): ColumnType {
  if (isWhole) return type;
  const element = parts.get(null);
  if (type.type === 'array') {
    if (element === undefined || parts.size > 1) return type;
    const inner = narrow(type.element, element);
    return inner === type.element ? type : { type: 'array', element: inner };
  }
  // An object may be given the name of a member that only its rows know.
  if (type.type !== 'struct' || element !== undefined) return type;
  const fields = type.fields.flatMap((field) => {
    const part = parts.get(field.name);
    return part === undefined ? [] : [{ ...field, type: narrow(field.type, part) }];
  });
  const isAll = fields.length === type.fields.length && fields.every((field, i) => field.type === type.fields[i]?.type);
  return isAll ? type : { type: 'struct', fields };
}
