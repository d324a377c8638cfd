/** `haumea serve`: runs the server until a signal or a client ends it. */

import { loadConfig } from '../base/config/config.js';
import { HaumeaError, reasonOf } from '../base/errors.js';
import { keepHeapsSmall } from '../base/program/heap.js';
import { readOptions } from '../base/program/options.js';
import type { Server } from '../server.js';
import { version } from './version.js';

const help = `usage: haumea serve [options]

  --data DIR      folder of definitions and states (default ./data)
  --etc DIR       folder of configuration files (default ./etc)
  --log DIR       folder of log files (default ./log, or DIR/log with --data DIR)
  --cluster URL   be a node of a cluster, with NATS at nats://host:4222; more in the section cluster of the
                  configuration
  --config FILE   configuration file (default kuiper.yaml of the etc folder)
  --loadFileType relative|absolute
                  absolute: /etc/kuiper, /var/lib/kuiper/data and /var/log/kuiper in the place of these defaults

Environment variables beat the file: KUIPER__BASIC__RESTPORT=9081, KUIPER__SOURCE__HTTPSERVERPORT=10081.
`;

/** Where packages of operating systems put things: `--loadFileType absolute`. */
const systemFolders = { etc: '/etc/kuiper', data: '/var/lib/kuiper/data', log: '/var/log/kuiper' };

/** Flags of other servers with this interface, with one dash and in words of their own. */
const singleDash = /^-(etc|data|log|plugins|loadFileType|config)(=.*)?$/;

/** Runs the command; resolves with the exit code when the server has ended. */
export async function main(argv: string[]): Promise<number> {
  const values = readArgs(argv);
  if (values === undefined) return 2;
  if (values.help) {
    process.stdout.write(help);
    return 0;
  }
  let end: (reason: string) => void = () => {};
  const ended = new Promise<string>((resolve) => {
    end = resolve;
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => end(signal));
  const folders = values.loadFileType === 'absolute' ? systemFolders : {};
  const { config: file, etc, data, log, cluster } = { ...folders, ...values };
  const env = cluster === undefined ? process.env : { ...process.env, KUIPER__CLUSTER__SERVERS: cluster };
  const loaded = await loadConfig({ file, etc, data, log, env });
  for (const warning of loaded.warnings) process.stderr.write(`haumea: warning: ${warning}\n`);
  if (values.plugins !== undefined) process.stderr.write('haumea: warning: --plugins has no effect\n');
  keepHeapsSmall();
  // Loaded behind the configuration: what is wrong there is told at once.
  const [{ startServer }, { createEngine }] = await Promise.all([import('../server.js'), import('../run/engine.js')]);
  const { maxDataMemory, dataPlanes } = loaded.config.basic;
  const divided = dataPlanes > 1 ? await dividing(dataPlanes) : undefined;
  const server = await startServer({
    ...loaded,
    version,
    env: process.env,
    createEngine: (context) => {
      const engine = createEngine({ ...context, maxMemoryBytes: maxDataMemory, division: divided?.division });
      return divided?.withParallelRules(engine, context.catalog.source, context.states !== undefined) ?? engine;
    },
    note: (line) => void process.stderr.write(`haumea: ${line}\n`),
    stopped: ended,
    onStopRequest: () => end('a request'),
  }).catch(unlessStopped);
  if (server === undefined) return 0;
  // A log on the console has shown the warnings already.
  if (!loaded.config.basic.consoleLog) {
    for (const warning of server.warnings) process.stderr.write(`haumea: warning: ${warning}\n`);
  }
  process.stdout.write(`haumea ${version} answers at ${server.url}, data in ${loaded.folders.data}\n`);
  await ended;
  return close(server, loaded.config.basic.gracefulShutdownTimeout);
}

/** A server that is ended while it waits for others to start has not failed. */
function unlessStopped(error: unknown): undefined {
  if (!(error instanceof HaumeaError) || error.kind !== 'stopping') throw error;
}

function readArgs(argv: string[]) {
  try {
    const { values } = readOptions({
      args: argv.map((arg) => (singleDash.test(arg) ? `-${arg}` : arg)),
      options: {
        data: { type: 'string' },
        etc: { type: 'string' },
        log: { type: 'string' },
        config: { type: 'string' },
        cluster: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
        plugins: { type: 'string' },
        loadFileType: { type: 'string', default: 'relative' },
      },
    });
    if (/^(relative|absolute)$/.test(values.loadFileType)) return values;
    throw new Error(`--loadFileType must be relative or absolute, not ${values.loadFileType}`);
  } catch (error) {
    process.stderr.write(`haumea serve: ${reasonOf(error)}\n\n${help}`);
    return undefined;
  }
}

/** Ends the server; past the time limit the process goes without waiting, definitions are on disk anyway. */
async function close(server: Server, timeoutMs: number): Promise<number> {
  const late = setTimeout(() => {
    process.stderr.write(`haumea: the server did not stop within ${timeoutMs} ms\n`);
    process.exit(1);
  }, timeoutMs);
  await server.close();
  clearTimeout(late);
  // Whatever a connector left open must not keep a stopped server alive.
  setTimeout(() => process.exit(), 200).unref();
  return 0;
}

/** Loaded where rules are divided among several data planes. */
async function dividing(count: number) {
  const [{ Division }, { withParallelRules }] = await Promise.all([
    import('../run/planes/placement/division.js'),
    import('../run/parallel/parallel-engine.js'),
  ]);
  return { division: new Division(count), withParallelRules };
}
