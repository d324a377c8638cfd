/** The properties of TLS, the same for all connectors that speak it as a client. */
import { type AesProps, aesKeyReason, ivReason } from '../base/bytes/aes-props.js';
import { field, type Parsed } from '../base/fields/field.js';
import type { NamedFiles } from './define.js';

const decryptProps = {
  algorithm: field.string().oneOf('', 'aes').default('').doc('Algorithm; empty: they are not encrypted'),
  key: field.secret().default('').doc('Key: 16, 24 or 32 bytes in base64'),
  properties: field
    .object({
      mode: field.string().oneOf('gcm', 'cfb').default('gcm').doc('Mode of the cipher'),
      iv: field.string().default('').doc('Base64; without it the iv stands before the text'),
      aad: field.string().default('').doc('Base64: what is authenticated besides, with gcm'),
      tagsize: field
        .int()
        .min(0)
        .max(64)
        .default(0)
        .doc('Above 16: the tag is filled up to so many bytes, before the text'),
    })
    .doc('How they are encrypted'),
};

export const tlsProps = {
  insecureSkipVerify: field.bool().default(false).doc('Accept any certificate of the other side'),
  certificationPath: field.string().default('').doc('File with the certificate of the client'),
  privateKeyPath: field.string().default('').doc('File with the private key of the client'),
  rootCaPath: field.string().default('').doc('File with the certificates to trust'),
  certificationRaw: field.string().alias('certficationRaw').default('').doc('Certificate of the client, base64'),
  privateKeyRaw: field.secret().default('').doc('Private key of the client, base64'),
  rootCARaw: field.string().default('').doc('Certificates to trust, base64'),
  tlsMinVersion: field
    .string()
    .oneOf('', 'tls1.0', 'tls1.1', 'tls1.2', 'tls1.3')
    .default('tls1.2')
    .doc('Lowest TLS version'),
  renegotiationSupport: field
    .string()
    .oneOf('', 'never', 'once', 'freely')
    .default('never')
    .doc('Accepted for compatibility')
    .unlisted(),
  decrypt: field
    .object(decryptProps)
    .check(decryptReason)
    .doc('How certificate and private key of the client are decrypted, if they are encrypted as a whole'),
};

export type TlsConf = Parsed<typeof tlsProps>;

/** How a client proves who it is, and knows the other side: may change from one connection to the next. */
export const tlsProofs = [
  'certificationPath',
  'privateKeyPath',
  'rootCaPath',
  'certificationRaw',
  'privateKeyRaw',
  'rootCARaw',
  'decrypt',
] as const satisfies readonly (keyof TlsConf)[];

/** Whether the properties ask for TLS, where the address does not say it. */
export function namesTls(conf: TlsConf): boolean {
  return conf.insecureSkipVerify || Object.values(tlsFiles(conf)).some((name) => name !== '') || hasRaw(conf);
}

function hasRaw({ certificationRaw, privateKeyRaw, rootCARaw }: TlsConf): boolean {
  return certificationRaw !== '' || privateKeyRaw !== '' || rootCARaw !== '';
}

/** Files that these properties name. */
export function tlsFiles({ certificationPath, privateKeyPath, rootCaPath }: TlsConf): NamedFiles {
  return { certificationPath, privateKeyPath, rootCaPath };
}

function decryptReason({ algorithm, key, properties }: { algorithm: string; key: string; properties: AesProps }) {
  if (algorithm === '') return key === '' ? undefined : 'algorithm is required with key';
  const reason = aesKeyReason(key);
  return reason === undefined ? ivReason(properties) : `key ${reason}`;
}
