/**
 * The check of the pages (`npm run check`) names each mistake with its page and line, and finds none in this project.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { temporaryFolder } from '../../support/harness.js';

const tool = fileURLToPath(new URL('../../../tools/docs.mjs', import.meta.url));

/** What the check says about a folder with these files. */
function faultsOf(files: Record<string, string>): string[] {
  const folder = temporaryFolder();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, [tool, folder], { encoding: 'utf8' });
  const lines = stdout.split('\n').filter((line) => line !== '');
  assert.is(status, lines.length === 0 ? 0 : 1, stderr);
  return lines.map((line) => line.slice(folder.length + 1));
}

test('links', () => {
  const other = '# A page\n\n## Two words, `code`\n\n## Again\n\n## Again\n\n```\n## no heading\n```\n';
  const good = '[a](docs/a.md), [b](docs/a.md#two-words-code), [c](docs/a.md#again-1), [d](#here), [e](https://x.y/z)';
  assert.equal(faultsOf({ 'docs/a.md': other, 'README.md': `# Here\n\n${good}\n\n\`[no](link)\`\n` }), []);
  const bad = '# Here\n\n[a](docs/b.md)\n[b](docs/a.md#three)\n[c](docs/a.md#no-heading)\n[d](#there)\n';
  assert.equal(faultsOf({ 'docs/a.md': other, 'README.md': bad }), [
    'README.md:3: the link docs/b.md leads to no file',
    'README.md:4: the link docs/a.md#three leads to no heading',
    'README.md:5: the link docs/a.md#no-heading leads to no heading',
    'README.md:6: the link #there leads to no heading',
  ]);
});

test('paths that pages name', () => {
  const files = { 'host/a/one.ts': '', 'host/b/index.ts': '', 'host/b/two.mjs': '' };
  const good = '`host/a/`, `host/<name>/index.ts`, `host/*/one.ts`, `b/two.mjs`, `index.ts`, `GET /b/x`, `/b/x`\n';
  assert.equal(faultsOf({ ...files, 'ARCHITECTURE.md': good, 'docs/adding.md': good }), []);
  const bad = '`host/c/`\n`host/<name>/three.ts`\n`b/one.mjs`\n`three.ts`\n';
  assert.equal(faultsOf({ ...files, 'docs/adding.md': bad }), [
    'docs/adding.md:1: host/c/ is not there',
    'docs/adding.md:2: host/<name>/three.ts is not there',
    'docs/adding.md:3: b/one.mjs is not there',
    'docs/adding.md:4: three.ts is not there',
  ]);
  // Other pages name files of users, too: there only a path from the top is one of the project.
  assert.equal(faultsOf({ ...files, 'docs/x.md': '`rows/one.json`, `host/c/`\n' }), [
    'docs/x.md:1: host/c/ is not there',
  ]);
});

test('lines', () => {
  const long = 'word '.repeat(24);
  assert.equal(faultsOf({ 'docs/a.md': `${long}\n| ${long} |\n\`\`\`\n${long} more\n\`\`\`\n` }), []);
  assert.equal(faultsOf({ 'docs/a.md': `# A\n\n${long}1\n- ${long}\n` }), [
    'docs/a.md:3: 121 characters, 120 at most',
    'docs/a.md:4: 122 characters, 120 at most',
  ]);
  assert.equal(faultsOf({ 'README.md': 'x\n'.repeat(59) }), []);
  assert.equal(faultsOf({ 'README.md': 'x\n'.repeat(60) }), ['README.md: 60 lines, under 60 wanted']);
});

test('the pages of this project', () => {
  const { status, stdout } = spawnSync(process.execPath, [tool], { encoding: 'utf8' });
  assert.is(status, 0, stdout);
});

test.run();
