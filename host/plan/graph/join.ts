/** Join nodes: they join streams of a window, or single messages, with each other and with the rows of tables. */

import type { GraphNode } from '../../model/engine.js';
import { nodeErrors } from '../errors/node.js';
import { bindJoins, inRowOrder, streamsOf } from '../joins/join.js';
import { bindLookup, checkLookups } from '../joins/lookup.js';
import type { Logical, OutputEntry, OutputRow } from '../logical/logical.js';
import { missing, ofPresent } from '../values/joined-row.js';
import type { Value, Values } from '../values/value.js';
import { type Branch, binderAt, type Context, localNames, type Point } from './point.js';
import * as props from './props.js';
import { mergedRows } from './row.js';

/** Joins what the node names; streams of the window that it does not name are left out. Throws `plan` errors. */
export function joined(node: GraphNode, point: Point, tables: readonly Branch[], context: Context): Point {
  if (point.isJoined) throw nodeErrors.joinedAgain();
  if (point.isMade === true) throw nodeErrors.joinsScript();
  const { values } = context;
  const { from, joins } = props.joinOf(node);
  const streams = point.isAsMet ? point.branches : point.branches.map((branch) => ownPart(branch, point, values));
  const branches = branchesNamed([from.name, ...joins.map(({ table }) => table.name)], [...streams, ...tables]);
  const sources = branches.map(({ source }) => source);
  if (streamsOf(sources).length === 0) throw nodeErrors.joinsNothing();
  const order = inRowOrder(joins, sources).map((source) => branches.find((one) => one.source === source)!);
  const after: Point = { ...point, ...mergedRows(order, values), branches: order, isJoined: true };
  const conditions = joins.map((one) => ({ ...one, on: one.on === null ? null : localNames(one.on, after) }));
  const clause = { name: 'on', place: 'row', hasAggregates: false, hasAnalytics: false } as const;
  checkLookups(from, conditions, sources);
  const { binder } = binderAt(after, context, node.name);
  const labels = [node.name];
  const paired = conditions.filter((_, i) => sources[i + 1]?.isLookup !== true);
  const others = sources.filter(({ isLookup }) => !isLookup);
  const steps = bindJoins(paired, others, binder, clause);
  let operator: Logical =
    steps.length === 0 ? point.operator : { kind: 'join', input: point.operator, sources: others, steps, labels };
  for (const [i, join] of conditions.entries()) {
    const source = sources[i + 1];
    if (source?.isLookup !== true) continue;
    operator = { ...bindLookup(join, source, binder, clause, values, () => {}), input: operator, labels };
  }
  return { ...after, operator };
}

/** The branches of these names, FROM first; every table that leads to the node must be among them. */
function branchesNamed(names: readonly string[], known: readonly Branch[]): Branch[] {
  const found = names.map((name, i) => {
    const branch = known.find(({ source }) => source.ownName === name || source.name === name);
    if (branch !== undefined) return branch;
    const all = known.map(({ source }) => source.ownName).join(', ');
    throw nodeErrors.streamNotThere(i, name, all);
  });
  for (const [i, branch] of found.entries()) {
    if (found.indexOf(branch) < i) throw nodeErrors.joinedTwice(branch.source.ownName);
  }
  const unused = known.find((branch) => branch.source.isTable && !found.includes(branch));
  if (unused !== undefined) throw nodeErrors.tableNotJoined(unused.source.ownName);
  return found;
}

/**
 * The branch with what was computed and picked since it met others: the same for its own rows, in which columns of
 * others are missing. Computed anew above the join, and only where the joined row has a row of the branch.
 */
function ownPart(branch: Branch, { row, sent, branches }: Point, values: Values): Branch {
  const others = branches.filter((one) => one !== branch);
  const own = new OwnValues(branch, others, values);
  return { ...branch, row: own.row(row, branch.row), sent: own.row(sent, branch.sent) };
}

class OwnValues {
  private readonly missing: Value;
  private readonly done = new Map<Value, Value>();

  constructor(
    private readonly branch: Branch,
    private readonly others: readonly Branch[],
    private readonly values: Values,
  ) {
    this.missing = missing(values);
    for (const { row } of others) for (const { value } of row.entries) this.done.set(value, this.missing);
    for (const { value } of branch.row.entries) this.done.set(value, value);
  }

  /** @param met the row when it met others */
  row({ entries, star }: OutputRow, met: OutputRow): OutputRow {
    const own = entries.flatMap((entry) => this.entry(entry, met));
    if (star === null || met.star === null) return { entries: own, star: null };
    return { entries: own, star: { ...met.star, except: [...met.star.except, ...star.except] } };
  }

  private entry(entry: OutputEntry, met: OutputRow): OutputEntry[] {
    const value = this.values.rewrite(entry.value, (one) => this.changed(one), this.done);
    if (value === this.missing) return [];
    const before = met.entries.find((one) => one.name === entry.name);
    if (before?.value === value) return [before];
    if (value.kind === 'column') return [{ ...entry, value, isPlain: true }];
    return [{ ...entry, value: ofPresent(this.values, this.branch.source, value) }];
  }

  private changed(value: Value): Value {
    if (value.kind === 'column') return this.isOfOther(value.source) ? this.missing : value;
    if (value.kind !== 'op') return value;
    if (value.isVolatile) {
      throw nodeErrors.joinVolatile();
    }
    if (value.op !== 'logic.present') return value;
    const args = value.args.filter((arg) => arg !== this.missing);
    const [first, second] = args;
    if (first === undefined) return this.missing;
    return second === undefined ? first : this.values.op('logic.present', [], args);
  }

  private isOfOther(source: number): boolean {
    return this.others.some((one) => one.source.index === source);
  }
}
