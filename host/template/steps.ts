/** The steps that a parsed template is made of. */
import { type Budget, isDict, member, TemplateError, typeName, type Value } from './value.js';

/** State of a running template: its variables (the first is `$`), its output and its budget. */
export interface Frame {
  vars: Value[];
  out: { parts: string[]; length: number };
  budget: Budget;
  templates: ReadonlyMap<string, Block>;
  /** How many templates call one another. */
  depth: number;
}

/** Gives the value of an operand, a call or a pipeline. */
export type Evaluate = (frame: Frame, dot: Value) => Value;
/** Runs a part; says whether a loop is to be left or begun anew. */
export type Block = (frame: Frame, dot: Value) => Signal;
export type Signal = 'break' | 'continue' | undefined;

/** Most templates that call one another, and most nesting of actions and parentheses. */
export const maxDepth = 100;

/** The error of a line of the template, in the words of the other engine. */
export function failure(line: number, reason: string): TemplateError {
  return new TemplateError(`template: sink:${line}: ${reason}`);
}

/** Adds text to the output. Throws when the output or the work becomes too much. */
export function write({ out, budget }: Frame, text: string): undefined {
  budget.spend(1);
  out.length += text.length;
  if (out.length > budget.maxText) throw new TemplateError(`the output is longer than ${budget.maxText} characters`);
  out.parts.push(text);
}

/** Runs blocks one after the other, until one leaves the loop around them. */
export function sequence(blocks: Block[]): Block {
  if (blocks.length === 1) return blocks[0]!;
  return (frame, dot) => {
    for (const block of blocks) {
      const signal = block(frame, dot);
      if (signal !== undefined) return signal;
    }
    return undefined;
  };
}

/** Follows the fields of a value. A missing member leads to `<no value>`, a null one is an error. */
export function follow(value: Evaluate, fields: string[], line: number): Evaluate {
  if (fields.length === 0) return value;
  return (frame, dot) => {
    let result = value(frame, dot);
    for (const name of fields) {
      if (result === undefined) return undefined;
      if (result === null) throw failure(line, `nil pointer evaluating interface {}.${name}`);
      if (!isDict(result)) throw failure(line, `can't evaluate field ${name} in type ${typeName(result)}`);
      result = member(result, name);
    }
    return result;
  };
}

/** Runs another template, whose dot and only variable is the argument. */
export function invoke(name: string, argument: Evaluate, line: number): Block {
  return (frame, dot) => {
    const block = frame.templates.get(name);
    if (block === undefined) throw failure(line, `template ${JSON.stringify(name)} not defined`);
    if (frame.depth >= maxDepth) throw failure(line, `templates call one another deeper than ${maxDepth}`);
    frame.budget.spend(1);
    const value = argument(frame, dot);
    block({ ...frame, vars: [value], depth: frame.depth + 1 }, value);
    return undefined;
  };
}
