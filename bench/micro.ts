/**
 * Starts the comparison of statements with plain JavaScript programs, which drives kernels as tests do: from a
 * checkout.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

const script = 'bench/pairs/main.ts';

/** Runs the benchmark with these arguments and returns its exit code. */
export async function runMicro(args: string[]): Promise<number> {
  const root = join(dirname(realpathSync(process.argv[1] as string)), '..');
  if (!existsSync(join(root, script))) {
    process.stderr.write(`haumea bench: "micro" needs a checkout of the sources; there is no ${script} in ${root}\n`);
    return 2;
  }
  const child = spawn(process.execPath, [join(root, 'tools/setup.mjs'), script, ...args], { stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  return typeof code === 'number' ? code : 1;
}
