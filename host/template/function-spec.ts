/** The form of template functions, and how they take their arguments. */
import { type Budget, type Dict, isDict, show, TemplateError, typeName, type Value } from './value.js';

/** Takes the evaluated arguments, the piped one last. Throws `TemplateError`. */
export type TemplateFunction = (args: Value[], budget: Budget) => Value;

/** A function, and the number of its arguments. */
export interface FunctionSpec {
  min: number;
  max: number;
  call: TemplateFunction;
}

/** As many arguments as are given. */
export const any = Number.POSITIVE_INFINITY;

/** A function of `min` to `max` arguments. */
export function fn(min: number, max: number, call: TemplateFunction): FunctionSpec {
  return { min, max, call };
}

/** A function of texts only. */
export function textFn(count: number, call: (...texts: string[]) => Value): FunctionSpec {
  return fn(count, count, (args) => call(...args.map(textArg)));
}

/** The argument as a text; throws when it is of another type. */
export function textArg(value: Value): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) throw new TemplateError('invalid value; expected string');
  throw new TemplateError(`wrong type for value; expected string; got ${typeName(value)}`);
}

/** The argument as a map; throws when it is of another type. */
export function dictArg(value: Value): Dict {
  if (isDict(value)) return value;
  throw new TemplateError(`wrong type for value; expected map[string]interface {}; got ${typeName(value)}`);
}

/** The argument as a list; throws when it is of another type. */
export function listArg(value: Value): Value[] {
  if (Array.isArray(value)) return value;
  throw new TemplateError(`expected a list; got ${typeName(value)}`);
}

/** An index or a count: a whole number. */
export function indexArg(value: Value): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new TemplateError(`expected integer; got ${typeName(value)}`);
}

/** A count that the work grows with; charged beforehand. */
export function sizeArg(value: Value, budget: Budget): number {
  const size = indexArg(value);
  if (size > 0) budget.spend(Math.ceil(size / 64));
  return Math.max(0, size);
}

/** Text of anything, as Sprig's functions see it. */
export function anyText(value: Value, budget: Budget): string {
  return value === undefined || value === null ? '' : show(value, budget);
}
