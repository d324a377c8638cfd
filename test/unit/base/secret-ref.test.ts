import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../../host/base/errors.js';
import { field, mask } from '../../../host/base/field.js';
import { hasSecretRef, resolveSecrets } from '../../../host/base/secret-ref.js';
import { isSecretRef, maskByName } from '../../../host/base/secrets.js';
import { temporaryFolder } from '../../harness.js';

const env = { MQTT_PW: 'hunter2', HOST: 'broker', EMPTY: '' };

function messageOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    assert.instance(error, HaumeaError);
    return (error as HaumeaError).message;
  }
  throw new Error('expected a failure');
}

test('resolves references at any depth and leaves everything else alone', () => {
  const input = { a: 'env://MQTT_PW', b: [{ c: 'env://HOST' }, 5, null, true], d: 'plain', e: { f: 'env://EMPTY' } };
  const before = structuredClone(input);
  const { value } = resolveSecrets<unknown>(input, { env });
  assert.equal(value, { a: 'hunter2', b: [{ c: 'broker' }, 5, null, true], d: 'plain', e: { f: '' } });
  assert.equal(input, before, 'the input is not changed');
});

test('resolves references inside of a longer text, but not data templates', () => {
  const { value } = resolveSecrets({ url: 'tcp://{{ env://HOST }}:1883', t: '{"v":{{.env}}}' }, { env });
  assert.equal(value, { url: 'tcp://broker:1883', t: '{"v":{{.env}}}' });
});

test('does not resolve the value of a secret again', () => {
  const { value } = resolveSecrets({ a: 'env://A', b: 'x{{env://A}}' }, { env: { A: 'env://B', B: 'no' } });
  assert.equal(value, { a: 'env://B', b: 'xenv://B' });
});

test('reads files without their last line end', () => {
  const file = join(temporaryFolder(), 'pw');
  writeFileSync(file, 'line 1\nline 2\n');
  assert.is(resolveSecrets(pathToFileURL(file).href).value, 'line 1\nline 2');
  writeFileSync(file, 'windows\r\n');
  assert.is(resolveSecrets(pathToFileURL(file).href).value, 'windows');
});

test('names property and reference when something is missing', () => {
  assert.is(
    messageOf(() => resolveSecrets({ tls: [{ pass: 'env://NOPE' }] }, { env, where: 'mqtt source' })),
    'mqtt source: property tls[0].pass: reference env://NOPE: the environment variable is not set',
  );
  assert.is(
    messageOf(() => resolveSecrets({ p: 'file:///nosuch/pw' }, { env })),
    "property p: reference file:///nosuch/pw: the file can't be read (ENOENT)",
  );
  assert.match(
    messageOf(() => resolveSecrets({ p: 'env://A B' }, { env })),
    'no name of an environment variable',
  );
  assert.match(
    messageOf(() => resolveSecrets({ p: 'x{{env://}}' }, { env })),
    'property p: reference env://: the name behind :// is missing',
  );
});

test('refuses folders, long files and files that are no text', () => {
  const folder = temporaryFolder();
  const big = join(folder, 'big');
  writeFileSync(big, Buffer.alloc(65_537, 97));
  const binary = join(folder, 'binary');
  writeFileSync(binary, Buffer.from([0xff, 0xfe, 0x00]));
  assert.match(
    messageOf(() => resolveSecrets(`file://${folder}`)),
    'not a regular file',
  );
  assert.match(
    messageOf(() => resolveSecrets(`file://${big}`)),
    'more than 65536 bytes',
  );
  assert.match(
    messageOf(() => resolveSecrets(`file://${binary}`)),
    'not UTF-8 text',
  );
});

test('keeps to the allowed folders, also behind links', () => {
  const folder = temporaryFolder();
  const secrets = join(folder, 'secrets');
  mkdirSync(secrets);
  writeFileSync(join(secrets, 'ok'), 'inside');
  writeFileSync(join(folder, 'other'), 'outside');
  symlinkSync(join(folder, 'other'), join(secrets, 'link'));
  const options = { folders: [secrets, join(folder, 'missing')] };
  assert.is(resolveSecrets(`file://${secrets}/ok`, options).value, 'inside');
  for (const path of [`${secrets}/link`, `${secrets}/../other`, `${folder}/other`]) {
    assert.match(
      messageOf(() => resolveSecrets(`file://${path}`, options)),
      'outside of the folders',
    );
  }
});

test('leaves properties alone that hold addresses of files', () => {
  const props = { file: 'file:///data/x.zip', nested: { file: 'env://HOST' } };
  assert.equal(resolveSecrets(props, { env, keep: ['file'] }).value, {
    file: 'file:///data/x.zip',
    nested: { file: 'broker' },
  });
});

test('masks resolved values in texts of others', () => {
  const { redact } = resolveSecrets({ a: 'env://SHORT', b: 'env://LONG' }, { env: { SHORT: 'abc', LONG: 'abcdef' } });
  assert.is(redact('login abcdef:abc failed'), 'login ******:****** failed');
});

test('no error text holds the value of a secret that was resolved before', () => {
  const message = messageOf(() => resolveSecrets({ a: 'env://MQTT_PW', b: 'env://NOPE' }, { env }));
  assert.not.match(message, 'hunter2');
});

test('recognises references', () => {
  assert.ok(isSecretRef('env://A'));
  assert.ok(isSecretRef('file:///a b'));
  assert.not.ok(isSecretRef('http://a'));
  assert.not.ok(isSecretRef('env://'));
  assert.ok(hasSecretRef({ a: ['x', 'y {{file://z}}'] }));
  assert.not.ok(hasSecretRef({ a: ['x', { b: 1 }] }));
  assert.ok(hasSecretRef('a{{env://X}}') && hasSecretRef('a{{env://X}}'), 'no state between calls');
});

test('a reference is shown where a secret is masked', () => {
  assert.equal(maskByName({ password: 'env://PW', token: 'x' }), { password: 'env://PW', token: '******' });
  assert.equal(mask({ pass: field.secret() }, { pass: 'env://PW' }), { pass: 'env://PW' });
  assert.equal(mask({ pass: field.secret() }, { pass: 'x' }), { pass: '******' });
});

test('values without references come back equal', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      fc.pre(!hasSecretRef(value));
      assert.equal(JSON.stringify(resolveSecrets(value).value), JSON.stringify(value));
    }),
    { numRuns: 200 },
  );
});

test.run();
