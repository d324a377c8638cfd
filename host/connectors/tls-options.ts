/** Certificates and keys as the properties of TLS name them, in the form of Node.js. */
import type { SecureVersion } from 'node:tls';
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
  const cert = await load(conf.certificationPath, conf.certificationRaw);
  const key = await load(conf.privateKeyPath, conf.privateKeyRaw);
  const ca = await load(conf.rootCaPath, conf.rootCARaw);
  return {
    ...(cert && { cert }),
    ...(key && { key }),
    ...(ca && { ca }),
    rejectUnauthorized: !conf.insecureSkipVerify,
    minVersion: conf.tlsMinVersion.replace('tls', 'TLSv') as SecureVersion,
  };
}
