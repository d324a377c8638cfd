/**
 * What is exported is used: by another file, or, of types, at least within its own, where they describe what goes out.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

const root = fileURLToPath(new URL('../..', import.meta.url));

function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(tsx?|mjs)$/.test(name) && !name.endsWith('.d.ts'))
    .map((name) => join(folder, name));
}

const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** The file that an import means; those of the kernel have no ending. */
function fileOf(importer: string, path: string): string {
  const target = join(dirname(importer), path);
  if (existsSync(join(root, `${target}.ts`))) return `${target}.ts`;
  const source = target.replace(/\.js$/, '.ts');
  return [source, `${source}x`].find((one) => existsSync(join(root, one))) ?? target;
}

/** Names that files import of each other, by the file that exports them; `*` stands for all. */
function importedNames(): Map<string, Set<string>> {
  const imported = new Map<string, Set<string>>();
  const note = (file: string, name: string) => imported.set(file, (imported.get(file) ?? new Set()).add(name));
  for (const file of ['assembly', 'host', 'kernels', 'test', 'bench', 'tools', 'bin'].flatMap(filesIn)) {
    const text = read(file);
    for (const [, what = '', path = ''] of text.matchAll(
      /(?:^|\n)\s*(?:import|export)\s+(?:type\s+)?([^'"`;]*?)\s*from\s*['"](\.[^'"]+)['"]/g,
    )) {
      const target = fileOf(file, path);
      const whole = /^\*\s*as\s+(\w+)/.exec(what)?.[1];
      if (whole !== undefined && file.startsWith('assembly/')) {
        for (const [, name = ''] of text.matchAll(new RegExp(`\\b${whole}\\.(\\w+)`, 'g'))) note(target, name);
      } else if (!what.includes('{')) note(target, what.startsWith('*') ? '*' : 'default');
      for (const item of (/\{([^}]*)\}/.exec(what)?.[1] ?? '').replace(/\/\/.*/g, '').split(',')) {
        note(
          target,
          item
            .trim()
            .replace(/^type\s+/, '')
            .replace(/\s+as\s.*$/, ''),
        );
      }
    }
    for (const [, path = '', name] of text.matchAll(/import\(\s*['"](\.[^'"]+)['"]\s*\)(?:\.(\w+))?/g)) {
      note(fileOf(file, path), name ?? '*');
    }
  }
  return imported;
}

/** What the host calls in kernels and in test kernels. */
const isEntry = (file: string): boolean => file === 'assembly/index.ts' || file.startsWith('assembly/testing/');

test('nothing is exported for nobody', () => {
  const imported = importedNames();
  const wrong: string[] = [];
  const files = ['assembly', 'host', 'kernels'].flatMap(filesIn);
  for (const file of files.filter((name) => !name.includes('/gen/') && !isEntry(name))) {
    const names = imported.get(file) ?? new Set();
    const text = read(file);
    const kinds = 'const|let|function\\*?|class|interface|type|enum|namespace';
    const declared = text.matchAll(
      new RegExp(`\\n(?:@\\w+\\s+)?export\\s+(?:abstract\\s+)?(?:async\\s+)?(${kinds})\\s+(\\w+)`, 'g'),
    );
    for (const [, kind = '', name = ''] of declared) {
      if (names.has(name) || names.has('*')) continue;
      const isType = kind === 'interface' || kind === 'type';
      const uses = text.match(new RegExp(`\\b${name}\\b`, 'g'))?.length ?? 0;
      if (!isType || uses < 2) wrong.push(`${file}: ${name}`);
    }
    for (const [, items = ''] of text.matchAll(/\nexport\s+(?:type\s+)?\{([^}]*)\}/g)) {
      for (const item of items.split(',')) {
        const name = item
          .trim()
          .replace(/^type\s+/, '')
          .replace(/^.*\sas\s+/, '');
        if (name !== '' && !names.has(name) && !names.has('*')) wrong.push(`${file}: ${name}, exported again`);
      }
    }
  }
  assert.equal(wrong, []);
});

test.run();
