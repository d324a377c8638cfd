/** Plans of rules that hand the rows of streams to their actions, each row to one. */
import type { Divided } from '../../model/engine.js';
import type { Expr, Select } from '../../sql/ast.js';
import { parseExpression, parseQuery } from '../../sql/parser.js';
import type { Clause } from '../bind/bind.js';
import { bindSelectList } from '../bind/select-list.js';
import { inAsofOrder, isAsof } from '../joins/asof.js';
import type { Logical } from '../logical/logical.js';
import type { Bound } from './statement.js';

type Project = Extract<Logical, { kind: 'project' }>;

const clause: Clause = { name: 'WHERE', place: 'row', hasAggregates: false, hasAnalytics: false };

/** A root for each action, in their order. */
export function dividedRoots(select: Select, bound: Bound, { streams, count }: Divided): Project[] {
  const { scope, binder } = bound;
  const { values } = scope;
  const rows = filtered(ordered(select, bound), select.where, bound);
  return streams.flatMap(({ sql, place }) => {
    const { where, ...of } = parseQuery(sql) as Select;
    const { row } = bindSelectList(of, scope, binder, { ...clause, name: 'SELECT' });
    const number = binder.bind(parseExpression(place), clause);
    // Computed once for all actions.
    const numbered: Logical = { kind: 'compute', input: filtered(rows, where, bound), values: [number] };
    return Array.from({ length: count }, (_, i): Project => {
      const condition = values.op('compare.eq', [number, values.constant({ tag: 'i64', value: BigInt(i) })]);
      return { kind: 'project', input: { kind: 'filter', input: numbered, condition, clause: 'case' }, row };
    });
  });
}

/** The rows of all streams in the order in which joins would have them, with the time of the first. */
function ordered({ joins }: Select, { input: { root }, scope, relations, statement }: Bound): Logical {
  if (root.kind !== 'watermark') return root;
  if (!joins.some(isAsof)) return { ...root, tellsStart: 'any' };
  // Windows above as-of joins have rows of the first stream.
  const told: Logical = { ...root, tellsStart: 'ofFirst' };
  return inAsofOrder(told, joins, relations, scope.values, statement.asofPlace());
}

function filtered(input: Logical, where: Expr | null, { binder }: Bound): Logical {
  return where === null
    ? input
    : { kind: 'filter', input, condition: binder.condition(where, clause), clause: 'where' };
}
