/** The query of a source that is made of parts. */
import type { Dialect } from '../../clients/sql/dialect.js';
import type { SqlParam } from '../../clients/sql/driver.js';
import type { TableColumns } from './columns.js';
import type { IndexValues } from './index-values.js';
import type { Query } from './template-query.js';

/** Asks for the rows above all last values, in the order of the index columns. */
export function tableQuery(dialect: Dialect, table: TableColumns, index: IndexValues, limit: number): Query {
  const params: SqlParam[] = [];
  const names = index.fields.map(({ name }) => dialect.quote(table.find(name)?.name ?? name));
  const conditions = index.fields.flatMap(({ value }, i) => {
    if (value === undefined) return [];
    params.push(value);
    return `${names[i]} > ${placeOf(dialect, value, params.length)}`;
  });
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  const order = names.length === 0 ? '' : ` ORDER BY ${names.map((name) => `${name} ASC`).join(', ')}`;
  return { text: dialect.select('*', table.table, where + order, limit), params };
}

/** MySQL compares integers with texts as doubles, which have fewer digits. */
function placeOf(dialect: Dialect, value: SqlParam, i: number): string {
  const isLong = typeof value === 'bigint' && dialect.kind === 'mysql';
  return isLong ? `CAST(${dialect.place(i)} AS SIGNED)` : dialect.place(i);
}
