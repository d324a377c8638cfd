/** Cuts a template into text and the tokens of its actions. */
import { HaumeaError } from '../base/errors.js';

export type Token =
  | { kind: 'text'; text: string; line: number }
  | { kind: 'open' | 'close' | 'space' | '(' | ')' | '|' | ',' | ':=' | '=' | '.' | 'end'; text: string; line: number }
  /** `.name` */
  | { kind: 'field'; text: string; line: number }
  /** `$name`, or `$` alone */
  | { kind: 'variable'; text: string; line: number }
  | { kind: 'word'; text: string; line: number }
  | { kind: 'constant'; text: string; value: string | number | bigint; line: number };

const trimLeft = /[ \t\r\n]+$/;
const trimRight = /^[ \t\r\n]+/;
const name = /[\p{L}_][\p{L}\p{N}_]*/uy;
const space = /[ \t\r\n]+/y;
const number =
  /[-+]?(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][-+]?\d+)?)/y;
const quoted = /"(?:[^"\\\n]|\\.)*"/y;
const raw = /`[^`]*`/y;
const char = /'(?:[^'\\\n]|\\[^\n][^'\n]*)'/uy;

/** Refuses a template and names the line. */
export function refuseTemplate(line: number, reason: string): HaumeaError {
  return new HaumeaError('plan', `template: sink:${line}: ${reason}`);
}

/** Returns the tokens, the last of which is `end`. Throws `plan` errors with the line. */
export function lex(source: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  let line = 1;
  let trims = false;
  while (at < source.length) {
    const open = source.indexOf('{{', at);
    let text = source.slice(at, open < 0 ? source.length : open);
    const textLine = line;
    line += lines(text);
    if (trims) text = text.replace(trimRight, '');
    trims = false;
    if (open >= 0) {
      at = open + 2;
      if (/^-[ \t\r\n]/.test(source.slice(at, at + 2))) {
        text = text.replace(trimLeft, '');
        at++;
      }
    } else at = source.length;
    if (text !== '') tokens.push({ kind: 'text', text, line: textLine });
    if (open < 0) break;
    const action = skipComment(source, at, line) ?? lexAction(source, at, line, tokens);
    at = action.at;
    line = action.line;
    trims = action.trims;
  }
  tokens.push({ kind: 'end', text: 'EOF', line });
  return tokens;
}

/** Reads what fits at the present place. */
type Match = (pattern: RegExp) => string | undefined;

function lines(text: string): number {
  return text.split('\n').length - 1;
}

/** Where the text behind an action begins, and whether the action trims it. */
interface AfterAction {
  at: number;
  line: number;
  trims: boolean;
}

/** Skips a comment that stands for an action; undefined when there is none. */
function skipComment(source: string, at: number, line: number): AfterAction | undefined {
  const open = /[ \t\r\n]*\/\*/y;
  open.lastIndex = at;
  if (!open.test(source)) return undefined;
  const end = source.indexOf('*/', open.lastIndex);
  if (end < 0) throw refuseTemplate(line, 'unclosed comment');
  const close = /[ \t\r\n]+-\}\}|\}\}/y;
  close.lastIndex = end + 2;
  const found = close.exec(source);
  if (found === null) throw refuseTemplate(line, 'comment ends before closing delimiter');
  return { at: close.lastIndex, line: line + lines(source.slice(at, close.lastIndex)), trims: found[0] !== '}}' };
}

function lexAction(source: string, from: number, startLine: number, tokens: Token[]): AfterAction {
  let at = from;
  let line = startLine;
  tokens.push({ kind: 'open', text: '{{', line });
  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(source)?.[0];
  };
  for (;;) {
    if (at >= source.length) throw refuseTemplate(startLine, 'unclosed action');
    const blank = match(space);
    if (blank !== undefined) {
      const isTrim = source.startsWith('-}}', at + blank.length);
      if (!isTrim) tokens.push({ kind: 'space', text: blank, line });
      line += lines(blank);
      at += blank.length;
      if (!isTrim) continue;
      tokens.push({ kind: 'close', text: '}}', line });
      return { at: at + 3, line, trims: true };
    }
    if (source.startsWith('}}', at)) {
      tokens.push({ kind: 'close', text: '}}', line });
      return { at: at + 2, line, trims: false };
    }
    const token = lexToken(source, at, line, match);
    tokens.push(token);
    line += lines(token.text);
    at += token.text.length;
  }
}

/** Tokens by the quote that they begin with. */
const quotes: Readonly<
  Record<string, { pattern: RegExp; what: string; value: (text: string, line: number) => string | number }>
> = {
  '"': { pattern: quoted, what: 'quoted string', value: unquote },
  '`': { pattern: raw, what: 'raw quoted string', value: (text) => text.slice(1, -1) },
  "'": { pattern: char, what: 'character constant', value: (text, line) => unquote(text, line).codePointAt(0)! },
};

