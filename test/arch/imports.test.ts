/**
 * Imports go down only. Each folder of the host lists what it may import; only kernels/ touches Wasm memory; files have
 * a size a reader can take in.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Folder → folders it may import besides itself. Types of `run/api.ts` are the contract between the planes. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  'host/base': [],
  kernels: ['host/base'],
  'host/sql': ['host/base'],
  'host/functions': ['kernels', 'host/base'],
  'host/codecs': ['kernels', 'host/base'],
  'host/connectors': ['host/codecs', 'kernels', 'host/base'],
  'host/plan': [
    'host/sql',
    'host/functions',
    'host/codecs',
    'host/connectors',
    'kernels',
    'host/base',
    'host/run/api.ts',
  ],
  'host/meta': ['host/sql', 'host/base', 'host/run/api.ts'],
  'host/run': ['host/plan', 'host/sql', 'host/functions', 'host/codecs', 'host/connectors', 'kernels', 'host/base'],
  'host/rest': ['host/meta', 'host/run', 'host/plan', 'host/sql', 'host/connectors', 'host/base'],
  'host/demo': ['host/base'],
  // Micro benches drive kernels and rules as tests do.
  bench: ['host/base', 'kernels', 'test/wasm', 'test/sql'],
};

/** Compose everything, so they may import anything. */
const composition = ['host/main.ts', 'host/server.ts', 'host/cli/'];

const maxLines = 500;
/** Says that a file is a table or generated, which a reader looks things up in. */
const exemptHead = /generated|table/i;

/** Lists TypeScript files below a folder of the project. */
function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .map((name) => join(folder, name));
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const found = text.matchAll(
    /(?:^|\n)\s*(?:import|export)[^'"`;]*?from\s*['"](\.[^'"]+)['"]|import\(\s*['"](\.[^'"]+)['"]\s*\)/g,
  );
  return [...found].map((match) => {
    const path = relative(root, resolve(root, dirname(file), (match[1] ?? match[2]) as string));
    return path.replace(/\.js$/, '.ts');
  });
}

/** The folder of the table that a file belongs to. */
function folderOf(file: string): string | undefined {
  return Object.keys(allowed).find((folder) => file.startsWith(`${folder}/`));
}

const files = [...filesIn('host'), ...filesIn('kernels'), ...filesIn('bench')];

test('the table lists folders that are there', () => {
  const absent = Object.keys(allowed).filter((folder) => !files.some((file) => file.startsWith(`${folder}/`)));
  assert.equal(absent, []);
});

test('imports go down only', () => {
  const wrong: string[] = [];
  for (const file of files) {
    if (composition.some((path) => file.startsWith(path))) continue;
    const folder = folderOf(file);
    if (folder === undefined) {
      wrong.push(`${file} lies in a folder that is not in the table of this test`);
      continue;
    }
    const may = [folder, ...(allowed[folder] ?? [])];
    for (const target of importsOf(file)) {
      if (!may.some((path) => target === path || target.startsWith(`${path}/`)))
        wrong.push(`${file} imports ${target}`);
    }
  }
  assert.equal(wrong, []);
});

test('connectors and functions know nothing of their neighbours', () => {
  const wrong: string[] = [];
  for (const file of filesIn('host/connectors')) {
    const own = file.split('/')[2] as string;
    if (own.endsWith('.ts')) continue;
    for (const target of importsOf(file)) {
      const other = target.startsWith('host/connectors/') ? target.split('/')[2] : undefined;
      if (other !== undefined && other !== own && !other.endsWith('.ts')) wrong.push(`${file} imports ${target}`);
    }
  }
  assert.equal(wrong, []);
});

test('assembly imports nothing outside itself', () => {
  const wrong = filesIn('assembly').flatMap((file) =>
    importsOf(file)
      .filter((target) => !target.startsWith('assembly/'))
      .map((target) => `${file} imports ${target}`),
  );
  assert.equal(wrong, []);
});

test('only kernels touch WebAssembly memory', () => {
  const wrong = filesIn('host').filter((file) =>
    /WebAssembly\.(Memory|Instance)/.test(readFileSync(join(root, file), 'utf8')),
  );
  assert.equal(wrong, []);
});

test('no file is called utils, none is longer than a reader can take in', () => {
  const wrong: string[] = [];
  for (const file of [...files, ...filesIn('assembly'), ...filesIn('test')]) {
    if (/(^|\/)utils?\.ts$/.test(file)) wrong.push(`${file}: name it for what it does`);
    const text = readFileSync(join(root, file), 'utf8');
    const lines = text.split('\n').length;
    const isExempt = file.includes('/gen/') || exemptHead.test(text.slice(0, 200).split('\n').slice(0, 2).join(' '));
    if (lines > maxLines && !isExempt) wrong.push(`${file} has ${lines} lines`);
  }
  assert.equal(wrong, []);
});

test('source files have tests that run alone', () => {
  const wrong = filesIn('test')
    .filter((file) => file.endsWith('.test.ts'))
    .filter((file) => !/\n\s*\w+\.run\(\);\s*$/.test(readFileSync(join(root, file), 'utf8')));
  assert.equal(wrong, []);
});

test.run();
