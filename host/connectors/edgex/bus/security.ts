/** Certificates and keys of the options. */
import { reasonOf } from '../../../base/errors.js';
import type { AllowedPaths } from '../../../base/files/allowed-paths.js';
import { type EdgexConf, hasTls } from './connection.js';
import { edgexErrors } from './errors.js';

export interface BusSecurity {
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly rejectUnauthorized: boolean;
}

/** What TLS needs; undefined without it. Throws a `config` error for a file that can't be read. */
export async function securityOf(conf: EdgexConf, paths: AllowedPaths): Promise<BusSecurity | undefined> {
  if (!hasTls(conf)) return undefined;
  const { CertFile, KeyFile, CertPEMBlock, KeyPEMBlock, SkipCertVerify } = conf.optional;
  const load = async (name: string, path: string, text: string) => {
    if (text !== '') return Buffer.from(text);
    if (path === '') return undefined;
    try {
      const file = await paths.open(path, 'read');
      return await file.readFile().finally(() => file.close());
    } catch (error) {
      throw edgexErrors.file(name, reasonOf(error), { cause: error });
    }
  };
  const cert = await load('CertFile', CertFile, CertPEMBlock);
  const key = await load('KeyFile', KeyFile, KeyPEMBlock);
  return { ...(cert && { cert }), ...(key && { key }), rejectUnauthorized: !SkipCertVerify };
}
