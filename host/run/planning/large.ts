/** Finds rules that take long to plan: milliseconds and more, in which REST would not answer. */
import type { Catalog, RuleDefinition } from '../../model/engine.js';
import { sourcesOf } from '../../plan/index.js';
import { readStatement } from './plans-by-form.js';

/**
 * Planning takes a microsecond for each character, about; handing a rule to another thread takes as long as this many.
 */
const largeStatement = 8 * 1024;
/** Nodes with edges: each is planned for each way that leads to it. */
const largeGraph = 50;
/** Columns that `*` may stand for. */
const manyColumns = 500;
const manyActions = 50;

/** Tells whether the rule is to be planned elsewhere. */
export function isLarge({ sql, graph, actions }: RuleDefinition, catalog: Catalog): boolean {
  if (actions.length > manyActions || sql.length > largeStatement) return true;
  if (graph !== undefined) return graph.nodes.length > largeGraph || JSON.stringify(graph).length > largeStatement;
  return namesIn(sql).some((name) => (catalog.source(name)?.fields?.length ?? 0) > manyColumns);
}

/** Length of the rule, about: what waits to be planned holds so much. */
export function sizeOf({ sql, graph, actions }: RuleDefinition): number {
  return sql.length + JSON.stringify(graph ?? null).length + JSON.stringify(actions).length;
}

/** Names by the head of simple statements, of which thousands have the same one. */
const known = new Map<string, readonly string[]>();
const mostKnown = 100;

/** None of a statement that can't be read: whoever plans it says why. */
function namesIn(sql: string): readonly string[] {
  const head = readStatement(sql)?.head;
  const before = head === undefined ? undefined : known.get(head);
  if (before !== undefined) return before;
  let names: readonly string[];
  try {
    names = sourcesOf(sql);
  } catch {
    return [];
  }
  if (known.size >= mostKnown) known.clear();
  if (head !== undefined) known.set(head, names);
  return names;
}
