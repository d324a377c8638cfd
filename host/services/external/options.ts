/** Options of the interfaces of external services. */

import { reasonOf } from '../../base/errors.js';
import { field, parse } from '../../base/fields/field.js';
import type { AllowedPaths } from '../../base/files/allowed-paths.js';
import type { ServiceOptions } from '../../plugins/service-code.js';
import { bodyErrors } from '../errors/body.js';

const spec = {
  headers: field.object().doc('Headers of each request, metadata of each gRPC call'),
  rootCaPath: field.string().default('').doc('File with the certificates to trust'),
  certificationPath: field.string().default('').doc('File with the certificate of the client'),
  privateKeyPath: field.string().default('').doc('File with the private key of the client'),
  insecureSkipVerify: field.bool().default(false).doc('Take certificates of anybody'),
  rootCARaw: field.string().default('').doc('Certificates to trust, base64'),
  certificationRaw: field.string().alias('certficationRaw').default('').doc('Certificate of the client, base64'),
  privateKeyRaw: field.secret().default('').doc('Private key of the client, base64'),
  retryCount: field
    .int()
    .min(0)
    .max(100)
    .default(0)
    .doc('How often a call is tried when the other side can not be reached, or is too busy'),
  retryInterval: field.duration().min(0).default(0).doc('Pause before the next try'),
  timeout: field.duration().min(1).max(600_000).default(5000).doc('Longest time of a call with all its tries'),
  concurrency: field.int().min(1).max(1024).default(32).doc('Most calls under way at once'),
  waitingBatches: field.int().min(1).max(1024).default(16).doc('Batches of rows of a rule that may wait'),
  batchTimeout: field.duration().min(0).max(3_600_000).default(0).doc('Longest wait of a batch for its answers'),
  breakerFailures: field.int().min(0).max(1_000_000).default(5).doc('Failures in a row that show a service is down'),
  breakerInterval: field.duration().min(1).max(3_600_000).default(3000).doc('Time until it is asked again'),
  maxMessageSize: field
    .int()
    .min(1)
    .max(256 << 20)
    .default(4 << 20)
    .doc('Longest message either way, bytes'),
};

/** Longest wait of a batch for its answers, where no option says more. */
const usualBatchMs = 60_000;
/**
 * Throws a `general` error that names what is wrong; options that nobody knows are left alone. Files must lie where the
 * server may read.
 */
export function serviceOptions(
  options: Readonly<Record<string, unknown>>,
  where: string,
  paths: AllowedPaths,
): ServiceOptions {
  const problems: string[] = [];
  const read = parse(spec, options, { where, problems });
  const headers = (read.headers ?? {}) as Record<string, unknown>;
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || typeof value !== 'string' || /[\r\n\0]/.test(value)) {
      problems.push(`${where}: headers: ${name} can't be sent`);
    }
  }
  const { certificationRaw, certificationPath, privateKeyRaw, privateKeyPath, rootCaPath } = read;
  if ((certificationRaw + certificationPath === '') !== (privateKeyRaw + privateKeyPath === '')) {
    problems.push(`${where}: certificate and private key of the client are needed together`);
  }
  for (const [name, path] of Object.entries({ rootCaPath, certificationPath, privateKeyPath })) {
    try {
      if (path !== '') paths.check(path);
    } catch (error) {
      problems.push(`${where}: ${name}: ${reasonOf(error)}`);
    }
  }
  if (read.batchTimeout > 0 && read.batchTimeout < read.timeout) {
    problems.push(`${where}: batchTimeout must not be shorter than timeout, that of a single call`);
  }
  if (problems.length > 0) throw bodyErrors.problems(problems.join('; '));
  return {
    headers: headers as Record<string, string>,
    isInsecure: read.insecureSkipVerify,
    ca: read.rootCARaw,
    cert: certificationRaw,
    key: privateKeyRaw,
    caPath: rootCaPath,
    certPath: certificationPath,
    keyPath: privateKeyPath,
    tries: Math.max(1, read.retryCount),
    retryMs: read.retryInterval,
    timeoutMs: read.timeout,
    atOnce: read.concurrency,
    batchMs: read.batchTimeout || Math.max(usualBatchMs, read.timeout),
    waitingBatches: read.waitingBatches,
    breakAfter: read.breakerFailures,
    breakMs: read.breakerInterval,
    maxBytes: read.maxMessageSize,
  };
}
