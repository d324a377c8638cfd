/** What is masked in properties of connectors, and what comes back on a round trip. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { isSecretName, maskAddresses, maskByName, secretTextsOf } from '../../../host/base/fields/secret-fields.js';
import { unmask } from '../../../host/base/secrets/unmask.js';

test('names of secrets', () => {
  const secret = `password passwd passphrase saslPassword pwd passcode token accessToken clientSecret secretKey \
credentials
    privateKey privateKeyRaw private_key api_key X-API-Key aesKey sasPolicyKey Authorization
    Proxy-Authorization Cookie Set-Cookie`;
  const open = `key keyField rediskey primaryKey topic username tokenUrl saslAuthType authType certificationPath
    privateKeyPath passive monkey compressed`;
  const isSecret = (names: string) => names.split(/\s+/).map((name) => (isSecretName(name) ? name : `not ${name}`));
  assert.equal(isSecret(secret), secret.split(/\s+/));
  assert.equal(
    isSecret(open),
    open.split(/\s+/).map((name) => `not ${name}`),
  );
});

/** Properties and what answers show in their place. */
const props = {
  url: 'mysql://u:p@ss:1@h:3306/d',
  address: 'http://h/x?a=1&token=abc&b=2#c',
  dsn: 'Server=h; Password=p1;Database=d',
  path: '/x?a=1&token=t1',
  form: 'user=me&password=p4&a=b',
  text: 'no secret: password=p',
  template: 'http://h/?token={{.token}}&pwd={{env://PWD}}',
  oAuth: { access: { url: 'http://h', body: '{"username":"u","password":"p2"}' } },
  headers: { 'X-API-Key': 'k', Accept: 'a' },
  credentials: ['one', { name: 'n', token: 't' }],
  password: 12,
  token: '',
  secret: 'env://NAME',
  object: '{"a":1}',
};
const shown = {
  ...props,
  url: 'mysql://u:******@h:3306/d',
  address: 'http://h/x?a=1&token=******&b=2#c',
  dsn: 'Server=h; Password=******;Database=d',
  path: '/x?a=1&token=******',
  form: 'user=me&password=******&a=b',
  oAuth: { access: { url: 'http://h', body: '******' } },
  headers: { 'X-API-Key': '******', Accept: 'a' },
  credentials: ['******', { name: 'n', token: '******' }],
  password: '******',
};

test('masks secret names at any depth, and what is secret within texts', () => {
  assert.equal(maskByName(props), shown);
});

test('bodies of requests for tokens are masked as a whole, as text and as object', () => {
  const headers = { Accept: 'application/json' };
  for (const body of ['{"pw":"hidden"}', 'user=me&pw=hidden', { pw: 'hidden' }]) {
    const oauth = { access: { url: 'http://h/t', body, headers, expire: '3600' }, refresh: { url: '', body } };
    const shown = { access: { ...oauth.access, body: '******' }, refresh: { url: '', body: '******' } };
    assert.equal(maskByName([{ rest: { oauth } }]), [{ rest: { oauth: shown } }]);
    assert.equal(maskByName({ oauth: JSON.stringify(oauth) }), { oauth: JSON.stringify(shown) });
    for (const given of [oauth, JSON.stringify(oauth)]) {
      const stored = { rest: { oauth: given } };
      assert.equal(unmask(maskByName(stored) as typeof stored, stored), stored);
    }
  }
  assert.equal(maskByName({ oauth: { access: { body: '' } } }), { oauth: { access: { body: '' } } });
});

test('addresses within a message show no login and no token', () => {
  const messages = {
    'rtsp://me:p@ss@h:554/live: 401': 'rtsp://******@h:554/live: 401',
    'rtsp://me:p/a@ss?x@h/live': 'rtsp://******@h/live',
    'Error opening input http://h/a.mp4?token=abc&t=1.': 'Error opening input http://h/a.mp4?token=******&t=1.',
    "'https://h/a?x=1&api_key=k' and rtmp://u:p@g/b?pwd=q;y=2":
      "'https://h/a?x=1&api_key=******' and rtmp://******@g/b?pwd=******;y=2",
    'http://h/a/b@c?x=1': 'http://h/a/b@c?x=1',
  };
  for (const [message, shown] of Object.entries(messages)) assert.is(maskAddresses(message), shown);
});

test('a masked round trip changes nothing', () => {
  assert.equal(unmask(shown, props), props);
});

test('a mask in a text that was changed stays a mask: a secret goes to no other place', () => {
  const moved = {
    url: 'mysql://u:******@other/d',
    address: 'http://h/?a=******',
    dsn: 'Server=******;',
    text: '******:******',
  };
  assert.equal(unmask(moved, props), moved);
});

test('lists the texts that logs and traces must not show', () => {
  assert.equal(secretTextsOf({ ...props, dsn: 'Server=h;Password=longer;', password: 'pw1' }), [
    'p@ss:1',
    'abc',
    'longer',
    'pw1',
    'env://NAME',
  ]);
});

test.run();
