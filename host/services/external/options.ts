/** Options of the interfaces of external services. */

import { field, parse } from '../../base/fields/field.js';
import type { ServiceOptions } from '../../plugins/service-code.js';
import { bodyErrors } from '../errors/body.js';

const spec = {
  headers: field.object().doc('Headers of each request, metadata of each gRPC call'),
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
  breakerFailures: field.int().min(0).max(1_000_000).default(5).doc('Failures in a row that show a service is down'),
  breakerInterval: field.duration().min(1).max(3_600_000).default(3000).doc('Time until it is asked again'),
  maxMessageSize: field
    .int()
    .min(1)
    .max(256 << 20)
    .default(4 << 20)
    .doc('Longest message either way, bytes'),
};

/** Throws a `general` error that names what is wrong; options that nobody knows are left alone. */
export function serviceOptions(options: Readonly<Record<string, unknown>>, where = 'options'): ServiceOptions {
  const problems: string[] = [];
  const read = parse(spec, options, { where, problems });
  const headers = (read.headers ?? {}) as Record<string, unknown>;
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || typeof value !== 'string' || /[\r\n\0]/.test(value)) {
      problems.push(`${where}: headers: ${name} can't be sent`);
    }
  }
  if ((read.certificationRaw === '') !== (read.privateKeyRaw === '')) {
    problems.push(`${where}: certificationRaw and privateKeyRaw are needed together`);
  }
  if (problems.length > 0) throw bodyErrors.problems(problems.join('; '));
  return {
    headers: headers as Record<string, string>,
    isInsecure: read.insecureSkipVerify,
    ca: read.rootCARaw,
    cert: read.certificationRaw,
    key: read.privateKeyRaw,
    tries: Math.max(1, read.retryCount),
    retryMs: read.retryInterval,
    timeoutMs: read.timeout,
    atOnce: read.concurrency,
    breakAfter: read.breakerFailures,
    breakMs: read.breakerInterval,
    maxBytes: read.maxMessageSize,
  };
}
