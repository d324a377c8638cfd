/** A NATS server for the demo: the program that is there, with data that goes with it. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { HaumeaError } from '../base/errors.js';

const release = 'v2.12.1';
const archive = `nats-server-${release}-linux-amd64.tar.gz`;
const howTo = [
  'the demo needs nats-server 2.12 or later in the path; get it by',
  `  curl -fsSLO https://github.com/nats-io/nats-server/releases/download/${release}/${archive}`,
  `  tar xzf ${archive} --strip-components 1 && export PATH=$PWD:$PATH`,
].join('\n');
const startMs = 10_000;

/** The path, and where tests have it. */
const places = ['nats-server', join(homedir(), '.cache/haumea-servers/bin/nats-server')];

export class NatsServer {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  /** Starts it with JetStream; throws with the two commands that bring it when it is not there. */
  static async start(store: string): Promise<NatsServer> {
    const program = places.find((place) => spawnSync(place, ['--version']).status === 0);
    if (program === undefined) throw new HaumeaError('general', howTo);
    const port = await freePortOf();
    const child = spawn(program, ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', store], { stdio: 'ignore' });
    process.once('exit', () => child.kill('SIGKILL'));
    const end = performance.now() + startMs;
    while (!(await answers(port))) {
      if (child.exitCode !== null || performance.now() > end)
        throw new HaumeaError('connection', `${program} does not answer on port ${port}`);
      await pause(50);
    }
    return new NatsServer(child, `nats://127.0.0.1:${port}`);
  }

  async close(): Promise<void> {
    if (this.child.exitCode !== null) return;
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
  }
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const isThere = await Promise.race([once(socket, 'connect').then(() => true), pause(1000, false)]).catch(() => false);
  socket.destroy();
  return isThere;
}

/** A port that nobody listens on. */
export async function freePortOf(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
