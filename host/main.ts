/** Process entry: picks the command, prints failures, sets the exit code. Commands are loaded when they are called. */
import { HaumeaError, reasonOf } from './base/errors.js';

const help = `usage: haumea <command> [options]

  serve    run the engine with its REST interface
  bench    measure throughput and latency
  demo     show the engine at work with a simulated vehicle fleet

  haumea <command> --help   options of the command
  haumea --version
`;

/** Each returns the exit code. */
const commands: Readonly<Record<string, (args: string[]) => Promise<number>>> = {
  serve: async (args) => (await import('./cli/serve.js')).main(args),
  bench: async (args) => (await import('../bench/cli.js')).main(args),
  demo: async (args) => (await import('./demo/main.js')).main(args),
};

async function main([name, ...args]: string[]): Promise<number> {
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    const { clientHelp } = await import('./cli/index.js');
    process.stdout.write(`${help}\nCommands for a running server:\n\n${clientHelp()}`);
    return name === undefined ? 2 : 0;
  }
  if (name === '--version' || name === '-v' || name === 'version') {
    const { version } = await import('./cli/version.js');
    process.stdout.write(`haumea ${version}\n`);
    return 0;
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  // Everything else is a request to a running server, or a mistake that the client explains.
  if (command === undefined) return (await import('./cli/index.js')).main([name, ...args]);
  return command(args);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  // What was foreseen has a message for the user; anything else is a defect and comes with its origin.
  const isForeseen = error instanceof HaumeaError;
  process.stderr.write(`haumea: ${isForeseen ? reasonOf(error) : error instanceof Error ? error.stack : error}\n`);
  process.exitCode = 1;
}
