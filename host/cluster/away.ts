/** Errors that pass by themselves: NATS, or most of its servers, are away for now. */
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
/** Kinds of refusals, and of writes to a bucket. */
const kinds: ReadonlySet<string> = new Set(['connection', 'away', 'unsure']);
const unavailable = 503;

export function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, name, kind, cause } = error as Error & { code?: unknown; kind?: unknown };
  const passes = codes.has(String(code)) || names.has(name) || kinds.has(String(kind)) || code === unavailable;
  return passes || isAway(cause);
}
