/** `haumea bench chaos`: see the help text in args.ts. */
import { type ChaosArgs, HELP, readChaosArgs } from './args.js';
import { hasProgram } from './processes.js';
import { type ChaosResult, runChaos } from './run.js';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Runs the command; resolves with the exit code: 1 when a promise was not kept, 2 when nothing could be run. */
export async function main(argv: string[], program: readonly string[]): Promise<number> {
  let args: ChaosArgs;
  try {
    args = readChaosArgs(argv);
  } catch (error) {
    say(`haumea bench chaos: ${(error as Error).message}\n\n${HELP}`);
    return 2;
  }
  if (args.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const needsBroker = args.topologies.filter(({ input, output }) => input === 'mqtt' || output === 'mqtt');
  if (needsBroker.length > 0 && !hasProgram('mosquitto')) {
    const names = needsBroker.map(({ name }) => name).join(', ');
    say(`haumea bench chaos: ${names} needs mosquitto, which is not installed (or not in PATH)`);
    return 2;
  }
  // Whatever was started goes with us.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  const results: ChaosResult[] = [];
  for (const topology of args.topologies) {
    const result = await runChaos(topology, args.options, program, say);
    for (const line of result.broken) say(`  ! ${topology.name}: ${line}, with ${result.promised} promised`);
    for (const line of result.broken.length > 0 ? result.examples : []) say(`      ${line}`);
    results.push(result);
  }
  process.stdout.write(args.json ? `${JSON.stringify(results, null, 2)}\n` : table(results));
  return results.some(({ broken }) => broken.length > 0) ? 1 : 0;
}

function table(results: readonly ChaosResult[]): string {
  const rows = results.map(cells);
  const columns = Object.keys(rows[0] ?? {});
  const widths = columns.map((column) => Math.max(column.length, ...rows.map((row) => row[column]!.length)));
  const line = (values: string[]) => values.map((value, i) => value.padStart(widths[i]!)).join('  ');
  return `${[line(columns), ...rows.map((row) => line(columns.map((column) => row[column]!)))].join('\n')}\n`;
}

function cells(result: ChaosResult): Record<string, string> {
  const figure = (value: number, unit = '') => (Number.isFinite(value) ? `${value}${unit}` : '-');
  const faults = Object.entries(result.faults).map(([name, count]) => `${count} ${name}`);
  return {
    topology: result.topology,
    qos: String(result.qos),
    promised: result.promised,
    rows: String(result.expected),
    lost: String(result.lost),
    repeated: String(result.repeated),
    reordered: String(result.reordered),
    wrong: String(result.wrong),
    kills: String(result.kills),
    'other faults': faults.join(', ') || '-',
    'recovery p50': figure(result.recoveryMs.p50, ' ms'),
    max: figure(result.recoveryMs.max, ' ms'),
    'peak MB': figure(Math.round(result.peakBytes / 1e6)),
    kept: result.broken.length === 0 ? 'yes' : 'NO',
  };
}
