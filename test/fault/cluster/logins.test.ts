/** Nodes that log in to NATS, and what they say when they can't, or when NATS is away. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nkeys } from '@nats-io/transport-node';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig } from '../../../host/base/config/config.js';
import { silent } from '../../../host/base/log/log.js';
import { Bucket } from '../../../host/cluster/bucket.js';
import { ClusterLink } from '../../../host/cluster/link.js';
import { nodeSettings } from '../../../host/cluster/settings.js';
import { makeAuthority } from '../../support/certificates.js';
import { eventually, freePort, haumea, request, startServer, temporaryFolder } from '../../support/harness.js';
import { clusterOf } from '../../support/servers/cluster.js';
import { needsNats, openNats } from '../../support/servers/nats.js';

type Env = Readonly<Record<string, string>>;

/** A way to log in: what NATS is told, what a node is told, and what a node with another secret is told. */
interface Way {
  readonly conf: string;
  readonly right: Env;
  readonly wrong: Env;
  /** The login of the test, as the library takes it. */
  readonly login: Record<string, unknown>;
  readonly scheme?: 'tls';
  /** Reason of the refusal. */
  readonly refusal: RegExp;
}

const violation = /can't be joined: Authorization Violation$/;
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

function file(name: string, text: string): string {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, text);
  return path;
}

function passwords(): Way {
  return {
    conf: 'authorization { user: "node", password: "right-secret" }',
    right: { USERNAME: 'node', PASSWORD: 'right-secret' },
    wrong: { USERNAME: 'node', PASSWORD: 'wrong-secret' },
    login: { user: 'node', pass: 'right-secret' },
    refusal: violation,
  };
}

function tokens(): Way {
  return {
    conf: 'authorization { token: "right-secret" }',
    right: { TOKEN: 'right-secret' },
    wrong: { TOKEN: 'wrong-secret' },
    login: { token: 'right-secret' },
    refusal: violation,
  };
}

async function seeds(): Promise<Way> {
  const { nkeyAuthenticator } = await import('@nats-io/transport-node');
  const [own, other] = [nkeys.createUser(), nkeys.createUser()];
  return {
    conf: `authorization { users: [ { nkey: "${own.getPublicKey()}" } ] }`,
    right: { NKEYSEED: textOf(own.getSeed()) },
    wrong: { NKEYSEED: textOf(other.getSeed()) },
    login: { authenticator: nkeyAuthenticator(own.getSeed()) },
    refusal: violation,
  };
}

