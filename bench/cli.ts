/** `haumea bench`: named workloads or the user's own, a table on the terminal, JSON and an HTML page with plots. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type ControlFigures, controlFigures, controlTable } from './control.js';
import { runSender } from './gen/sender.js';
import { htmlReport } from './report/html.js';
import { machineLine, tableReport } from './report/table.js';
import type { RunResult } from './result.js';
import { type RunOptions, runTwinOf, runWorkload, searchRate } from './run.js';
import { runTwin } from './twin/main.js';
import { workloadNames } from './workloads/index.js';

const CONTROL = 'control';
const DEFAULT_RULES = '1000';

const HELP = `usage: haumea bench [WORKLOAD ...] [options]

Workloads: ${workloadNames.join(', ')} (default: w1 to w5); or
"control": the costs of REST and restart with few and many rules (--rules, default 100 and 10000). Each result line is checked; runs use a load generator of
their own, the engine is pinned to one core where the system allows.

  --seconds N        length of a run (default 5)
  --rate N           messages a second (default: as many as the engine takes); with "latency" 10000, "rules" 500
  --search           find the highest fixed rate without loss
  --senders LIST     batching, per-message (default batching)
  --data LIST        plain, varied: other key order, spaces, extra fields, escapes (default plain)
  --schemaless       streams without declared columns
  --rules N          rules of the workload "rules" (default ${DEFAULT_RULES})
  --distinct         each of them with a threshold of its own (equal rules share their work)
  --twin             also the same job as a plain JavaScript program
  --engine URL       measure another engine with this REST interface instead, e.g. http://127.0.0.1:9081
  --engine-pid PID   its process, for CPU and memory
  --sql TEXT         own rule over the stream "telem"
  --payload FILE     own payloads: a JSON file with one message or an array of messages
  --sink JSON        extra sink properties, e.g. '{"sendSingle":true}'
  --sweep K=A,B,…    repeat with each value of a knob of the source (coalesceMs=0,1,5) or of the environment (KUIPER__…=a,b)
  --runs N           repeat each run and keep the median rate (default 1)
  --out DIR          where result.json and result.html go (default bench/results)
  --json             print JSON instead of the table
`;

/** Runs the command; returns the exit code (1: a run found wrong or lost results). */
export async function main(argv: string[]): Promise<number> {
  const program = [...process.execArgv, process.argv[1] as string];
  if (argv[0] === '--role') {
    if (argv[1] === 'sender') await runSender();
    else if (argv[1] === 'twin') runTwin(argv.slice(2));
    else throw new Error(`unknown role ${argv[1]}`);
    return new Promise(() => undefined);
  }
  let args: ReturnType<typeof readArgs>;
  try {
    args = readArgs(argv);
  } catch (error) {
    process.stderr.write(`haumea bench: ${(error as Error).message}\n\n${HELP}`);
    return 2;
  }
  const { values, workloads } = args;
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const base: RunOptions = {
    workload: '',
    role: [...program, 'bench', '--role'],
    command: program,
    engineUrl: values.engine,
    enginePid: number('engine-pid', values['engine-pid']),
    dataSet: 'plain',
    perMessage: false,
    rate: number('rate', values.rate),
    seconds: number('seconds', values.seconds),
    rules: number('rules', values.rules || DEFAULT_RULES),
    distinct: values.distinct,
    schemaless: values.schemaless,
    sinkProps: object('sink', values.sink),
    sourceProps: {},
    env: {},
    sql: values.sql,
    payloads: values.payload === '' ? undefined : payloadsOf(values.payload),
  };
  say(machineLine());
  if (workloads[0] === CONTROL) {
    const counts = values.rules === '' ? [100, 10_000] : [100, number('rules', values.rules)];
    const all: ControlFigures[] = [];
    for (const count of counts) {
      say(`control, ${count} rules …`);
      all.push(await controlFigures(program, count));
    }
    process.stdout.write(values.json ? `${JSON.stringify(all)}\n` : controlTable(all));
    return all.some((f) => f.running < f.rules) ? 1 : 0;
  }
  const results: RunResult[] = [];
  for (const workload of workloads) {
    for (const dataSet of values.data.split(',')) {
      for (const knobs of sweeps(values.sweep)) {
        for (const sender of values.senders.split(',')) {
          const options = withKnobs({ ...base, workload, dataSet, perMessage: sender === 'per-message' }, knobs);
          const label = [workload, dataSet, sender, ...Object.entries(knobs).map(([k, v]) => `${k}=${v}`)].join(' ');
          const runs: RunResult[] = [];
          for (let i = 0; i < number('runs', values.runs); i++) {
            say(`${label} …`);
            const run = values.search
              ? await searchRate(options, options.rate || (options.engineUrl ? 10_000 : 500_000), say)
              : await runWorkload(options);
            run.knobs = knobs;
            for (const finding of run.findings) say(`  ! ${finding}`);
            runs.push(run);
          }
          runs.sort((a, b) => a.rate - b.rate);
          results.push(runs[runs.length >> 1] as RunResult);
        }
      }
      if (values.twin && !['rules', 'latency', 'custom'].includes(workload)) {
        say(`${workload} ${dataSet} plain JS …`);
        results.push(await runTwinOf({ ...base, workload, dataSet }));
      }
    }
  }
  const folder = resolve(values.out);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'result.json'), `${JSON.stringify({ machine: machineLine(), results }, null, 2)}\n`);
  writeFileSync(join(folder, 'result.html'), htmlReport(machineLine(), results));
  process.stdout.write(values.json ? `${JSON.stringify(results)}\n` : tableReport(results));
  say(`written: ${join(folder, 'result.json')}, ${join(folder, 'result.html')}`);
  return results.some((r) => r.findings.length > 0) ? 1 : 0;
}

function readArgs(argv: string[]) {
  const text = (value: string) => ({ type: 'string', default: value }) as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values, positionals } = parseArgs({
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
      out: text('bench/results'),
      json: flag,
      help: flag,
    },
  });
  for (const name of positionals) {
    if (!workloadNames.includes(name) && !(name === CONTROL && positionals.length === 1))
      throw new Error(`unknown workload "${name}"; known: ${workloadNames.join(', ')}`);
  }
  for (const name of ['seconds', 'rate', 'rules', 'runs', 'engine-pid'] as const) number(name, values[name]);
  if (values.rules !== '' && number('rules', values.rules) < 1) throw new Error('--rules: at least 1');
  check('data', values.data, ['plain', 'varied']);
  check('senders', values.senders, ['batching', 'per-message']);
  const own = values.sql !== '' || values.payload !== '';
  const workloads = positionals.length > 0 ? positionals : own ? ['w1'] : ['w1', 'w2', 'w3', 'w4', 'w5'];
  return { values, workloads };
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
