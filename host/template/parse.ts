/** Turns a template into closures. */

import type { TemplateFunction } from './function-spec.js';
import { findFunction } from './functions.js';
import { lex, refuseTemplate, type Token } from './lex.js';
import { type Block, type Evaluate, failure, follow, invoke, maxDepth, sequence, write } from './steps.js';
import { type Budget, isDict, isTrue, show, sortedKeys, TemplateError, type Value } from './value.js';

const controls = ['if', 'range', 'with', 'define', 'block', 'template', 'end', 'else', 'break', 'continue'];

export interface Parsed {
  main: Block;
  templates: Map<string, Block>;
}

/** Parses a template. Throws `plan` errors that name the line. */
export function parse(source: string): Parsed {
  return new Parser(lex(source)).parse();
}

interface Pipe {
  evaluate: Evaluate;
  /** Slots of the declared variables. */
  slots: number[];
  line: number;
}

class Parser {
  #at = 0;
  /** Slots of the variables that can be seen, by name, inner ones last. */
  #scope: { name: string; slot: number }[] = [{ name: '$', slot: 0 }];
  #slots = 1;
  #depth = 0;
  #loops = 0;
  readonly #templates = new Map<string, Block>();

  constructor(readonly tokens: Token[]) {}

  parse(): Parsed {
    const { block, ending } = this.#list();
    if (ending !== 'EOF') throw this.#error(`unexpected {{${ending}}}`);
    return { main: block, templates: this.#templates };
  }

  // Tokens

  get #token(): Token {
    return this.tokens[this.#at]!;
  }

  #error(reason: string): Error {
    return refuseTemplate(this.tokens[Math.min(this.#at, this.tokens.length - 1)]!.line, reason);
  }

  #skipSpace(): Token {
    while (this.#token.kind === 'space') this.#at++;
    return this.#token;
  }

  #close(where: string): void {
    const token = this.#skipSpace();
    if (token.kind !== 'close') throw this.#error(`unexpected ${JSON.stringify(token.text)} in ${where}`);
    this.#at++;
  }

  // Blocks

  /** Reads up to `end`, `else` or the end of the text; the word of `else` and `end` is taken, what follows is not. */
  #list(): { block: Block; ending: 'EOF' | 'end' | 'else' } {
    if (++this.#depth > maxDepth) throw this.#error(`actions are nested deeper than ${maxDepth}`);
    const blocks: Block[] = [];
    for (;;) {
      const token = this.#token;
      this.#at++;
      if (token.kind === 'end') {
        this.#at--;
        this.#depth--;
        return { block: sequence(blocks), ending: 'EOF' };
      }
      if (token.kind === 'text') {
        const { text } = token;
        blocks.push((frame) => write(frame, text));
        continue;
      }
      const word = this.#skipSpace();
      if (word.kind !== 'word' || !controls.includes(word.text)) {
        blocks.push(this.#output());
        continue;
      }
      this.#at++;
      if (word.text === 'end' || word.text === 'else') {
        this.#depth--;
        return { block: sequence(blocks), ending: word.text };
      }
      blocks.push(this.#control(word.text));
    }
  }

  #output(): Block {
    const pipe = this.#pipe('command', 1);
    this.#close('command');
    if (pipe.slots.length > 0) {
      return (frame, dot) => {
        pipe.evaluate(frame, dot);
        return undefined;
      };
    }
    return (frame, dot) => {
      const value = pipe.evaluate(frame, dot);
      return write(frame, value === undefined || value === null ? '<no value>' : show(value, frame.budget));
    };
  }

  #control(word: string): Block {
    switch (word) {
      case 'if':
      case 'with':
        return this.#branch(word);
      case 'range':
        return this.#range();
      case 'define':
        return this.#define();
      case 'block':
        return this.#blockAction();
      case 'template':
        return this.#template();
      default: {
        if (this.#loops === 0) throw this.#error(`{{${word}}} outside {{range}}`);
        this.#close(word);
        return () => word as 'break' | 'continue';
      }
    }
  }

  #branch(word: 'if' | 'with'): Block {
    const mark = this.#scope.length;
    const pipe = this.#pipe(word, 1);
    this.#close(word);
    const { block: then, otherwise } = this.#bodies(word);
    this.#scope.length = mark;
    return (frame, dot) => {
      frame.budget.spend(1);
      const value = pipe.evaluate(frame, dot);
      if (isTrue(value)) return then(frame, word === 'with' ? value : dot);
      return otherwise(frame, dot);
    };
  }

  /** Body and what follows `else`, which may be a further `if` or `with`; takes the `end`. */
  #bodies(word: string): { block: Block; otherwise: Block } {
    if (word === 'range') this.#loops++;
    const { block, ending } = this.#scoped(() => this.#list());
    if (word === 'range') this.#loops--;
    if (ending === 'EOF') throw this.#error('unexpected EOF');
    if (ending === 'end') {
      this.#close('end');
      return { block, otherwise: () => undefined };
    }
    const next = this.#skipSpace();
    if (next.kind === 'word' && next.text === word && (word === 'if' || word === 'with')) {
      this.#at++;
      if (++this.#depth > maxDepth) throw this.#error(`actions are nested deeper than ${maxDepth}`);
      const otherwise = this.#scoped(() => this.#branch(word));
      this.#depth--;
      return { block, otherwise };
    }
    this.#close('else');
    const rest = this.#scoped(() => this.#list());
    if (rest.ending === 'EOF') throw this.#error('unexpected EOF');
    if (rest.ending === 'else') throw this.#error('expected end; found {{else}}');
    this.#close('end');
    return { block, otherwise: rest.block };
  }

  #scoped<T>(read: () => T): T {
    const mark = this.#scope.length;
    const result = read();
    this.#scope.length = mark;
    return result;
  }

  #range(): Block {
    const mark = this.#scope.length;
    const { evaluate, slots, line } = this.#pipe('range', 2);
    this.#close('range');
    const { block, otherwise } = this.#bodies('range');
    this.#scope.length = mark;
    return (frame, dot) => {
      const value = evaluate(frame, dot);
      if (!isTrue(value)) return otherwise(frame, dot);
      const entries = entriesOf(value);
      if (entries === undefined) throw failure(line, `range can't iterate over ${show(value, frame.budget)}`);
      for (const [key, item] of entries) {
        frame.budget.spend(1);
        if (slots.length === 2) frame.vars[slots[0]!] = key;
        if (slots.length > 0) frame.vars[slots.at(-1)!] = item;
        if (block(frame, item) === 'break') break;
      }
      return undefined;
    };
  }

