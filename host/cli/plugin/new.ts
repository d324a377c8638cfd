/** `haumea plugin new`: a folder with a function that works. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { functionNames } from '../../functions/registry.js';
import { type Call, UsageError } from '../client/command.js';
import { codecFilesOf } from './codec-templates.js';
import { kinds, type Language, languages } from './languages.js';
import { portableFiles } from './portable-templates.js';
import { filesOf } from './templates.js';

export function newPlugin(call: Call): number {
  const name = call.arg('name');
  const portable = call.flag('portable');
  if (portable !== undefined) return newPortable(call, name, portable);
  const language = (call.flag('lang') ?? 'as') as Language;
  if (!languages.includes(language)) {
    throw new UsageError(`--lang must be one of ${languages.join(', ')}, not ${language}`);
  }
  const kind = call.flag('kind') ?? 'function';
  if (kind !== 'function' && kind !== 'codec') {
    throw new UsageError(`--kind must be one of ${kinds.join(', ')}, not ${kind}`);
  }
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name)) {
    throw new UsageError(
      `${name} must begin with a letter and have letters, digits and _ only: the ${kind} gets this name`,
    );
  }
  if (kind === 'function' && functionNames().includes(name.toLowerCase())) {
    throw new UsageError(`${name} is a built-in function, choose another name`);
  }
  const files = kind === 'codec' ? codecFilesOf(language, name) : filesOf(language, name);
  write(call, name, files);
  call.io.out(`
Next:
  cd ${name}
${language === 'as' ? '  npm install\n' : ''}${language === 'js' ? '' : '  haumea plugin build\n'}  haumea plugin test
  haumea plugin push
`);
  return 0;
}

/** A program on the SDK of the recorded engine, in the place of a module. */
function newPortable(call: Call, name: string, language: string): number {
  if (language !== 'python') throw new UsageError(`--portable must be python, not ${language}`);
  for (const flag of ['lang', 'kind']) {
    if (call.flag(flag) !== undefined) throw new UsageError(`--${flag} is of no use with --portable`);
  }
  if (!/^[a-z][a-zA-Z0-9_]*$/.test(name)) {
    throw new UsageError(`${name} must begin with a small letter and have letters, digits and _ only`);
  }
  if (functionNames().includes(name.toLowerCase())) {
    throw new UsageError(`${name} is a built-in function, choose another name`);
  }
  write(call, name, portableFiles(name));
  call.io.out(`
Next:
  pip install ekuiper
  cd ${name}
  haumea plugin push
`);
  return 0;
}

function write(call: Call, name: string, files: Readonly<Record<string, string>>): void {
  const folder = resolve(name);
  if (existsSync(folder)) throw new UsageError(`${folder} is there already`);
  for (const [file, text] of Object.entries(files)) {
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  const names = Object.keys(files).map((file) => `${name}/${file}\n`);
  call.io.out(names.join(''));
}
