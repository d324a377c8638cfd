/**
 * Cuts SQL text into tokens, one at a time, in linear time. White space and comments (`--` to the end of the line, and
 * `/* … *\/`) separate tokens and are dropped.
 */
import type { HaumeaError } from '../base/errors.js';
import { parseErrorAt, quoteFragment, sqlErrors } from './errors.js';

export type TokenKind = 'word' | 'quoted' | 'string' | 'integer' | 'number' | 'symbol' | 'end';

export interface Token {
  kind: TokenKind;
  /** The word, symbol or digits as written; the value of a string or a back-quoted name. */
  text: string;
  /** Upper-case form of an ASCII word, empty for every other token. */
  upper: string;
  start: number;
  end: number;
  line: number;
  column: number;
}

/** Longest statement accepted, in UTF-16 units. */
export const MAX_SQL_LENGTH = 4 * 1024 * 1024;

const SYMBOLS_2 = new Set(['->', '<=', '>=', '<>', '!=', '==']);
/** Operators that may be written apart (`> =`): the first character, and what follows behind white space. */
const APART: Readonly<Record<string, string>> = { '<': '=', '>': '=', '!': '=', '-': '>' };
const SYMBOLS_1 = new Set('+-*/%&|^=<>()[],.:;#');
/** Symbols of PATTERN alone. */
const SYMBOLS_OF_PATTERN = new Set('{}?$');
const UNICODE_WORD_START = /^\p{L}$/u;
const UNICODE_WORD_PART = /^[\p{L}\p{N}\p{M}]$/u;
const UNICODE_SPACE = /^\s$/u;

const DOUBLE_QUOTE = 34;
const SINGLE_QUOTE = 39;
const STAR = 42;
const DASH = 45;
const DOT = 46;
const SLASH = 47;
const BACKSLASH = 92;
const UNDERSCORE = 95;
const BACK_QUOTE = 96;

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function isAsciiLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
}

/** One-character escapes of a string and what they stand for. */
const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '/': '/',
  '\\': '\\',
  '"': '"',
  "'": "'",
};

/** Digits that follow `\x`, `\u` and `\U`. */
const HEX_ESCAPES: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

export class Lexer {
  readonly text: string;
  /** Tokens are read of a PATTERN. */
  isInPattern = false;
  private pos = 0;
  private line = 1;
  private lineStart = 0;
  /** Offset of the first line end at or after the last place asked for; -1 when there is none. */
  private lineEnd: number;

  constructor(text: string) {
    if (text.length > MAX_SQL_LENGTH) {
      throw sqlErrors.length(text.length, MAX_SQL_LENGTH);
    }
    this.text = text;
    this.lineEnd = text.indexOf('\n');
  }

  /** Reads the next token; at the end of the text it returns `end` tokens for ever. */
  next(): Token {
    this.skipBlank();
    const { text, pos } = this;
    if (pos >= text.length) return this.token('end', '', '', pos);
    const code = text.charCodeAt(pos);
    if (isAsciiLetter(code) || code === UNDERSCORE) return this.word(pos);
    if (isDigit(code) || (code === DOT && isDigit(text.charCodeAt(pos + 1)))) return this.number(pos);
    if (code === DOUBLE_QUOTE || code === SINGLE_QUOTE) return this.string(pos, code);
    if (code === BACK_QUOTE) return this.quotedName(pos);
    if (this.isInPattern && SYMBOLS_OF_PATTERN.has(text.charAt(pos))) return this.symbol(text.charAt(pos), pos);
    const two = text.slice(pos, pos + 2);
    if (SYMBOLS_2.has(two)) return this.symbol(two, pos);
    const one = text.charAt(pos);
    const second = APART[one];
    if (second !== undefined) {
      this.pos = pos + 1;
      this.skipBlank();
      if (text.charAt(this.pos) === second) {
        this.pos++;
        return this.token('symbol', one + second, '', pos);
      }
    }
    if (SYMBOLS_1.has(one)) return this.symbol(one, pos);
    if (code > 127 && UNICODE_WORD_START.test(this.characterAt(pos))) return this.word(pos);
    throw this.error(pos, `found ${quoteFragment(this.characterAt(pos))}, which has no meaning here`);
  }

  private characterAt(pos: number): string {
    return String.fromCodePoint(this.text.codePointAt(pos) ?? 0);
  }

  private symbol(symbol: string, start: number): Token {
    this.pos = start + symbol.length;
    return this.token('symbol', symbol, '', start);
  }

  private token(kind: TokenKind, text: string, upper: string, start: number): Token {
    const end = this.pos;
    this.moveLineTo(start);
    return { kind, text, upper, start, end, line: this.line, column: start - this.lineStart + 1 };
  }

  /** Brings the line counter to an offset; offsets only grow, so the whole text is searched once. */
  private moveLineTo(offset: number): void {
    while (this.lineEnd >= 0 && this.lineEnd < offset) {
      this.line++;
      this.lineStart = this.lineEnd + 1;
      this.lineEnd = this.text.indexOf('\n', this.lineStart);
    }
  }

  private error(offset: number, what: string): HaumeaError {
    this.moveLineTo(offset);
    return parseErrorAt({ line: this.line, column: offset - this.lineStart + 1 }, what);
  }

