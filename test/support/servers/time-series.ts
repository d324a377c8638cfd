/** Servers for time series of their own, as far as the machine has them: InfluxDB 1.x and VictoriaMetrics. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { announceSkip, eventually, freePort, temporaryFolder } from '../harness.js';

const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** Says why the tests with a server don't run; in CI that is a failure. */
function needs(command: string, what: string): boolean {
  if (spawnSync(command, ['-h']).error === undefined) return true;
  if (process.env.CI === 'true') throw new Error(`${what}: ${command} is not installed`);
  announceSkip(what, `${command} is not installed`);
  return false;
}

export const needsInflux = (what: string): boolean => needs('influxd', what);
export const needsVictoria = (what: string): boolean => needs('victoria-metrics', what);

export interface TimeSeriesServer {
  readonly url: string;
  close(): Promise<void>;
  /** It stays connected and does nothing any more, until it goes on. */
  pause(): void;
  resume(): void;
}

export interface InfluxServer extends TimeSeriesServer {
  /** Runs a statement; the rows of its result as objects. */
  query(statement: string): Promise<Record<string, unknown>[]>;
}

async function openServer(command: string, args: string[], url: string, ping: string): Promise<TimeSeriesServer> {
  const child = spawn(command, args, { stdio: 'ignore' });
  children.add(child);
  await eventually(command, async () => (await fetch(`${url}${ping}`).catch(() => undefined))?.ok === true, 20_000);
  return {
    url,
    close: async () => {
      children.delete(child);
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  };
}

export interface InfluxWishes {
  readonly port?: number;
  readonly folder?: string;
  /** Name and password of the one user there is. */
  readonly login?: readonly [string, string];
}

/** Starts InfluxDB 1.x with the database `plant`. */
export async function openInflux({
  port,
  folder = temporaryFolder(),
  login,
}: InfluxWishes = {}): Promise<InfluxServer> {
  const [http, rpc] = [port ?? (await freePort()), await freePort()];
  const config = join(folder, 'influx.conf');
  const lines = [
    'reporting-disabled = true',
    `bind-address = "127.0.0.1:${rpc}"`,
    `[meta]\n  dir = "${folder}/meta"`,
    `[data]\n  dir = "${folder}/data"\n  wal-dir = "${folder}/wal"`,
    '[monitor]\n  store-enabled = false',
    `[http]\n  bind-address = "127.0.0.1:${http}"\n  log-enabled = false\n  auth-enabled = ${login !== undefined}`,
  ];
  writeFileSync(config, `${lines.join('\n')}\n`);
  const url = `http://127.0.0.1:${http}`;
  const server = await openServer('influxd', ['-config', config], url, '/ping');
  const header = login && { Authorization: `Basic ${Buffer.from(login.join(':')).toString('base64')}` };
  const query = async (statement: string) => {
    const body = new URLSearchParams({ q: statement, db: 'plant', epoch: 'ns' });
    const answer = await fetch(`${url}/query`, { method: 'POST', body, ...(header && { headers: header }) });
    const { results = [] } = (await answer.json()) as { results?: { series?: Series[] }[] };
    return (results[0]?.series ?? []).flatMap(rowsOf);
  };
  if (login !== undefined) await query(`CREATE USER ${login[0]} WITH PASSWORD '${login[1]}' WITH ALL PRIVILEGES`);
  await query('CREATE DATABASE plant');
  return { ...server, query };
}

interface Series {
  readonly columns: string[];
  readonly values: unknown[][];
  readonly tags?: Record<string, string>;
}

function rowsOf({ columns, values, tags }: Series): Record<string, unknown>[] {
  return values.map((row) => ({ ...tags, ...Object.fromEntries(columns.map((name, i) => [name, row[i]])) }));
}

export interface VictoriaServer extends TimeSeriesServer {
  /** All that is stored of series that the selector names: labels, values and times in ms. */
  stored(selector: string): Promise<{ metric: Record<string, string>; values: number[]; timestamps: number[] }[]>;
}

/** Starts VictoriaMetrics. */
export async function openVictoria(given?: number, folder = temporaryFolder()): Promise<VictoriaServer> {
  const port = given ?? (await freePort());
  const url = `http://127.0.0.1:${port}`;
  const args = [`-storageDataPath=${folder}`, `-httpListenAddr=127.0.0.1:${port}`, '-retentionPeriod=100y'];
  const server = await openServer('victoria-metrics', args, url, '/health');
  return {
    ...server,
    stored: async (selector) => {
      await fetch(`${url}/internal/force_flush`);
      const answer = await fetch(`${url}/api/v1/export?${new URLSearchParams({ 'match[]': selector })}`);
      const lines = (await answer.text()).split('\n').filter((line) => line !== '');
      return lines.map((line) => JSON.parse(line));
    },
  };
}
