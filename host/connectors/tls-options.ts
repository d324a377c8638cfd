/** Certificates and keys as the properties of TLS name them, in the form of Node.js. */
import type { SecureVersion } from 'node:tls';
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

/** Reads the files; throws a `config` error for one that can't be read. `what` names the connector in it. */
export async function tlsOptions(what: string, conf: TlsConf, paths: AllowedPaths): Promise<TlsOptions> {
  const load = async (path: string, raw: string) => {
    if (raw !== '') return Buffer.from(raw, 'base64');
    if (path === '') return undefined;
    try {
      const file = await paths.open(path, 'read');
      return await file.readFile().finally(() => file.close());
    } catch (error) {
      throw connectorErrors.props(what, reasonOf(error), { cause: error });
    }
  };
  const { algorithm, key: secret, properties } = conf.decrypt;
  const plain = async (name: string, path: string, raw: string) => {
    const bytes = await load(path, raw);
    if (bytes === undefined || algorithm === '') return bytes;
    try {
      return aesDecrypted(secret, properties, bytes);
    } catch (error) {
      throw connectorErrors.props(what, `${name} can't be decrypted: ${reasonOf(error)}`, { cause: error });
    }
  };
  const cert = await plain('certificate', conf.certificationPath, conf.certificationRaw);
  const key = await plain('private key', conf.privateKeyPath, conf.privateKeyRaw);
  const ca = await load(conf.rootCaPath, conf.rootCARaw);
  return {
    ...(cert && { cert }),
    ...(key && { key }),
    ...(ca && { ca }),
    rejectUnauthorized: !conf.insecureSkipVerify,
    minVersion: (conf.tlsMinVersion || 'tls1.2').replace('tls', 'TLSv') as SecureVersion,
  };
}
