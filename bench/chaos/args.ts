/** The command line of `haumea bench chaos`. */

import { readOptions } from '../../host/base/program/options.js';
import { parseDuration } from '../../host/base/time/duration.js';
import { type Keeping, keepings } from './broker.js';
import { type FaultKind, faultKinds } from './schedule.js';
import { type Topology, topologies } from './topologies.js';

export const HELP = `usage: haumea bench chaos [options]

Sends numbered messages through a rule while the engine is killed (kill -9) and started again, and whatever it talks to
is stopped, slowed and filled up; then counts what is missing, what came twice, what changed its place and what is
wrong. The same seed makes the same messages and the same faults. Ends with 1 when less came out than the guarantee of
the rule (EXPLAIN) promises.

  --topology LIST  (default file-file; "all")
${topologies.map(({ name, title }) => `    ${name.padEnd(17)} ${title}`).join('\n')}
  --qos 0|1|2      option of the rules (default 1)
  --kills N        kills of the engine (default 5)
  --duration TIME  how long messages are sent (default 20s)
  --rate N         messages a second (default 500)
  --seed N         (default 1)
  --faults LIST    of ${faultKinds.join(', ')} (default engine)
                   engine: kill -9, and at times a stop (SIGSTOP);
                   broker: the source's broker ends and comes back, or stops;
                   sink: the same for what takes the results, a kill -9 where it keeps them on disk;
                   slow: what takes the results runs a fifth of the time;
                   full: what takes the results has no room (files: by the size limit of the process, needs prlimit);
                   with brokers the engine has none, for checkpoints and backlogs
                   crash: a broker is killed (kill -9); what it loses of what it confirmed is told apart
  --broker WHEN    when brokers write what they have to disk, of ${keepings.join(', ')}:
                   after each change, when they end, or never (default end, with crash change)
  --checkpoints TIME  option checkpointInterval of the rules (default 200ms)
  --json           print JSON instead of the table
  --keep           leave the folder of the run, with data, logs and results
`;

export interface ChaosOptions {
  readonly qos: number;
  readonly kills: number;
  readonly durationMs: number;
  /** Messages a second. */
  readonly rate: number;
  readonly seed: number;
  readonly faults: readonly FaultKind[];
  readonly checkpointMs: number;
  readonly keeping: Keeping;
  readonly isKept: boolean;
}

export interface ChaosArgs {
  readonly help: boolean;
  readonly json: boolean;
  readonly topologies: readonly Topology[];
  readonly options: ChaosOptions;
}

/** Reads the arguments; throws an Error that names what is wrong. */
export function readChaosArgs(argv: string[]): ChaosArgs {
  const text = (value: string) => ({ type: 'string', default: value }) as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values } = readOptions({
    args: argv,
    options: {
      topology: text('file-file'),
      qos: text('1'),
      kills: text('5'),
      duration: text('20s'),
      rate: text('500'),
      seed: text('1'),
      faults: text('engine'),
      checkpoints: text('200ms'),
      broker: text(''),
      json: flag,
      keep: flag,
      help: flag,
    },
  });
  return {
    help: values.help,
    json: values.json,
    topologies: values.topology === 'all' ? topologies : values.topology.split(',').map(topologyOf),
    options: {
      qos: whole('qos', values.qos, 0, 2),
      kills: whole('kills', values.kills, 0, 100_000),
      durationMs: time('duration', values.duration),
      rate: whole('rate', values.rate, 1, 100_000),
      seed: whole('seed', values.seed, 0, 2 ** 32 - 1),
      faults: values.faults.split(',').map(faultOf),
      checkpointMs: time('checkpoints', values.checkpoints),
      keeping: keepingOf(values.broker || (values.faults.includes('crash') ? 'change' : 'end')),
      isKept: values.keep,
    },
  };
}

function topologyOf(name: string): Topology {
  const found = topologies.find((topology) => topology.name === name);
  if (found !== undefined) return found;
  throw new Error(`--topology: "${name}" is not one of ${topologies.map((topology) => topology.name).join(', ')}`);
}

function faultOf(name: string): FaultKind {
  const found = faultKinds.find((kind) => kind === name);
  if (found === undefined) throw new Error(`--faults: "${name}" is not one of ${faultKinds.join(', ')}`);
  return found;
}

function keepingOf(name: string): Keeping {
  const found = keepings.find((keeping) => keeping === name);
  if (found === undefined) throw new Error(`--broker: "${name}" is not one of ${keepings.join(', ')}`);
  return found;
}

export function whole(option: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new Error(`--${option}: "${text}" is not a whole number from ${min} to ${max}`);
}

export function time(option: string, text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0) return ms;
  throw new Error(`--${option}: "${text}" is no length of time such as 20s or 5m`);
}
