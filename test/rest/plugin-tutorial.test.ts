/** The tutorial of plugins, word by word but for the address of the server and the compiler, which is there already. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { announceSkip, haumea, startServer, temporaryFolder, within } from '../harness.js';

const page = readFileSync(fileURLToPath(new URL('../../docs/plugin-tutorial.md', import.meta.url)), 'utf8');

const server = await startServer();
test.after(async () => {
  await server.stop();
});
const bin = temporaryFolder();
const words = [process.execPath, ...haumea].map((word) => `'${word}'`).join(' ');
writeFileSync(join(bin, 'haumea'), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });

/** Runs the lines of a chapter in a shell that ends at the first failure. */
async function run(chapter: string): Promise<string> {
  const text = page.split(/^## /m).find((part) => part.startsWith(`${chapter}\n`)) ?? '';
  const lines = [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block).join('');
  assert.match(lines, /haumea plugin push/);
  const folder = join(temporaryFolder(), chapter);
  mkdirSync(folder);
  const child = spawn('bash', ['-e', '-o', 'pipefail', '-c', lines.replace(/^npm install$/m, '')], {
    cwd: folder,
    env: { ...process.env, HAUMEA_URL: server.base, PATH: `${bin}${delimiter}${process.env.PATH}` },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const ended = new Promise((resolve) => child.once('close', resolve));
  assert.is(await within(180_000, chapter, ended), 0, output);
  return output;
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
