/** Tokens, TLS, cross-origin requests, audit log, warnings: the outer side of REST. */
import { execFileSync } from 'node:child_process';
import { createSign, generateKeyPairSync } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { request as requestHttps } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../host/base/log/log.js';
import { readTls } from '../../../host/base/net/tls-files.js';
import { DataServer } from '../../../host/rest/data/data-server.js';
import { announceSkip, eventually, temporaryFolder } from '../../support/harness.js';
import { startControlPlane } from '../../support/rest/control-plane.js';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

function token(claims: Record<string, unknown>): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'RS256', typ: 'JWT' })}.${part(claims)}`;
  return `${text}.${createSign('RSA-SHA256').update(text).sign(privateKey, 'base64url')}`;
}

/** A data folder with the public key where the server looks for keys. */
function folderWithKey(): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'etc/mgmt'), { recursive: true });
  writeFileSync(join(folder, 'etc/mgmt/client.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  return folder;
}

test('with authentication only the open paths are answered without a token', async () => {
  const server = await startControlPlane(folderWithKey(), { KUIPER__BASIC__AUTHENTICATION: 'true' });
  assert.is((await server.request('GET', '/')).status, 200);
  assert.is((await server.request('GET', '/ping')).status, 200);
  for (const path of ['/rules', '/streams', '/metrics', '/openapi.json', '/nosuch']) {
    const answer = await server.request('GET', path);
    assert.is(answer.status, 401, path);
    assert.is(answer.text, 'missing_token');
  }
  const good = token({ iss: 'client.pub', aud: ['eKuiper'] });
  assert.is((await server.request('GET', '/rules', undefined, { authorization: good })).status, 200);
  assert.is((await server.request('GET', '/rules', undefined, { authorization: `Bearer ${good}` })).status, 200);
  const expired = token({ iss: 'client.pub', aud: ['eKuiper'], exp: 1 });
  const refused = await server.request('GET', '/rules', undefined, { authorization: expired });
  assert.is(refused.status, 401);
  assert.match(refused.text, 'expired');
  assert.is((await server.request('POST', '/stop', undefined, { authorization: 'x.y.z' })).status, 401);
  assert.is(server.stopRequests, 0);
  await server.close();
});

test('a refused request changes nothing, a preflight needs no token', async () => {
  const server = await startControlPlane(folderWithKey(), {
    KUIPER__BASIC__AUTHENTICATION: 'true',
    KUIPER__BASIC__CORSORIGINS: 'http://ui.example',
  });
  const sql = 'CREATE STREAM s () WITH (DATASOURCE="t", TYPE="memory")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 401);
  const authorization = token({ iss: 'client.pub', aud: ['eKuiper'] });
  assert.equal((await server.request('GET', '/streams', undefined, { authorization })).json, []);
  const preflight = await server.request('OPTIONS', '/streams', undefined, {
    origin: 'http://ui.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization, content-type',
  });
  assert.is(preflight.status, 200);
  await server.close();
});

test('the audit log has a line for each request, without bodies', async () => {
  const server = await startControlPlane(undefined, {
    KUIPER__BASIC__ENABLERESTAUDITLOG: 'true',
    KUIPER__BASIC__FILELOG: 'true',
  });
  await server.request('PUT', '/metadata/sources/mqtt/confKeys/k', { password: 'very-secret' });
  await server.request('GET', '/streams/zz?x=1');
  await server.close();
  const log = readFileSync(join(server.data, 'log/stream.log'), 'utf8');
  assert.match(log, /msg="visit PUT \/metadata\/sources\/mqtt\/confKeys\/k" status=200 from=\S*127\.0\.0\.1/);
  assert.match(log, /msg="visit GET \/streams\/zz" status=400/);
  assert.not.match(log, 'very-secret');
});

test('the audit log has a line for each part of a batch', async () => {
  const server = await startControlPlane(undefined, {
    KUIPER__BASIC__ENABLERESTAUDITLOG: 'true',
    KUIPER__BASIC__FILELOG: 'true',
  });
  const sql = 'CREATE STREAM s () WITH (DATASOURCE="t", TYPE="memory")';
  await server.request('POST', '/batch/req', [
    { method: 'POST', path: '/streams', body: JSON.stringify({ sql }) },
    { method: 'DELETE', path: '/rules/none?x=\n1' },
  ]);
  await server.close();
  const log = readFileSync(join(server.data, 'log/stream.log'), 'utf8');
  assert.match(log, /msg="visit POST \/streams" status=201 from="a batch"\n/);
  assert.match(log, /msg="visit DELETE \/rules\/none" status=400 from="a batch"\n/);
  assert.match(log, /msg="visit POST \/batch\/req" status=200 from=\S*127\.0\.0\.1/);
});

test('a server that is open to the network without authentication says so', async () => {
  const env = { KUIPER__BASIC__RESTIP: '0.0.0.0', KUIPER__BASIC__FILELOG: 'true' };
  const open = await startControlPlane(undefined, env);
  await open.close();
  assert.match(readFileSync(join(open.data, 'log/stream.log'), 'utf8'), /level=warn msg="REST is open to the network/);
  const guarded = await startControlPlane(undefined, { ...env, KUIPER__BASIC__AUTHENTICATION: 'true' });
  await guarded.close();
  assert.not.match(readFileSync(join(guarded.data, 'log/stream.log'), 'utf8'), 'open to the network');
});

test('a setting without effect is named in the log', async () => {
  const secret = Buffer.from('secretsecretsecretsecret').toString('base64');
  const without = { KUIPER__BASIC__IGNORECASE: 'true', KUIPER__BASIC__PPROF: 'true' };
  const env = { KUIPER__BASIC__FILELOG: 'true', ...without, KUIPER__BASIC__AESKEY: secret };
  const server = await startControlPlane(undefined, env);
  await server.close();
  const log = readFileSync(join(server.data, 'log/stream.log'), 'utf8');
  assert.match(log, 'level=warn msg="the setting basic.ignoreCase has no effect"');
  assert.match(log, 'level=warn msg="the setting basic.pprof has no effect"');
  assert.not.match(log, secret);
});

/** A certificate for localhost made on the spot; undefined where openssl is missing. */
function selfMade(folder: string): { cert: string; key: string } | undefined {
  const cert = join(folder, 'cert.pem');
  const key = join(folder, 'key.pem');
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'];
  try {
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', cert, ...subject],
      { stdio: 'ignore' },
    );
    return { cert, key };
  } catch {
    announceSkip('TLS', 'openssl is not installed');
    return undefined;
  }
}

function getSecure(url: string, ca: Buffer): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = requestHttps(url, { ca, agent: false }, (answer) => {
      let text = '';
      answer.on('data', (chunk) => (text += chunk));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    asked.on('error', reject);
    asked.end();
  });
}

test('REST speaks TLS with the configured certificate', async () => {
  const folder = temporaryFolder();
  const files = selfMade(folder);
  if (files === undefined) return;
  const env = { KUIPER__BASIC__RESTTLS__CERTFILE: files.cert, KUIPER__BASIC__RESTTLS__KEYFILE: files.key };
  const server = await startControlPlane(folder, env);
  assert.match(server.base, /^https:/);
  const { status, text } = await getSecure(`${server.base}/streams`, readFileSync(files.cert));
  assert.is(status, 200);
  assert.is(text, '[]');
  const plain = await fetch(`${server.base.replace('https', 'http')}/ping`).then(
    () => 'answered',
    () => 'refused',
  );
  assert.is(plain, 'refused');
  await server.close();
});

test('connections without a TLS handshake make room when there are too many', async () => {
  const folder = temporaryFolder();
  const files = selfMade(folder);
  if (files === undefined) return;
  const env = { KUIPER__BASIC__RESTTLS__CERTFILE: files.cert, KUIPER__BASIC__RESTTLS__KEYFILE: files.key };
  const server = await startControlPlane(folder, env, { limits: { connections: 5 } });
  const held = Array.from({ length: 20 }, () => connect(Number(new URL(server.base).port), '127.0.0.1'));
  let cut = 0;
  for (const socket of held) {
    socket.on('error', () => undefined);
    socket.once('close', () => cut++);
  }
  await eventually('the end of the oldest connections', () => cut === 15);
  const { status } = await getSecure(`${server.base}/ping`, readFileSync(files.cert));
  assert.is(status, 200);
  for (const socket of held) socket.destroy();
  await server.close();
});

test('the data server speaks TLS with the configured certificate', async () => {
  const folder = temporaryFolder();
  const files = selfMade(folder);
  if (files === undefined) return;
  const tls = readTls({ certfile: files.cert, keyfile: files.key }, 'source.httpServerTls', silent);
  const server = new DataServer({ ip: '127.0.0.1', port: 0, tls, log: silent });
  await server.serve('GET', '/x', (_request, response) => response.end('secure'));
  const { status, text } = await getSecure(`https://127.0.0.1:${server.port}/x`, readFileSync(files.cert));
  assert.is(status, 200);
  assert.is(text, 'secure');
  await server.close();
});