  #quotedName(where: string): string {
    const token = this.#skipSpace();
    if (token.kind !== 'constant' || typeof token.value !== 'string') {
      throw this.#error(`unexpected ${JSON.stringify(token.text)} in ${where}`);
    }
    this.#at++;
    return token.value;
  }

  #define(): Block {
    if (this.#depth > 1) throw this.#error('unexpected {{define}}');
    const name = this.#quotedName('define clause');
    this.#close('define clause');
    this.#templates.set(name, this.#body('define clause'));
    return () => undefined;
  }

  #blockAction(): Block {
    const { line } = this.#token;
    const name = this.#quotedName('block clause');
    const pipe = this.#pipe('block clause', 0);
    this.#close('block clause');
    this.#templates.set(name, this.#body('block clause'));
    return invoke(name, pipe.evaluate, line);
  }

  /** The body of a template with variables of its own, up to its `end`. */
  #body(where: string): Block {
    const outer = { scope: this.#scope, slots: this.#slots, loops: this.#loops };
    this.#scope = [{ name: '$', slot: 0 }];
    this.#slots = 1;
    this.#loops = 0;
    const { block, ending } = this.#list();
    if (ending === 'EOF') throw this.#error('unexpected EOF');
    if (ending === 'else') throw this.#error(`unexpected {{else}} in ${where}`);
    this.#close('end');
    this.#scope = outer.scope;
    this.#slots = outer.slots;
    this.#loops = outer.loops;
    return block;
  }

  #template(): Block {
    const { line } = this.#token;
    const name = this.#quotedName('template clause');
    if (this.#skipSpace().kind === 'close') {
      this.#close('template clause');
      return invoke(name, () => undefined, line);
    }
    const pipe = this.#pipe('template clause', 0);
    this.#close('template clause');
    return invoke(name, pipe.evaluate, line);
  }

  // Pipelines

  /** Reads declarations and commands up to the closing mark or parenthesis. */
  #pipe(where: string, maxDeclared: number): Pipe {
    const start = this.#skipSpace();
    const { names, isDeclaration } = this.#declared(maxDeclared);
    let value = this.#command(undefined, where);
    while (this.#skipSpace().kind === '|') {
      this.#at++;
      value = this.#command(value, where);
    }
    const { line } = start;
    if (names.length === 0) return { evaluate: value, slots: [], line };
    // The new variables can't be seen by the pipeline that gives their value.
    const slots = names.map((name) => {
      if (isDeclaration) {
        this.#scope.push({ name, slot: this.#slots++ });
        return this.#slots - 1;
      }
      return this.#slotOf(name);
    });
    const slot = slots.at(-1)!;
    const evaluate: Evaluate = (frame, dot) => {
      const result = value(frame, dot);
      frame.vars[slot] = result;
      return result;
    };
    return { evaluate, slots, line };
  }

  #declared(max: number): { names: string[]; isDeclaration: boolean } {
    const start = this.#at;
    const names: string[] = [];
    while (names.length < max) {
      const token = this.#skipSpace();
      if (token.kind !== 'variable') break;
      this.#at++;
      names.push(token.text);
      const next = this.#skipSpace();
      if (next.kind === ':=' || next.kind === '=') {
        this.#at++;
        return { names, isDeclaration: next.kind === ':=' };
      }
      if (next.kind !== ',') break;
      this.#at++;
    }
    this.#at = start;
    return { names: [], isDeclaration: false };
  }

  #slotOf(name: string): number {
    const found = this.#scope.findLast((entry) => entry.name === name);
    if (found === undefined) throw this.#error(`undefined variable ${JSON.stringify(name)}`);
    return found.slot;
  }

  /** Reads an operand with its arguments; `piped` is what the command before gives. */
  #command(piped: Evaluate | undefined, where: string): Evaluate {
    const first = this.#skipSpace();
    if (first.kind === 'word' && !isLiteral(first.text)) {
      this.#at++;
      const args = this.#args(where);
      if (piped !== undefined) args.push(piped);
      const call = this.#call(first, args);
      const field = this.#token.kind === 'field' ? this.#fields() : [];
      return field.length === 0 ? call : follow(call, field, first.line);
    }
    if (first.kind === 'close' || first.kind === ')' || first.kind === '|' || first.kind === 'end') {
      throw this.#error(`missing value for ${where}`);
    }
    if (piped !== undefined && (first.kind === 'constant' || first.kind === '.' || first.kind === 'word')) {
      throw this.#error('non executable command in pipeline');
    }
    if (first.kind === 'word' && first.text === 'nil') throw this.#error('nil is not a command');
    const operand = this.#operand(where);
    if (this.#args(where).length > 0 || piped !== undefined) {
      throw refuseTemplate(first.line, `can't give argument to non-function ${first.text}`);
    }
    return operand;
  }

  /** Arguments up to the end of the command. */
  #args(where: string): Evaluate[] {
    const args: Evaluate[] = [];
    for (;;) {
      const before = this.#token.kind;
      const token = this.#skipSpace();
      if (token.kind === 'close' || token.kind === ')' || token.kind === '|') return args;
      if (before !== 'space') throw this.#error(`unexpected ${JSON.stringify(token.text)} in operand`);
      args.push(this.#operand(where));
    }
  }

  #operand(where: string): Evaluate {
    const token = this.#token;
    this.#at++;
    const { line } = token;
    switch (token.kind) {
      case 'constant': {
        const { value } = token;
        return () => value;
      }
      case '.':
        return (_frame, dot) => dot;
      case 'field':
        this.#at--;
        return follow((_frame, dot) => dot, this.#fields(), line);
      case 'variable': {
        const slot = this.#slotOf(token.text);
        return follow((frame) => frame.vars[slot], this.#fields(), line);
      }
      case '(': {
        if (++this.#depth > maxDepth) throw this.#error(`parentheses are nested deeper than ${maxDepth}`);
        const pipe = this.#pipe('parenthesized pipeline', 0);
        if (this.#skipSpace().kind !== ')') throw this.#error('unclosed left paren');
        this.#at++;
        this.#depth--;
        return follow(pipe.evaluate, this.#fields(), line);
      }
      case 'word': {
        if (token.text === 'true' || token.text === 'false') {
          const value = token.text === 'true';
          return () => value;
        }
        if (token.text === 'nil') return () => null;
        return follow(this.#call(token, []), this.#fields(), line);
      }
      default:
        throw refuseTemplate(line, `unexpected ${JSON.stringify(token.text)} in ${where}`);
    }
  }

  /** The fields that follow an operand without space. */
  #fields(): string[] {
    const names: string[] = [];
    for (let token = this.#token; token.kind === 'field'; token = this.#token) {
      names.push(token.text.slice(1));
      this.#at++;
    }
    return names;
  }

  #call({ text: name, line }: Token, args: Evaluate[]): Evaluate {
    if (name === 'and' || name === 'or') {
      if (args.length === 0) throw refuseTemplate(line, `wrong number of args for ${name}: want at least 1 got 0`);
      return firstThat(args, (value) => isTrue(value) === (name === 'or'));
    }
    const spec = findFunction(name);
    if (spec === undefined) throw refuseTemplate(line, `function ${JSON.stringify(name)} not defined`);
    const { min, max, call } = spec;
    if (args.length < min || args.length > max) {
      const want = min === max ? String(min) : args.length < min ? `at least ${min}` : `at most ${max}`;
      throw refuseTemplate(line, `wrong number of args for ${name}: want ${want} got ${args.length}`);
    }
    return (frame, dot) => {
      frame.budget.spend(1 + args.length);
      const values = args.map((arg) => arg(frame, dot));
      try {
        return called(name, call, values, frame.budget);
      } catch (error) {
        if (error instanceof RangeError || (error instanceof TemplateError && !error.message.startsWith('template:'))) {
          throw failure(line, `error calling ${name}: ${error.message}`);
        }
        throw error;
      }
    };
  }
}

/** Calls a function and accounts for what it looks at and makes. */
function called(name: string, call: TemplateFunction, values: Value[], budget: Budget): Value {
  if (!takesOne.includes(name)) for (const value of values) budget.spend(sizeOf(value));
  const result = call(values, budget);
  if (typeof result === 'string') budget.text(result.length);
  else if (Array.isArray(result)) budget.spend(result.length);
  return result;
}

/** Keys and items that `range` goes through; undefined for values without items. */
function entriesOf(value: Value): Iterable<[Value, Value]> | undefined {
  if (Array.isArray(value)) return value.entries();
  if (isDict(value)) return sortedKeys(value).map((key): [Value, Value] => [key, value[key]]);
  return typeof value === 'number' && Number.isSafeInteger(value) ? countTo(value) : undefined;
}

function* countTo(end: number): Generator<[number, number]> {
  for (let i = 0; i < end; i++) yield [i, i];
}

/** The first value that decides, or the last; what follows is not evaluated. */
function firstThat(args: readonly Evaluate[], decides: (value: Value) => boolean): Evaluate {
  return (frame, dot) => {
    let value: Value;
    for (const arg of args) {
      value = arg(frame, dot);
      if (decides(value)) break;
    }
    return value;
  };
}

/** Functions that look at one item, whatever the length of the list. */
const takesOne = ['index', 'first', 'last'];

/** Work of going through a value once, in steps. */
function sizeOf(value: Value): number {
  if (typeof value === 'string') return value.length >> 6;
  return Array.isArray(value) ? value.length >> 4 : 0;
}

function isLiteral(word: string): boolean {
  return word === 'true' || word === 'false' || word === 'nil';
}
