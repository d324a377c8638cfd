/** Faults of MariaDB as a sink: a table that refuses a row, or has no room. */
import { test } from 'uvu';
import { sinkFaults } from '../../../support/connectors/faults/sinks.js';
import { mysqlHandshake, needsMariadb, openMariadb } from '../../../support/servers/mariadb.js';

/** As the server answers when a table is full. */
const noRoom = `CREATE TRIGGER no_room BEFORE INSERT ON numbers FOR EACH ROW
  SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'The table is full'`;

async function openSide() {
  const mariadb = await openMariadb();
  await mariadb.query('CREATE TABLE numbers (n bigint AUTO_INCREMENT PRIMARY KEY, id bigint)');
  return Object.assign(mariadb, {
    props: { dburl: mariadb.url, table: 'numbers', fields: ['id'], timeout: 3000 },
    arrived: async () => (await mariadb.query('SELECT id FROM numbers')).map((row) => Number(row.id)),
    refusal: {
      props: { dburl: mariadb.url.replace('s3cret', 'wrong-secret-84') },
      reason: /Access denied/,
      secret: 'wrong-secret-84',
    },
    tls: {
      props: (to: number) => ({ dburl: `mysql://owner:my-secret-85@127.0.0.1:${to}/test?tls=true` }),
      plainPort: mariadb.port,
      // The packet by which the client asks for TLS is 36 bytes.
      greeting: { says: mysqlHandshake(), hears: 36 },
      secret: 'my-secret-85',
    },
    rejects: {
      prepare: (id: number) => mariadb.query(`ALTER TABLE numbers ADD CONSTRAINT wanted CHECK (id <> ${id})`),
      reason: /CONSTRAINT `wanted` failed/,
    },
    full: {
      fill: () => mariadb.query(noRoom),
      free: () => mariadb.query('DROP TRIGGER no_room'),
      reason: /The table is full/,
    },
  });
}

if (needsMariadb('faults of MariaDB as a sink')) {
  sinkFaults(test, 'sql', openSide, { name: 'mariadb', lacks: { empty: 'it takes rows, not messages' } });
}

test.run();
