/** No file imports itself by way of others, types included: what knows what can be told in one direction. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Circles that may stay, with the reason. */
const named: readonly { readonly files: readonly string[]; readonly reason: string }[] = [
  {
    files: ['host/sql/parse-expression.ts', 'host/sql/parse-star.ts'],
    reason: 'the grammar: an expression may be a star, and what replaces its columns are expressions',
  },
];

const importForm = /(?:^|\n)\s*(?:import|export)[^'"`;]*?from\s*['"](\.[^'"]+)['"]|import\(\s*['"](\.[^'"]+)['"]\s*\)/g;

/** The files that each file imports. */
function importsIn(folder: string): Map<string, string[]> {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .map((name) => join(folder, name));
  return new Map(
    files.map((file) => {
      const found = readFileSync(join(root, file), 'utf8').matchAll(importForm);
      return [
        file,
        [...found].map(([, from, lazy]) => join(dirname(file), from ?? lazy ?? '').replace(/\.js$/, '.ts')),
      ];
    }),
  );
}

/** Groups of files that reach each other (Tarjan's strongly connected components of more than one file). */
function circlesOf(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const path: string[] = [];
  const circles: string[][] = [];
  const visit = (file: string): void => {
    order.set(file, order.size);
    lowest.set(file, order.get(file)!);
    path.push(file);
    for (const next of imports.get(file) ?? []) {
      if (!imports.has(next)) continue;
      if (!order.has(next)) visit(next);
      if (path.includes(next)) lowest.set(file, Math.min(lowest.get(file)!, lowest.get(next)!));
    }
    if (lowest.get(file) !== order.get(file)) return;
    const circle = path.splice(path.indexOf(file));
    if (circle.length > 1) circles.push(circle.sort());
  };
  for (const file of imports.keys()) if (!order.has(file)) visit(file);
  return circles;
}

test('host and kernels import in no circle', () => {
  const imports = new Map([...importsIn('host'), ...importsIn('kernels')]);
  const allowed = named.map(({ files }) => files.join(' '));
  const wrong = circlesOf(imports).filter((circle) => !allowed.includes(circle.join(' ')));
  assert.equal(wrong, []);
});

test('assembly imports in no circle', () => {
  assert.equal(circlesOf(importsIn('assembly')), []);
});

test('circles that may stay are there', () => {
  const found = circlesOf(importsIn('host')).map((circle) => circle.join(' '));
  assert.equal(
    named.filter(({ files }) => !found.includes(files.join(' '))),
    [],
  );
});

test.run();
