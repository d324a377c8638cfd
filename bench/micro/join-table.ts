/**
 * Rows per second of a stream joined with a scan table of 10,000 rows by `ON s.id = t.id`, without a window: bytes in,
 * joined rows out as JSON; decoder and encoder have their part.
 *
 *     npx tsx bench/micro/join-table.ts
 */
import { openRule, textOf } from '../../test/support/engine/rule-kernel.js';

const tableRows = 10_000;
const chunkRows = 1000;
const definitions = [
  'CREATE STREAM s () WITH (DATASOURCE="s", TYPE="memory")',
  `CREATE TABLE t () WITH (DATASOURCE="t", TYPE="memory", RETAIN_SIZE="${tableRows}")`,
];
const sql = 'SELECT s.id, s.v, t.name FROM s LEFT JOIN t ON s.id = t.id';

/** @param every a row of the table comes before each `every` rows of the stream; 0: none does */
function measure(name: string, rows: number, every: number): void {
  const { feed, taken } = openRule(definitions, sql);
  const place = (i: number): object => ({ id: `device-${i}`, name: `place ${i}` });
  feed(
    't',
    Array.from({ length: tableRows }, (_, i) => place(i)),
  );
  const size = every === 0 ? chunkRows : every;
  const chunk = textOf(Array.from({ length: size }, (_, i) => ({ id: `device-${(i * 7919) % tableRows}`, v: i })));
  let spent = 0;
  for (let sent = 0; sent < rows; sent += size) {
    const begun = performance.now();
    if (every > 0) feed('t', [place(sent % tableRows)]);
    feed('s', chunk);
    spent += performance.now() - begun;
    taken();
  }
  console.log(`${name.padEnd(44)} ${Math.round((rows / spent) * 1000).toLocaleString('en')} rows/s`);
}

measure('table at rest', 400_000, 0);
measure('a row of the table before each 100', 40_000, 100);
measure('a row of the table before each row', 2_000, 1);
