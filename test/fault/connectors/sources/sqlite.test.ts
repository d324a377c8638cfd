/** Faults of a SQLite file that is polled, while a native program adds to it. */
import { once } from 'node:events';
import { renameSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { test } from 'uvu';
import { sourceFaults } from '../../../support/connectors/faults/sources.js';
import { type TableServer, tableSide } from '../../../support/connectors/faults/table-side.js';
import { holdSqlite, needsPython, openSqlite, python } from '../../../support/servers/sqlite.js';

/** Adds the rows that come in, and says the last number. */
const adding = (path: string) => `
import json, sqlite3, sys
db = sqlite3.connect(${JSON.stringify(path)}, timeout=30)
rows = [(row['id'], row.get('text')) for row in json.load(sys.stdin)]
db.executemany('INSERT INTO numbered (id, text) VALUES (?, ?)', rows)
db.commit()
print(db.execute('SELECT max(n) FROM numbered').fetchone()[0])
`;

async function openFile(): Promise<TableServer> {
  const db = openSqlite();
  await db.query('CREATE TABLE numbered (n INTEGER PRIMARY KEY, id INTEGER, text TEXT)');
  const away = `${db.path}.away`;
  let letGo = () => {};
  return Object.assign(db, {
    start: async () => renameSync(away, db.path),
    kill: async () => renameSync(db.path, away),
    pause: () => {
      letGo = holdSqlite(db.path);
    },
    resume: () => letGo(),
    add: async (rows: string) => {
      const program = python(adding(db.path));
      program.stdin!.end(rows);
      const [said] = await Promise.all([text(program.stdout!), once(program, 'exit')]);
      return Number(said);
    },
    more: {},
  });
}

if (needsPython('faults of SQLite as a source')) {
  sourceFaults(test, 'sql', async () => tableSide(await openFile(), 'LIMIT 200'), {
    name: 'SQLite',
    lacks: {
      broken: 'rows of a table have no format',
      refusal: 'a file has no login',
      tls: 'a file is no connection',
    },
  });
}

test.run();
