/** A table of a SQLite file, both ways; Python looks at what is there. */
import sqlite from 'node-sqlite3-wasm';
import { needsPython, openSqlite } from '../../../../test/support/servers/sqlite.js';
import { Arrivals } from '../../arrivals.js';
import { type Line, message, type Row, work } from '../../line.js';
import { eachLine } from '../../lines-of-file.js';

const rows = 200_000;
const missing = () => (needsPython('the bench of sqlite') ? undefined : 'python3 is not installed');
/** Rows of a transaction of the plain program. */
const atOnce = 5000;

export const lines: readonly Line[] = [
  {
    name: 'sql in (sqlite)',
    connectors: ['sql'],
    rows,
    missing,
    open: async (folder) => {
      const path = `${folder}/in.db`;
      const db = new sqlite.Database(path);
      db.exec('CREATE TABLE readings (id integer, device text, temperature real, humidity integer, status text)');
      const names = ['id', 'device', 'temperature', 'humidity', 'status'].map((name) => `value->>'${name}'`);
      const texts = Array.from({ length: rows }, (_, i) => message(i));
      db.run(`INSERT INTO readings SELECT ${names.join(',')} FROM json_each(?)`, [`[${texts.join(',')}]`]);
      db.close();
      const query = { templateSql: 'SELECT * FROM readings' };
      const props = { dburl: `sqlite:${path}`, interval: 3_600_000, templateSqlQueryCfg: query };
      return { address: path, source: { type: 'sql', dataSource: 'readings', props }, close: async () => {} };
    },
    plain: async ({ address, ready }) => {
      const db = new sqlite.Database(address, { readOnly: true });
      void ready();
      const statement = db.prepare('SELECT * FROM readings');
      for (const row of statement.iterate()) work(JSON.stringify(row));
      statement.finalize();
      db.close();
    },
  },
  {
    name: 'sql out (sqlite)',
    connectors: ['sql'],
    rows,
    missing,
    open: async (folder) => {
      const path = `${folder}/out.db`;
      const native = openSqlite(path);
      await native.query('CREATE TABLE readings (id integer, device text, temperature real)');
      return {
        address: path,
        sink: { type: 'sql', props: { dburl: `sqlite:${path}`, table: 'readings' } },
        begin: async () => {
          await native.query('DELETE FROM readings');
        },
        written: async () => Number((await native.query('SELECT count(*) AS n FROM readings'))[0]?.n),
        check: async () => {
          const arrivals = new Arrivals(rows);
          arrivals.begin(true);
          arrivals.takeRows(await native.query('SELECT * FROM readings'));
          arrivals.check();
        },
        close: () => native.close(),
      };
    },
    plain: async ({ address, file, ready }) => {
      const db = new sqlite.Database(address);
      void ready();
      const statement = db.prepare('INSERT INTO readings VALUES (?, ?, ?)');
      db.exec('BEGIN');
      await eachLine(file, (text, n) => {
        const { id, device, temperature } = JSON.parse(work(text)) as Row;
        statement.run([id as number, device as string, temperature as number]);
        if (n % atOnce === 0) db.exec('COMMIT; BEGIN');
      });
      db.exec('COMMIT');
      statement.finalize();
      db.close();
    },
  },
];
