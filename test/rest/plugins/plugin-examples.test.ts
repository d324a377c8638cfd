/**
 * The plugins under examples/plugins, as they are built there, give what they say. Those with files and programs, and
 * those that are not kept, are built anew before, where their tools are there; with HAUMEA_BUILD_EXAMPLES=1 all are,
 * and the tools are needed.
 */
import { spawn } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { announceSkip, haumea, temporaryFolder, within } from '../../support/harness.js';
import { lacks, lacksGo } from '../../support/rest/toolchains.js';

const builds = process.env.HAUMEA_BUILD_EXAMPLES === '1';
const kept = fileURLToPath(new URL('../../../examples/plugins', import.meta.url));
const folder = join(temporaryFolder(), 'plugins');
cpSync(kept, folder, { recursive: true, filter: (path) => !/target|node_modules/.test(relative(kept, path)) });

const projects = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('plugin.json') && !path.includes('node_modules'))
  .map(dirname)
  .sort();

const tools = { ...lacks, go: lacksGo };
// Those with files and programs, and what is too large to be kept.
const built = ['c/pulse', 'c/alarms', 'rust/calibration', 'go/tariff', 'go/dewpoint'];

for (const project of projects) {
  const path = join(folder, project);
  const lack = built.includes(project) ? tools[dirname(project) as keyof typeof tools]?.() : undefined;
  if (lack !== undefined && !builds) announceSkip(`building ${project}`, lack);
  const isBuilt = builds || (built.includes(project) && lack === undefined);
  const { module, script } = JSON.parse(readFileSync(join(path, 'plugin.json'), 'utf8'));
  // What is too large to be kept has to be built first.
  if (!isBuilt && !existsSync(join(path, module ?? script))) continue;
  test(`${project} gives the rows that it says`, async () => {
    if (isBuilt) await run('build', path);
    assert.match(await run('test', path), /rows as in expected\.jsonl/);
  });
}

/** Runs `haumea plugin …` and gives what it says. */
async function run(verb: string, path: string): Promise<string> {
  const child = spawn(process.execPath, [...haumea, 'plugin', verb, path]);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const ended = new Promise((resolve) => child.once('close', resolve));
  assert.is(await within(60_000, path, ended), 0, output);
  return output;
}

test('the page about the examples names each', () => {
  const page = readFileSync(join(folder, 'README.md'), 'utf8');
  assert.ok(projects.length >= 5);
  for (const project of projects) assert.ok(page.includes(`[${project}]`), project);
});

test.run();
