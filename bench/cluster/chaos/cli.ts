/** `haumea bench cluster chaos`: see the help text. */
import { readOptions } from '../../../host/base/program/options.js';
import { type FaultKind, faultDocs, faultKinds, possible } from './faults.js';
import { type ClusterChaosOptions, type ClusterChaosResult, runClusterChaos } from './run.js';

const HELP = `usage: haumea bench cluster chaos [options]

Three nodes over a cluster of three NATS servers that flush each message. In each round something goes wrong at
random, while definitions are made, changed and deleted at any node, and numbered messages go through rules; then all
is counted. The same seed makes the same faults. Ends with 1 when a definition that was acknowledged is missing, a
message is lost, one is repeated or counted wrong at qos 2, a rule ran twice at a time, or sent nothing for more than
5 s.

  --rounds N     (default 10)
  --seed N       (default 1)
  --faults LIST  (default all)
${faultKinds.map((kind) => `                 ${kind}: ${faultDocs[kind]}`).join('\n')}
  --rules N      rules of each kind: by messages that nobody keeps, and by streams at each qos (default 3)
  --qos LIST     qos of the rules by streams (default 1,2)
  --rate N       messages a second of each of them (default 50)
  --servers N    servers of NATS (default 3)
  --json         print JSON instead of the table
  --keep         leave the folder of the run
`;

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Runs the command; returns the exit code: 1 when a promise was not kept, 2 when nothing could be run. */
export async function main(argv: string[], program: readonly string[]): Promise<number> {
  let args: ReturnType<typeof read>;
  try {
    args = read(argv);
  } catch (error) {
    say(`haumea bench cluster chaos: ${(error as Error).message}\n\n${HELP}`);
    return 2;
  }
  if (args.help) {
    process.stdout.write(HELP);
    return 0;
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  const result = await runClusterChaos(args.options, program, say);
  process.stdout.write(args.json ? `${JSON.stringify(result)}\n` : reportOf(result));
  return result.rounds.some(({ broken }) => broken.length > 0) ? 1 : 0;
}

function read(argv: string[]) {
  const text = (value: string) => ({ type: 'string', default: value }) as const;
  const { values } = readOptions({
    args: argv,
    options: {
      rounds: text('10'),
      seed: text('1'),
      faults: text('all'),
      rules: text('3'),
      qos: text('1,2'),
      rate: text('50'),
      servers: text('3'),
      json: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const number = (name: 'rounds' | 'seed' | 'rules' | 'rate' | 'servers'): number => {
    const value = Number(values[name]);
    if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number above 0`);
    return value;
  };
  const wanted = values.faults === 'all' ? [...faultKinds] : values.faults.split(',');
  const unknown = wanted.find((kind) => !faultKinds.includes(kind as FaultKind));
  if (unknown !== undefined) throw new Error(`--faults: there is no ${unknown}`);
  const qos = values.qos.split(',').map(Number);
  if (!qos.every((one): one is 1 | 2 => one === 1 || one === 2)) throw new Error('--qos must be 1, 2 or both');
  const options: ClusterChaosOptions = {
    rounds: number('rounds'),
    seed: number('seed'),
    faults: possible(wanted as FaultKind[]),
    rules: number('rules'),
    qos,
    rate: number('rate'),
    servers: number('servers'),
    isKept: values.keep,
  };
  return { help: values.help, json: values.json, options };
}

function reportOf({ seed, rounds, definitions, events }: ClusterChaosResult): string {
  const faults = faultKinds.flatMap((kind) => {
    const own = rounds.filter(({ fault }) => fault === kind);
    if (own.length === 0) return [];
    const most = (of: (round: (typeof own)[number]) => number) => Math.max(...own.map(of));
    const [gapMs, wholeMs] = [most((round) => round.gapMs), most((round) => round.wholeMs)];
    const gap = `longest gap ${gapMs} ms, whole after ${wholeMs} ms at most`;
    const bad = own.filter(({ broken }) => broken.length > 0).length;
    return [`${kind.padEnd(9)} ${String(own.length).padStart(4)} rounds, ${bad} broken; ${gap}`];
  });
  const sums = new Map<string, [sent: number, lost: number, repeated: number, wrong: number]>();
  for (const [id, { sent, lost, repeated, wrong }] of Object.entries(events)) {
    const sum = sums.get(id.slice(0, 2)) ?? [0, 0, 0, 0];
    sums.set(id.slice(0, 2), [sum[0] + sent, sum[1] + lost, sum[2] + repeated, sum[3] + wrong]);
  }
  const rows = [...sums].map(
    ([kind, [sent, lost, repeated, wrong]]) =>
      `qos ${kind.slice(1)}     ${sent} messages, ${lost} lost, ${repeated} repeated, ${wrong} counted wrong`,
  );
  const doubled = rounds.reduce((sum, round) => sum + round.doubled, 0);
  return [
    `seed ${seed}, ${rounds.length} rounds`,
    ...faults,
    ...rows,
    `definitions: ${definitions.acknowledged} acknowledged, ${definitions.refused} refused or unanswered`,
    `rows of ticks beyond one: ${doubled}`,
    '',
  ].join('\n');
}
