/** The properties of TLS, the same for all connectors that speak it as a client. */
import { field, type Parsed } from '../base/fields/field.js';
import type { NamedFiles } from './define.js';

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
    .oneOf('tls1.0', 'tls1.1', 'tls1.2', 'tls1.3')
    .default('tls1.2')
    .doc('Lowest TLS version'),
  renegotiationSupport: field
    .string()
    .oneOf('never', 'once', 'freely')
    .default('never')
    .doc('Accepted for compatibility')
    .unlisted(),
};

export type TlsConf = Parsed<typeof tlsProps>;

/** Files that these properties name. */
export function tlsFiles({ certificationPath, privateKeyPath, rootCaPath }: TlsConf): NamedFiles {
  return { certificationPath, privateKeyPath, rootCaPath };
}
