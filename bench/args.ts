/** The command line of `haumea bench`. */
import { readFileSync } from 'node:fs';
import { readOptions } from '../host/base/program/options.js';
import type { RunOptions } from './context.js';
import { workloadNames, workloadTitles } from './workloads/index.js';

/** Rules of the workload "rules". */
const defaultRules = 1000;

const control = 'control';
const restart = 'restart';
/** Statements beside plain JavaScript programs, in a process of their own (bench/pairs). */
export const micro = 'micro';
/** Messages through each connector, beside plain programs (bench/connectors). */
export const connectors = 'connectors';
/** Calls of external services (bench/services). */
export const services = 'services';
/** Functions, sources and sinks of a portable plugin (bench/portable). */
export const portable = 'portable';
/** Rules by device (bench/devices.ts). */
export const devices = 'devices';
/** Messages through an engine that is killed, and the like (bench/chaos). */
export const chaos = 'chaos';
/** Nodes over NATS of which one is killed (bench/cluster/). */
export const cluster = 'cluster';
/** Rules beside one whose sink is in trouble (bench/neighbours). */
export const neighbours = 'neighbours';

/** Hours under load, while rules come and go (bench/soak). */
export const soak = 'soak';

export const HELP = `usage: haumea bench [WORKLOAD ...] [options]

Workloads (default: w1 to w5):

${workloadTitles}  ${control.padEnd(18)} REST and restart with few and many rules (--rules N,M…, default 100 and 10000)
  ${devices.padEnd(18)} rules by device: how fast they are made, start and stop, what requests and messages take;
  ${''.padEnd(18)} options: haumea bench devices --help
  ${restart.padEnd(18)} rules with state over the end of the server, in order and by kill -9 (--rules, default 10000)
  ${micro.padEnd(18)} statements beside plain JavaScript programs of the same job, without sockets; only in a checkout.
  ${''.padEnd(18)} Parts of their names choose among them: micro functions join (--rounds N, default 8)
  ${connectors.padEnd(18)} messages through each connector, beside plain programs with the same libraries; only in a
  ${''.padEnd(18)} checkout. Parts of names choose among them: connectors redis file (--turns N, default 3)
  ${services.padEnd(18)} calls of external services from a rule, a call a row; only in a checkout (--turns N, default 3)
  ${portable.padEnd(18)} a portable plugin in Python, beside a bare program in the engine's place; only in a checkout.
  ${''.padEnd(18)} Parts of names choose among the lines (--turns N, --engine URL, --engine-pid PID)
  ${chaos.padEnd(18)} counts what is lost, repeated and wrong while the engine is killed and what it talks to fails;
  ${''.padEnd(18)} has options of its own: haumea bench chaos --help
  ${cluster.padEnd(18)} rows, moves and losses with 1, 2, 3 and 5 nodes over NATS, one of which is killed;
  ${''.padEnd(18)} cluster chaos: faults at random; options: haumea bench cluster [chaos] --help
  ${neighbours.padEnd(18)} counts every row of many rules while the sink of one, or a broker, is away or stuck;
  ${''.padEnd(18)} has options of its own: haumea bench neighbours --help
  ${soak.padEnd(18)} whether memory, files or lateness grow in an hour while rules come and go: haumea bench soak --help

Each result line is checked; runs use a load generator of their own, the engine is pinned to one core where the system
allows.

  --seconds N        length of a run (default 5)
  --rate N           messages a second (default: as many as the engine takes); with "latency" 10000, "rules" 500
  --search           find the highest fixed rate without loss
  --senders LIST     batching, per-message (default batching)
  --data LIST        plain, varied: other key order, spaces, extra fields, escapes (default plain)
  --schemaless       streams without declared columns
  --rules N          rules of the workload "rules" (default ${defaultRules})
  --distinct         each of them with a threshold of its own (equal rules share their work)
  --twin             also the same job as a plain JavaScript program
  --engine URL       measure another engine with this REST interface instead, e.g. http://127.0.0.1:9081
  --engine-pid PID   its process, for CPU and memory
  --sql TEXT         own rule over the stream "telem"
  --payload FILE     own payloads: a JSON file with one message or an array of messages
  --sink JSON        extra sink properties, e.g. '{"sendSingle":true}'
  --sweep K=A,B,…    repeat with each value of a knob of the source (coalesceMs=0,1,5)
                     or of the environment (KUIPER__…=a,b)
  --runs N           repeat each run and keep the median rate (default 1)
  --out DIR          where result.json and result.html go (default data/reports)
  --json             print JSON instead of the table
`;

/** One run, or several of which the median counts. */
export interface Job {
  readonly kind: 'run' | 'search' | 'twin';
  readonly label: string;
  readonly knobs: Record<string, string>;
  readonly options: RunOptions;
  readonly times: number;
}

export interface BenchArgs {
  readonly help: boolean;
  /** Numbers of rules with which the control plane is measured; null: the jobs are run. */
  readonly controlRules: number[] | null;
  /** Number of rules with state that a server is started with; null: the jobs are run. */
  readonly restartRules: number | null;
  readonly jobs: readonly Job[];
  /** JSON goes to the terminal. */
  readonly json: boolean;
  /** Folder of the report. */
  readonly out: string;
}

/** Workloads that the plain JavaScript program has no part in. */
const withoutTwin = ['rules', 'latency', 'custom'];

type Values = ReturnType<typeof parseValues>['values'];

