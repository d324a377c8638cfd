/**
 * Where the rows of a SELECT come from: streams and tables, and other SELECTs as derived tables, by one way to what
 * works on them.
 */

import { absentSources, streamsOf } from '../joins/join.js';
import type { Logical } from '../logical/logical.js';
import { sentRow } from '../sinks/output.js';
import { type Relation, Source } from '../values/source.js';
import type { Values } from '../values/value.js';
import { DerivedTable, type Result, UnionTable } from './derived.js';
import type { Input } from './statement.js';

/** A SELECT that is planned. */
export interface Selected extends Result {
  readonly root: Extract<Logical, { kind: 'project' }>;
  readonly isOfMessages: boolean;
}

/** A derived table with the SELECTs that it is made of. */
export interface Derived {
  readonly relation: DerivedTable | UnionTable;
  /** The SELECTs as tables of their own. */
  readonly tables: readonly DerivedTable[];
  /** Gives the rows; those of several SELECTs in the order of their times, or as they come. */
  readonly rows: (isOrdered: boolean) => Logical;
  readonly isOfMessages: boolean;
}

/**
 * @param next gives each table a number of its own
 * @param sendNil nulls are sent for what rows do not have
 */
export function derivedTable(
  name: string,
  results: readonly Selected[],
  next: () => number,
  sendNil: boolean,
  values: Values,
): Derived {
  const tables = results.map((result) => {
    const { row, root } = result;
    return new DerivedTable(next(), name, result, sentRow(row, absentSources(root.input), sendNil, values), values);
  });
  const isOfMessages = results.some((one) => one.isOfMessages);
  const inputs = tables.map((table, i) => derive(table, results[i]!.root.input));
  const [only, other] = tables;
  if (only !== undefined && other === undefined)
    return { relation: only, tables, rows: () => inputs[0]!, isOfMessages };
  return {
    relation: new UnionTable(next(), name, tables, values),
    tables,
    rows: (isOrdered) => merged(tables, inputs, isOrdered),
    isOfMessages,
  };
}

/**
 * The derived table as one whose columns are all its own, which a join needs. Rows of several SELECTs are in the order
 * of their times.
 */
export function asOneTable(derived: Derived, isEventTime: boolean, next: () => number, values: Values): Derived {
  const { relation, tables } = derived;
  if (relation instanceof DerivedTable) return derived;
  const entries = (relation.declared ?? []).map((name) => ({
    name,
    value: relation.column(name),
    isPlain: true,
    isBrought: true,
    isUnnamed: false,
  }));
  const star = relation.declared === null ? { sources: [relation], row: relation.row(), except: [] } : null;
  const time = isEventTime ? relation.rowTime() : null;
  const timeOffset = relation.timeOffset.bind(relation);
  const result: Result = { row: { entries, star }, time, arrival: relation.arrival(), timeOffset };
  const table = new DerivedTable(next(), relation.name, result, result.row, values);
  const rows = () => derive(table, derived.rows(isEventTime));
  return { relation: table, tables: [...tables, table], rows, isOfMessages: derived.isOfMessages };
}

/** The rows of what FROM and the joins name; tables come to them later. */
export function inputOf(
  relations: readonly Relation[],
  derived: ReadonlyMap<Relation, Derived>,
  isEventTime: boolean,
  hasWindow: boolean,
): Input {
  const streams = streamsOf(relations);
  const [first, other] = streams;
  if (first === undefined) throw new Error('a statement without a stream');
  if (other !== undefined) {
    const root = streams.some((one) => derived.has(one))
      ? merged(
          streams,
          streams.map((one) => orderedRows(one, derived, isEventTime)),
          isEventTime,
        )
      : mergedStreams(streams, isEventTime);
    // Rows leave the messages that they came in.
    return { root, timestamp: null, isOfMessages: false };
  }
  const inner = derived.get(first);
  if (inner === undefined) {
    const timestamp = isEventTime ? timeOf(first) : null;
    const leaf = leafOf(first);
    return {
      root: isEventTime ? { kind: 'watermark', input: leaf, timestamp } : leaf,
      timestamp,
      isOfMessages: false,
    };
  }
  // Windows need the rows of several SELECTs in one order; without one they go on as they come.
  const isOrdered = isEventTime && hasWindow;
  const timestamp = isOrdered && inner.relation instanceof DerivedTable ? inner.relation.rowTime() : null;
  return { root: inner.rows(isOrdered), timestamp, isOfMessages: inner.isOfMessages };
}

/** Rows of several streams, of which one watermark knows all. */
function mergedStreams(streams: readonly Relation[], isEventTime: boolean): Logical {
  const timestamps = isEventTime ? streams.map(timeOf) : [];
  const merge: Logical = { kind: 'merge', sources: [...streams], inputs: streams.map(leafOf), timestamps };
  if (!isEventTime) return merge;
  const isOrdered = streams.every((stream) => stream instanceof Source && stream.isTold);
  return { kind: 'watermark', input: merge, timestamp: null, ...(isOrdered ? { isOrdered } : {}) };
}

/** Rows of several inputs in the order of their times, in which those of each come, or as they come. */
function merged(relations: readonly Relation[], inputs: readonly Logical[], isOrdered: boolean): Logical {
  const timestamps = isOrdered ? relations.map(timeOf) : [];
  const merge: Logical = { kind: 'merge', sources: [...relations], inputs: [...inputs], timestamps };
  return isOrdered ? { kind: 'watermark', input: merge, timestamp: null, isOrdered } : merge;
}

/** Rows of one input among others; a stream has a watermark of its own there. */
function orderedRows(relation: Relation, derived: ReadonlyMap<Relation, Derived>, isEventTime: boolean): Logical {
  const inner = derived.get(relation);
  if (inner !== undefined) return inner.rows(isEventTime);
  const leaf = leafOf(relation);
  return isEventTime ? { kind: 'watermark', input: leaf, timestamp: timeOf(relation) } : leaf;
}

const timeOf = (relation: Relation) => (relation instanceof Source ? relation.time() : relation.rowTime(true));

function leafOf(relation: Relation): Logical {
  if (!(relation instanceof Source)) throw new Error(`${relation.name} is no stream`);
  return { kind: 'source', source: relation };
}

function derive(table: DerivedTable, input: Logical): Logical {
  return { kind: 'derive', input, table, columns: table.columns };
}
