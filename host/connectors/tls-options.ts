/** Certificates and keys as the properties of TLS name them, in the form of Node.js. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureVersion } from 'node:tls';
import { aesDecrypted } from '../base/bytes/aes.js';
import { reasonOf } from '../base/errors.js';
import type { AllowedPaths } from '../base/files/allowed-paths.js';
import { connectorErrors } from './errors.js';
import type { TlsConf } from './tls.js';

export interface TlsOptions {
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly ca?: Buffer;
  readonly rejectUnauthorized: boolean;
  readonly minVersion: SecureVersion;
}

/** Where a certificate or a key comes from: the property that names it, and its file or its content. */
export interface Given {
  readonly name: string;
  readonly path: string;
  readonly content: Buffer | undefined;
}

export type GivenParts = Readonly<Record<'cert' | 'key' | 'ca', Given>>;

type Part = keyof GivenParts;

/**
 * Reads the files; throws a `config` error that names the property of one that can't be read or used. `what` names the
 * connector in it.
 */
export async function tlsOptions(what: string, conf: TlsConf, paths: AllowedPaths): Promise<TlsOptions> {
  const given = (path: 'certificationPath' | 'privateKeyPath' | 'rootCaPath', raw: keyof TlsConf): Given => {
    const content = String(conf[raw]);
    return content === ''
      ? { name: path, path: conf[path], content: undefined }
      : { name: raw, path: '', content: Buffer.from(content, 'base64') };
  };
  const parts = {
    cert: given('certificationPath', 'certificationRaw'),
    key: given('privateKeyPath', 'privateKeyRaw'),
    ca: given('rootCaPath', 'rootCARaw'),
  };
  const { algorithm, key: secret, properties } = conf.decrypt;
  const plain = (bytes: Buffer) => (algorithm === '' ? bytes : aesDecrypted(secret, properties, bytes));
  return {
    ...(await readCertificates(what, parts, paths, plain)),
    rejectUnauthorized: !conf.insecureSkipVerify,
    minVersion: (conf.tlsMinVersion || 'tls1.2').replace('tls', 'TLSv') as SecureVersion,
  };
}

/** As `tlsOptions`, for properties of any names; `plain` decrypts certificate and key of the client. */
export async function readCertificates(
  what: string,
  parts: GivenParts,
  paths: AllowedPaths,
  plain = (bytes: Buffer): Buffer => bytes,
): Promise<Pick<TlsOptions, Part>> {
  const refused = (part: Part, reason: string, cause?: unknown) =>
    connectorErrors.certificate(what, parts[part].name, reason, { cause });
  const load = async (part: Part) => {
    const { path, content } = parts[part];
    if (content !== undefined || path === '') return content;
    try {
      const file = await paths.open(path, 'read');
      return await file.readFile().finally(() => file.close());
    } catch (error) {
      throw refused(part, reasonOf(error), error);
    }
  };
  // What the library says of a certificate that it can't use does not name the property.
  const use = <T>(part: Part, reason: (why: string) => string, tried: () => T): T => {
    try {
      return tried();
    } catch (error) {
      throw refused(part, reason(reasonOf(error)), error);
    }
  };
  const decrypted = async (part: Part) => {
    const bytes = await load(part);
    return (
      bytes &&
      use(
        part,
        (why) => `can't be decrypted: ${why}`,
        () => plain(bytes),
      )
    );
  };
  const [cert, key, ca] = [await decrypted('cert'), await decrypted('key'), await load('ca')];
  const noPem = () => 'has no certificate in PEM';
  if (ca !== undefined) use('ca', noPem, () => new X509Certificate(ca));
  if (cert !== undefined) use('cert', noPem, () => new X509Certificate(cert));
  const noKey = () => 'has no private key in PEM without a passphrase';
  if (key !== undefined) use('key', noKey, () => createPrivateKey(key));
  if (cert !== undefined && key === undefined) throw refused('key', 'is required with the certificate of the client');
  if (cert === undefined && key !== undefined) throw refused('cert', 'is required with the private key of the client');
  if (key !== undefined)
    use(
      'key',
      () => 'is not the key of the certificate',
      () => createSecureContext({ cert, key }),
    );
  return { ...(cert && { cert }), ...(key && { key }), ...(ca && { ca }) };
}