  private skipBlank(): void {
    const { text } = this;
    let pos = this.pos;
    for (;;) {
      const code = text.charCodeAt(pos);
      if (code === 32 || (code >= 9 && code <= 13)) {
        pos++;
      } else if (code === DASH && text.charCodeAt(pos + 1) === DASH) {
        const end = text.indexOf('\n', pos);
        pos = end < 0 ? text.length : end + 1;
      } else if (code === SLASH && text.charCodeAt(pos + 1) === STAR) {
        const end = text.indexOf('*/', pos + 2);
        if (end < 0) throw this.error(pos, 'the comment that begins here has no end, expected */');
        pos = end + 2;
      } else if (code > 127 && UNICODE_SPACE.test(text.charAt(pos))) {
        pos++;
      } else {
        break;
      }
    }
    this.pos = pos;
  }

  private word(start: number): Token {
    const { text } = this;
    let pos = start;
    let isAscii = true;
    for (;;) {
      const code = text.charCodeAt(pos);
      if (isAsciiLetter(code) || isDigit(code) || code === UNDERSCORE) {
        pos++;
      } else if (code > 127) {
        const character = this.characterAt(pos);
        if (!UNICODE_WORD_PART.test(character)) break;
        isAscii = false;
        pos += character.length;
      } else {
        break;
      }
    }
    this.pos = pos;
    const word = text.slice(start, pos);
    return this.token('word', word, isAscii ? word.toUpperCase() : '', start);
  }

  /** Reads `12`, `1.5`, `5.`, `.5`, `1e-3`. */
  private number(start: number): Token {
    const { text } = this;
    let pos = this.digitsFrom(start);
    let isInteger = true;
    if (text.charCodeAt(pos) === DOT) {
      isInteger = false;
      pos = this.digitsFrom(pos + 1);
    }
    const exponent = /[eE][+-]?\d+/y;
    exponent.lastIndex = pos;
    if (exponent.test(text)) {
      isInteger = false;
      pos = exponent.lastIndex;
    }
    const code = text.charCodeAt(pos);
    if (isAsciiLetter(code) || code === UNDERSCORE || code === DOT) {
      throw this.error(start, `found ${quoteFragment(text.slice(start, pos + 1))}, which is no number`);
    }
    this.pos = pos;
    return this.token(isInteger ? 'integer' : 'number', text.slice(start, pos), '', start);
  }

  private digitsFrom(start: number): number {
    let pos = start;
    while (isDigit(this.text.charCodeAt(pos))) pos++;
    return pos;
  }

  /** Reads a name in back-quotes; a doubled back-quote stands for one. */
  private quotedName(start: number): Token {
    const { text } = this;
    let name = '';
    let from = start + 1;
    for (;;) {
      const end = text.indexOf('`', from);
      if (end < 0) throw this.error(start, `the name that begins here has no end, expected a closing back-quote`);
      name += text.slice(from, end);
      from = end + 1;
      if (text.charCodeAt(from) !== BACK_QUOTE) break;
      name += '`';
      from++;
    }
    if (name === '') throw this.error(start, 'found an empty name between back-quotes');
    this.pos = from;
    return this.token('quoted', name, '', start);
  }

  /** Reads a string in either kind of quotes, with backslash escapes or the quote doubled. */
  private string(start: number, quote: number): Token {
    const { text } = this;
    let value = '';
    let pos = start + 1;
    let plainFrom = pos;
    for (;;) {
      if (pos >= text.length) {
        throw this.error(
          start,
          `the string that begins here has no end, expected a closing ${String.fromCharCode(quote)}`,
        );
      }
      const code = text.charCodeAt(pos);
      if (code === quote) {
        value += text.slice(plainFrom, pos);
        pos++;
        if (text.charCodeAt(pos) !== quote) break;
        plainFrom = pos++;
      } else if (code === BACKSLASH) {
        value += text.slice(plainFrom, pos);
        this.pos = pos;
        value += this.escape();
        pos = this.pos;
        plainFrom = pos;
      } else {
        pos++;
      }
    }
    this.pos = pos;
    return this.token('string', value, '', start);
  }

  /** Reads one escape at the current place; several byte escapes in a row form UTF-8 together. */
  private escape(): string {
    const { text, pos } = this;
    const letter = text.charAt(pos + 1);
    const simple = SIMPLE_ESCAPES[letter];
    if (simple !== undefined) {
      this.pos = pos + 2;
      return simple;
    }
    if (letter === 'u' || letter === 'U') {
      const digits = HEX_ESCAPES[letter] ?? 4;
      const hex = text.slice(pos + 2, pos + 2 + digits);
      const code = Number.parseInt(hex, 16);
      if (hex.length === digits && /^[0-9a-fA-F]+$/.test(hex) && code <= 0x10ffff) {
        this.pos = pos + 2 + digits;
        return String.fromCodePoint(code);
      }
    } else if (letter === 'x' || isDigit(letter.charCodeAt(0))) {
      return this.byteEscapes();
    }
    throw this.error(
      pos,
      `found the unknown escape ${quoteFragment(text.slice(pos, pos + 2))}, write \\\\ for a backslash`,
    );
  }

  private byteEscapes(): string {
    const start = this.pos;
    const bytes: number[] = [];
    const one = /\\(?:x([0-9a-fA-F]{2})|([0-3][0-7]{2}))/y;
    one.lastIndex = start;
    for (let match = one.exec(this.text); match !== null; match = one.exec(this.text)) {
      this.pos = one.lastIndex;
      bytes.push(match[1] === undefined ? Number.parseInt(match[2] ?? '0', 8) : Number.parseInt(match[1], 16));
    }
    if (bytes.length === 0) {
      throw this.error(
        start,
        'found a malformed escape, expected \\x and two hexadecimal digits or three octal digits',
      );
    }
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
    } catch (cause) {
      throw sqlErrors.escapes(this.error(start, 'found byte escapes that are no valid UTF-8').message, { cause });
    }
  }
}