function lexQuoted({ pattern, what, value }: (typeof quotes)[string], line: number, match: Match): Token {
  const text = match(pattern);
  if (text === undefined) throw refuseTemplate(line, `unterminated ${what}`);
  return { kind: 'constant', text, value: value(text, line), line };
}

function lexToken(source: string, at: number, line: number, match: Match): Token {
  const first = source[at]!;
  if (source.startsWith(':=', at)) return { kind: ':=', text: ':=', line };
  if (first === '(' || first === ')' || first === '|' || first === ',' || first === '=') {
    return { kind: first, text: first, line };
  }
  if (first in quotes) return lexQuoted(quotes[first]!, line, match);
  if (/\d/.test(first) || (/[-+.]/.test(first) && /\d/.test(source[at + 1] ?? ''))) {
    const text = match(number)!;
    return { kind: 'constant', text, value: numberOf(text, line), line };
  }
  if (first === '.' || first === '$') {
    name.lastIndex = at + 1;
    const word = name.exec(source)?.[0] ?? '';
    if (first === '$') return { kind: 'variable', text: `$${word}`, line };
    return word === '' ? { kind: '.', text: '.', line } : { kind: 'field', text: `.${word}`, line };
  }
  const word = match(name);
  if (word !== undefined) return { kind: 'word', text: word, line };
  if (first === '{' || first === '}') throw refuseTemplate(line, `unexpected "${first}" in operand`);
  throw refuseTemplate(line, `unexpected ${JSON.stringify(first)} in action`);
}

function numberOf(text: string, line: number): number | bigint {
  const digits = text.replaceAll('_', '');
  const isNegative = digits.startsWith('-');
  const plain = digits.replace(/^[-+]/, '');
  if (/^(?:\d+|0[xXbBoO][\da-fA-F]+)$/.test(plain)) {
    const magnitude = BigInt(/^0\d/.test(plain) && /^[0-7]+$/.test(plain) ? `0o${plain}` : plain);
    const value = isNegative ? -magnitude : magnitude;
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }
  const value = Number(digits);
  if (Number.isNaN(value)) throw refuseTemplate(line, `bad number syntax: ${JSON.stringify(text)}`);
  return value;
}

const escapes: Record<string, string> = { n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', f: '\f', v: '\v' };

function unquote(text: string, line: number): string {
  const sequence = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{3})|([\s\S]))/g;
  return text.slice(1, -1).replace(sequence, (whole, x, u, long, octal, single) => {
    const hex: string | undefined = x ?? u ?? long;
    const code = hex !== undefined ? Number.parseInt(hex, 16) : octal !== undefined ? Number.parseInt(octal, 8) : -1;
    if (code > 0x10ffff) throw refuseTemplate(line, `bad character in ${text}`);
    if (code >= 0) return String.fromCodePoint(code);
    const known = escapes[single as string];
    if (known !== undefined) return known;
    if (/["'\\]/.test(single)) return single;
    throw refuseTemplate(line, `invalid escape ${whole} in ${text}`);
  });
}
