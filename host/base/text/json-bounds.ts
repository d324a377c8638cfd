/**
 * How deep JSON is nested and how many values it has, told without reading it: what walks through values later is
 * recursive, and eight megabytes of `[]` take a second to read and fifty times their size.
 */

/** Deeper than any definition; far from where the stack ends. */
const maxDepth = 1000;
/** Ten times more than the largest definitions have. */
const maxValues = 250_000;

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
/** `[` and `{`, `]` and `}` differ from each other in this bit only. */
const braceBit = 0x20;
const open = 0x5b;
const close = 0x5d;

/**
 * Says which bound the text is beyond, `is nested deeper than …`; undefined within them. What is no JSON has any
 * answer.
 */
export function beyondBounds(text: Uint8Array): string | undefined {
  let depth = 0;
  let values = 1;
  for (let i = 0; i < text.length; i++) {
    const byte = text[i] as number;
    if (byte === quote) {
      for (i++; i < text.length && text[i] !== quote; i++) if (text[i] === backslash) i++;
    } else if (byte === comma) values++;
    else if ((byte & ~braceBit) === open) {
      values++;
      if (++depth > maxDepth) return `is nested deeper than ${maxDepth} levels`;
    } else if ((byte & ~braceBit) === close) depth--;
  }
  return values > maxValues ? `has more than ${maxValues} values` : undefined;
}
