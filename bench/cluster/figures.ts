/**
 * `haumea bench cluster`: the demonstration of a cluster with several numbers of nodes, for the constants of
 * docs/scaling.md. NATS, the nodes and the sender share this machine.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ClusterFigures as Figures } from '../../host/base/program/demo-figures.js';
import { readOptions } from '../../host/base/program/options.js';

const HELP = `usage: haumea bench cluster [--nodes LIST] [--rules N] [--rate N] [--seconds N] [--json]

  --nodes LIST   numbers of nodes, one run each (default 1,2,3,5); of several nodes one is killed
  --rules N      rules, each with a part of the messages (default 30)
  --rate N       messages a second of all (default 1000)
  --seconds N    length of a run (default 15)
  --json         print JSON instead of the table
`;

const run = promisify(execFile);
const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Runs the command; returns the exit code: 1 when something was lost. */
export async function main(argv: string[], program: string[]): Promise<number> {
  let options: ReturnType<typeof read>;
  try {
    options = read(argv);
  } catch (error) {
    say(`haumea bench cluster: ${(error as Error).message}\n\n${HELP}`);
    return 2;
  }
  const { help, json, nodes, ...rest } = options;
  if (help) {
    process.stdout.write(HELP);
    return 0;
  }
  const all: Figures[] = [];
  for (const count of nodes) {
    say(`${count} ${count === 1 ? 'node' : 'nodes'} …`);
    all.push(await figuresOf(program, count, rest));
  }
  process.stdout.write(json ? `${JSON.stringify(all)}\n` : tableOf(all));
  return all.some(({ lost }) => lost > 0) ? 1 : 0;
}

function read(argv: string[]) {
  const { values } = readOptions({
    args: argv,
    options: {
      nodes: { type: 'string', default: '1,2,3,5' },
      rules: { type: 'string', default: '30' },
      rate: { type: 'string', default: '1000' },
      seconds: { type: 'string', default: '15' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const nodes = values.nodes.split(',').map(Number);
  if (!nodes.every((count) => Number.isInteger(count) && count > 0)) throw new Error('--nodes must be whole numbers');
  return { ...values, nodes };
}

async function figuresOf(
  program: string[],
  nodes: number,
  { rules, rate, seconds }: { rules: string; rate: string; seconds: string },
): Promise<Figures> {
  const given = ['--nodes', String(nodes), '--rules', rules, '--rate', rate, '--seconds', seconds];
  const args = [...program, 'demo', '--cluster', '--json', ...given];
  // The demonstration ends with 1 when something was lost, and tells its figures all the same.
  const { stdout } = await run(process.execPath, args).catch((error: { stdout?: string; stderr?: string }) => {
    if (!error.stdout) throw new Error(error.stderr ?? String(error));
    return { stdout: error.stdout };
  });
  return JSON.parse(stdout) as Figures;
}

function tableOf(all: readonly Figures[]): string {
  const rows: [string, (figures: Figures) => string][] = [
    ['nodes', ({ nodes }) => String(nodes)],
    ['rules', ({ rules }) => String(rules)],
    ['definitions a second, one client', ({ definitionsPerSecond }) => String(definitionsPerSecond)],
    ['messages', ({ sent }) => String(sent)],
    ['rows', (figures) => String(figures.rows)],
    ['lost', ({ lost }) => String(lost)],
    ['repeated', ({ repeated }) => String(repeated)],
    ['rules moved', ({ moved }) => String(moved)],
    [
      'until all run elsewhere, s',
      ({ failOverMs }) => (failOverMs === undefined ? '' : (failOverMs / 1000).toFixed(1)),
    ],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, of]) => `${name.padEnd(width)}${all.map((f) => of(f).padStart(12)).join('')}\n`).join('');
}
