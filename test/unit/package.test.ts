/** What is published: the program, its documentation, the examples; and what the documentation links to. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Paths of the files in the tarball. */
function packed(): Set<string> {
  // Without scripts nothing is built: what is there counts.
  const { stdout, stderr } = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  const found: unknown = JSON.parse(stdout.slice(stdout.search(/[[{]/)) || `"${stderr}"`);
  const [first] = Array.isArray(found) ? found : Object.values(found as object);
  return new Set((first as { files: { path: string }[] }).files.map(({ path }) => path));
}

const files = packed();

test('the tarball has program, documentation and examples, and nothing of the tests', () => {
  for (const path of [
    'README.md',
    'ARCHITECTURE.md',
    'LICENSE',
    'bin/haumea.mjs',
    'dist/console/index.html',
    'dist/docs/index.html',
    'dist/docs/sql.html.br',
    'dist/docs/decisions/0001-structure.html',
    'dist/sdk/client.js',
    'dist/sdk/client.d.ts',
    'dist/sdk/gen/routes.d.ts',
    'docs/operating.md',
    'docs/connectors.md',
    'docs/decisions/0001-structure.md',
    'examples/README.md',
    'examples/rules/plant.json',
  ]) {
    assert.ok(files.has(path), `${path} is missing`);
  }
  for (const path of files) assert.not.match(path, /^(test|bench|host|assembly)\//);
});

test('what README, docs and examples link to is in the tarball', () => {
  for (const page of [...files].filter((path) => /^(README|docs\/[^/]+|examples\/.*)\.md$/.test(path))) {
    const text = readFileSync(join(root, page), 'utf8');
    for (const [, link = ''] of text.matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)) {
      const path = join(dirname(page), link).replaceAll('\\', '/').replace(/\/$/, '');
      const isThere = files.has(path) || [...files].some((file) => file.startsWith(`${path}/`));
      assert.ok(isThere, `${page} links to ${link}`);
    }
  }
});

test.run();
