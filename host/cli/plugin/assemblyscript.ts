/**
 * The manifest of a plugin in AssemblyScript that has none: its source says which arguments are texts, which in the
 * module are i32 like any number.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HaumeaError } from '../../base/errors.js';
import { abiVersion, manifestSection, type PluginType } from '../../plugins/manifest.js';
import { inspect } from '../../plugins/wasm/binary/inspect.js';
import { noLimits } from '../../plugins/wasm/binary/limits.js';
import { withManifest } from '../../plugins/wasm/exports/embed.js';
import type { Project } from './project.js';

interface SourceFunction {
  readonly name: string;
  readonly args: readonly { readonly name: string; readonly type: string; readonly hasDefault?: boolean }[];
  readonly result: string;
}

const numbers: Readonly<Record<string, PluginType>> = {
  ...of('bigint', ['i8', 'i16', 'i32', 'i64', 'u8', 'u16', 'u32', 'u64', 'isize', 'usize']),
  ...of('float', ['f32', 'f64', 'number']),
};
const others: Readonly<Record<string, PluginType>> = {
  ...of('boolean', ['bool', 'boolean']),
  ...of('string', ['string', 'String']),
  ...of('bytea', ['ArrayBuffer']),
};

function of(type: PluginType, names: readonly string[]): Record<string, PluginType> {
  return Object.fromEntries(names.map((name) => [name, type]));
}

/** Writes a manifest into the module that was built, where its source has texts and nothing else says so. */
export function describeModule(project: Project): void {
  const { module, build, manifest, folder } = project;
  const [, source] = /\basc\b[^&;|]*?\s(\S+\.ts)\b/.exec(build ?? '') ?? [];
  if (module === undefined || manifest !== undefined || source === undefined) return;
  const [modulePath, sourcePath] = [join(folder, module), join(folder, source)];
  if (!existsSync(modulePath) || !existsSync(sourcePath)) return;
  const bytes = new Uint8Array(readFileSync(modulePath));
  const shape = inspect(bytes, noLimits);
  if (shape.customSections.some(({ name }) => name === manifestSection)) return;
  const exported = new Set(shape.exports.flatMap(({ kind, name }) => (kind === 'function' ? [name] : [])));
  const functions = exportedFunctions(readFileSync(sourcePath, 'utf8')).filter(({ name }) => exported.has(name));
  const odd = functions.find(({ args }) => args.some(({ hasDefault }) => hasDefault));
  if (odd !== undefined) {
    throw refuse(`function ${shown(odd)}: its arguments can't have defaults, a statement gives all of them`);
  }
  const first = functions.find((fn) => typesOf(fn).some((type) => numbers[type] === undefined && type !== 'void'));
  // Functions over numbers need no manifest.
  if (first === undefined) return;
  const made = functions.filter(({ result }) => result !== 'void').map(described);
  if (!exported.has('__new') || !exported.has('__pin')) {
    throw refuse(`function ${shown(first)} needs the run time: add --exportRuntime to "build" in plugin.json`);
  }
  writeFileSync(modulePath, withManifest(bytes, JSON.stringify({ abi: abiVersion, functions: made })));
}

function typesOf({ args, result }: SourceFunction): string[] {
  return [...args.map(({ type }) => type), result];
}

function described(fn: SourceFunction): object {
  const typeOf = (type: string, what: string): PluginType => {
    const found = numbers[type] ?? others[type];
    if (found !== undefined) return found;
    const line = JSON.stringify({
      name: fn.name,
      args: fn.args.map((one) => lineType(one.type)),
      result: lineType(fn.result),
    });
    throw refuse(
      `function ${shown(fn)}: ${what} is ${type}, which has no type in SQL. Lists and objects are texts with JSON: ` +
        `take and give string, and name a manifest ("manifest" in plugin.json) with a line such as ${line}`,
    );
  };
  return {
    name: fn.name,
    args: fn.args.map(({ name, type }) => ({ name, type: typeOf(type, name) })),
    result: typeOf(fn.result, 'the result'),
  };
}

function lineType(type: string): PluginType {
  return numbers[type] ?? others[type] ?? (/\[\]$|^(Static)?Array</.test(type) ? 'array' : 'object');
}

function shown({ name, args, result }: SourceFunction): string {
  return `${name}(${args.map((one) => `${one.name}: ${one.type}`).join(', ')}): ${result}`;
}

function refuse(reason: string): HaumeaError {
  return new HaumeaError('general', reason);
}

/** The functions that a file in AssemblyScript exports, with the types that stand there. */
function exportedFunctions(text: string): SourceFunction[] {
  const code = text.replace(
    /\/\*[\s\S]*?\*\/|\/\/.*|`(?:[^`\\]|\\.)*`|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g,
    (token) => (token.startsWith('/') ? ' ' : '""'),
  );
  const all = new Map<string, SourceFunction>();
  const found: SourceFunction[] = [];
  const form = /(\bexport\s+)?\bfunction\s+([A-Za-z_$][\w$]*)\s*\(([^)]*)\)\s*(?::\s*([^{;]+?))?\s*\{/g;
  for (const [, isExported, name = '', params = '', result = 'void'] of code.matchAll(form)) {
    const args = parts(params).map((one) => {
      const [, arg = '', type = ''] = /^([\w$]+)\s*\??\s*:\s*([^=]+?)\s*(?:=|$)/.exec(one) ?? [];
      return { name: arg, type: plain(type), hasDefault: one.includes('=') };
    });
    const made = { name, args, result: plain(result) };
    all.set(name, made);
    if (isExported !== undefined) found.push(made);
  }
  for (const [, list = ''] of code.matchAll(/\bexport\s*\{([^}]*)\}(?!\s*from\b)/g)) {
    for (const one of parts(list)) {
      const [own = '', name = own] = one.split(/\s+as\s+/);
      const known = all.get(own);
      if (known !== undefined) found.push({ ...known, name });
    }
  }
  return found;
}

/** Parts between commas, except commas within angle brackets. */
function parts(list: string): string[] {
  return list
    .split(/,(?![^<]*>)/)
    .map((one) => one.trim())
    .filter((one) => one !== '');
}

/** A type without the part that says that it may be null. */
function plain(type: string): string {
  return type.replace(/\s*\|\s*null\b|\bnull\s*\|\s*/g, '').trim();
}
