/** JSON whose integers keep all their digits. */

const markedInteger = '\u0000int:';

/** Writes JSON; each bigint as the digits that it has. */
export function writeExactJson(value: unknown): string {
  const text = JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'bigint' ? markedInteger + member : member,
  );
  return text.replace(/"\\u0000int:(-?\d+)"/g, '$1');
}

/** Reads JSON; integers that a double can't hold become bigint. */
export function readExactJson(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text) as unknown;
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g, (token) => {
    const isLong = token.length >= 16 && /^-?\d{16,19}$/.test(token);
    return isLong ? JSON.stringify(markedInteger + token) : token;
  });
  return JSON.parse(marked, (_key, value: unknown) => {
    if (typeof value !== 'string' || !value.startsWith(markedInteger)) return value;
    const digits = value.slice(markedInteger.length);
    if (!/^-?\d+$/.test(digits)) return value;
    const number = Number(digits);
    return Number.isSafeInteger(number) ? number : BigInt(digits);
  });
}
