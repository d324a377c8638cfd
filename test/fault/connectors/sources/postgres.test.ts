/** Faults of PostgreSQL: a table that is polled. */
import { test } from 'uvu';
import { sourceFaults } from '../../../support/connectors/faults/sources.js';
import { type TableServer, tableSide } from '../../../support/connectors/faults/table-side.js';
import { needsPostgres, openPostgres } from '../../../support/servers/postgres.js';

/** A server that keeps what it has confirmed. */
async function openServer(): Promise<TableServer> {
  const postgres = await openPostgres({ fsync: 'on' });
  await postgres.query('CREATE TABLE numbered (n bigserial PRIMARY KEY, id bigint, text text)');
  const add = async (rows: string) => {
    const [added] = await postgres.query(
      'WITH added AS (INSERT INTO numbered (id, text) SELECT id, text FROM json_to_recordset($1) AS x(id bigint, ' +
        'text text) RETURNING n) SELECT max(n) AS n FROM added',
      [rows],
    );
    return Number(added?.n);
  };
  return Object.assign(postgres, {
    add,
    more: {
      refusal: {
        props: { dburl: postgres.url.replace('s3cret!', 'wrong-secret-82') },
        reason: /password authentication failed/,
        secret: 'wrong-secret-82',
      },
      tls: {
        props: (port: number) => ({
          dburl: `postgres://rows:postgres-secret-83@127.0.0.1:${port}/rows?sslmode=verify-full`,
        }),
        // The client asks for TLS, and is told that it may begin.
        greeting: { hears: 8, answers: 'S' },
        secret: 'postgres-secret-83',
      },
    },
  });
}

if (needsPostgres('faults of PostgreSQL')) {
  sourceFaults(test, 'sql', async () => tableSide(await openServer()), {
    name: 'PostgreSQL',
    lacks: { broken: 'rows of a table have no format' },
  });
}

test.run();
