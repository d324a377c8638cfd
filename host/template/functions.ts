/** The functions of templates, by name. */
import { builtins } from './builtins.js';
import type { FunctionSpec } from './function-spec.js';
import { dataFunctions } from './sprig-data.js';
import { mathFunctions } from './sprig-math.js';
import { textFunctions } from './sprig-text.js';

const functions = new Map<string, FunctionSpec>(
  [textFunctions, mathFunctions, dataFunctions, builtins].flatMap((table) => Object.entries(table)),
);

/** Finds a function; `and` and `or` are part of the language and not here. */
export function findFunction(name: string): FunctionSpec | undefined {
  return functions.get(name);
}
