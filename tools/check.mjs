/** `npm run check`: all that is checked without running the engine. Runs each check and names those that fail. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './root.mjs';

const node = process.execPath;
const checks = [
  ['types', [join(root, 'node_modules/typescript/bin/tsc'), '--noEmit', '-p', 'tsconfig.json']],
  ['types of the console', [join(root, 'node_modules/typescript/bin/tsc'), '--noEmit', '-p', 'host/console']],
  ['lint and format', [join(root, 'node_modules/@biomejs/biome/bin/biome'), 'check', '--max-diagnostics=50']],
  ['format of the kernel', [join(root, 'tools/format-assembly.mjs'), '--check']],
  ['generated files', [join(root, 'tools/gen.mjs'), '--check']],
  ['reference pages', ['--import', 'tsx', join(root, 'tools/reference.mjs'), '--check']],
  ['pages', [join(root, 'tools/docs.mjs')]],
  ['import directions', ['--import', 'tsx', join(root, 'test/arch/imports.test.ts')]],
  ['exports', ['--import', 'tsx', join(root, 'test/arch/exports.test.ts')]],
  ['rooms', ['--import', 'tsx', join(root, 'test/arch/rooms.test.ts')]],
  ['circles', ['--import', 'tsx', join(root, 'test/arch/circles.test.ts')]],
  ['sizes', ['--import', 'tsx', join(root, 'test/arch/sizes.test.ts')]],
  ['commits', ['--import', 'tsx', join(root, 'test/arch/commits.test.ts')]],
];

const failed = [];
for (const [name, args] of checks) {
  const script = args.at(0)?.startsWith('--') ? args[2] : args[0];
  if (!existsSync(script)) {
    failed.push(`${name} (${script} is missing)`);
    continue;
  }
  console.log(`check: ${name}`);
  if (spawnSync(node, args, { cwd: root, stdio: 'inherit' }).status !== 0) failed.push(name);
}
console.log(failed.length === 0 ? 'check: all passed' : `check: failed: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;
