import { showUse } from '../values/show.js';
import type { Batch } from './batch.js';
import type { KeptPlace, NodeKind, Of, Place, Rows } from './node.js';
import { numbered, showCondition, shower, showOps } from './text.js';

type Lookup = Of<'lookup' | 'ask'>;

export const lookup: NodeKind<'lookup'> = {
  show: (node) => showLookup(node, `table #${node.table}`),
  gives,
  rows,
};

export const ask: NodeKind<'ask'> = {
  show(node) {
    if (node.lookup !== null) return showLookup(node, `asked table ${node.lookup}`);
    const show = shower(node.program);
    return [
      ...showOps(node.program),
      `wait until ${node.keys.map(({ operand }) => show(operand)).join()}`,
      `give ${numbered(node.columns.map(show))}`,
    ];
  },
  gives,
  rows,
  keeps(node, at) {
    const { key, words } = at.rows();
    const lists = [at.list('values', [...at.valuesOf(node.columns), at.own('#failed')])];
    const what = node.lookup === null ? 'rows that delay() holds back' : 'rows that wait for answers';
    return { key: at.together('ask', key), what, rows: words, lists };
  },
};

function showLookup({ program, keys, type, condition, columns, fields }: Lookup, table: string): string[] {
  const show = shower(program);
  const by = keys.map(({ name, operand }) => `${name}=${show(operand)}`).join(' ');
  return [
    ...showOps(program),
    `${type} join ${table} by ${by}`,
    ...showCondition(condition),
    `give ${numbered([...columns.map(show), ...fields.map(showUse)])}`,
  ];
}

function gives(node: Lookup, { value, values, listed, tableOf }: Place): Batch {
  const source = tableOf(node);
  const fields = node.fields.map((use) => () => values.column(source, use));
  return listed([...node.columns.map((operand) => () => value(operand)), ...fields]);
}

function rows(node: Lookup, at: KeptPlace): Rows {
  const source = at.tableOf(node);
  const keys = node.keys.map(({ operand }) => at.value(operand));
  const on = node.condition && at.conditionBelow(node.condition.program, node.condition.operand);
  const names = node.keys.map(({ name }) => name);
  const key = at.together('lookup', at.rowsOf(node.input).key, at.source(source), node.type, ...names, keys, on);
  const isDelay = node.kind === 'ask' && node.lookup === null;
  return at.added(node.input, key, isDelay ? 'delay()' : `JOIN ${at.names[source] ?? ''}`);
}
