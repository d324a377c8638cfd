/** `haumea bench`: named workloads or the user's own, a table on the terminal, JSON and an HTML page with plots. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  type BenchArgs,
  chaos,
  cluster,
  connectors,
  devices,
  HELP,
  type Job,
  micro,
  neighbours,
  portable,
  readArgs,
  services,
  soak,
} from './args.js';
import { runInCheckout } from './checkout.js';
import { type ControlFigures, controlFigures, controlTable } from './control.js';
import { htmlReport } from './report/html.js';
import { machineLine, tableReport } from './report/table.js';
import type { RunResult } from './result.js';
import { runWorkload, searchRate } from './run.js';
import { runSender } from './sender.js';
import { runTwin } from './twin/main.js';
import { runTwinOf } from './twin/run.js';

/** First rate of a search, messages a second: another engine is expected to take fewer. */
const firstRate = 500_000;
const firstRateOfOther = 10_000;

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Runs the command; returns the exit code (1: a run found wrong or lost results). */
export async function main(argv: string[]): Promise<number> {
  const program = [...process.execArgv, process.argv[1] as string];
  if (argv[0] === '--role') return play(argv[1] ?? '', argv.slice(2));
  if (argv[0] === micro || argv[0] === connectors || argv[0] === services || argv[0] === portable) {
    return runInCheckout(argv[0], argv.slice(1));
  }
  if (argv[0] === chaos) return (await import('./chaos/cli.js')).main(argv.slice(1), program);
  if (argv[0] === neighbours) return (await import('./neighbours/cli.js')).main(argv.slice(1), program);
  if (argv[0] === devices) return (await import('./devices.js')).main(argv.slice(1), program);
  if (argv[0] === cluster) return (await import('./cluster/index.js')).main(argv.slice(1), program);
  if (argv[0] === soak) return (await import('./soak/cli.js')).main(argv.slice(1), program);
  let args: BenchArgs;
  try {
    args = readArgs(argv, program);
  } catch (error) {
    process.stderr.write(`haumea bench: ${(error as Error).message}\n\n${HELP}`);
    return 2;
  }
  if (args.help) {
    process.stdout.write(HELP);
    return 0;
  }
  say(machineLine());
  if (args.restartRules !== null) return runRestart(program, args.restartRules, args.json);
  return args.controlRules === null ? runJobs(args) : runControl(program, args.controlRules, args.json);
}

/** Is another process of a run until the parent goes away. */
async function play(role: string, args: string[]): Promise<never> {
  if (role === 'sender') await runSender();
  else if (role === 'twin') runTwin(args);
  else if (role === 'receiver') (await import('./neighbours/receiver.js')).runReceiver();
  else if (role === 'witness') (await import('./neighbours/witness.js')).runWitness();
  else if (role === 'feeder') await (await import('./soak/feeder.js')).runFeeder();
  else if (role === 'ledger') (await import('./chaos/ledger.js')).runLedger(args);
  else throw new Error(`unknown role ${role}`);
  return new Promise(() => undefined);
}

async function runControl(program: string[], counts: number[], json: boolean): Promise<number> {
  const all: ControlFigures[] = [];
  for (const count of counts) {
    say(`control, ${count} rules …`);
    all.push(await controlFigures(program, count));
  }
  process.stdout.write(json ? `${JSON.stringify(all)}\n` : controlTable(all));
  return all.some((figures) => figures.running < figures.rules) ? 1 : 0;
}

async function runRestart(program: string[], rules: number, json: boolean): Promise<number> {
  const { restartFigures, restartTable } = await import('./restart.js');
  const all = await restartFigures(program, rules, say);
  process.stdout.write(json ? `${JSON.stringify(all)}\n` : restartTable(all));
  return all.some((figures) => figures.whole < figures.rules) ? 1 : 0;
}

async function runJobs({ jobs, json, out }: BenchArgs): Promise<number> {
  const results: RunResult[] = [];
  for (const job of jobs) results.push(await medianOf(job));
  const folder = resolve(out);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'result.json'), `${JSON.stringify({ machine: machineLine(), results }, null, 2)}\n`);
  writeFileSync(join(folder, 'result.html'), htmlReport(machineLine(), results));
  process.stdout.write(json ? `${JSON.stringify(results)}\n` : tableReport(results));
  say(`written: ${join(folder, 'result.json')}, ${join(folder, 'result.html')}`);
  return results.some((result) => result.findings.length > 0) ? 1 : 0;
}

/** Runs the job so many times as it wants; returns the run of the median rate. */
async function medianOf(job: Job): Promise<RunResult> {
  const runs: RunResult[] = [];
  for (let i = 0; i < job.times; i++) {
    say(`${job.label} …`);
    const run = await runOnce(job);
    run.knobs = job.knobs;
    for (const finding of run.findings) say(`  ! ${finding}`);
    runs.push(run);
  }
  runs.sort((a, b) => a.rate - b.rate);
  return runs[runs.length >> 1] as RunResult;
}

function runOnce({ kind, options }: Job): Promise<RunResult> {
  switch (kind) {
    case 'run':
      return runWorkload(options);
    case 'search':
      return searchRate(options, options.rate || (options.engineUrl ? firstRateOfOther : firstRate), say);
    case 'twin':
      return runTwinOf(options);
    default:
      return kind satisfies never;
  }
}
