/** Certificates and keys of the properties of TLS, as Node.js gets them. */
import { createCipheriv } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { aesCipher } from '../../../host/base/bytes/aes.js';
import type { AesProps } from '../../../host/base/bytes/aes-props.js';
import { parse } from '../../../host/base/fields/field.js';
import { tlsProps } from '../../../host/connectors/tls.js';
import { tlsOptions } from '../../../host/connectors/tls-options.js';

const key = Buffer.alloc(32, 7).toString('base64');
const certificate = '-----BEGIN CERTIFICATE-----';
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
function encrypted(bytes: Buffer, properties: Partial<AesProps>, secret = key) {
  return { certificationRaw: bytes.toString('base64'), decrypt: { algorithm: 'aes', key: secret, properties } };
}

test('a certificate is decrypted, with the iv before it', async () => {
  for (const mode of ['gcm', 'cfb'] as const) {
    const bytes = aesCipher(key, { ...plain, mode })(Buffer.from(certificate));
    assert.is(await certificateOf(encrypted(bytes, { mode })), certificate);
  }
});

test('a certificate is decrypted by a given iv, its tag before it', async () => {
  const filled = { ...plain, iv: iv.toString('base64'), aad, tagsize: 32 };
  const bytes = aesCipher(key, filled)(Buffer.from(certificate));
  assert.is(await certificateOf(encrypted(bytes, filled)), certificate);
});

test('with a given iv the text and its tag stand alone', async () => {
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(key, 'base64'), iv);
  const bytes = Buffer.concat([cipher.update(certificate), cipher.final(), cipher.getAuthTag()]);
  assert.is(await certificateOf(encrypted(bytes, { iv: iv.toString('base64') })), certificate);
});

test('without decrypt a certificate stays as it is, by both spellings of its name', async () => {
  const raw = Buffer.from(certificate).toString('base64');
  assert.is(await certificateOf({ certificationRaw: raw }), certificate);
  assert.is(await certificateOf({ certficationRaw: raw, tlsMinVersion: '', renegotiationSupport: '' }), certificate);
});

test('what is encrypted otherwise is refused, without its key in the reason', async () => {
  const bytes = aesCipher(key, plain)(Buffer.from(certificate));
  const other = Buffer.alloc(16, 9).toString('base64');
  for (const props of [encrypted(bytes, {}, other), encrypted(bytes.subarray(0, 4), { mode: 'cfb' })]) {
    const reason = await certificateOf(props).then(
      () => '',
      (error: Error) => error.message,
    );
    assert.match(reason, /certificate can't be decrypted/);
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
