/** Names as keys of NATS, which allow letters, digits and a few signs. */

/** Longest key: NATS takes subjects of some 4 KB. */
export const maxKeyBytes = 3500;

/** Each byte that a key may not have, as `=` and its number. */
export function encodeName(name: string): string {
  if (/^[A-Za-z0-9_-]+$/.test(name)) return name;
  const bytes = [...Buffer.from(name)];
  return bytes.map((byte) => (isPlain(byte) ? String.fromCharCode(byte) : `=${hex(byte)}`)).join('') || '=';
}

export function decodeName(key: string): string {
  if (!key.includes('=')) return key;
  if (key === '=') return '';
  const bytes: number[] = [];
  for (let i = 0; i < key.length; i++) {
    if (key[i] === '=') {
      bytes.push(Number.parseInt(key.slice(i + 1, i + 3), 16));
      i += 2;
    } else bytes.push(key.charCodeAt(i));
  }
  return Buffer.from(bytes).toString();
}

function isPlain(byte: number): boolean {
  const isDigit = byte >= 48 && byte <= 57;
  return isDigit || (byte >= 65 && byte <= 90) || (byte >= 97 && byte <= 122) || byte === 45 || byte === 95;
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}
