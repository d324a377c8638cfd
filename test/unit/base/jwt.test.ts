import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type AuthResult, createAuthenticator } from '../../../host/base/secrets/jwt.js';
import { ManualClock } from '../../../host/base/time/clock.js';
import { temporaryFolder } from '../../support/harness.js';

const now = 1_700_000_000_000;
const seconds = now / 1000;
const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pemOf = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }) as string;
const part = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

function token(claims: object, key = pair.privateKey, header: object = { alg: 'RS256', typ: 'JWT' }): string {
  const text = `${part(header)}.${part(claims)}`;
  return `${text}.${sign('RSA-SHA256', Buffer.from(text), key).toString('base64url')}`;
}

function setup(folder = temporaryFolder()) {
  writeFileSync(join(folder, 'app.pub'), pemOf(pair.publicKey));
  const clock = new ManualClock(now);
  const authenticate = createAuthenticator({ folder, clock });
  const check = (authorization: string | undefined, path = '/rules') => authenticate({ authorization }, path);
  return { folder, clock, check };
}

const good = { iss: 'app.pub', aud: 'eKuiper' };
const textOf = async (asked: Promise<AuthResult>) => {
  const result = await asked;
  return result.ok ? 'accepted' : `${result.status} ${result.text}`;
};
const isIn = async (asked: Promise<AuthResult>) => (await asked).ok;

test('accepts a token, with Bearer too, and tells its claims', async () => {
  const { check } = setup();
  const claims = {
    ...good,
    aud: ['x', 'eKuiper'],
    exp: seconds + 60,
    nbf: seconds - 60,
    iat: seconds,
    sub: 'me',
    jti: '1',
  };
  const expected = { ok: true, claims: { iss: 'app.pub', aud: ['x', 'eKuiper'], sub: 'me', jti: '1', access: 'full' } };
  assert.equal(await check(token(claims)), expected);
  assert.equal(await check(`Bearer ${token(claims)}`), expected);
  assert.ok(await isIn(check(token({ ...good, iss: 'APP.pub' }))), 'issuers match in any letter case');
});

test('a token is written in one way: its last character has no bits of no meaning', async () => {
  const { check } = setup();
  const whole = token(good);
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const others = [...alphabet].filter((last) => last !== whole.at(-1)).map((last) => whole.slice(0, -1) + last);
  assert.ok(await isIn(check(whole)));
  for (const changed of others) assert.not(await isIn(check(changed)), changed.slice(-1));
});

test('leaves / and /ping open and nothing else', async () => {
  const { check } = setup();
  assert.ok(await isIn(check(undefined, '/')));
  assert.ok(await isIn(check('nonsense', '/ping')));
  for (const path of ['/ping/', '//', '/Ping', '/rules', ''])
    assert.is(await textOf(check(undefined, path)), '401 missing_token');
});

test('says what is wrong with a token', async () => {
  const { check } = setup();
  const reasons: [string, string][] = [
    ['', 'missing_token'],
    ['  ', 'missing_token'],
    ['a.b', 'validate token error: token is malformed: token contains an invalid number of segments'],
    ['a.b.c.d', 'validate token error: token is malformed: token contains an invalid number of segments'],
    ['a!.b.c', 'validate token error: token is malformed: could not base64 decode header'],
    ['YQ.e30.c', 'validate token error: token is malformed: JWS Protected Header is invalid'],
    [`${part([])}.e30.c`, 'validate token error: token is malformed: JWS Protected Header is invalid'],
    [
      token({ aud: 'eKuiper' }),
      'validate token error: token is unverifiable: error while executing keyfunc: issuer field not exist in jwt ' +
        'payload',
    ],
    [
      token({ ...good, iss: '../app.pub' }),
      'validate token error: token is unverifiable: error while executing keyfunc: not found target key file ' +
        '../app.pub in /etc/mgmt',
    ],
    [token(good, other.privateKey), 'validate token error: token signature is invalid: verification error'],
    [`${token(good)}=`, 'validate token error: token is malformed: could not base64 decode signature'],
    [token({ ...good, exp: seconds }), 'validate token error: token has invalid claims: token is expired'],
    [token({ ...good, nbf: seconds + 1 }), 'validate token error: token has invalid claims: token is not valid yet'],
    [token({ ...good, iat: seconds + 61 }), 'validate token error: token has invalid claims: token used before issued'],
    [token({ ...good, exp: 'soon' }), 'validate token error: token is malformed: exp is not a number'],
    [token({ iss: 'app.pub' }), 'audience field should contain eKuiper, but got []'],
    [token({ iss: 'app.pub', aud: ['a', 'b'] }), 'audience field should contain eKuiper, but got [a b]'],
    ['x'.repeat(20_000), 'validate token error: token is malformed: more than 16384 characters'],
  ];
  for (const [text, reason] of reasons) assert.is(await textOf(check(text)), `401 ${reason}`);
});

