/**
 * Runs every test file in a process of its own, and ends with the line `N passed, N failed`. Two files run at a time:
 * one of those that mostly wait (for servers, pauses and timeouts), and one of those that mostly compute. More run as
 * long as they leave processors idle.
 *
 *     npm test                    all
 *     npm test -- unit/meta sql   the files whose path contains one of the words
 *
 * As long as the build is what the sources say, servers and threads that tests start run from it, and files run in the
 * form that `tools/compile-tests.mjs` makes of them: both start with a fifth of the processor time. A file that is run
 * alone (`npx tsx test/….test.ts`) takes the sources.
 *
 * When all files ran and only a few failed, these run once more, with nothing beside them. What passes then is
 * unsteady: its first output stands where it failed, and it is named at the end, so that the cause is looked for; what
 * fails again has failed.
 *
 * Servers that take long to start are started once, and shared by the files (support/servers/shared-servers.ts).
 */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { askableOptions, whatItDoes } from './support/hung-file.js';
import { SharedServers } from './support/servers/shared-servers.js';
import { steadyOptions } from './support/steady-options.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const tool = (name: string) => import(new URL(`../tools/${name}.mjs`, import.meta.url).href);
const { isStale }: { isStale(): boolean } = await tool('stamp');
const { compileTests }: { compileTests(): Promise<string> } = await tool('compile-tests');
const compiled = await compileTests();
/** Their files use a half of a processor, the others a whole one. */
const waitingFolders = ['crash', 'fault'];
const leastParallel = 2;
const mostParallel = 5;
/** So much of the processors is idle when a further file starts. */
const idleShare = 0.35;
/** A file that starts keeps a processor busy for about so long. */
const lookMs = 2000;
/**
 * A file that has told its results has closed what it opened; what is left open after a failure must not hold the rest
 * up.
 */
const endTimeoutMs = 10_000;
/** A file runs in a minute at most, on a busy machine in some; a hung one must not stop the rest. */
const fileTimeoutMs = 300_000;
/** So many files may run again; where more fail it is no accident. */
const maxUnsteady = 3;
/** Kernels that tests run are compiled by the first file that needs one after a change, while others wait for it. */
const compileTimeoutMs = 600_000;
const isCi = process.env.CI === 'true';

interface Result {
  readonly file: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly ms: number;
  /** Why tests were left out, as the file printed it. */
  readonly skips: readonly string[];
  readonly output: string;
}

/** Lists test files below a folder, sorted, so that runs compare. */
function testFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => relative(root, join(folder, name)))
    .sort();
}

const servers = new SharedServers();

function runFile(file: string, isApart = false): Promise<Result> {
  return new Promise((resolve) => {
    const started = performance.now();
    const isBuilt = !isStale();
    const program = isBuilt ? [join(compiled, file.replace(/\.ts$/, '.js'))] : ['--import', 'tsx', file];
    const child = spawn(process.execPath, [...steadyOptions, ...askableOptions, ...program], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...process.env, FORCE_COLOR: '0', HAUMEA_FROM_BUILD: isBuilt ? '1' : '0' },
    });
    servers.serve(child, isApart);
    let output = '';
    let endTimer: NodeJS.Timeout | undefined;
    const stop = async (why: string) => {
      output += `\n${why}\n${await whatItDoes(child, () => output)}\n`;
      child.kill('SIGKILL');
    };
    const endAfter = (ms: number) => setTimeout(() => void stop(`stopped after ${ms / 1000} s`), ms);
    let timer = endAfter(fileTimeoutMs);
    const take = (chunk: Buffer) => {
      const text = chunk.toString();
      output += text;
      if (/^(WAITS|WAITED) for /m.test(text)) {
        clearTimeout(timer);
        const isWaiting = output.lastIndexOf('WAITS for ') > output.lastIndexOf('WAITED for ');
        timer = endAfter(isWaiting ? compileTimeoutMs : fileTimeoutMs);
      }
      if (endTimer !== undefined || !/^ {2}Duration: /m.test(output)) return;
      const why = `left something open: stopped ${endTimeoutMs / 1000} s after its results`;
      endTimer = setTimeout(() => void stop(why), endTimeoutMs);
    };
    child.stdout!.on('data', take);
    child.stderr!.on('data', take);
    child.on('close', (code) => {
      clearTimeout(timer);
      clearTimeout(endTimer);
      const counts = totals(output);
      const failed = counts.total - counts.passed - counts.skipped;
      const skips = [...output.matchAll(/^SKIP (.*)$/gm)].map((match) => match[1] as string);
      resolve({
        file,
        passed: counts.passed,
        // A crash, a time-out or a file that reports nothing is a failure of its own.
        failed: failed === 0 && (code !== 0 || (counts.total === 0 && skips.length === 0)) ? 1 : failed,
        // A test that says why it is left out is either marked as skipped or not there at all.
        skipped: Math.max(counts.skipped, skips.length),
        ms: performance.now() - started,
        skips,
        output,
      });
    });
  });
}

