/** Scripts are looked at without running any of them. */
import { Script } from 'node:vm';
import { reasonOf } from '../../base/errors.js';

/** Why a script has no function of this name that could be called; undefined when nothing speaks against it. */
export function scriptFault(name: string, script: string): string | undefined {
  if (!/^[A-Za-z_$][\w$]*$/.test(name)) return 'the id must be a name that JavaScript allows for a function';
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
  return new RegExp(`(?:^|[;{}\\n])\\s*(?:(?:this|globalThis)\\s*\\.\\s*)?${name}\\s*=(?![=>])`).test(script);
}
