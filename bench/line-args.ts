/** Arguments of the commands that run lines by their names. */
import { reasonOf } from '../host/base/errors.js';

/** Reads the arguments. With `--help`, and where they are wrong, it prints how the command is called and ends. */
export function argsOrUsage<T>(command: string, options: string, read: () => T): T {
  const usage = `usage: haumea bench ${command} ${options} [PART OF A NAME ...]\n`;
  if (process.argv.includes('--help')) {
    process.stdout.write(`${usage}\nWithout names all lines run; \`haumea bench ${command} ?\` lists them.\n`);
    process.exit(0);
  }
  try {
    return read();
  } catch (error) {
    process.stderr.write(`haumea bench ${command}: ${reasonOf(error)}\n\n${usage}`);
    process.exit(2);
  }
}
