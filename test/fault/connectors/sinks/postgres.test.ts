/** Faults of PostgreSQL as a sink: a table that refuses a row, or has no room. */
import { test } from 'uvu';
import { sinkFaults } from '../../../support/connectors/faults/sinks.js';
import { needsPostgres, openPostgres } from '../../../support/servers/postgres.js';

/** As the server answers when its disk is full. */
const noRoom = `CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$`;

async function openSide() {
  const postgres = await openPostgres({ fsync: 'on' });
  await postgres.query('CREATE TABLE rows (n bigserial PRIMARY KEY, id bigint, text text, again text)');
  await postgres.query(noRoom);
  return Object.assign(postgres, {
    props: { dburl: postgres.url, table: 'rows', fields: ['id'], timeout: 3000 },
    arrived: async () => (await postgres.query('SELECT id FROM rows')).map((row) => Number(row.id)),
    refusal: {
      props: { dburl: postgres.url.replace('s3cret!', 'wrong-secret-82') },
      reason: /password authentication failed/,
      secret: 'wrong-secret-82',
    },
    tls: {
      props: (to: number) => ({ dburl: `postgres://owner:pg-secret-83@127.0.0.1:${to}/rows?sslmode=verify-full` }),
      plainPort: postgres.port,
      greeting: { hears: 8, answers: 'S' },
      secret: 'pg-secret-83',
    },
    rejects: {
      prepare: (id: number) => postgres.query(`ALTER TABLE rows ADD CONSTRAINT wanted CHECK (id <> ${id})`),
      reason: /violates check constraint/,
    },
    full: {
      fill: () => postgres.query('CREATE TRIGGER filled BEFORE INSERT ON rows EXECUTE FUNCTION no_room()'),
      free: () => postgres.query('DROP TRIGGER filled ON rows'),
      reason: /No space left on device/,
    },
  });
}

if (needsPostgres('faults of PostgreSQL as a sink')) {
  sinkFaults(test, 'sql', openSide, { name: 'postgres', lacks: { empty: 'it takes rows, not messages' } });
}

test.run();
