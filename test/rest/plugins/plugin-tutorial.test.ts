/** The tutorial of plugins, word by word but for the address of the server and the compiler, which is there already. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { announceSkip, startServer, temporaryFolder, within } from '../../support/harness.js';

const page = readFileSync(fileURLToPath(new URL('../../../docs/plugin-tutorial.md', import.meta.url)), 'utf8');

const server = await startServer();
test.after(async () => {
  await server.stop();
});
const checkout = fileURLToPath(new URL('../../../', import.meta.url));
/** What the shell finds beside the checkout: no program `haumea`. */
const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => !existsSync(join(folder, 'haumea')));

function commandsOf(part: string): string {
  return [...part.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block).join('');
}

/**
 * Runs the lines of a chapter behind those of the introduction: pasted into a script, which ends at the first failure.
 */
async function run(chapter: string): Promise<string> {
  const parts = page.split(/^## /m);
  const lines = commandsOf(parts.find((part) => part.startsWith(`${chapter}\n`)) ?? '');
  assert.match(lines, /haumea plugin push/);
  const folder = join(temporaryFolder(), chapter);
  mkdirSync(folder);
  const script = join(folder, 'all.sh');
  const all = ['cd', quoted(checkout), '\n', commandsOf(parts[0] ?? ''), 'cd', quoted(folder), '\n', lines].join(' ');
  writeFileSync(script, `set -e -o pipefail\n${all.replace(/^ ?npm install$/m, '')}`);
  const child = spawn('bash', [script], {
    cwd: folder,
    env: { ...process.env, HAUMEA_URL: server.base, PATH: path.join(delimiter) },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const ended = new Promise((resolve) => child.once('close', resolve));
  assert.is(await within(180_000, chapter, ended), 0, output);
  return output;
}

function quoted(word: string): string {
  return `'${word}'`;
}

const hasBash = spawnSync('bash', ['--version']).error === undefined;
const target = spawnSync('rustc', ['--print', 'target-libdir', '--target', 'wasm32-unknown-unknown']);
const hasRust = target.error === undefined && spawnSync('ls', [`${target.stdout}`.trim()]).stdout.includes('core');

if (!hasBash) announceSkip('the tutorial', 'bash is not installed');
else {
  test('a function in AssemblyScript', async () => {
    const output = await run('AssemblyScript');
    assert.match(output, /3 rows as in expected\.jsonl/);
    assert.match(output, /\{"dew":11\.6,"humidity":50,"temperature":22\.5\}/);
    assert.match(output, /wasm plugin dew_point is deleted/);
  });
}
if (!hasBash || !hasRust)
  announceSkip('the tutorial in Rust', 'Rust with the target wasm32-unknown-unknown is not installed');
else {
  test('a function in Rust', async () => {
    const output = await run('Rust');
    assert.match(output, /\{"frost":-7\.\d+\}/);
    assert.match(output, /\{"frost":-\d+(\.\d)?\}\n\{"frost"/);
  });
}

test.run();
