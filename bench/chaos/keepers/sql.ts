/** A table of PostgreSQL. */
import { needsPostgres, openPostgres } from '../../../test/support/servers/postgres.js';
import { AskedRows, type Keeper, KeptVictim, required } from './keeper.js';

export async function open(): Promise<Keeper> {
  required(needsPostgres('chaos with PostgreSQL'), 'PostgreSQL');
  const postgres = await openPostgres({ fsync: 'on' });
  await postgres.query('CREATE TABLE rows (n bigserial PRIMARY KEY, id integer, k text, v integer)');
  return {
    process: new KeptVictim('postgres', postgres),
    output: new AskedRows(async () => {
      const rows = await postgres.query('SELECT id, k, v FROM rows ORDER BY n');
      return rows.map((row) => JSON.stringify(row));
    }),
    action: { sql: { dburl: postgres.url, table: 'rows', fields: ['id', 'k', 'v'], timeout: 3000, sendSingle: true } },
    close: () => postgres.close(),
  };
}
