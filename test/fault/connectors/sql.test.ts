/** Faults of PostgreSQL: a table that is polled. */
import { test } from 'uvu';
import { type SourceSide, sourceFaults } from '../../support/connectors/faults/sources.js';
import { needsPostgres, openPostgres } from '../../support/servers/postgres.js';

/** A server that keeps what it has confirmed, with a table for the rows. */
async function openKeeping() {
  const postgres = await openPostgres({ fsync: 'on' });
  await postgres.query('CREATE TABLE rows (n bigserial PRIMARY KEY, id bigint, text text, message json)');
  const wrong = postgres.url.replace('s3cret!', 'wrong-secret-82');
  return Object.assign(postgres, {
    refusal: { props: { dburl: wrong }, reason: /password authentication failed/, secret: 'wrong-secret-82' },
  });
}

async function polled(): Promise<SourceSide> {
  const postgres = await openKeeping();
  return Object.assign(postgres, {
    dataSource: 'messages',
    props: {
      dburl: postgres.url,
      interval: 50,
      timeout: 3000,
      templateSqlQueryCfg: {
        templateSql: 'SELECT n, id, text FROM rows WHERE n > {{.n}} ORDER BY n',
        indexField: 'n',
        indexValue: 0,
      },
    },
    send: async (messages: readonly (string | Buffer)[]) => {
      for (const message of messages) {
        const { id, text } = JSON.parse(message.toString()) as { id: number; text?: string };
        await postgres.query('INSERT INTO rows (id, text) VALUES ($1, $2)', [id, text]);
      }
    },
    tls: {
      props: (port: number) => ({
        dburl: `postgres://rows:postgres-secret-83@127.0.0.1:${port}/rows?sslmode=verify-full`,
      }),
      // The client asks for TLS, and is told that it may begin.
      greeting: { hears: 8, answers: 'S' },
      secret: 'postgres-secret-83',
    },
  });
}

if (needsPostgres('faults of PostgreSQL')) {
  sourceFaults(test, 'sql', polled, { name: 'PostgreSQL', lacks: { broken: 'rows of a table have no format' } });
}

test.run();
