/** How deep JSON is nested, told without reading it: what walks through values later is recursive. */

/** Deeper than any definition; far from where the stack ends. */
export const maxJsonDepth = 1000;

const quote = 0x22;
const backslash = 0x5c;
/** `[` and `{`, `]` and `}` differ from each other in this bit only. */
const braceBit = 0x20;
const open = 0x5b;
const close = 0x5d;

/** Tells whether arrays and objects lie deeper in each other than the limit. What is no JSON has any answer. */
export function isDeeperThan(limit: number, text: Uint8Array): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const byte = text[i] as number;
    if (byte === quote) {
      for (i++; i < text.length && text[i] !== quote; i++) if (text[i] === backslash) i++;
    } else if ((byte & ~braceBit) === open) {
      if (++depth > limit) return true;
    } else if ((byte & ~braceBit) === close) depth--;
  }
  return false;
}
