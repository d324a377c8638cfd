/** Time from a message sent to its result received, at a fixed rate. */

import { RULE, type Run } from './context.js';
import { pause } from './process.js';
import { setCosts } from './result.js';

const defaultRate = 10_000;
/** The last results are waited for so long, ms; their cost counts. */
const settleMs = 300;

/** Measures latency: percentiles over all messages, each with its own time of sending. */
export async function latency({ workload, options, engine, generator, result }: Run): Promise<void> {
  const rate = options.rate || defaultRate;
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
  await pause(settleMs);
  const cpu = engine.cpuMs() - cpuBefore;
  const { count, p50, p90, p99, max } = await generator.latencies();
  const seconds = (sent.endedAt - sent.startedAt) / 1000;
  setCosts(result, total, seconds, cpu);
  Object.assign(result, {
    sent: total,
    received: count,
    rateAsked: rate,
    sender: 'per message',
    cpuShare: cpu / (seconds * 1000 + settleMs),
    lostPercent: (1 - count / total) * 100,
    latencyMs: { p50, p90, p99, max },
  });
  if (count !== total) result.findings.push(`${total - count} of ${total} results are missing`);
}
