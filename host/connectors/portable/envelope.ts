/** Cuts the messages of sources: `{"message":{…},"meta":{…}}`, or `{"error":"…"}`. Their texts go on as they are. */

const quote = 0x22;
const backslash = 0x5c;

export interface Envelope {
  readonly message: Buffer | undefined;
  /** Undefined without one, or for null. */
  readonly meta: Buffer | undefined;
  readonly error: string | undefined;
}

/** The parts of a message; undefined when it is no object of JSON. */
export function envelopeOf(bytes: Buffer): Envelope | undefined {
  let at = skipSpace(bytes, 0);
  if (bytes[at] !== 0x7b) return undefined;
  at = skipSpace(bytes, at + 1);
  const found: Partial<Record<'message' | 'meta' | 'error', Buffer>> = {};
  while (bytes[at] === quote) {
    const keyEnd = endOfText(bytes, at);
    const key = bytes.toString('latin1', at + 1, keyEnd - 1);
    at = skipSpace(bytes, keyEnd);
    if (bytes[at] !== 0x3a) return undefined;
    at = skipSpace(bytes, at + 1);
    const end = endOfValue(bytes, at);
    if (key === 'message' || key === 'meta' || key === 'error') found[key] = bytes.subarray(at, end);
    at = skipSpace(bytes, end);
    if (bytes[at] !== 0x2c) break;
    at = skipSpace(bytes, at + 1);
  }
  if (bytes[at] !== 0x7d || skipSpace(bytes, at + 1) !== bytes.length) return undefined;
  return {
    message: objectOf(found.message),
    meta: objectOf(found.meta),
    error: found.error === undefined ? undefined : textOf(found.error),
  };
}

function objectOf(bytes: Buffer | undefined): Buffer | undefined {
  return bytes?.[0] === 0x7b || bytes?.[0] === 0x5b ? bytes : undefined;
}

function textOf(bytes: Buffer): string {
  try {
    return String(JSON.parse(bytes.toString()));
  } catch {
    return bytes.toString();
  }
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++;
  return at;
}

/** Offset behind a text that begins here. */
function endOfText(bytes: Buffer, from: number): number {
  let at = from + 1;
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1;
  return at + 1;
}

function endOfValue(bytes: Buffer, from: number): number {
  let at = from;
  for (let depth = 0; at < bytes.length; ) {
    const byte = bytes[at]!;
    if (byte === quote) at = endOfText(bytes, at);
    else {
      if (byte === 0x7b || byte === 0x5b) depth++;
      else if (byte === 0x7d || byte === 0x5d) {
        if (depth === 0) return at;
        depth--;
      } else if (depth === 0 && byte === 0x2c) return at;
      at++;
    }
    if (depth === 0 && (byte === quote || byte === 0x7d || byte === 0x5d)) return at;
  }
  return bytes.length;
}
