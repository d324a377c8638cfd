/**
 * Sinks that get the rows which came too late for the watermark, in place of the result: roots of their own, one for
 * each stream.
 */

import { rowActions } from '../model/actions.js';
import type { RuleDefinition } from '../model/engine.js';
import { lateRowErrors } from './errors/sink.js';
import { plain, rowOfSource, withEntry } from './graph/row.js';
import { chainOf, type Logical, operatorsOf, type Root } from './logical/logical.js';
import { getsLateRows } from './sinks/sinks.js';
import { Source } from './values/source.js';
import type { Values } from './values/value.js';

/** Column of a late row with its stream, its time, and how late it is. */
const lateName = '__late';

/** The roots of the sinks that get the result, then those of the sinks that get late rows. */
export function withLateRows(roots: readonly Root[], rule: RuleDefinition, values: Values): readonly Root[] {
  const late = new Set(rowActions(rule.actions).filter((i) => getsLateRows(rule.actions[i]!)));
  if (late.size === 0) return roots;
  if (!rule.options.isEventTime) {
    throw lateRowErrors.refused('needs the rule option isEventTime: without it no row is late');
  }
  const takers = new Map<Logical, Set<number>>();
  for (const root of roots) {
    const wanted = root.actions.filter((action) => late.has(action));
    if (wanted.length === 0) continue;
    const watermarks = operatorsOf([root]).filter(
      (operator) => operator.kind === 'watermark' && operator.isOrdered !== true,
    );
    if (watermarks.length === 0)
      throw lateRowErrors.refused('needs rows in the order of their time: there is no watermark before it');
    for (const watermark of watermarks) takers.set(watermark, new Set([...(takers.get(watermark) ?? []), ...wanted]));
  }
  // A result that no action gets is not computed.
  const ofResult = roots
    .map(({ node, actions }) => ({ node, actions: actions.filter((action) => !late.has(action)) }))
    .filter(({ actions }) => actions.length > 0);
  return [...ofResult, ...[...takers].flatMap(([watermark, actions]) => lateRoots(watermark, [...actions], values))];
}

function lateRoots(watermark: Logical, actions: number[], values: Values): Root[] {
  return sourcesBelow(watermark).map((source, branch): Root => {
    const input: Logical = { kind: 'late', input: watermark, source, branch };
    return { node: { kind: 'project', input, row: rowOf(source, values) }, actions };
  });
}

/** The streams whose rows the watermark orders, as the branches of a merge are numbered. */
function sourcesBelow(watermark: Logical): Source[] {
  const [bottom] = chainOf(watermark);
  const relations = bottom?.kind === 'merge' ? bottom.sources : bottom?.kind === 'source' ? [bottom.source] : [];
  return relations.filter((relation) => relation instanceof Source);
}

/** The late row as it came, with the column that tells how late it is. */
function rowOf(source: Source, values: Values) {
  const members = { stream: values.text(source.name), time: values.late('time'), lateBy: values.late('by') };
  const args = Object.entries(members).flatMap(([name, value]) => [values.text(name), value]);
  return withEntry(rowOfSource(source), plain(lateName, values.op('nested.objectOf', [], args)));
}
