/** Faults of MariaDB: a table that is polled. */
import mysql from 'mysql2';
import { test } from 'uvu';
import { sourceFaults } from '../../../support/connectors/faults/sources.js';
import { type TableServer, tableSide } from '../../../support/connectors/faults/table-side.js';
import { mysqlHandshake, needsMariadb, openMariadb } from '../../../support/servers/mariadb.js';

interface Added {
  readonly id: number;
  readonly text?: string;
}

async function openServer(): Promise<TableServer> {
  const mariadb = await openMariadb();
  await mariadb.query('CREATE TABLE numbered (n bigint AUTO_INCREMENT PRIMARY KEY, id bigint, text longtext)');
  const { start } = mariadb;
  const takesLong = () => mariadb.query('SET GLOBAL max_allowed_packet = 67108864');
  await takesLong();
  return Object.assign(mariadb, {
    start: async () => {
      await start();
      await takesLong();
    },
    add: async (rows: string) => {
      const values = (JSON.parse(rows) as Added[]).map(({ id, text = null }) => [id, text]);
      await mariadb.query(mysql.format('INSERT INTO numbered (id, text) VALUES ?', [values]));
      const [added] = await mariadb.query('SELECT max(n) AS n FROM numbered');
      return Number(added?.n);
    },
    more: {
      refusal: {
        props: { dburl: mariadb.url.replace('s3cret', 'wrong-secret-86') },
        reason: /Access denied/,
        secret: 'wrong-secret-86',
      },
      tls: {
        props: (port: number) => ({ dburl: `mysql://owner:my-secret-87@127.0.0.1:${port}/test?tls=true` }),
        // The packet by which the client asks for TLS is 36 bytes.
        greeting: { says: mysqlHandshake(), hears: 36 },
        secret: 'my-secret-87',
      },
    },
  });
}

if (needsMariadb('faults of MariaDB as a source')) {
  sourceFaults(test, 'sql', async () => tableSide(await openServer()), {
    name: 'MariaDB',
    lacks: { broken: 'rows of a table have no format' },
  });
}

test.run();
