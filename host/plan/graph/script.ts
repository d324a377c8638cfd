/**
 * Script nodes: a function `exec` in JavaScript makes of each row (with its metadata) another, of the rows of a
 * collection one row (`isAgg`) or others.
 */

import type { GraphNode } from '../../model/engine.js';
import { scriptFault } from '../../plugins/javascript/check.js';
import { nodeErrors } from '../errors/node.js';
import type { Logical, OutputRow } from '../logical/logical.js';
import { wholeObject } from '../sinks/output.js';
import type { Value } from '../values/value.js';
import { messageGroups } from '../windows/clause.js';
import type { Context, Point } from './point.js';

/** Under which the function of a script node is known to its rule. */
export function scriptNameOf({ name }: GraphNode): string {
  return `script of node ${name}`;
}

/** Applies a script node. Throws `plan` errors. */
export function scripted(node: GraphNode, point: Point, { catalog, values }: Context): Point {
  const { script, isAgg = false } = node.props;
  if (typeof script !== 'string' || script.trim() === '') throw nodeErrors.scriptText();
  if (typeof isAgg !== 'boolean') throw nodeErrors.scriptIsAgg();
  const fault = scriptFault('exec', script);
  if (fault !== undefined) throw nodeErrors.scriptFault(fault);
  const found = catalog.brought?.(scriptNameOf(node))?.run;
  if (found === undefined) throw nodeErrors.noScripts();
  values.brought.set(found.number, found.name);
  const call = (args: Value[]): Value => values.op('call.host', [], args, found.number, true);
  const row = wholeObject(point.row, values);
  const labels = [node.name];
  const of = (operator: Logical, made: Value): Point => {
    const all: OutputRow = { entries: [], star: { sources: [], row: made, except: [] } };
    return { ...point, row: all, sent: all, operator, isMade: true };
  };
  if (point.flow === 'rows') {
    const [branch, other] = point.branches;
    const meta = branch === undefined || other !== undefined ? values.null() : branch.source.allMeta();
    const made = call([row, meta]);
    return of({ kind: 'compute', input: point.operator, values: [made], labels }, made);
  }
  const rows = values.aggregate('collect', [row], null);
  const made = call([values.op('logic.coalesce', [], [rows, values.op('nested.arrayOf', [])])]);
  const input: Logical = { ...messageGroups(point.operator, [], values), labels };
  if (isAgg) return of({ kind: 'compute', input, values: [made], labels }, made);
  const list: Logical = { kind: 'compute', input, values: [made], labels };
  // No row is no fault, what is no list is one.
  const none = values.op('nested.arrayOf', []);
  const size = values.op('list.size', [values.op('list.concat', [], [made, none])]);
  const condition = values.op('compare.gt', [size, values.constant({ tag: 'i64', value: 0n })]);
  const some: Logical = { kind: 'filter', input: list, condition, clause: 'having', labels };
  return of({ kind: 'expand', input: some, list: made, of: 'elements', most: null, labels }, values.item());
}
