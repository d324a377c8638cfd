/** Many rules on one shared stream: bytes for each rule, processor time for each rule and message. */

import type { Run } from './context.js';
import { pause } from './process.js';
import { setCosts } from './result.js';
import { Findings } from './workloads/findings.js';
import type { Workload } from './workloads/workload.js';

const defaultRate = 500;
/** Messages are sent for so long before the measured ones: code is compiled, and what the creations left is freed. */
const settleSeconds = 10;
/** Requests on their way at the same time. */
const lanes = 4;

interface BenchRule {
  readonly id: string;
  readonly sql: string;
  /** Messages with a higher temperature pass. */
  readonly threshold: number;
}

/** Makes the rules, sends at a fixed rate and checks what each rule took and gave. */
export async function manyRules(run: Run): Promise<void> {
  const { workload, options, engine, generator, result } = run;
  const rate = options.rate || defaultRate;
  const rules = rulesOf(workload, options.rules, options.distinct);
  result.bytesPerRule = await create(run, rules);
  const settling = rate * settleSeconds;
  await generator.send({ count: settling, rate, perMessage: true, firstIndex: 0 });
  await engine.consumed(rules[0]!.id, workload.stream, settling, 5000);
  const measured = Math.round(rate * options.seconds);
  const total = settling + measured;
  const cpuBefore = engine.cpuMs();
  const began = performance.now();
  await generator.send({ count: measured, rate, perMessage: true, firstIndex: settling });
  const seconds = (performance.now() - began) / 1000;
  setCosts(result, measured, seconds, engine.cpuMs() - cpuBefore);
  result.cpuNsPerMessage /= rules.length;
  // On a busy machine the last ones take a while.
  await engine.consumed(rules[0]!.id, workload.stream, total, 5000);
  const received = await checkCounts(run, rules, total);
  Object.assign(result, {
    rules: rules.length,
    sent: total,
    received: Math.round(received / rules.length),
    sender: 'per message',
    rateAsked: rate,
    lostPercent: (1 - received / rules.length / total) * 100,
  });
  if (options.engineUrl !== '') for (const { id } of rules) await engine.remove(`/rules/${id}`);
}

function rulesOf({ sql }: Workload, count: number, distinct: boolean): BenchRule[] {
  return Array.from({ length: count }, (_, i) => {
    const threshold = (distinct ? 21 + i / count : 21).toFixed(5);
    return { id: `bench_${i}`, sql: sql.replace('21.0', threshold), threshold: Number(threshold) };
  });
}

/** Makes the rules; returns the memory that each of them takes beyond the first, bytes. */
async function create({ engine, generator }: Run, [first, ...others]: BenchRule[]): Promise<number> {
  if (first === undefined) throw new Error('there must be a rule at least');
  await engine.createRule(first.id, first.sql, { nop: {} });
  await generator.subscribed();
  await pause(1000);
  const before = engine.memory().now;
  const waiting = [...others];
  const lane = async () => {
    for (let rule = waiting.shift(); rule !== undefined; rule = waiting.shift()) {
      await engine.createRule(rule.id, rule.sql, { nop: {} });
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  await pause(2000);
  return (engine.memory().now - before) / Math.max(1, others.length);
}

/** Checks what went in and came out of each rule; returns the sum of what went in. */
async function checkCounts({ workload, engine, result }: Run, rules: BenchRule[], total: number): Promise<number> {
  const temps = sentTemperatures(workload, total);
  const findings = new Findings();
  let received = 0;
  for (const { id, threshold } of rules) {
    const status = await engine.status(id);
    const expected = total - countUpTo(temps, threshold);
    const seen = Number(status[`source_${workload.stream}_0_records_in_total`]);
    const out = Number(status.sink_nop_0_0_records_in_total);
    received += seen;
    if (seen !== total) findings.add(`${id}: ${seen} of ${total} records in`);
    else if (out !== expected) findings.add(`${id}: ${out} of ${expected} results`);
  }
  result.findings.push(...findings.list);
  return received;
}

/** The temperatures of the first `total` messages, ascending. */
function sentTemperatures(workload: Workload, total: number): Float64Array {
  const temps = workload
    .messages('plain')
    .flat()
    .map(({ payload }) => (JSON.parse(payload.replace(/#+/, '1')) as { temp: number }).temp);
  return Float64Array.from({ length: total }, (_, i) => temps[i % temps.length] as number).sort();
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
