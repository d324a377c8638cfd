/** `haumea plugin new`: a folder with a function that works. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { functionNames } from '../../functions/registry.js';
import { type Call, UsageError } from '../client/command.js';
import { codecFilesOf } from './codec-templates.js';
import { kinds, type Language, languages } from './languages.js';
import { filesOf } from './templates.js';

export function newPlugin(call: Call): number {
  const name = call.arg('name');
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
  const folder = resolve(name);
  if (existsSync(folder)) throw new UsageError(`${folder} is there already`);
  const files = kind === 'codec' ? codecFilesOf(language, name) : filesOf(language, name);
  for (const [file, text] of Object.entries(files)) {
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  call.io.out(`${Object.keys(files)
    .map((file) => `${name}/${file}\n`)
    .join('')}
Next:
  cd ${name}
${language === 'as' ? '  npm install\n' : ''}${language === 'js' ? '' : '  haumea plugin build\n'}  haumea plugin test
  haumea plugin push
`);
  return 0;
}
