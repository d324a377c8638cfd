/** `haumea bench soak`: see the help text in args.ts. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { machineLine } from '../report/table.js';
import { HELP, readSoakArgs, type SoakArgs } from './args.js';
import { type Judged, runSoak, type SoakResult } from './run.js';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/**
 * Runs the command; resolves with the exit code: 1 when something is not as it should be, 2 when nothing could be run.
 */
export async function main(argv: string[], program: readonly string[]): Promise<number> {
  let args: SoakArgs;
  try {
    args = readSoakArgs(argv);
  } catch (error) {
    say(`haumea bench soak: ${(error as Error).message}\n\n${HELP}`);
    return 2;
  }
  if (args.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort());
  const folder = resolve(args.out);
  mkdirSync(folder, { recursive: true });
  say(machineLine());
  say(`soak: ${args.options.rate} msg/s, ${args.options.rules} rules that come and go …`);
  const samplesFile = join(folder, 'soak-samples.jsonl');
  const result = await runSoak(args.options, { program, say, signal: ending.signal, samplesFile });
  const { options } = args;
  writeFileSync(join(folder, 'soak.json'), `${JSON.stringify({ machine: machineLine(), options, result }, null, 2)}\n`);
  process.stdout.write(args.json ? `${JSON.stringify(result, null, 2)}\n` : textOf(result));
  say(`written: ${join(folder, 'soak.json')}, ${samplesFile}`);
  return result.findings.length > 0 ? 1 : 0;
}

function textOf(result: SoakResult): string {
  const { seconds, rate, rateAsked, sent, counted, rows, changes, maxLateMs, cpuNsPerMessage } = result;
  const counts = Object.entries(counted).map(([name, n]) => `${name} ${n}`);
  const made = Object.entries(changes).map(([name, n]) => `${n} ${name}`);
  return [
    `${sent} messages in ${(seconds / 60).toFixed(1)} min: ${Math.round(rate)} msg/s of ${rateAsked}, ` +
      `${Math.round(cpuNsPerMessage)} ns of processor time each`,
    `counted by the rules: ${counts.join(', ')}; rows ${rows.received} of ${rows.expected}, ${rows.lost} lost, ` +
      `${rows.repeated} repeated`,
    `changes of rules: ${made.join(', ')}; ${result.failedRequests} requests failed; the latest window came ` +
      `${Math.round(maxLateMs)} ms late`,
    '',
    table(result.judged),
    '',
    ...(result.findings.length === 0
      ? ['Nothing grows, nothing is lost.']
      : result.findings.map((line) => `! ${line}`)),
    '',
  ].join('\n');
}

function table(judged: readonly Judged[]): string {
  const rows = judged.map(({ title, unit, trend, verdict, before, after }) => {
    const figure = (value: number | undefined) => {
      if (value === undefined || !Number.isFinite(value)) return '-';
      return unit === 'MB' ? (value / 2 ** 20).toFixed(2) : value.toFixed(1);
    };
    return [
      unit === '' ? title : `${title}, ${unit}`,
      figure(before),
      figure(trend?.min),
      figure(trend?.mean),
      figure(trend?.max),
      figure(after),
      trend === undefined ? '-' : `${trend.slope < 0 ? '' : '+'}${figure(trend.slope)} ± ${figure(trend.range)}`,
      verdict,
    ];
  });
  const all = [['', 'before', 'least', 'mean', 'most', 'after', 'an hour', ''], ...rows];
  const widths = all[0]!.map((_, i) => Math.max(...all.map((row) => row[i]!.length)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => (i === 0 || i === row.length - 1 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
      .join('  ');
  return all.map((row) => line(row).trimEnd()).join('\n');
}
