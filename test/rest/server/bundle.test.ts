/** The bundled program: packages of the older module form load in it as they do from sources. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { temporaryFolder } from '../../support/harness.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Runs the built program to its end; returns its output. */
function run(args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(root, 'bin/haumea.mjs'), ...args], { timeout: 60_000 }, (_, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
}

test('reads its configuration file', async () => {
  const file = join(temporaryFolder(), 'bad.yaml');
  writeFileSync(file, 'basic:\n  restPrt: 1\n');
  assert.match(
    await run(['serve', '--config', file, '--data', temporaryFolder()]),
    /property basic\.restPrt is not known, did you mean basic\.restPort\?/,
  );
});

test('packages loaded when first used are taken by their default export', () => {
  // A bundle has packages of the older module form (module.exports) as their default export only.
  const wrong: string[] = [];
  for (const entry of readdirSync(join(root, 'host'), { recursive: true, encoding: 'utf8' })) {
    if (!entry.endsWith('.ts') || entry.endsWith('.d.ts')) continue;
    for (const line of readFileSync(join(root, 'host', entry), 'utf8').split('\n')) {
      // One that is only looked for has no names.
      if (/^\s*await import\(/.test(line)) continue;
      const name = /(?<!typeof )import\('([a-z@][^'$]*)'\)/.exec(line)?.[1];
      if (name === undefined || name.startsWith('node:')) continue;
      const { type, exports } = JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'));
      const isModule = type === 'module' || exports?.['.']?.import !== undefined;
      if (!isModule && !line.includes('default')) wrong.push(`${entry}: ${line.trim()}`);
    }
  }
  assert.equal(wrong, []);
});

test.run();
