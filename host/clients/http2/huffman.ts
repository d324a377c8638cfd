/** The Huffman code of header fields in HTTP/2 (RFC 7541, appendix B). It is canonical: lengths of codes tell all. */

const lengths: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
  28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6,
  5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23,
  22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22,
  23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26,
  20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27,
  27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27,
  27, 27, 27, 26,
];
/** The code that ends a text; it never comes. */
const endLength = 30;

interface Level {
  /** First code of the length, the code after the last, and where its symbols begin. */
  first: number;
  end: number;
  at: number;
}

const { levels, symbols } = tables();

function tables(): { levels: Level[]; symbols: number[] } {
  const levels: Level[] = [];
  const symbols: number[] = [];
  let code = 0;
  for (let length = 1; length <= endLength; length++) {
    const own = lengths.flatMap((one, symbol) => (one === length ? [symbol] : []));
    levels[length] = { first: code, end: code + own.length, at: symbols.length };
    symbols.push(...own);
    code = (code + own.length) << 1;
  }
  return { levels, symbols };
}

/** Text of the bytes, one character a byte; throws for what is no such code. */
export function huffmanText(bytes: Uint8Array): string {
  let text = '';
  let code = 0;
  let length = 0;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      code = (code << 1) | ((byte >> bit) & 1);
      const level = levels[++length];
      if (level === undefined) throw new Error('a header is not coded as it should be');
      if (code < level.first || code >= level.end) continue;
      text += String.fromCharCode(symbols[level.at + code - level.first]!);
      code = 0;
      length = 0;
    }
  }
  // What is left are the first bits of the end, all ones.
  if (length > 7 || code !== (1 << length) - 1) throw new Error('a header is not coded as it should be');
  return text;
}
