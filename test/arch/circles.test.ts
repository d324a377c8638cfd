/**
 * No file imports itself by way of others, types included, and no folder does: within each folder the files and folders
 * that it holds are built one on the other.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { filesIn, importsOf, root } from '../support/arch/sources.js';

/** Circles that may stay, with the reason. */
const named: readonly { readonly files: readonly string[]; readonly reason: string }[] = [
  {
    files: ['host/sql/parse-expression.ts', 'host/sql/parse-star.ts'],
    reason: 'the grammar: an expression may be a star, and what replaces its columns are expressions',
  },
];

/** The files that each file imports; those of the kernel are named without an ending. */
function importsIn(folder: string): Map<string, string[]> {
  const named = (path: string) =>
    /\.(tsx?|mjs)$/.test(path) || !existsSync(join(root, `${path}.ts`)) ? path : `${path}.ts`;
  return new Map(filesIn(folder).map((file) => [file, importsOf(file).map(named)]));
}

/** What each file and folder within a folder imports of the others there, by the path of that folder. */
function importsWithin(imports: ReadonlyMap<string, readonly string[]>): Map<string, Map<string, string[]>> {
  const within = new Map<string, Map<string, string[]>>();
  for (const [file, targets] of imports) {
    for (const target of targets.filter((one) => imports.has(one))) {
      const [from, to] = [file.split('/'), target.split('/')];
      const depth = from.findIndex((name, i) => name !== to[i]);
      if (depth < 1) continue;
      const folder = from.slice(0, depth).join('/');
      const members = within.get(folder) ?? new Map<string, string[]>();
      within.set(folder, members);
      const [own, other] = [from, to].map((path) => path.slice(0, depth + 1).join('/')) as [string, string];
      members.set(own, [...(members.get(own) ?? []), other]);
      if (!members.has(other)) members.set(other, []);
    }
  }
  return within;
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

test('files of host and kernels import in no circle', () => {
  const imports = new Map([...importsIn('host'), ...importsIn('kernels')]);
  const allowed = named.map(({ files }) => files.join(' '));
  const wrong = circlesOf(imports).filter((circle) => !allowed.includes(circle.join(' ')));
  assert.equal(wrong, []);
});

test('files of the kernel import in no circle', () => {
  assert.equal(circlesOf(importsIn('assembly')), []);
});

test('no files or folders within a folder import each other in a circle', () => {
  const allowed = named.map(({ files }) => files.join(' '));
  const found = ['assembly', 'bench', 'bin', 'host', 'kernels', 'test', 'tools'].flatMap((top) =>
    [...importsWithin(importsIn(top)).values()].flatMap((members) => circlesOf(members)),
  );
  assert.equal(
    found.map((circle) => circle.join(' ')).filter((circle) => !allowed.includes(circle)),
    [],
  );
});

test('circles that may stay are there', () => {
  const found = circlesOf(importsIn('host')).map((circle) => circle.join(' '));
  assert.equal(
    named.filter(({ files }) => !found.includes(files.join(' '))),
    [],
  );
});

test.run();
