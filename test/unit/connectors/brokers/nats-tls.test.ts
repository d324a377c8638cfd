/** TLS of NATS: a certificate that is trusted, one that is not, and none that is asked for. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { toFile } from '../../../support/connectors/flows.js';
import { announceSkip, eventually, temporaryFolder } from '../../../support/harness.js';
import { needsNats, openNats, type TestNats } from '../../../support/servers/nats.js';

if (!needsNats('TLS of NATS')) process.exit(0);
if (spawnSync('openssl', ['version']).error !== undefined) {
  announceSkip('TLS of NATS', 'openssl is not installed');
  process.exit(0);
}

const folder = temporaryFolder();
const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
const request = 'req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost';
spawnSync('openssl', [...request.split(' '), '-keyout', key, '-out', cert, '-addext', 'subjectAltName=IP:127.0.0.1']);

let nats: TestNats;
test.before(async () => {
  const conf = `tls { cert_file: "${cert}", key_file: "${key}" }`;
  nats = await openNats({ conf, login: { tls: { caFile: cert } } });
});
test.after(() => nats.close());

const raw = () => readFileSync(cert).toString('base64');

for (const [what, props] of [
  ['a trusted certificate', () => ({ rootCARaw: raw() })],
  ['a certificate that nobody checks', () => ({ insecureSkipVerify: true })],
] as const) {
  test(`${what} is taken`, async () => {
    for (const scheme of ['tls', 'nats']) {
      const server = nats.url.replace('nats:', `${scheme}:`);
      const flow = await toFile({ type: 'nats', dataSource: 'secure', props: { server, ...props() } });
      await eventually('the connection', flow.isUp);
      nats.client.publish('secure', '{"id":1}');
      await flow.has(1);
      await flow.close();
    }
  });
}

test('an unknown certificate is refused with the reason', async () => {
  const server = nats.url.replace('nats:', 'tls:');
  const flow = await toFile({ type: 'nats', dataSource: 'secure', props: { server } });
  await eventually('the refusal', () => /self.signed/i.test(flow.trouble()));
  assert.not.ok(flow.isUp());
  await flow.close();
});

test('a server without TLS is refused where TLS is wanted', async () => {
  const plain = await openNats();
  const server = plain.url.replace('nats:', 'tls:');
  const flow = await toFile({ type: 'nats', dataSource: 'secure', props: { server } });
  await eventually('the refusal', () => /tls/i.test(flow.trouble()));
  await flow.close();
  await plain.close();
});

test.run();