test('a certificate that is replaced on disk is given to new connections, one without its key is not', async () => {
  const folder = temporaryFolder();
  const [files, next] = [selfMade(folder), selfMade(temporaryFolder())];
  if (files === undefined || next === undefined) return;
  const env = { KUIPER__BASIC__RESTTLS__CERTFILE: files.cert, KUIPER__BASIC__RESTTLS__KEYFILE: files.key };
  const server = await startControlPlane(folder, env);
  const [old, fresh] = [readFileSync(files.cert), readFileSync(next.cert)];
  const askedWith = (ca: Buffer) =>
    getSecure(`${server.base}/ping`, ca).then(
      ({ status }) => status,
      () => 'refused',
    );
  assert.equal([await askedWith(old), await askedWith(fresh)], [200, 'refused']);
  // As programs that renew certificates do: one file after the other takes the place of the old one.
  renameSync(next.cert, files.cert);
  assert.equal([await askedWith(old), await askedWith(fresh)], [200, 'refused']);
  renameSync(next.key, files.key);
  assert.equal([await askedWith(old), await askedWith(fresh)], ['refused', 200]);
  rmSync(files.key);
  assert.is(await askedWith(fresh), 200);
  await server.close();
});

test('unusable certificates stop the start with their reason', async () => {
  const folder = temporaryFolder();
  const noPem = join(folder, 'x.pem');
  writeFileSync(noPem, 'no certificate');
  const start = async (certfile: string, keyfile: string) => {
    try {
      await startControlPlane(folder, {
        KUIPER__BASIC__RESTTLS__CERTFILE: certfile,
        KUIPER__BASIC__RESTTLS__KEYFILE: keyfile,
      });
    } catch (error) {
      return (error as Error).message;
    }
    return 'started';
  };
  assert.match(await start(noPem, ''), 'basic.restTls needs both certfile and keyfile');
  assert.match(await start(noPem, join(folder, 'missing.pem')), /basic\.restTls\.keyfile .*missing\.pem can't be read/);
  assert.match(await start(noPem, noPem), "certificate and key can't be used");
  await eventually('a start after the failures', async () => {
    const server = await startControlPlane(folder);
    await server.close();
    return true;
  });
});

test.run();
