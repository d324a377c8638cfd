/**
 * How many messages a second an engine takes, as fast as it can or at a fixed rate, and whether its results are right.
 */
import { join } from 'node:path';
import { RULE, type Run } from './context.js';
import type { Generator } from './generator.js';
import { lastGrowth, ResultFile } from './output.js';
import { type RunResult, setCosts } from './result.js';
import type { Workload } from './workloads/workload.js';

/** The first messages warm up code and caches; they are checked with the rest. */
export const warmUp = 200_000;
const partSize = 400_000;
/** A file that has not grown for so long has all results, ms. */
const quietMs = 150;

/** Measures throughput and checks every result line. */
export async function throughput(run: Run): Promise<void> {
  const { workload, options, engine, generator, result } = run;
  const file = join(run.folder, 'out.txt');
  const action = { file: { path: file, fileType: 'lines', ...options.sinkProps } };
  await engine.createRule(RULE, options.sql || workload.sql, action, workload.options);
  await generator.subscribed();
  const warm = options.rate > 0 ? 0 : warmUp;
  if (warm > 0) {
    await generator.send({ count: warm, rate: 0, perMessage: false, firstIndex: 0 });
    await engine.consumed(RULE, workload.stream, warm, 3000);
  }
  const cpuBefore = engine.cpuMs();
  const began = performance.now();
  const total = options.rate > 0 ? await sendAtRate(run) : await sendFor(options.seconds, generator, warm, options);
  result.received = await engine.consumed(RULE, workload.stream, total, 3000);
  const ended = await lastResult(workload, file);
  setCosts(result, total - warm, (ended - began) / 1000, engine.cpuMs() - cpuBefore);
  result.sent = total;
  const isOwn = options.sql === '' && options.payloads === undefined;
  const accounted = isOwn ? await checkResults(run, file, total) : result.received;
  result.lostPercent = Math.max(0, (1 - accounted / total) * 100);
}

/** Sends for so long as fast as the engine takes it, in parts; returns the number of messages sent since the start. */
export async function sendFor(
  seconds: number,
  generator: Generator,
  firstIndex: number,
  { perMessage }: { perMessage: boolean },
): Promise<number> {
  const end = performance.now() + seconds * 1000;
  let total = firstIndex;
  while (performance.now() < end) {
    await generator.send({ count: partSize, rate: 0, perMessage, firstIndex: total });
    total += partSize;
  }
  return total;
}

async function sendAtRate({ options: { rate, seconds, perMessage }, generator, result }: Run): Promise<number> {
  const count = Math.round(rate * seconds);
  const { lateMs } = await generator.send({ count, rate, perMessage, firstIndex: 0 });
  if (lateMs > 0.05 * seconds * 1000) result.findings.push(`the rate was not kept: ${Math.round(lateMs)} ms late`);
  return count;
}

/** When the last result came that the messages sent so far bring about; windows send theirs later. */
export async function lastResult({ twin }: Workload, file: string): Promise<number> {
  const taken = performance.now();
  return twin.kind === 'group' ? taken : Math.max(taken, await lastGrowth(file, quietMs));
}

/** Returns for how many messages there are right results. */
async function checkResults({ workload, options, engine, result }: Run, file: string, total: number): Promise<number> {
  // Engines that keep the last results in a buffer write them when the rule stops.
  const stop = () => engine.call('POST', `/rules/${RULE}/stop`);
  return check(workload, options.dataSet, file, total, result, stop);
}

/**
 * Checks the results of `total` messages, findings go to the result. `complete` makes the engine write what it still
 * has. Returns for how many messages there are right results.
 */
export async function check(
  workload: Workload,
  dataSet: string,
  file: string,
  total: number,
  result: RunResult,
  complete?: () => Promise<unknown>,
): Promise<number> {
  const checker = workload.checker(dataSet, total);
  const output = new ResultFile(file);
  await output.feed(checker, total, workload.settleMs);
  if (checker.accounted < total && complete !== undefined) {
    await complete();
    await output.feed(checker, total, 1000);
  }
  output.close(checker);
  result.findings.push(...checker.finish());
  return checker.accounted;
}
