/** Source files as tests of the architecture read them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Lists TypeScript files and scripts below a folder of the project. */
export function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(tsx?|mjs)$/.test(name) && !name.endsWith('.d.ts'))
    .map((name) => join(folder, name));
}

/** Files of the project that the file imports, also those that it names only to run them. */
export function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const found = text.matchAll(
    /(?:^|\n)\s*(?:import\s*|(?:import|export)[^'"`;]*?from\s*)['"](\.[^'"]+)['"]|import\(\s*['"](\.[^'"]+)['"]\s*\)/g,
  );
  return [...found].map((match) => {
    const path = relative(root, resolve(root, dirname(file), (match[1] ?? match[2]) as string));
    const source = path.replace(/\.js$/, '.ts');
    return path !== source && existsSync(join(root, `${source}x`)) ? `${source}x` : source;
  });
}
