/**
 * Functions that look back in statements of several streams: whose rows they see, and which row of a joined one has
 * their result.
 */

import type { Span } from '../../sql/ast.js';
import { functionErrors } from '../errors/function.js';
import { ofPresent } from '../values/joined-row.js';
import { type AnalyticValue, childrenOf, sourcesIn, type Value, type Values } from '../values/value.js';
import type { Place, Scope } from './scope.js';

type Call = Pick<AnalyticValue, 'fn' | 'args' | 'size' | 'partition' | 'when' | 'order' | 'isOfResult'>;

interface Context {
  readonly scope: Scope;
  readonly values: Values;
  /** Place at which the result is read. */
  readonly place: Place;
  /** Name of the function in the call. */
  readonly name: string;
  readonly span: Span;
}

/**
 * The value of the call. It looks at rows as they come, before they are joined: at those of the stream whose columns it
 * names, else at those of all streams. A joined row has what it gave for the row of that stream, else for the first one
 * that is there.
 */
export function lookingBack({ fn, args, size, partition, when, order, isOfResult }: Call, context: Context): Value {
  const { scope, values, place, name, span } = context;
  // At a place of a graph the rows that are there are seen.
  if (scope.node !== '') return values.analytic(fn, args, size, partition, when, order, false, scope.node);
  const isLate = isOfResult && scope.sources.length === 1;
  const plain = values.analytic(fn, args, size, partition, when, order, isLate);
  const isSingle = scope.sources.length === 1;
  if (isSingle || plain.isAfterWindow || fn === 'rowNumber') return plain;
  const streams = scope.sources.filter(({ isTable }) => !isTable);
  const used = sourcesIn(plain);
  const tables = scope.sources.filter((source) => !streams.includes(source) && used.includes(source.index));
  const table = tables.find(({ isLookup }) => !isLookup);
  if (table !== undefined) {
    throw functionErrors.looksBackAtTable(name, table.ownName, span);
  }
  // Looked-up columns exist only in joined rows, so the function sees joined rows.
  if (tables.length > 0 || streams.length === 1 || place === 'single') return plain;
  const [owner, other] = streams.filter(({ index }) => used.includes(index));
  if (owner === undefined || other !== undefined) {
    const inOrder = scope.order.filter((source) => streams.includes(source));
    return values.op(
      'logic.present',
      [],
      inOrder.map((source) => ofPresent(values, source, plain)),
    );
  }
  const isThere = values.op('logic.isNotNull', [owner.arrival()]);
  const condition = when === null ? isThere : values.op('logic.and', [isThere, when]);
  return ofPresent(values, owner, values.analytic(fn, args, size, partition, condition));
}

/** Result of a function over the rows of one stream, which is a column of that stream from there on. */
interface LookedBack {
  readonly value: Value;
  readonly of: AnalyticValue;
  readonly source: number;
}

/** Finds such results among the values and their operands, as far as their functions are known at the place. */
export function lookedBackIn(values: readonly Value[], isKnown: (value: Value) => boolean): LookedBack[] {
  const found: LookedBack[] = [];
  const seen = new Set<Value>();
  const visit = (value: Value): void => {
    if (seen.has(value)) return;
    seen.add(value);
    const known = lookedBackBy(value);
    if (known !== undefined && isKnown(known.of)) found.push(known);
    else childrenOf(value).forEach(visit);
  };
  values.forEach(visit);
  return found;
}

function lookedBackBy(value: Value): LookedBack | undefined {
  if (value.kind !== 'op' || value.op !== 'logic.case') return undefined;
  const [isThere, of] = value.args;
  if (of?.kind !== 'analytic' || isThere?.kind !== 'op' || isThere.op !== 'logic.isNotNull') return undefined;
  const [arrival] = isThere.operands;
  if (arrival?.kind !== 'column' || arrival.use.kind !== 'arrival') return undefined;
  return { value, of, source: arrival.source };
}
