/**
 * Texts of the kernel are bytes, which need not be UTF-8: a text cut within a character stays what it is. In JavaScript
 * a byte that is part of no character is a lone surrogate of its own, U+DC80 to U+DCFF, and becomes that byte again on
 * the way back.
 */
const utf8 = new TextEncoder();
const first = 0xdc00;

/** The text of bytes that are not all UTF-8. */
export function textOfBytes(bytes: Buffer): string {
  let text = '';
  let from = 0;
  for (let at = 0; at < bytes.length; ) {
    const length = sequenceLength(bytes, at);
    if (length > 0) {
      at += length;
      continue;
    }
    text += bytes.toString('utf8', from, at) + String.fromCharCode(first + bytes[at]!);
    at++;
    from = at;
  }
  return text + bytes.toString('utf8', from);
}

/** The bytes of a text of `textOfBytes`, or any other; other lone surrogates become U+FFFD. */
export function bytesOfText(text: string): Uint8Array {
  // A method of ES2024, which Node 20 has.
  if ((text as string & { isWellFormed(): boolean }).isWellFormed()) return utf8.encode(text);
  const parts: Uint8Array[] = [];
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0xd800 && code < 0xdc00 && isLow(text.charCodeAt(at + 1))) {
      at++;
      continue;
    }
    if (code < first + 0x80 || code > first + 0xff) continue;
    parts.push(utf8.encode(text.slice(from, at)), Uint8Array.of(code - first));
    from = at + 1;
  }
  return Buffer.concat([...parts, utf8.encode(text.slice(from))]);
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

/** Length of the character at `at`; 0 when the bytes are none (Unicode, table 3-7). */
function sequenceLength(bytes: Buffer, at: number): number {
  const byte = bytes[at]!;
  if (byte < 0x80) return 1;
  if (byte < 0xc2 || byte > 0xf4) return 0;
  const length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
  const second = bytes[at + 1] ?? 0;
  const least = byte === 0xe0 ? 0xa0 : byte === 0xf0 ? 0x90 : 0x80;
  const most = byte === 0xed ? 0x9f : byte === 0xf4 ? 0x8f : 0xbf;
  if (second < least || second > most) return 0;
  for (let i = 2; i < length; i++) if (((bytes[at + i] ?? 0) & 0xc0) !== 0x80) return 0;
  return length;
}
