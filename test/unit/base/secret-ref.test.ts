import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../../host/base/errors.js';
import { mask } from '../../../host/base/fields/declared-secrets.js';
import { field } from '../../../host/base/fields/field.js';
import { isSecretRef, maskByName } from '../../../host/base/fields/secret-fields.js';
import {
  type Resolved,
  resolveSecrets as resolveDeclared,
  type SecretOptions,
} from '../../../host/base/secrets/secret-ref.js';
import { temporaryFolder } from '../../support/harness.js';

const env = { MQTT_PW: 'hunter2', HOST: 'broker', EMPTY: '' };

const anything = { variables: ['*'], folders: ['/'] };

/** Resolves a value as that of one secret property. */
function resolveSecrets<T>(value: T, options: Partial<SecretOptions> = {}): Resolved<T> {
  const resolved = resolveDeclared({ p: field.any().secret() }, { p: value }, { sources: anything, ...options });
  return { ...resolved, value: resolved.value.p };
}

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
    'mqtt source: property p.tls[0].pass: reference env://NOPE: the environment variable is not set',
  );
  assert.is(
    messageOf(() => resolveSecrets('file:///nosuch/pw', { env })),
    "property p: reference file:///nosuch/pw: the file can't be read (ENOENT)",
  );
  assert.match(
    messageOf(() => resolveSecrets('env://A B', { env })),
    'no name of an environment variable',
  );
  assert.match(
    messageOf(() => resolveSecrets('x{{env://}}', { env })),
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
  symlinkSync('ok', join(secrets, 'near'));
  const options = { sources: { variables: [], folders: [secrets, join(folder, 'missing')] } };
  for (const path of [`${secrets}/ok`, `${secrets}/near`, 'ok', 'near']) {
    assert.is(resolveSecrets(`file://${path}`, options).value, 'inside', path);
  }
  for (const path of [`${secrets}/link`, `${secrets}/../other`, `${folder}/other`, `${folder}/none`, '../other']) {
    assert.match(
      messageOf(() => resolveSecrets(`file://${path}`, options)),
      `reference file://${path}: the file is not in the folders that basic.secrets.folders allows`,
    );
  }
});

test('only variables that are allowed by name or beginning', () => {
  const options = { env: { A_B: 'x', C: 'y', CD: 'z' }, sources: { variables: ['A_*', 'C'], folders: [] } };
  assert.is(resolveSecrets('env://A_B', options).value, 'x');
  assert.is(resolveSecrets('env://C', options).value, 'y');
  for (const name of ['CD', 'HOME', 'a_b']) {
    assert.match(
      messageOf(() => resolveSecrets(`env://${name}`, options)),
      `property p: reference env://${name}: the variable is none of those that basic.secrets.variables allows (A_*, C)`,
    );
  }
});

test('only secret properties refer to secrets', () => {
  const spec = {
    pass: field.secret().alias('pw'),
    topic: field.string(),
    tls: field.object({ key: field.secret(), path: field.string() }),
  };
  const options = { env, sources: anything };
  const props = { PW: 'env://HOST', topic: 'file:///etc/hostname', tls: { key: 'env://HOST' }, other: 'env://HOST' };
  assert.equal(resolveDeclared(spec, props, options).value, { ...props, PW: 'broker', tls: { key: 'broker' } });
  for (const [given, path] of [
    [{ topic: 'env://HOST' }, 'topic'],
    [{ topic: 'a/{{ file:///etc/hostname }}' }, 'topic'],
    [{ tls: { path: 'x{{env://HOST}}' } }, 'tls.path'],
  ] as const) {
    const message = messageOf(() => resolveDeclared(spec, given, options));
    assert.match(message, new RegExp(`^property ${path}: reference .* only properties declared secret`));
    assert.not.match(message, 'broker');
  }
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
});

test('a reference is shown where a secret is masked', () => {
  assert.equal(maskByName({ password: 'env://PW', token: 'x' }), { password: 'env://PW', token: '******' });
  assert.equal(mask({ pass: field.secret() }, { pass: 'env://PW' }), { pass: 'env://PW' });
  assert.equal(mask({ pass: field.secret() }, { pass: 'x' }), { pass: '******' });
});

test('values without references come back equal', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      fc.pre(!/(env|file):\/\//.test(JSON.stringify(value)));
      assert.equal(JSON.stringify(resolveSecrets(value).value), JSON.stringify(value));
    }),
    { numRuns: 200 },
  );
});

test.run();
