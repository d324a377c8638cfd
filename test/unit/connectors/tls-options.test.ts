/** Certificates and keys of the properties of TLS, as Node.js gets them. */
import { createCipheriv } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { aesCipher } from '../../../host/base/bytes/aes.js';
import type { AesProps } from '../../../host/base/bytes/aes-props.js';
import { parse } from '../../../host/base/fields/field.js';
import { tlsProps } from '../../../host/connectors/tls.js';
import { tlsOptions } from '../../../host/connectors/tls-options.js';
import { makeAuthority } from '../../support/certificates.js';

const key = Buffer.alloc(32, 7).toString('base64');
const { cert: certificate, key: ownKey } = makeAuthority('plant').client('rules');
const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64');
const plain: AesProps = { mode: 'gcm', iv: '', aad: '', tagsize: 0 };
const iv = Buffer.alloc(12, 1);
const aad = Buffer.from('beside').toString('base64');

type Given = Parameters<typeof parse>[1];

/** The certificate that these properties give. */
async function certificateOf(props: Given): Promise<string | undefined> {
  const { cert } = await tlsOptions('demo', parse(tlsProps, props), undefined as never);
  return cert?.toString();
}

/** Properties of a certificate that is encrypted. */
function encrypted(seal: (plain: Buffer) => Buffer, properties: Partial<AesProps>, secret = key) {
  const [certificationRaw, privateKeyRaw] = [certificate, ownKey].map((text) => base64(seal(Buffer.from(text))));
  return { certificationRaw, privateKeyRaw, decrypt: { algorithm: 'aes', key: secret, properties } };
}

test('a certificate is decrypted, with the iv before it', async () => {
  for (const mode of ['gcm', 'cfb'] as const) {
    const seal = aesCipher(key, { ...plain, mode });
    assert.is(await certificateOf(encrypted(seal, { mode })), certificate);
  }
});

test('a certificate is decrypted by a given iv, its tag before it', async () => {
  const filled = { ...plain, iv: iv.toString('base64'), aad, tagsize: 32 };
  assert.is(await certificateOf(encrypted(aesCipher(key, filled), filled)), certificate);
});

test('with a given iv the text and its tag stand alone', async () => {
  const seal = (text: Buffer) => {
    const cipher = createCipheriv('aes-256-gcm', Buffer.from(key, 'base64'), iv);
    return Buffer.concat([cipher.update(text), cipher.final(), cipher.getAuthTag()]);
  };
  assert.is(await certificateOf(encrypted(seal, { iv: iv.toString('base64') })), certificate);
});

test('without decrypt a certificate stays as it is, by both spellings of its name', async () => {
  const [raw, privateKeyRaw] = [base64(certificate), base64(ownKey)];
  assert.is(await certificateOf({ certificationRaw: raw, privateKeyRaw }), certificate);
  const old = { certficationRaw: raw, privateKeyRaw, tlsMinVersion: '', renegotiationSupport: '' };
  assert.is(await certificateOf(old), certificate);
});

test('what is encrypted otherwise is refused, without its key in the reason', async () => {
  const seal = aesCipher(key, plain);
  const other = Buffer.alloc(16, 9).toString('base64');
  for (const props of [encrypted(seal, {}, other), encrypted((text) => seal(text).subarray(0, 4), { mode: 'cfb' })]) {
    const reason = await certificateOf(props).then(
      () => '',
      (error: Error) => error.message,
    );
    assert.match(reason, /certificationRaw can't be decrypted/);
    assert.not.match(reason, other);
  }
});

test('properties of decrypt that can not be right are named', () => {
  const refused = (decrypt: Given, reason: RegExp) => assert.throws(() => parse(tlsProps, { decrypt }), reason);
  refused({ algorithm: 'des' }, /decrypt.algorithm must be one of/);
  refused({ algorithm: 'aes', key: 'short' }, /key must be 16, 24 or 32 bytes in base64/);
  refused({ algorithm: 'aes', key, properties: { iv: 'AA==' } }, /iv must be 12 bytes in base64/);
  refused({ key }, /algorithm is required with key/);
});

test.run();
