/** The plugins under examples/plugins, as they are built there, give what they say. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { haumea, within } from '../harness.js';

const folder = fileURLToPath(new URL('../../examples/plugins', import.meta.url));

const projects = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('plugin.json') && !path.includes('node_modules'))
  .map(dirname)
  .sort();

for (const project of projects) {
  const path = join(folder, project);
  const { module, script } = JSON.parse(readFileSync(join(path, 'plugin.json'), 'utf8'));
  // What is too large to be kept has to be built first.
  if (!existsSync(join(path, module ?? script))) continue;
  test(`${project} gives the rows that it says`, async () => {
    const child = spawn(process.execPath, [...haumea, 'plugin', 'test', path]);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    const ended = new Promise((resolve) => child.once('close', resolve));
    assert.is(await within(60_000, project, ended), 0, output);
    assert.match(output, /rows as in expected\.jsonl/);
  });
}

test('the page about the examples names each', () => {
  const page = readFileSync(join(folder, 'README.md'), 'utf8');
  assert.ok(projects.length >= 5);
  for (const project of projects) assert.ok(page.includes(`[${project}]`), project);
});

test.run();