test('accepts no other algorithm, in particular none and the public key as a shared secret', async () => {
  const { check } = setup();
  const hs = `${part({ alg: 'HS256' })}.${part(good)}`;
  const forged = `${hs}.${createHmac('sha256', pemOf(pair.publicKey)).update(hs).digest('base64url')}`;
  for (const text of [
    forged,
    `${part({ alg: 'none' })}.${part(good)}.`,
    token(good, pair.privateKey, { alg: 'RS512' }),
    token(good, pair.privateKey, { alg: 'PS256' }),
  ]) {
    assert.match(await textOf(check(text)), /401 validate token error: token signature is invalid: signing method/);
  }
  for (const text of [`${part({})}.${part(good)}.AA`, token(good, pair.privateKey, { alg: ['RS256'] })]) {
    assert.match(await textOf(check(text)), /401 validate token error: token is malformed: .*"alg"/);
  }
  assert.match(await textOf(check(token(good, pair.privateKey, { alg: 'RS256', crit: ['x'] }))), 'critical extensions');
});

test('claims of an unsigned token have no influence on the answer', async () => {
  const { check } = setup();
  assert.is(
    await textOf(check(token({ ...good, exp: 1, aud: 'x' }, other.privateKey))),
    '401 validate token error: token signature is invalid: verification error',
  );
});

test('a token ends at its time', async () => {
  const { check, clock } = setup();
  const text = token({ ...good, exp: seconds + 10 });
  assert.ok(await isIn(check(text)));
  clock.advance(9999);
  assert.ok(await isIn(check(text)));
  clock.advance(1);
  assert.not.ok(await isIn(check(text)));
});

test('sees keys that are added, replaced and removed', async () => {
  const { check, folder } = setup();
  const late = token({ ...good, iss: 'late.pub' }, other.privateKey);
  assert.not.ok(await isIn(check(late)));
  writeFileSync(join(folder, 'late.pub'), pemOf(other.publicKey));
  assert.ok(await isIn(check(late)));
  writeFileSync(join(folder, 'late.new'), pemOf(pair.publicKey));
  renameSync(join(folder, 'late.new'), join(folder, 'late.pub'));
  assert.not.ok(await isIn(check(late)), 'the old key has no more effect');
  rmSync(join(folder, 'late.pub'));
  assert.match(await textOf(check(late)), 'not found target key file late.pub');
});

test('refuses files that are no public RSA key', async () => {
  const { check, folder } = setup();
  writeFileSync(join(folder, 'text.pub'), 'hello');
  writeFileSync(join(folder, 'private.pem'), pair.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  writeFileSync(join(folder, 'ec.pub'), pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey));
  mkdirSync(join(folder, 'folder'));
  const reason = (iss: string) => textOf(check(token({ ...good, iss })));
  assert.match(await reason('text.pub'), 'key file text.pub: this is no public key in PEM form');
  assert.match(await reason('private.pem'), 'this is a private key');
  assert.match(await reason('ec.pub'), 'this is a key for ec, not for RSA');
  writeFileSync(join(folder, 'short.pub'), pemOf(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey));
  assert.match(await reason('short.pub'), 'it has fewer than 2048 bits');
  assert.match(await reason('folder'), 'this is no key file');
});

test('lets nobody in when the folder is missing', async () => {
  const authenticate = createAuthenticator({ folder: '/nosuch/mgmt', clock: new ManualClock(now) });
  assert.match(
    await textOf(authenticate({ authorization: token(good) }, '/rules')),
    'not found target key file app.pub',
  );
});

test('survives any header', async () => {
  const { check } = setup();
  const json = fc.jsonValue().map((value) => part(value));
  const anything = fc.oneof(
    fc.string(),
    fc.tuple(json, json, fc.base64String()).map((parts) => parts.join('.')),
  );
  await fc.assert(
    fc.asyncProperty(anything, async (text) => {
      assert.not.ok(await isIn(check(text)));
    }),
    { numRuns: 500 },
  );
});

test.run();
