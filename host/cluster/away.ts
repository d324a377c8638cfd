/** Errors that pass by themselves: NATS, or most of its servers, are away for now. */
import { HaumeaError } from '../base/errors.js';

const codes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
/** Names of errors of the library, and the answer of servers that have no leader. */
const names: ReadonlySet<string> = new Set([
  'TimeoutError',
  'NoRespondersError',
  'ClosedConnectionError',
  'DrainingConnectionError',
]);
const unavailable = 503;

export function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, name, cause } = error as Error & { code?: unknown };
  const passes = codes.has(String(code)) || names.has(name) || code === unavailable;
  return passes || (error instanceof HaumeaError && error.kind === 'connection') || isAway(cause);
}
