/** Options of the interfaces of external services over HTTP. */

import { field, parse } from '../../base/fields/field.js';
import type { ServiceRequests } from '../../plugins/define.js';
import { bodyErrors } from '../errors/body.js';

const restSpec = {
  headers: field.object().doc('Headers of each request'),
  insecureSkipVerify: field.bool().default(false).doc('Take certificates of anybody'),
  retryCount: field
    .int()
    .min(0)
    .max(100)
    .default(0)
    .doc('How often a call is tried when the other side can not be reached'),
  retryInterval: field.duration().min(0).default(0).doc('Pause before the next try'),
};

/** Throws a `general` error that names what is wrong; options that nobody knows are left alone. */
export function restOptionsOf(options: Readonly<Record<string, unknown>>, where = 'options'): ServiceRequests {
  const problems: string[] = [];
  const { headers = {}, insecureSkipVerify, retryCount, retryInterval } = parse(restSpec, options, { where, problems });
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || typeof value !== 'string' || /[\r\n]/.test(value)) {
      problems.push(`${where}: headers: ${name} can't be sent`);
    }
  }
  if (problems.length > 0) throw bodyErrors.problems(problems.join('; '));
  const given = headers as Record<string, string>;
  return { headers: given, isInsecure: insecureSkipVerify, retries: retryCount, retryMs: retryInterval };
}