/** Reads the sums that uvu prints; a file may hold several suites but prints them once. */
function totals(output: string): { total: number; passed: number; skipped: number } {
  const last = (word: string) =>
    Number([...output.matchAll(new RegExp(`^ {2}${word}: +(\\d+)`, 'gm'))].at(-1)?.[1] ?? 0);
  return { total: last('Total'), passed: last('Passed'), skipped: last('Skipped') };
}

/** Ticks of all processors since the machine started. */
function processorTimes(): { idle: number; all: number } {
  const times = cpus().map((processor) => processor.times);
  const sum = (pick: (of: (typeof times)[0]) => number) => times.reduce((total, of) => total + pick(of), 0);
  return { idle: sum((of) => of.idle), all: sum((of) => of.idle + of.user + of.sys + of.irq + of.nice) };
}

function report(result: Result): void {
  const mark = result.failed > 0 ? 'FAIL' : 'ok  ';
  const skipped = result.skipped > 0 ? `, ${result.skipped} skipped` : '';
  console.log(`${mark} ${result.file} (${result.passed} passed${skipped}, ${(result.ms / 1000).toFixed(1)} s)`);
  for (const reason of result.skips) console.log(`     skipped: ${reason}`);
  if (result.failed > 0) console.log(result.output.replace(/^/gm, '     '));
}

const words = process.argv.slice(2);
const files = testFiles(join(root, 'test')).filter(
  (file) => words.length === 0 || words.some((word) => file.includes(word)),
);
let results: Result[] = [];
const isWaiting = (file: string) => waitingFolders.some((folder) => file.startsWith(`test/${folder}/`));
const waiting = files.filter(isWaiting);
const computing = files.filter((file) => !isWaiting(file));
const running = new Map<string, Promise<void>>();

/** Starts a file of the kind that has fewer running ones, or of the other kind where none is left. */
function startNext(): void {
  const waitingNow = [...running.keys()].filter(isWaiting).length;
  const [first, second] = waitingNow <= running.size - waitingNow ? [waiting, computing] : [computing, waiting];
  const file = first.shift() ?? second.shift();
  if (file === undefined) return;
  running.set(
    file,
    runFile(file).then((result) => {
      results.push(result);
      report(result);
      running.delete(file);
      startAll();
    }),
  );
}

function startAll(): void {
  while (running.size < leastParallel && waiting.length + computing.length > 0) startNext();
}

let before = processorTimes();
const looks = setInterval(() => {
  const now = processorTimes();
  const idle = (now.idle - before.idle) / (now.all - before.all);
  before = now;
  if (idle >= idleShare && running.size < mostParallel) startNext();
}, lookMs);
startAll();
while (running.size > 0) await Promise.race(running.values());
clearInterval(looks);

const unsteady: string[] = [];
const isWhole = words.length === 0;
const suspects = results.filter((result) => result.failed > 0);
if (isWhole && suspects.length <= maxUnsteady) {
  for (const { file } of suspects) {
    console.log(`${file} failed and runs once more, alone`);
    const again = await runFile(file, true);
    report(again);
    results = results.map((result) => (result.file === file ? again : result));
    if (again.failed === 0) unsteady.push(file);
  }
}

await servers.close();

const sum = (pick: (result: Result) => number) => results.reduce((total, result) => total + pick(result), 0);
const skipped = sum((result) => result.skipped);
// Where everything is installed nothing may be left out unseen.
const failed = sum((result) => result.failed) + (isCi ? skipped : 0);
if (files.length === 0) console.log(`no test file matches ${words.join(' ')}`);
const failing = results.filter((result) => result.failed > 0).map((result) => result.file);
if (failing.length > 0) console.log(`failed: ${failing.join(', ')}`);
if (unsteady.length > 0) console.log(`unsteady (failed beside others, passed alone): ${unsteady.join(', ')}`);
if (isCi && skipped > 0) console.log(`${skipped} skipped tests count as failed here`);
console.log(
  `${sum((result) => result.passed)} passed, ${failed} failed${skipped > 0 && !isCi ? `, ${skipped} skipped` : ''}`,
);
process.exitCode = failed > 0 || files.length === 0 ? 1 : 0;
