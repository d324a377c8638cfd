/** `haumea bench chaos`: see the help text in args.ts. */
import { type ChaosArgs, HELP, readChaosArgs } from './args.js';
import type { FaultFigures } from './faults.js';
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

/** The results, and below them what was done and how long it took to be over. */
function table(results: readonly ChaosResult[]): string {
  const faults = results.flatMap(({ topology, faults }) =>
    Object.entries(faults).map(([name, figures]) => faultCells(topology, name, figures)),
  );
  return [results.map(cells), faults]
    .filter((rows) => rows.length > 0)
    .map(aligned)
    .join('\n');
}

function aligned(rows: readonly Record<string, string>[]): string {
  const columns = Object.keys(rows[0] ?? {});
  const widths = columns.map((column) => Math.max(column.length, ...rows.map((row) => row[column]!.length)));
  const line = (values: string[]) => values.map((value, i) => value.padStart(widths[i]!)).join('  ');
  return `${[line(columns), ...rows.map((row) => line(columns.map((column) => row[column]!)))].join('\n')}\n`;
}

const figure = (value: number, unit = '') => (Number.isFinite(value) ? `${value}${unit}` : '-');

function cells(result: ChaosResult): Record<string, string> {
  return {
    topology: result.topology,
    qos: String(result.qos),
    promised: result.promised,
    rows: String(result.expected),
    lost: String(result.lost - result.lostByBrokers),
    'by brokers': String(result.lostByBrokers),
    repeated: String(result.repeated),
    reordered: String(result.reordered),
    wrong: String(result.wrong),
    kills: String(result.kills),
    'peak MB': figure(Math.round(result.peakBytes / 1e6)),
    kept: result.broken.length === 0 ? 'yes' : 'NO',
  };
}

function faultCells(topology: string, name: string, figures: FaultFigures): Record<string, string> {
  const { count, connectedMs, rowsMs, peakBytes } = figures;
  return {
    topology,
    fault: name,
    times: String(count),
    'connected p50': figure(connectedMs.p50, ' ms'),
    'connected max': figure(connectedMs.max, ' ms'),
    'rows p50': figure(rowsMs.p50, ' ms'),
    'rows max': figure(rowsMs.max, ' ms'),
    'peak MB': figure(Math.round(peakBytes / 1e6)),
  };
}
