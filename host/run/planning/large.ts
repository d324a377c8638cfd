/** Finds rules that take long to plan: milliseconds and more, in which REST would not answer. */
import type { Catalog, RuleDefinition } from '../../model/engine.js';
import { sourcesOf } from '../../plan/index.js';

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

/** None of a statement that can't be read: whoever plans it says why. */
function namesIn(sql: string): readonly string[] {
  try {
    return sourcesOf(sql);
  } catch {
    return [];
  }
}
