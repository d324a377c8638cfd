/** A table of PostgreSQL, both ways. */
import pg from 'pg';
import { needsPostgres, openPostgres } from '../../../../test/support/servers/postgres.js';
import { Arrivals } from '../../arrivals.js';
import { type Line, message, work } from '../../line.js';
import { eachLine } from '../../lines-of-file.js';

const rows = 300_000;
const missing = () => (needsPostgres('the bench of sql') ? undefined : 'PostgreSQL is not installed');
/** Rows of a statement of the plain programs. */
const atOnce = 5000;

async function connected(address: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  return client;
}

interface Row {
  readonly id: number;
  readonly device: string;
  readonly temperature: number;
}

export const lines: readonly Line[] = [
  {
    name: 'sql in (postgres)',
    connectors: ['sql'],
    rows,
    missing,
    open: async () => {
      const postgres = await openPostgres();
      await postgres.query('CREATE TABLE rows (id bigint, device text, temperature float8, humidity int, status text)');
      const texts = Array.from({ length: rows }, (_, i) => message(i));
      const insert = 'INSERT INTO rows SELECT * FROM json_populate_recordset(NULL::rows, $1)';
      await postgres.query(insert, [`[${texts.join(',')}]`]);
      const query = { templateSql: 'SELECT * FROM rows' };
      const props = { dburl: postgres.url, interval: 3_600_000, templateSqlQueryCfg: query };
      return {
        address: postgres.url,
        source: { type: 'sql', dataSource: 'rows', props },
        close: () => postgres.close(),
      };
    },
    plain: async ({ address, ready }) => {
      const client = await connected(address);
      void ready();
      await client.query('BEGIN');
      await client.query('DECLARE plain NO SCROLL CURSOR FOR SELECT * FROM rows');
      for (;;) {
        const { rows: found } = await client.query(`FETCH ${atOnce} FROM plain`);
        for (const row of found) work(JSON.stringify(row));
        if (found.length < atOnce) return;
      }
    },
  },
  {
    name: 'sql out (postgres)',
    connectors: ['sql'],
    rows,
    missing,
    open: async () => {
      const postgres = await openPostgres();
      await postgres.query('CREATE TABLE rows (id bigint, device text, temperature float8)');
      return {
        address: postgres.url,
        sink: { type: 'sql', props: { dburl: postgres.url, table: 'rows' } },
        begin: async () => {
          await postgres.query('TRUNCATE rows');
        },
        check: async () => {
          const arrivals = new Arrivals(rows);
          arrivals.begin(true);
          arrivals.takeRows(await postgres.query('SELECT * FROM rows'));
          arrivals.check();
        },
        arrived: async () => Number((await postgres.query('SELECT count(*) AS n FROM rows'))[0]?.n),
        close: () => postgres.close(),
      };
    },
    plain: async ({ address, file, ready }) => {
      const client = await connected(address);
      void ready();
      const insert = 'INSERT INTO rows SELECT * FROM unnest($1::bigint[], $2::text[], $3::float8[])';
      let waiting: Row[] = [];
      const send = async () => {
        const values = [waiting.map(({ id }) => id), waiting.map((row) => row.device)];
        await client.query(insert, [...values, waiting.map((row) => row.temperature)]);
        waiting = [];
      };
      await eachLine(file, async (text) => {
        waiting.push(JSON.parse(work(text)) as Row);
        if (waiting.length === atOnce) await send();
      });
      if (waiting.length > 0) await send();
    },
  },
];
