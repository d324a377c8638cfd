/** Rows looked up in a table that is kept, and in one outside whose answers are remembered. */
import { type Pair, piecesOf, rowByRow } from './pair.js';

interface Row {
  id: number;
  v: number;
}

const nameOf = (id: unknown): string => `name of ${id}`;
const numbers = (count: number): number[] => Array.from({ length: count }, (_, id) => id);

function pair(name: string, table: 'kept' | 'asked', keys: number): Pair {
  return {
    name: `lookup: ${name}`,
    definitions: [
      'CREATE STREAM s () WITH ()',
      'CREATE TABLE kept () WITH (TYPE="memory", DATASOURCE="t", KIND="lookup", KEY="id")',
      'CREATE TABLE asked () WITH (TYPE="simulator", KIND="lookup", KEY="id")',
    ],
    sql: `SELECT s.v AS v, ${table}.name AS name FROM s INNER JOIN ${table} ON s.id = ${table}.id`,
    rows: 200_000,
    input: (rows) => piecesOf('s', rows, (i) => JSON.stringify({ id: (i * 7919) % keys, v: i / 8, w: 'some text' })),
    prepare: (rule) => {
      if (table === 'kept')
        rule.feed(
          'kept',
          numbers(keys).map((id) => ({ id, name: nameOf(id) })),
        );
      else
        rule.feed(
          's',
          numbers(keys).map((id) => ({ id })),
        );
    },
    asked: (id) => ({ id, name: nameOf(id) }),
    program: () => {
      const names = new Map(numbers(keys).map((id) => [id, { id, name: nameOf(id) }]));
      return rowByRow<Row>(({ id, v }) => {
        const found = names.get(id);
        return found && { name: found.name, v };
      });
    },
  };
}

export const pairs: Pair[] = [
  pair('a kept table of 1,000 rows', 'kept', 1000),
  pair('a kept table of 100,000 rows', 'kept', 100_000),
  pair('remembered answers, 1,000 keys', 'asked', 1000),
];