/** Claims of NATS as a JWT that a key has signed. */
function jwt(signer: ReturnType<typeof nkeys.createUser>, subject: string, nats: Record<string, unknown>): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { jti: subject, iat: 1_700_000_000, iss: signer.getPublicKey(), name: 'x', sub: subject, nats };
  const text = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part(claims)}`;
  return `${text}.${Buffer.from(signer.sign(Buffer.from(text))).toString('base64url')}`;
}

/** An account of NATS: its server, and the texts of credentials files of its users. */
function accounts() {
  const [operator, system, account] = [nkeys.createOperator(), nkeys.createAccount(), nkeys.createAccount()];
  const limits = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
  const stored = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
  const common = { default_permissions: { pub: {}, sub: {} }, type: 'account', version: 2 };
  const accountJwt = (of: typeof account, more: object, revocations: object = {}) =>
    jwt(operator, of.getPublicKey(), { limits: { ...limits, ...more }, revocations, ...common });
  const operatorJwt = jwt(operator, operator.getPublicKey(), {
    system_account: system.getPublicKey(),
    type: 'operator',
    version: 2,
  });
  const user = nkeys.createUser();
  const creds = (of = user, by = account) => {
    const claims = { pub: {}, sub: {}, subs: -1, data: -1, payload: -1, type: 'user', version: 2 };
    return (
      `-----BEGIN NATS USER JWT-----\n${jwt(by, of.getPublicKey(), claims)}\n------END NATS USER JWT------\n\n` +
      `-----BEGIN USER NKEY SEED-----\n${textOf(of.getSeed())}\n------END USER NKEY SEED------\n`
    );
  };
  /** Configuration of the server, which refuses the users that are revoked. */
  const conf = (...revoked: (typeof user)[]) => {
    const revocations = Object.fromEntries(revoked.map((one) => [one.getPublicKey(), 4_000_000_000]));
    return [
      `operator: ${operatorJwt}`,
      'resolver: MEMORY',
      `resolver_preload: { ${system.getPublicKey()}: ${accountJwt(system, {})}`,
      `${account.getPublicKey()}: ${accountJwt(account, stored, revocations)} }`,
    ].join('\n');
  };
  return { user, creds, conf };
}

async function credentials(): Promise<Way> {
  const { credsAuthenticator } = await import('@nats-io/transport-node');
  const { user, creds, conf } = accounts();
  const right = creds();
  return {
    conf: conf(),
    right: { CREDENTIALSFILE: file('right.creds', right) },
    // An account that the server does not know.
    wrong: { CREDENTIALSFILE: file('wrong.creds', creds(user, nkeys.createAccount())) },
    login: { authenticator: credsAuthenticator(Buffer.from(right)) },
    refusal: violation,
  };
}

function certificates(): Way {
  const [ours, theirs] = [makeAuthority('ours'), makeAuthority('theirs')];
  const [server, node, stranger] = [ours.server(), ours.client('node'), theirs.client('node')];
  const files = `cert_file: "${server.certFile}", key_file: "${server.keyFile}", ca_file: "${ours.certFile}"`;
  const tls = (one: typeof node, trusted: typeof ours): Env => {
    return { TLS__CAFILE: trusted.certFile, TLS__CERTFILE: one.certFile, TLS__KEYFILE: one.keyFile };
  };
  return {
    conf: `tls { ${files}, verify: true }`,
    right: tls(node, ours),
    wrong: tls(stranger, theirs),
    login: { tls: { cert: node.cert, key: node.key, ca: ours.cert } },
    scheme: 'tls',
    refusal: /can't be joined: .*certificate/,
  };
}

const settingsOf = async (server: string, env: Env) => {
  const named = Object.entries(env).map(([name, value]) => [`KUIPER__CLUSTER__${name}`, value]);
  const { config } = await loadConfig({ env: { KUIPER__CLUSTER__SERVERS: server, ...Object.fromEntries(named) } });
  return nodeSettings(config);
};

if (needsNats('logins of nodes')) {
  const ways: Readonly<Record<string, () => Way | Promise<Way>>> = {
    'a name and a password': passwords,
    'a token': tokens,
    'an nkey': seeds,
    'a credentials file': credentials,
    'a certificate': certificates,
  };
  for (const [name, make] of Object.entries(ways)) {
    test(`a node logs in to NATS by ${name}; with another one it says so, without the secret`, async () => {
      const { conf, right, wrong, login, scheme = 'nats', refusal } = await make();
      const nats = await openNats({ conf, login });
      try {
        const url = nats.url.replace('nats:', `${scheme}:`);
        const link = await ClusterLink.open(await settingsOf(url, right), silent);
        await Bucket.open(link, 'definitions', { replicas: 1 });
        await link.close();
        const refused = await ClusterLink.open(await settingsOf(url, wrong), silent).catch((error: Error) => error);
        assert.match((refused as Error).message, refusal);
        assert.is((refused as { kind?: string }).kind, 'config', 'it does not pass by itself');
        for (const secret of Object.values(wrong)) assert.not.match((refused as Error).message, secret);
      } finally {
        await nats.close();
      }
    });
  }

  test('a credentials file that is replaced counts at the next connection', async () => {
    const { credsAuthenticator } = await import('@nats-io/transport-node');
    const { user: former, creds, conf } = accounts();
    const next = nkeys.createUser();
    const login = { authenticator: credsAuthenticator(Buffer.from(creds(next))) };
    const path = file('node.creds', creds(former));
    const first = await openNats({ conf: conf(), login });
    const warnings: string[] = [];
    const log = { ...silent, warn: (text: string) => void warnings.push(text) };
    const link = await ClusterLink.open(await settingsOf(first.url, { CREDENTIALSFILE: path }), log);
    await first.close();
    const { port, store } = first;
    const nats = await openNats({ port, store, conf: conf(former), login });
    try {
      await eventually('the refusal', () => /refuses the login/.test(link.away ?? '') || undefined);
      writeFileSync(path, 'half of a file');
      await eventually('that it is none', () => /credentialsFile: unable to parse/.test(warnings.join()) || undefined);
      writeFileSync(path, creds(next));
      await eventually('the connection', () => link.away === undefined || undefined);
      await Bucket.open(link, 'definitions', { replicas: 1 });
      assert.match(warnings.join('\n'), 'NATS is away: it refuses the login: ');
      assert.not.match(warnings.join('\n'), 'SEED');
    } finally {
      await link.close();
      await nats.close();
    }
  });

  test('a node waits for NATS and says so; without the key of the cluster it says that, too', async () => {
    const [port, restPort] = [await freePort(), await freePort()];
    const starting = startServer({
      port: restPort,
      args: ['--cluster', `nats://127.0.0.1:${port}`],
      env: { KUIPER__CLUSTER__TOKEN: 'right-secret', KUIPER__CLUSTER__NODE: 'a' },
    });
    const answer = await eventually('the reason', () =>
      request(`http://127.0.0.1:${restPort}`, 'GET', '/rules').catch(() => undefined),
    );
    assert.is(answer.status, 503);
    assert.match(answer.json.message, /^this node waits for NATS: .*connection refused/);
    const nats = await openNats({
      port,
      conf: 'authorization { token: "right-secret" }',
      login: { token: 'right-secret' },
    });
    try {
      const server = await starting;
      assert.is((await clusterOf(server)).hasKey, false);
      assert.match(server.output(), 'haumea: this node waits for NATS: ');
      assert.not.match(server.output(), 'right-secret');
      assert.is(await server.stop(), 0);
    } finally {
      await nats.close();
    }
  });

  test('a node that waits for NATS ends when it is told to; one that is refused ends by itself', async () => {
    const run = (port: number) => {
      const args = [...haumea, 'serve', '--data', temporaryFolder(), '--cluster', `nats://127.0.0.1:${port}`];
      const env = {
        KUIPER__BASIC__RESTIP: '127.0.0.1',
        KUIPER__BASIC__RESTPORT: '0',
        KUIPER__CLUSTER__TOKEN: 'my-secret',
      };
      const child = spawn(process.execPath, args, { env: { ...process.env, ...env } });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
      const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
      return { child, ended, output: () => output };
    };
    const waiting = run(await freePort());
    await eventually('that it waits', () => waiting.output().includes('waits for NATS') || undefined);
    waiting.child.kill('SIGTERM');
    assert.is(await waiting.ended, 0, waiting.output());
    const nats = await openNats({ conf: 'authorization { token: "another" }', login: { token: 'another' } });
    const refused = run(nats.port);
    assert.is(await refused.ended, 1);
    assert.match(refused.output(), "can't be joined: Authorization Violation");
    assert.not.match(refused.output(), 'my-secret');
    await nats.close();
  });
}

test.run();
