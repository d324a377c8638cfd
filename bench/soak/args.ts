/** The command line of `haumea bench soak`. */
import { readOptions } from '../../host/base/program/options.js';
import { time, whole } from '../chaos/args.js';

export const HELP = `usage: haumea bench soak [options]

Sends messages at a fixed rate to rules that must lose nothing, while other rules are created, updated, stopped, started
and deleted all the time, of every kind: windows, joins, caches and backlogs on disk, lookups, functions in JavaScript
and WebAssembly, checkpoints. Watches memory, threads, open files, files on disk, the lateness of windows and how fast
REST answers, and says which of them grow: by a line through the second half of the run, with the range in which its
slope lies (95 %). Ends with 1 when something grows, a row is lost or a request fails.
Ctrl-C ends the run early and judges what there is.

  --duration TIME  length of the run (default 1h)
  --rate N         messages a second (default 200000)
  --rules N        rules that come and go, at most so many at a time (default 24)
  --churn N        changes of rules a second (default 4)
  --sample TIME    time between two looks (default 5s)
  --seed N         which changes are made (default 1)
  --out DIR        where soak.json and the samples go (default data/reports)
  --json           print JSON instead of the table
  --keep           leave the folder of the run, with data and logs
`;

export interface SoakOptions {
  readonly durationMs: number;
  /** Messages a second. */
  readonly rate: number;
  readonly rules: number;
  /** Changes a second. */
  readonly churn: number;
  readonly sampleMs: number;
  readonly seed: number;
  readonly isKept: boolean;
}

export interface SoakArgs {
  readonly help: boolean;
  readonly json: boolean;
  readonly out: string;
  readonly options: SoakOptions;
}

/** Ids of messages have nine digits, the first of them is a 1 with zeros. */
const maxMessages = 899_999_999;

/** Reads the arguments; throws an Error that names what is wrong. */
export function readSoakArgs(argv: string[]): SoakArgs {
  const text = (value: string) => ({ type: 'string', default: value }) as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values } = readOptions({
    args: argv,
    options: {
      duration: text('1h'),
      rate: text('200000'),
      rules: text('24'),
      churn: text('4'),
      sample: text('5s'),
      seed: text('1'),
      out: text('data/reports'),
      json: flag,
      keep: flag,
      help: flag,
    },
  });
  const options: SoakOptions = {
    durationMs: time('duration', values.duration),
    rate: whole('rate', values.rate, 1, 10_000_000),
    rules: whole('rules', values.rules, 1, 10_000),
    churn: whole('churn', values.churn, 1, 1000),
    sampleMs: time('sample', values.sample),
    seed: whole('seed', values.seed, 0, 2 ** 32 - 1),
    isKept: values.keep,
  };
  const messages = (options.durationMs / 1000) * options.rate;
  if (messages > maxMessages) {
    throw new Error(`--duration: ${messages} messages at this rate, at most ${maxMessages} are told apart`);
  }
  return { help: values.help, json: values.json, out: values.out, options };
}
