/** One benchmark run: generator, engine (or twin), measurement, check of the output. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EngineUnderTest } from './engine.js';
import { Generator } from './generator.js';
import { lastGrowth, ResultFile } from './output.js';
import { cpuMs, endProcess, memoryOf, pause, startNode } from './process.js';
import { blankResult, type RunResult } from './result.js';
import { workloadByName } from './workloads/index.js';
import type { Workload } from './workloads/workload.js';

export interface RunOptions {
  workload: string;
  /** Program and arguments that run this harness again in another role. */
  role: string[];
  /** Our own server's command line (after the node binary). */
  command: string[];
  /** Another engine's address and process; empty: ours. */
  engineUrl: string;
  enginePid: number;
  dataSet: string;
  perMessage: boolean;
  /** Messages per second, 0: as fast as possible. */
  rate: number;
  seconds: number;
  /** Rules of the `rules` workload. */
  rules: number;
  /** Each of them with a threshold of its own, so that none can share the work of another. */
  distinct: boolean;
  schemaless: boolean;
  sinkProps: Record<string, unknown>;
  sourceProps: Record<string, unknown>;
  env: Record<string, string>;
  sql: string;
  payloads: string[] | undefined;
}

const RULE = 'bench';
const WARM_UP = 200_000;

/** Measures one engine with one workload. The folder of the run is removed afterwards. */
export async function runWorkload(options: RunOptions): Promise<RunResult> {
  const workload = workloadByName(options.workload, options.payloads);
  const folder = mkdtempSync(join(tmpdir(), 'haumea-bench-'));
  const result = blankResult(workload.name, workload.title, options.engineUrl || 'haumea');
  Object.assign(result, {
    dataSet: options.dataSet,
    sender: options.perMessage ? 'per message' : 'batching',
    rateAsked: options.rate,
  });
  let generator: Generator | null = null;
  let engine: EngineUnderTest | null = null;
  try {
    generator = await Generator.open(options.role, workload.name, options.dataSet, options.payloads);
    engine = await EngineUnderTest.open({
      url: options.engineUrl,
      pid: options.enginePid,
      command: options.command,
      env: options.env,
      sourceProps: options.sourceProps,
      folder,
    });
    result.startMs = engine.startMs;
    await engine.createStream(
      workload.stream,
      options.schemaless ? workload.ddlSchemaless : workload.ddl,
      generator.port,
    );
    if (workload.name === 'rules') await manyRules(workload, options, engine, generator, result);
    else if (workload.name === 'latency') await latency(workload, options, engine, generator, result);
    else await throughput(workload, options, engine, generator, result, folder);
    result.peakBytes = engine.memory().peak;
    if (options.engineUrl !== '') {
      await engine.remove(`/rules/${RULE}`);
      await engine.remove(`/streams/${workload.stream}`);
    }
    return result;
  } finally {
    await engine?.close();
    await generator?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function throughput(
  workload: Workload,
  options: RunOptions,
  engine: EngineUnderTest,
  generator: Generator,
  result: RunResult,
  folder: string,
): Promise<void> {
  const file = join(folder, 'out.txt');
  await engine.createRule(RULE, options.sql || workload.sql, {
    file: { path: file, fileType: 'lines', ...options.sinkProps },
  });
  await generator.subscribed();
  // The first messages warm up code and caches; they are checked with the rest.
  const warm = options.rate > 0 ? 0 : WARM_UP;
  if (warm > 0) {
    await generator.send({ count: warm, rate: 0, perMessage: false, firstIndex: 0 });
    await engine.consumed(RULE, workload.stream, warm, 3000);
  }
  let total = warm;
  let seconds = 0;
  const cpuBefore = engine.cpuMs();
  const began = performance.now();
  let ended = began;
  if (options.rate > 0) {
    total = Math.round(options.rate * options.seconds);
    const sent = await generator.send({
      count: total,
      rate: options.rate,
      perMessage: options.perMessage,
      firstIndex: 0,
    });
    if (sent.lateMs > 0.05 * options.seconds * 1000)
      result.findings.push(`the rate was not kept: ${Math.round(sent.lateMs)} ms late`);
  } else {
    // As fast as the engine takes them, in parts, until the time is over.
    const part = 400_000;
    while (performance.now() - began < options.seconds * 1000) {
      await generator.send({ count: part, rate: 0, perMessage: options.perMessage, firstIndex: total });
      total += part;
    }
  }
  result.received = await engine.consumed(RULE, workload.stream, total, 3000);
  ended = performance.now();
  if (workload.twin.kind !== 'group') ended = Math.max(ended, await lastGrowth(file, 150));
  seconds = (ended - began) / 1000;
  const cpu = engine.cpuMs() - cpuBefore;
  result.sent = total;
  result.rate = (total - warm) / seconds;
  result.cpuNsPerMessage = (cpu * 1e6) / (total - warm);
  result.cpuShare = cpu / 1000 / seconds;
  const isOwn = options.sql === '' && options.payloads === undefined;
  if (isOwn) {
    const checker = workload.checker(options.dataSet, total);
    const output = new ResultFile(file);
    await output.feed(checker, total, workload.settleMs);
    if (checker.accounted < total) {
      // Engines that keep the last results in a buffer write them when the rule stops.
      await engine.call('POST', `/rules/${RULE}/stop`);
      await output.feed(checker, total, 1000);
    }
    output.close(checker);
    result.findings.push(...checker.finish());
    result.lostPercent = Math.max(0, (1 - checker.accounted / total) * 100);
  } else {
    result.lostPercent = Math.max(0, (1 - result.received / total) * 100);
  }
}

async function latency(
  workload: Workload,
  options: RunOptions,
  engine: EngineUnderTest,
  generator: Generator,
  result: RunResult,
): Promise<void> {
  const rate = options.rate || 10_000;
  await engine.createRule(RULE, options.sql || workload.sql, {
    mqtt: { server: `tcp://127.0.0.1:${generator.port}`, topic: 'bench/result', qos: 0, ...options.sinkProps },
  });
  await generator.subscribed();
  await pause(500);
  const warm = Math.round(rate * Math.min(2, options.seconds));
  await generator.send({ count: warm, rate, perMessage: true, firstIndex: 0 });
  await pause(200);
  const cpuBefore = engine.cpuMs();
  const total = Math.round(rate * options.seconds);
  const sent = await generator.send({ count: total, rate, perMessage: true, firstIndex: 0 });
  await pause(300);
  const cpu = engine.cpuMs() - cpuBefore;
  const seen = await generator.latencies();
  const seconds = (sent.endedAt - sent.startedAt) / 1000;
  result.sent = total;
  result.received = seen.count;
  result.rateAsked = rate;
  result.rate = total / seconds;
  result.sender = 'per message';
  result.cpuNsPerMessage = (cpu * 1e6) / total;
  result.cpuShare = cpu / 1000 / (seconds + 0.3);
  result.lostPercent = (1 - seen.count / total) * 100;
  result.latencyMs = { p50: seen.p50, p90: seen.p90, p99: seen.p99, max: seen.max };
  if (seen.count !== total) result.findings.push(`${total - seen.count} of ${total} results are missing`);
}

async function manyRules(
  workload: Workload,
  options: RunOptions,
  engine: EngineUnderTest,
  generator: Generator,
  result: RunResult,
): Promise<void> {
  const rate = options.rate || 500;
  const ids = Array.from({ length: options.rules }, (_, i) => `bench_${i}`);
  const thresholds = ids.map((_, i) => (options.distinct ? 21 + i / ids.length : 21));
  const sqlOf = (i: number): string => workload.sql.replace('21.0', (thresholds[i] as number).toFixed(5));
  await engine.createRule(ids[0] as string, sqlOf(0), { nop: {} });
  await generator.subscribed();
  await pause(1000);
  const before = engine.memory().now;
  const lanes = Array.from({ length: 4 }, async (_, lane) => {
    for (let i = 1 + lane; i < ids.length; i += 4) await engine.createRule(ids[i] as string, sqlOf(i), { nop: {} });
  });
  await Promise.all(lanes);
  await pause(2000);
  result.bytesPerRule = (engine.memory().now - before) / Math.max(1, ids.length - 1);
  const total = Math.round(rate * options.seconds);
  const cpuBefore = engine.cpuMs();
  const began = performance.now();
  await generator.send({ count: total, rate, perMessage: true, firstIndex: 0 });
  const seconds = (performance.now() - began) / 1000;
  const cpu = engine.cpuMs() - cpuBefore;
  await pause(500);
  const temps = workload
    .messages('plain')
    .flat()
    .map((m) => (JSON.parse(m.payload.replace(/#+/, '1')) as { temp: number }).temp);
  const sentTemps = Float64Array.from({ length: total }, (_, i) => temps[i % temps.length] as number).sort();
  let received = 0;
  for (const [i, id] of ids.entries()) {
    const threshold = Number((thresholds[i] as number).toFixed(5));
    const expected = total - countUpTo(sentTemps, threshold);
    const status = await engine.status(id);
    const seen = Number(status[`source_${workload.stream}_0_records_in_total`]);
    const out = Number(status.sink_nop_0_0_records_in_total);
    received += seen;
    if (seen !== total && result.findings.length < 5) result.findings.push(`${id}: ${seen} of ${total} records in`);
    else if (out !== expected && result.findings.length < 5)
      result.findings.push(`${id}: ${out} of ${expected} results`);
  }
  result.rules = ids.length;
  result.sent = total;
  result.received = Math.round(received / ids.length);
  result.sender = 'per message';
  result.rateAsked = rate;
  result.rate = total / seconds;
  result.cpuShare = cpu / 1000 / seconds;
  result.cpuNsPerMessage = (cpu * 1e6) / total / ids.length;
  result.lostPercent = (1 - received / ids.length / total) * 100;
  if (options.engineUrl !== '') for (const id of ids) await engine.remove(`/rules/${id}`);
}

/** How many of the ascending values are at most `limit`. */
function countUpTo(sorted: Float64Array, limit: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The same job in plain JavaScript, measured the same way. */
export async function runTwinOf(options: RunOptions): Promise<RunResult> {
  const workload = workloadByName(options.workload);
  const folder = mkdtempSync(join(tmpdir(), 'haumea-twin-'));
  const file = join(folder, 'out.txt');
  const result = blankResult(workload.name, workload.title, 'plain JS');
  result.dataSet = options.dataSet;
  const generator = await Generator.open(options.role, workload.name, options.dataSet);
  const started = performance.now();
  const child = startNode(
    [...options.role, 'twin', String(generator.port), file, workload.name, workload.topic],
    'engine',
    {},
    true,
  );
  const pid = child.pid as number;
  let count = 0;
  child.on('message', (message) => {
    count = (message as { count: number }).count;
  });
  try {
    await generator.subscribed();
    result.startMs = performance.now() - started;
    const taken = async (n: number): Promise<void> => {
      while (count < n) {
        if (child.exitCode !== null) throw new Error('the twin has ended');
        await pause(5);
      }
    };
    await generator.send({ count: WARM_UP, rate: 0, perMessage: false, firstIndex: 0 });
    await taken(WARM_UP);
    let total = WARM_UP;
    const cpuBefore = cpuMs(pid);
    const began = performance.now();
    while (performance.now() - began < options.seconds * 1000) {
      await generator.send({ count: 400_000, rate: 0, perMessage: false, firstIndex: total });
      total += 400_000;
    }
    await taken(total);
    let ended = performance.now();
    if (workload.twin.kind !== 'group') ended = Math.max(ended, await lastGrowth(file, 150));
    const seconds = (ended - began) / 1000;
    const cpu = cpuMs(pid) - cpuBefore;
    result.sent = total;
    result.received = count;
    result.rate = (total - WARM_UP) / seconds;
    result.cpuNsPerMessage = (cpu * 1e6) / (total - WARM_UP);
    result.cpuShare = cpu / 1000 / seconds;
    const checker = workload.checker(options.dataSet, total);
    const output = new ResultFile(file);
    await output.feed(checker, total, workload.settleMs);
    output.close(checker);
    result.findings.push(...checker.finish());
    result.peakBytes = memoryOf(pid).peak;
    return result;
  } finally {
    await endProcess(child);
    await generator.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Finds the highest fixed rate at which nothing is lost and the rate is kept, to 5 %, by doubling and bisection.
 * @param from first rate tried
 */
export async function searchRate(options: RunOptions, from: number, say: (line: string) => void): Promise<RunResult> {
  let best: RunResult | null = null;
  let low = 0;
  let high = Number.POSITIVE_INFINITY;
  let rate = from;
  for (let tries = 0; tries < 14 && high / Math.max(low, 1) > 1.05; tries++) {
    const result = await runWorkload({ ...options, rate: Math.round(rate) });
    const isLossless = result.findings.length === 0 && result.lostPercent === 0;
    say(
      `  ${Math.round(rate)} msg/s: ${isLossless ? 'lossless' : (result.findings[0] ?? `${result.lostPercent.toFixed(2)} % lost`)}`,
    );
    if (isLossless) {
      best = result;
      low = rate;
      rate = Number.isFinite(high) ? (low + high) / 2 : rate * 2;
    } else {
      high = rate;
      rate = low > 0 ? (low + high) / 2 : rate / 2;
      best ??= result.rate < 100 ? result : null;
    }
  }
  if (!best) throw new Error(`no lossless rate found from ${from} msg/s down`);
  return best;
}
