/** One benchmark run: generator, engine, measurement, check of the output; and the search for the best of them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RULE, type Run, type RunOptions } from './context.js';
import { EngineUnderTest } from './engine.js';
import { Generator } from './generator.js';
import { latency } from './latency.js';
import { manyRules } from './many-rules.js';
import { blankResult, type RunResult } from './result.js';
import { throughput } from './throughput.js';
import { workloadByName } from './workloads/index.js';
import type { Workload } from './workloads/workload.js';

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
    engine = await openEngine(options, folder);
    result.startMs = engine.startMs;
    const ddl = options.schemaless ? workload.ddlSchemaless : workload.ddl;
    await engine.createStream(workload.stream, ddl, generator.port);
    await measureOf(workload)({ workload, options, engine, generator, folder, result });
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

function openEngine(options: RunOptions, folder: string): Promise<EngineUnderTest> {
  const { engineUrl: url, enginePid: pid, command, env, sourceProps } = options;
  return EngineUnderTest.open({ url, pid, command, env, sourceProps, folder });
}

function measureOf({ name }: Workload): (run: Run) => Promise<void> {
  if (name === 'rules') return manyRules;
  return name === 'latency' ? latency : throughput;
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
      `  ${Math.round(rate)} msg/s: ` +
        `${isLossless ? 'lossless' : (result.findings[0] ?? `${result.lostPercent.toFixed(2)} % lost`)}`,
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
