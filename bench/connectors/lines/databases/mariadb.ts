/** A table of MariaDB, both ways. */
import { createConnection, format } from 'mysql2';
import { createConnection as connect } from 'mysql2/promise';
import { needsMariadb, openMariadb } from '../../../../test/support/servers/mariadb.js';
import { Arrivals } from '../../arrivals.js';
import { type Line, type Row, reading, work } from '../../line.js';
import { eachLine } from '../../lines-of-file.js';

const rows = 200_000;
const missing = () => (needsMariadb('the bench of sql') ? undefined : 'MariaDB is not installed');
/** Rows of a statement of the plain programs. */
const atOnce = 5000;

export const lines: readonly Line[] = [
  {
    name: 'sql in (mariadb)',
    connectors: ['sql'],
    rows,
    missing,
    open: async () => {
      const mariadb = await openMariadb();
      await mariadb.query(
        'CREATE TABLE readings (id bigint, device text, temperature double, humidity int, status text)',
      );
      for (let from = 0; from < rows; from += atOnce) {
        const part = Array.from({ length: atOnce }, (_, i) => Object.values(reading(from + i)));
        await mariadb.query(format('INSERT INTO readings VALUES ?', [part]));
      }
      const query = { templateSql: 'SELECT * FROM readings' };
      const props = { dburl: mariadb.url, interval: 3_600_000, templateSqlQueryCfg: query };
      return {
        address: mariadb.url,
        source: { type: 'sql', dataSource: 'readings', props },
        close: () => mariadb.close(),
      };
    },
    plain: async ({ address, ready }) => {
      const client = createConnection(address);
      await new Promise<void>((resolve, reject) => client.connect((error) => (error ? reject(error) : resolve())));
      void ready();
      const stream = client.query('SELECT * FROM readings').stream({ highWaterMark: atOnce });
      for await (const row of stream) work(JSON.stringify(row));
      client.destroy();
    },
  },
  {
    name: 'sql out (mariadb)',
    connectors: ['sql'],
    rows,
    missing,
    open: async () => {
      const mariadb = await openMariadb();
      await mariadb.query('CREATE TABLE readings (id bigint, device text, temperature double)');
      return {
        address: mariadb.url,
        sink: { type: 'sql', props: { dburl: mariadb.url, table: 'readings' } },
        begin: async () => {
          await mariadb.query('TRUNCATE readings');
        },
        arrived: async () => Number((await mariadb.query('SELECT count(*) AS n FROM readings'))[0]?.n),
        check: async () => {
          const arrivals = new Arrivals(rows);
          arrivals.begin(true);
          arrivals.takeRows(await mariadb.query('SELECT * FROM readings'));
          arrivals.check();
        },
        close: () => mariadb.close(),
      };
    },
    plain: async ({ address, file, ready }) => {
      const client = await connect(address);
      void ready();
      let waiting: unknown[][] = [];
      const send = async () => {
        await client.query('INSERT INTO readings VALUES ?', [waiting]);
        waiting = [];
      };
      await eachLine(file, async (text) => {
        const { id, device, temperature } = JSON.parse(work(text)) as Row;
        waiting.push([id, device, temperature]);
        if (waiting.length === atOnce) await send();
      });
      if (waiting.length > 0) await send();
      client.destroy();
    },
  },
];
