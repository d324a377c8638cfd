/** Checks scripts without running them. */
import { Script } from 'node:vm';
import { reasonOf } from '../../base/errors.js';

/** Longest script, in characters: larger ones are data. */
const maxLength = 1 << 20;

/** Why a script has no function of this name; undefined when it may have. */
export function scriptFault(name: string, script: string): string | undefined {
  if (!/^[A-Za-z_$][\w$]*$/.test(name)) return 'the id must be a name that JavaScript allows for a function';
  if (script.length > maxLength) return `the script has ${script.length} characters, at most ${maxLength} are allowed`;
  try {
    new Script(script);
  } catch (error) {
    return `the script is no JavaScript: ${reasonOf(error)}`;
  }
  return isDeclared(name, script) || isAssigned(name, script) ? undefined : `the script defines no function ${name}`;
}

/** Declaring a name once more is an error exactly when the script itself declares it at its top level. */
function isDeclared(id: string, script: string): boolean {
  try {
    new Script(`let ${id};\n${script}`);
    return false;
  } catch {
    return true;
  }
}

/** Tells whether a global variable of the name is made by an assignment: `area = function …`, `this.area = …`. */
function isAssigned(id: string, script: string): boolean {
  const name = id.replaceAll('$', '\\$');
  const assignments = new RegExp(`(?<![\\w$.])(?:(?:this|globalThis)\\s*\\.\\s*)?${name}\\s*=(?![=>])`, 'g');
  // White space in front is checked here: a pattern that begins with it takes quadratic time for a text full of it.
  for (const { index } of script.matchAll(assignments)) {
    const before = script.slice(0, index);
    const code = before.trimEnd();
    if (code === '' || /[;{}]$/.test(code.slice(-1)) || before.slice(code.length).includes('\n')) return true;
  }
  return false;
}
