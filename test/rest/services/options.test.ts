/** Options of services: certificates in files, and bounds of what waits. */
import { copyFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { makeAuthority } from '../../support/certificates.js';
import { startServer, temporaryFolder } from '../../support/harness.js';
import { RowsThrough } from '../../support/rest/rows-through.js';
import { installService, serviceArchive } from '../../support/services/install.js';

const server = await startServer({ env: { KUIPER__BASIC__ENABLEPRIVATENET: 'true' } });
const servers: Server[] = [];
test.after(async () => {
  await server.stop();
  for (const one of servers) one.close().closeAllConnections();
});
const rule = new RowsThrough(server);

/** Address of a service that answers with the name of the client's certificate, and hangs at `/hang`. */
async function secureService(tls: object): Promise<string> {
  const service = createServer(tls, (request, response) => {
    request.resume();
    if (request.url === '/hang') return;
    const client = (request.socket as TLSSocket).getPeerCertificate().subject?.CN ?? '';
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ client }));
  }).listen(0, '127.0.0.1');
  servers.push(service);
  await new Promise((resolve) => service.once('listening', resolve));
  return `https://127.0.0.1:${(service.address() as AddressInfo).port}`;
}

const web = (address: string, options: object) => ({
  interfaces: { web: { address, protocol: 'rest', schemaless: true, options } },
});
const select = "SELECT web('get', '/x').client AS client FROM s";

test('certificates and keys come from files, and are read again for the next connection', async () => {
  const authority = makeAuthority('shop');
  const { cert, key } = authority.server();
  const address = await secureService({ cert, key, ca: authority.cert, requestCert: true });
  const folder = temporaryFolder();
  const [rootCaPath, certificationPath, privateKeyPath] = ['ca', 'cert', 'key'].map((name) => join(folder, name));
  const put = (name: string) => {
    const { certFile, keyFile } = authority.client(name);
    copyFileSync(certFile, certificationPath!);
    copyFileSync(keyFile, privateKeyPath!);
  };
  copyFileSync(makeAuthority('other').certFile, rootCaPath!);
  put('pump');
  await installService(server, 'shop', web(address, { rootCaPath, certificationPath, privateKeyPath }));
  assert.match(String(await rule.results(select, [{ n: 1 }])), /^function web: .*certificate/);
  copyFileSync(authority.certFile, rootCaPath!);
  assert.equal(await rule.results(select, [{ n: 1 }]), [{ client: 'pump' }]);
  put('valve');
  assert.equal(await rule.results(select, [{ n: 1 }]), [{ client: 'valve' }]);
  await installService(server, 'shop', web(address, { rootCaPath: join(folder, 'gone') }));
  assert.match(String(await rule.results(select, [{ n: 1 }])), /^function web: .*: rootCaPath: .*no such file/);
});

const refused: readonly (readonly [options: object, reason: RegExp])[] = [
  [{ rootCaPath: '/etc/hostname' }, /interface web: options: rootCaPath: .*\/etc\/hostname/],
  [{ privateKeyPath: 'shop.key' }, /certificate and private key of the client are needed together/],
  [{ waitingBatches: 0 }, /waitingBatches/],
  [{ timeout: '2s', batchTimeout: '1s' }, /batchTimeout must not be shorter than timeout/],
];
for (const [options, reason] of refused) {
  test(`${JSON.stringify(options)} is refused`, async () => {
    const file = serviceArchive('bad', web('https://shop.example', options));
    const answer = await server.request('POST', '/services', { name: 'bad', file });
    assert.is(answer.status, 400, answer.text);
    assert.match(answer.json.message, reason);
  });
}

test('a batch of rows waits for its answers no longer than the service allows', async () => {
  const address = await secureService({ ...makeAuthority('shop').server() });
  const options = {
    insecureSkipVerify: true,
    concurrency: 1,
    timeout: '200ms',
    batchTimeout: '300ms',
    breakerFailures: 0,
  };
  await installService(server, 'shop', web(address, options));
  const rows = [1, 2, 3].map((n) => ({ n }));
  const results = await rule.results("SELECT web('post', '/hang', n) AS r FROM s", rows);
  assert.is(results[0], 'function web: no answer within 200 ms');
  assert.match(String(results[2]), /^function web: no answer within 300 ms, the time of its batch$/);
});

test.run();