/** Reads the arguments; throws an Error that names what is wrong. `program` is the command line of this program. */
export function readArgs(argv: string[], program: string[]): BenchArgs {
  const { values, positionals } = parseValues(argv);
  const isControl = positionals.length === 1 && positionals[0] === control;
  const isRestart = positionals.length === 1 && positionals[0] === restart;
  for (const name of isControl || isRestart ? [] : positionals) {
    if (!workloadNames.includes(name))
      throw new Error(`unknown workload "${name}"; known: ${workloadNames.join(', ')}`);
  }
  for (const name of isControl ? (['runs'] as const) : (['rules', 'runs'] as const)) {
    if (values[name] !== '' && number(name, values[name]) < 1) throw new Error(`--${name}: at least 1`);
  }
  check('data', values.data, ['plain', 'varied']);
  check('senders', values.senders, ['batching', 'per-message']);
  const isOwn = values.sql !== '' || values.payload !== '';
  const usual = isOwn ? ['w1'] : ['w1', 'w2', 'w3', 'w4', 'w5'];
  return {
    help: values.help,
    controlRules: isControl ? controlRulesOf(values.rules || '10000') : null,
    restartRules: isRestart ? number('rules', values.rules || '10000') : null,
    jobs:
      isControl || isRestart
        ? []
        : jobsOf(positionals.length > 0 ? positionals : usual, values, optionsOf(values, program)),
    json: values.json,
    out: values.out,
  };
}

/** One number is measured beside few rules. */
function controlRulesOf(list: string): number[] {
  const counts = list.split(',').map((text) => number('rules', text.trim()));
  if (counts.some((count) => count < 1)) throw new Error('--rules: at least 1');
  return counts.length === 1 ? [100, ...counts] : counts;
}

function parseValues(argv: string[]) {
  const text = (value: string) => ({ type: 'string', default: value }) as const;
  const flag = { type: 'boolean', default: false } as const;
  return readOptions({
    args: argv,
    allowPositionals: true,
    options: {
      seconds: text('5'),
      rate: text('0'),
      search: flag,
      senders: text('batching'),
      data: text('plain'),
      schemaless: flag,
      rules: text(''),
      distinct: flag,
      twin: flag,
      engine: text(''),
      'engine-pid': text('0'),
      sql: text(''),
      payload: text(''),
      sink: text('{}'),
      sweep: text(''),
      runs: text('1'),
      out: text('data/reports'),
      json: flag,
      help: flag,
    },
  });
}

function optionsOf(values: Values, program: string[]): RunOptions {
  return {
    workload: '',
    role: [...program, 'bench', '--role'],
    command: program,
    engineUrl: values.engine,
    enginePid: number('engine-pid', values['engine-pid']),
    dataSet: 'plain',
    perMessage: false,
    rate: number('rate', values.rate),
    seconds: number('seconds', values.seconds),
    rules: number('rules', values.rules || String(defaultRules)),
    distinct: values.distinct,
    schemaless: values.schemaless,
    sinkProps: object('sink', values.sink),
    sourceProps: {},
    env: {},
    sql: values.sql,
    payloads: values.payload === '' ? undefined : payloadsOf(values.payload),
  };
}

/** Every workload with every data set, each with every combination of knobs and every way to send. */
function jobsOf(workloads: string[], values: Values, base: RunOptions): Job[] {
  const times = number('runs', values.runs);
  const kind = values.search ? 'search' : 'run';
  const knobSets = sweeps(values.sweep);
  const senders = values.senders.split(',');
  const pairs = workloads.flatMap((workload) => values.data.split(',').map((dataSet) => ({ workload, dataSet })));
  return pairs.flatMap(({ workload, dataSet }): Job[] => {
    const options: RunOptions = { ...base, workload, dataSet };
    const jobs = knobSets.flatMap((knobs) =>
      senders.map((sender): Job => {
        const label = [workload, dataSet, sender, ...Object.entries(knobs).map(([k, v]) => `${k}=${v}`)].join(' ');
        const own = withKnobs({ ...options, perMessage: sender === 'per-message' }, knobs);
        return { kind, label, knobs, options: own, times };
      }),
    );
    if (!values.twin || withoutTwin.includes(workload)) return jobs;
    return [...jobs, { kind: 'twin', label: `${workload} ${dataSet} plain JS`, knobs: {}, options, times: 1 }];
  });
}

function check(option: string, list: string, known: string[]): void {
  for (const item of list.split(',')) {
    if (!known.includes(item)) throw new Error(`--${option}: "${item}" is not one of ${known.join(', ')}`);
  }
}

function number(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value < 0) throw new Error(`--${option}: "${text}" is not a number`);
  return value;
}

function object(option: string, text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Reported below with the same words.
  }
  throw new Error(`--${option}: not a JSON object`);
}

function payloadsOf(file: string): string[] {
  const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
  return (Array.isArray(value) ? value : [value]).map((item) => JSON.stringify(item));
}

/** Every combination of `KEY=a,b KEY2=c`; one empty combination without a sweep. */
function sweeps(text: string): Record<string, string>[] {
  let all: Record<string, string>[] = [{}];
  for (const part of text.split(' ').filter((p) => p !== '')) {
    const [key, list] = part.split('=');
    if (!key || list === undefined) throw new Error(`--sweep: "${part}" is not KEY=A,B,…`);
    all = all.flatMap((one) => list.split(',').map((value) => ({ ...one, [key]: value })));
  }
  return all;
}

/** Upper-case knobs are environment settings of the server, others properties of the source. */
function withKnobs(options: RunOptions, knobs: Record<string, string>): RunOptions {
  const env = { ...options.env };
  const sourceProps = { ...options.sourceProps };
  for (const [key, value] of Object.entries(knobs)) {
    if (key === key.toUpperCase()) env[key] = value;
    else sourceProps[key] = Number.isNaN(Number(value)) ? value : Number(value);
  }
  return { ...options, env, sourceProps };
}
