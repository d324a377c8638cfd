/** TLS of databases: what lets a client in where a certificate is demanded, and what does not. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectorOf } from '../../../host/connectors/index.js';
import { makeAuthority } from '../../support/certificates.js';
import { needsMariadb, openMariadb } from '../../support/servers/mariadb.js';
import { needsPostgres, openPostgres } from '../../support/servers/postgres.js';

type Props = Record<string, unknown>;

const [plant, stranger] = [makeAuthority('plant'), makeAuthority('stranger')];
const [client, other] = [plant.client('owner'), stranger.client('owner')];
const own = plant.server();
const files = { certificationPath: client.certFile, privateKeyPath: client.keyFile };
const foreign = { certificationPath: other.certFile, privateKeyPath: other.keyFile };
const trusted = { rootCaPath: plant.certFile };
const base64 = (text: string) => Buffer.from(text).toString('base64');

/** Why the database does not let us in; empty when it does. */
async function refusal(dburl: string, props: Props): Promise<string> {
  const { ping } = connectorOf('sql')!.connection!;
  return ping!({ dburl, timeout: 10_000, ...props }).then(
    () => '',
    (error: Error) => error.message,
  );
}

const untrusted = /self-signed|unable to (get|verify)/;

if (needsPostgres('TLS of PostgreSQL')) {
  test('PostgreSQL: a client is let in by its certificate, a server by its own', async () => {
    const postgres = await openPostgres({}, true, { own, clients: plant });
    const at = (mode: string) => `${postgres.url}?sslmode=${mode}`;
    const raws = { certificationRaw: base64(client.cert), privateKeyRaw: base64(client.key) };
    assert.is(await refusal(at('verify-full'), { ...files, ...trusted }), '');
    assert.is(await refusal(at('verify-full'), { ...raws, rootCARaw: base64(plant.cert) }), '');
    assert.is(await refusal(at('require'), files), '');
    assert.is(await refusal(postgres.url, { ...files, ...trusted }), '');
    assert.is(await refusal(at('verify-full'), { ...files, insecureSkipVerify: true }), '');
    assert.match(await refusal(at('verify-full'), files), untrusted);
    assert.match(await refusal(at('require'), { ...files, rootCaPath: stranger.certFile }), untrusted);
    assert.match(await refusal(at('verify-full'), trusted), /certificate/);
    assert.match(await refusal(at('verify-full'), { ...foreign, ...trusted }), /certificate|unknown ca/);
    assert.match(await refusal(`${postgres.url}?sslrootcert=/x`, {}), /sslrootcert: the file goes into .* rootCaPath/);
    await postgres.close();
  });

  test('PostgreSQL: the host of the certificate counts with verify-full, not with verify-ca', async () => {
    const elsewhere = plant.server('elsewhere.example');
    const postgres = await openPostgres({}, true, { own: elsewhere, clients: plant });
    const at = (mode: string) => `${postgres.url}?sslmode=${mode}`;
    assert.match(await refusal(at('verify-full'), { ...files, ...trusted }), /altnames|IP: 127/i);
    assert.is(await refusal(at('verify-ca'), { ...files, ...trusted }), '');
    await postgres.close();
  });
}

if (needsMariadb('TLS of MariaDB')) {
  test('MariaDB: a server is known by its certificate and its host', async () => {
    const mariadb = await openMariadb({ own, clients: plant });
    const at = (tls: string) => `${mariadb.url}?tls=${tls}`;
    assert.is(await refusal(at('true'), { ...files, ...trusted }), '');
    assert.is(await refusal(at('skip-verify'), files), '');
    assert.is(await refusal(mariadb.url, { ...files, ...trusted }), '');
    assert.match(await refusal(at('true'), files), untrusted);
    assert.match(await refusal(at('true'), { ...foreign, ...trusted }), /.+/);
    await mariadb.close();
    const elsewhere = await openMariadb({ own: plant.server('elsewhere.example'), clients: plant });
    assert.match(await refusal(`${elsewhere.url}?tls=true`, { ...files, ...trusted }), /altnames|IP: 127/i);
    await elsewhere.close();
  });
}

test.run();
