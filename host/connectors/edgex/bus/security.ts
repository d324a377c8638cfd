/** Certificates and keys of the options. */
import type { AllowedPaths } from '../../../base/files/allowed-paths.js';
import { type Given, readCertificates, type TlsOptions } from '../../tls-options.js';
import { type EdgexConf, hasTls } from './connection.js';

/** What TLS needs; undefined without it. Throws a `config` error that names the option of a file that can't be used. */
export async function securityOf(
  conf: EdgexConf,
  paths: AllowedPaths,
): Promise<Omit<TlsOptions, 'minVersion'> | undefined> {
  if (!hasTls(conf)) return undefined;
  const { CertFile, KeyFile, CaFile, CertPEMBlock, KeyPEMBlock, CaPEMBlock, SkipCertVerify } = conf.optional;
  const given = (file: string, path: string, block: string, text: string): Given =>
    text === ''
      ? { name: `optional.${file}`, path, content: undefined }
      : { name: `optional.${block}`, path: '', content: Buffer.from(text) };
  const parts = {
    cert: given('CertFile', CertFile, 'CertPEMBlock', CertPEMBlock),
    key: given('KeyFile', KeyFile, 'KeyPEMBlock', KeyPEMBlock),
    ca: given('CaFile', CaFile, 'CaPEMBlock', CaPEMBlock),
  };
  return { ...(await readCertificates('edgex', parts, paths)), rejectUnauthorized: !SkipCertVerify };
}
