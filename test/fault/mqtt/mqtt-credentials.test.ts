/** What a client proves who it is with may change while rules run: it is taken up at the next attempt to connect. */
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { hasMosquitto, type Mosquitto, openMosquitto } from '../../support/brokers/mosquitto.js';
import { announceSkip, eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

const hasTools =
  hasMosquitto && ['mosquitto_passwd', 'openssl'].every((name) => spawnSync(name, []).error === undefined);
if (!hasTools) announceSkip('credentials that change', 'mosquitto, mosquitto_passwd or openssl is not installed');
const real = hasTools ? test : test.skip;

let folder: string;
let server: TestServer;
let broker: Mosquitto | undefined;
test.before.each(async () => {
  if (!hasTools) return;
  folder = temporaryFolder();
  server = await startServer();
});
test.after.each(async () => {
  if (!hasTools) return;
  await server.stop();
  await broker?.close();
});

/** Takes the password only. */
function passwordFile(password: string): string[] {
  const path = join(folder, `users-${password}`);
  execFileSync('mosquitto_passwd', ['-b', '-c', path, 'me', password], { stdio: 'ignore' });
  return ['allow_anonymous false', `password_file ${path}`];
}

/** A certificate of its own, which its clients have to trust. */
function certificate(name: string): { key: string; cert: string } {
  const key = join(folder, `${name}.key`);
  const cert = join(folder, `${name}.crt`);
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const kind = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2'];
  execFileSync('openssl', [...kind, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  return { key, cert };
}

async function conf(props: object): Promise<void> {
  const { status, text } = await server.request('PUT', '/metadata/sources/mqtt/confKeys/in', { qos: 1, ...props });
  assert.is(status, 200, text);
}

async function start(ids: string[], shared: boolean): Promise<void> {
  const options = `TYPE="mqtt", DATASOURCE="t", CONF_KEY="in"${shared ? ', SHARED="true"' : ''}`;
  await server.request('POST', '/streams', { sql: `CREATE STREAM s () WITH (${options})` });
  for (const id of ids) {
    const { status, text } = await server.request('POST', '/rules', {
      id,
      sql: 'SELECT * FROM s',
      actions: [{ nop: {} }],
    });
    assert.is(status, 201, text);
    await connected(id, 1);
  }
}

const connected = (id: string, wanted: number) =>
  eventually(`connection of ${id} is ${wanted}`, async () => {
    const { json } = await server.request('GET', `/rules/${id}/status`);
    assert.not.match(String(json.status), /stopped/, json.message);
    return json.source_s_0_connection_status === wanted ? json : undefined;
  });

for (const shared of [false, true]) {
  real(
    `a password of a configuration key, ${shared ? 'a stream of several rules' : 'a stream of one rule'}`,
    async () => {
      broker = await openMosquitto(undefined, undefined, passwordFile('old'));
      const { port, url } = broker;
      const props = { server: url, username: 'me', clientid: 'c' };
      await conf({ ...props, password: 'old' });
      await start(['r'], shared);
      await broker.close();
      broker = await openMosquitto(port, undefined, passwordFile('new'));
      await eventually('a refusal', async () => {
        const { json } = await server.request('GET', '/rules/r/status');
        return /not authori[sz]ed/i.test(String(json.source_s_0_connection_last_disconnected_message));
      });
      await conf({ ...props, password: 'new' });
      await connected('r', 1);
      // A rule that comes now uses the connection that is, where it may.
      if (shared) await start(['other'], true);
      await connected('r', 1);
    },
  );
}

real('a file of certificates to trust that is replaced', async () => {
  const trusted = join(folder, 'trusted.crt');
  const options = ({ key, cert }: { key: string; cert: string }) => [`keyfile ${key}`, `certfile ${cert}`];
  const [first, second] = [certificate('first'), certificate('second')];
  writeFileSync(trusted, execFileSync('cat', [first.cert]));
  broker = await openMosquitto(undefined, undefined, ['allow_anonymous true', ...options(first)]);
  const { port } = broker;
  await conf({ server: `ssl://localhost:${port}`, rootCaPath: trusted });
  await start(['r'], false);
  await broker.close();
  broker = await openMosquitto(port, undefined, ['allow_anonymous true', ...options(second)]);
  await eventually('a refusal', async () => {
    const { json } = await server.request('GET', '/rules/r/status');
    return /self-signed|certificate/i.test(String(json.source_s_0_connection_last_disconnected_message));
  });
  writeFileSync(trusted, execFileSync('cat', [second.cert]));
  await connected('r', 1);
});

test.run();
