/** `haumea bench neighbours`: see the help text in args.ts. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasProgram } from '../chaos/processes.js';
import { HELP, type NeighboursArgs, readNeighboursArgs, type TrialName } from './args.js';
import { away, brokerAway, type Closing, folderOf, type Means, sinkAway, stuck, type TrialResult } from './trials.js';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** The runs of each trial; those with a broker need mosquitto. */
const runs: Record<
  TrialName,
  readonly { name: string; hasBroker: boolean; run(means: Means): Promise<TrialResult> }[]
> = {
  stuck: [
    { name: 'stuck-qos0', hasBroker: false, run: (means) => stuck(means, 0) },
    { name: 'stuck-qos1', hasBroker: true, run: (means) => stuck(means, 1) },
  ],
  away: [0, 1].map((qos) => ({ name: `away-qos${qos}`, hasBroker: true, run: (means) => away(means, qos) })),
  cache: [
    { name: 'cache-sink', hasBroker: false, run: sinkAway },
    { name: 'cache-broker', hasBroker: true, run: brokerAway },
  ],
};

/** Runs the command; resolves with the exit code: 1 when a row is lost or out of order, 2 when nothing could be run. */
export async function main(argv: string[], program: string[]): Promise<number> {
  let args: NeighboursArgs;
  try {
    args = readNeighboursArgs(argv);
  } catch (error) {
    say(`haumea bench neighbours: ${(error as Error).message}\n\n${HELP}`);
    return 2;
  }
  if (args.help) {
    process.stdout.write(HELP);
    return 0;
  }
  // Whatever was started goes with us.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  const hasBroker = hasProgram('mosquitto');
  const role = [...program, 'bench', '--role'];
  const results: TrialResult[] = [];
  for (const trial of args.trials) {
    for (const { name, run, ...needs } of runs[trial]) {
      if (needs.hasBroker && !hasBroker) {
        say(`${name}: left out, mosquitto is not installed (or not in PATH)`);
        continue;
      }
      say(`${name} …`);
      const folder = mkdtempSync(join(tmpdir(), 'haumea-neighbours-'));
      const options = args.optionsOf(trial);
      const opened: Closing[] = [];
      const keep = <T extends Closing>(one: T): T => {
        opened.push(one);
        return one;
      };
      try {
        const result = await run({ options, program, role, folder: folderOf(folder, name), keep, say });
        results.push(result);
        const { lost, repeated, reordered } = result.far;
        say(`  ${lost} lost, ${repeated} repeated, ${reordered} out of order at ${Math.round(result.rate)} messages/s`);
      } finally {
        for (const one of opened.reverse()) await one.close();
        if (options.isKept) say(`kept: ${folder}`);
        else rmSync(folder, { recursive: true, force: true });
      }
    }
  }
  process.stdout.write(args.json ? `${JSON.stringify(results, null, 2)}\n` : table(results));
  return results.some(isBroken) ? 1 : 0;
}

/** Nothing is to be lost or to change its place; what a broker or a sink had not confirmed comes again. */
function isBroken({ near, far }: TrialResult): boolean {
  return near.lost + far.lost + near.reordered + far.reordered > 0;
}

function table(results: readonly TrialResult[]): string {
  const rows = results.map(cells);
  const columns = Object.keys(rows[0] ?? {});
  const widths = columns.map((column) => Math.max(column.length, ...rows.map((row) => row[column]!.length)));
  const line = (values: string[]) => values.map((value, i) => value.padStart(widths[i]!)).join('  ');
  return `${[line(columns), ...rows.map((row) => line(columns.map((column) => row[column]!)))].join('\n')}\n`;
}

function cells(result: TrialResult): Record<string, string> {
  const { near, far, healthyNs, troubledNs } = result;
  const figure = (value: number) => (Number.isFinite(value) ? String(Math.round(value)) : '-');
  const more = (troubledNs / healthyNs - 1) * 100;
  return {
    trial: result.trial,
    rules: String(result.rules),
    'source qos': String(result.sourceQos),
    qos: String(result.qos),
    messages: String(result.messages),
    'msg/s': figure(result.rate),
    'lost, repeated, reordered: others': result.rules > 1 ? `${near.lost} ${near.repeated} ${near.reordered}` : '-',
    'its own': `${far.lost} ${far.repeated} ${far.reordered}`,
    'of these at the broker': figure(result.droppedByBroker),
    'plain client lost': figure(result.witnessLost),
    'ns/msg': figure(healthyNs),
    troubled: Number.isFinite(more) ? `${figure(troubledNs)} (${more > 0 ? '+' : ''}${more.toFixed(1)} %)` : '-',
    'MB begin': figure(result.memoryBytes[0] / 1e6),
    peak: figure(result.memoryBytes[1] / 1e6),
    end: figure(result.memoryBytes[2] / 1e6),
    kept: isBroken(result) ? 'NO' : 'yes',
  };
}
