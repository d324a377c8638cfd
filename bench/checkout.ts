/** Starts comparisons with plain JavaScript programs, which use what tests use: from a checkout. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

const scripts = {
  micro: 'bench/pairs/main.ts',
  connectors: 'bench/connectors/main.ts',
  services: 'bench/services/main.ts',
  portable: 'bench/portable/main.ts',
};

/** Runs the benchmark with these arguments and returns its exit code. */
export async function runInCheckout(name: keyof typeof scripts, args: string[]): Promise<number> {
  const script = scripts[name];
  const root = join(dirname(realpathSync(process.argv[1] as string)), '..');
  if (!existsSync(join(root, script))) {
    process.stderr.write(`haumea bench: "${name}" needs a checkout of the sources; there is no ${script} in ${root}\n`);
    return 2;
  }
  const child = spawn(process.execPath, [join(root, 'tools/setup.mjs'), script, ...args], { stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  return typeof code === 'number' ? code : 1;
}
