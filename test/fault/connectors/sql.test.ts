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

/** Most messages and bytes of one statement. */
const most = { messages: 500, bytes: 8 << 20 };

async function polled(): Promise<SourceSide> {
  const postgres = await openKeeping();
  /** Rows that were there before a rule is made are not read by it. */
  let last = 0;
  const side = Object.defineProperty(postgres as typeof postgres & { props: Record<string, unknown> }, 'props', {
    get: () => ({
      dburl: postgres.url,
      interval: 50,
      timeout: 3000,
      templateSqlQueryCfg: {
        templateSql: 'SELECT n, id, text FROM rows WHERE n > {{.n}} ORDER BY n',
        indexField: 'n',
        indexValue: last,
      },
    }),
  });
  return Object.assign(side, {
    dataSource: 'messages',
    send: async (messages: readonly (string | Buffer)[]) => {
      for (let from = 0; from < messages.length; ) {
        const texts: string[] = [];
        for (let bytes = 0; from < messages.length && texts.length < most.messages && bytes < most.bytes; from++) {
          texts.push(messages[from]!.toString());
          bytes += messages[from]!.length;
        }
        const [{ n } = { n: last }] = await postgres.query(
          'WITH added AS (INSERT INTO rows (id, text) SELECT id, text FROM json_to_recordset($1) AS x(id bigint, ' +
            'text text) RETURNING n) SELECT max(n) AS n FROM added',
          [`[${texts.join(',')}]`],
        );
        last = Number(n);
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
