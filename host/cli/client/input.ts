/** Definitions given on the command line or in files. */
import { readFileSync } from 'node:fs';
import { reasonOf } from '../../base/errors.js';
import { isObject } from '../../base/structures/is-object.js';
import { type Call, type Flag, UsageError } from './command.js';

export const fileFlag: Flag = {
  name: 'file',
  short: 'f',
  value: 'FILE',
  doc: 'read the definition from a file, - is standard input',
};

/** Reads a file as text, `-` is standard input. */
export function readText(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw new UsageError(`can't read ${path}: ${reasonOf(error)}`);
  }
}

/** Returns the text of an argument or of the file that -f names; exactly one of them must be given. */
export function definitionText(call: Call, argument: string): string {
  const file = call.flag('file');
  const text = call.arg(argument);
  if (file !== undefined && text !== '') throw new UsageError(`${argument} and -f exclude each other`);
  if (file === undefined && text === '') throw new UsageError(`${argument} is missing; give it or a file with -f`);
  return file === undefined ? text : readText(file);
}

/** Returns a definition as a JSON object. */
export function definition(call: Call, argument = 'json'): Record<string, unknown> {
  const where = call.flag('file') ?? 'the definition';
  let value: unknown;
  try {
    value = JSON.parse(definitionText(call, argument));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${where} is no JSON: ${reasonOf(error)}`);
  }
  if (!isObject(value)) throw new UsageError(`${where} is no JSON object`);
  return value;
}

/** Puts the name from the command line into a definition, which may repeat it but not contradict. */
export function named(value: Record<string, unknown>, member: 'id' | 'name', name: string): Record<string, unknown> {
  const own = value[member];
  if (own !== undefined && own !== '' && own !== name) {
    throw new UsageError(`the definition has the ${member} ${JSON.stringify(own)}, not ${name}`);
  }
  return { ...value, [member]: name };
}
