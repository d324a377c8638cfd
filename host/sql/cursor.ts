/**
 * The parser's place in the token sequence, with the checks every production uses and the limits that keep any
 * statement from exhausting the stack of the parser or of the passes that walk its tree.
 */
import type { HaumeaError } from '../base/errors.js';
import { nearest } from '../base/text/nearest.js';
import type { Expr, Span } from './ast.js';
import { type Place, parseErrorAt, quoteFragment } from './errors.js';
import { clauseWords, reservedWords, softWords } from './keywords.js';
import { Lexer, type Token } from './lexer.js';

/** Deepest nesting of brackets, calls, operators and column types. */
const MAX_NESTING = 500;

/** Greatest height of an expression tree: a chain `a + b + …` grows it without nesting. */
const MAX_TREE_HEIGHT = 1000;

/**
 * Most words, names, literals and symbols of a statement: what is done for each takes time and memory many times its
 * text.
 */
const MAX_TOKENS = 200_000;

/** Limits for the lists in a statement. */
export const most = {
  /** Columns in a SELECT list; also the columns of one stream that a rule reads. */
  columns: 4096,
  /** Values in IN, in a call or in a list. */
  values: 20_000,
  /** Fields of a definition, with those inside STRUCT. */
  fields: 10_000,
  joins: 100,
  keys: 1000,
} as const;

/** Shorter words are near too many others. */
const MIN_MISTYPED = 3;

/** The keyword that a word was probably meant as; undefined for keywords and for what is like none. */
function meantBy({ kind, upper }: Token, keywords: readonly string[]): string | undefined {
  const isKeyword = reservedWords.has(upper) || softWords.has(upper) || keywords.includes(upper);
  if (kind !== 'word' || upper.length < MIN_MISTYPED || isKeyword) return undefined;
  return nearest(upper, keywords);
}

export class Cursor {
  token: Token;
  /** End offset of the last consumed token. */
  lastEnd = 0;
  /** RUNNING and FINAL may stand before a call: in MEASURES and DEFINE. */
  isInMatch = false;
  private last: Token | null = null;
  private readonly lexer: Lexer;
  private ahead: Token | null = null;
  private depth = 0;
  private tokens = 0;
  private fields = 0;
  /** Heights of the trees built so far; leaves are not listed. */
  private readonly heights = new Map<Expr, number>();

  constructor(text: string) {
    this.lexer = new Lexer(text);
    this.token = this.lexer.next();
  }

  /** Consumes the current token and returns it. */
  advance(): Token {
    const { token } = this;
    if (++this.tokens > MAX_TOKENS) {
      throw parseErrorAt(token, `the statement has more than ${MAX_TOKENS} words and symbols`);
    }
    this.lastEnd = token.end;
    this.last = token;
    this.token = this.ahead ?? this.lexer.next();
    this.ahead = null;
    return token;
  }

  /** From the next token on, symbols of PATTERN are read, or no longer. */
  readPattern(isInPattern: boolean): void {
    this.lexer.isInPattern = isInPattern;
  }

  /** Returns the token after the current one. */
  peek(): Token {
    this.ahead ??= this.lexer.next();
    return this.ahead;
  }

  atWord(upper: string): boolean {
    return this.token.kind === 'word' && this.token.upper === upper;
  }

  atSymbol(symbol: string): boolean {
    return this.token.kind === 'symbol' && this.token.text === symbol;
  }

  acceptWord(upper: string): boolean {
    if (!this.atWord(upper)) return false;
    this.advance();
    return true;
  }

  acceptSymbol(symbol: string): boolean {
    if (!this.atSymbol(symbol)) return false;
    this.advance();
    return true;
  }

  expectWord(upper: string, expected: string = upper): void {
    if (!this.acceptWord(upper)) throw this.unexpected(expected);
  }

  expectSymbol(symbol: string, expected: string = quoteFragment(symbol)): void {
    if (!this.acceptSymbol(symbol)) throw this.unexpected(expected);
  }

  /** Tells whether the current token can be a name where reserved words are excluded. */
  atName(): boolean {
    return this.token.kind === 'quoted' || (this.token.kind === 'word' && !reservedWords.has(this.token.upper));
  }

  /** Tells whether the current token can be an alias without AS. */
  atBareAlias(): boolean {
    return this.atName() && !softWords.has(this.token.upper);
  }

  expectName(expected: string): string {
    if (!this.atName()) throw this.unexpected(expected);
    return this.advance().text;
  }

  /** Reads the name after a dot or an arrow, where a reserved word counts too if it follows without a gap. */
  expectMemberName(): string {
    const { token } = this;
    if (token.kind === 'string') return this.advance().text;
    if (token.kind === 'word' && token.start === this.lastEnd) return this.advance().text;
    return this.expectName('a member name');
  }

  /** Consumes closing semicolons and insists on the end of the text. */
  expectEnd(expected = 'the end of the statement'): void {
    while (this.acceptSymbol(';'));
    if (this.token.kind !== 'end') throw this.unexpected(expected);
  }

  /** Builds the error for the current token; `words` are meant by `expected` besides those in it. */
  unexpected(expected: string, words: Iterable<string> = []): HaumeaError {
    const { token } = this;
    const what = `found ${this.describe(token)}, expected ${expected}`;
    const meant = meantBy(token, [...(expected.match(/\b[A-Z_]{2,}\b/g) ?? []), ...words, ...clauseWords]);
    if (meant !== undefined) return parseErrorAt(token, meant === expected ? what : `${what}, did you mean ${meant}?`);
    // A keyword that is mistyped is a name, and what comes behind it is too much.
    const before = this.last === null ? undefined : meantBy(this.last, clauseWords);
    const hint = before === undefined ? '' : `, is ${this.describe(this.last!)} before it meant as ${before}?`;
    return parseErrorAt(token, what + hint);
  }

  private describe(token: Token): string {
    if (token.kind === 'end') return 'the end of the statement';
    if (token.kind === 'string') return `the string ${quoteFragment(token.text)}`;
    return quoteFragment(this.lexer.text.slice(token.start, token.end));
  }

  /** Builds an error about a place already passed. */
  errorAt(place: Place, what: string): HaumeaError {
    return parseErrorAt(place, what);
  }

  /** Refuses what follows when there are `count` of a kind already; `what` says of which: `values in IN (…)`. */
  room(count: number, limit: number, what: string): void {
    if (count >= limit) throw parseErrorAt(this.token, `more than ${limit} ${what}`);
  }

  /** As `room` for one column more of a stream, wherever in it. */
  roomForField(): void {
    this.room(this.fields++, most.fields, 'columns of a stream or table, members of STRUCT among them');
  }

  /** Runs a production one level deeper. */
  nested<T>(production: () => T): T {
    if (++this.depth > MAX_NESTING) {
      throw parseErrorAt(this.token, `nested more than ${MAX_NESTING} levels deep`);
    }
    const result = production();
    this.depth--;
    return result;
  }

  /** Returns the span from a token or span to the end of the last consumed token. */
  spanFrom(first: Span | Token): Span {
    return { start: first.start, end: this.lastEnd, line: first.line, column: first.column };
  }

  /** Registers a node over its operands and checks the height of the tree. */
  built<T extends Expr>(node: T, operands: readonly (Expr | null)[]): T {
    let height = 0;
    for (const operand of operands) {
      if (operand !== null) height = Math.max(height, this.heights.get(operand) ?? 0);
    }
    if (++height > MAX_TREE_HEIGHT) {
      throw parseErrorAt(node.span, `the expression has more than ${MAX_TREE_HEIGHT} operators on one path`);
    }
    this.heights.set(node, height);
    return node;
  }
}
