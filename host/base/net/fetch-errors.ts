/** Refusals of addresses, and failures to fetch from them; read with the first address. */
import { errorTable } from '../errors.js';

export const fetchErrors = errorTable('fetch', {
  timeout: ['connection', (ms: number) => `no complete answer within ${ms} ms`],
  cancelled: ['general', 'the request was cancelled'],
  scheme: ['general', (scheme: string) => `the scheme ${scheme} is not allowed, only http and https are`],
  noAddress: ['connection', (host: string) => `the name ${host} has no address`],
  privateAddress: ['general', (reason: string) => reason],
  redirects: ['connection', (most: number) => `more than ${most} redirects`],
  downgrade: ['general', (target: string) => `redirected from https to ${target}`],
  size: ['general', (most: number) => `the file has more than ${most} bytes`],
  status: ['connection', (status: number, message: string) => `status ${status} ${message}`.trimEnd()],
  encoding: ['connection', (encoding: string) => `unexpected content encoding ${encoding}`],
  notUrl: ['general', 'this is no URL'],
  refused: ['general', (url: string, reason: string) => `can't fetch ${url}: ${reason}`],
  failed: ['connection', (url: string, reason: string) => `can't fetch ${url}: ${reason}`],
});
