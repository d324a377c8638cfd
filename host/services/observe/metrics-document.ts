/** Gathers the figures of all rules for one document. */
import { isTestRun } from '../rules/test-names.js';
import type { MetricsOptions } from './metrics-options.js';
import { MetricsText, makeNames } from './metrics-text.js';

/** Rules asked for their figures between two turns of the event loop. */
const slice = 200;
const names = makeNames();

/** The document for Prometheus, in UTF-8. */
export async function metricsDocument(options: MetricsOptions): Promise<Buffer> {
  const { ids, figures, cpuTimes, memory, planes, latencies, connections, services, losses } = options;
  const text = new MetricsText(names);
  const all = ids();
  // A connection that answers slowly is asked while the figures are gathered.
  const others = Promise.all([cpuTimes(), memory(), latencies(), connections(), planes(), services()]);
  others.catch(() => {});
  for (let i = 0; i < all.length; i += slice) {
    for (const found of await Promise.all(all.slice(i, i + slice).map(figures))) {
      if (found !== undefined) text.add(found);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  const [times, used, measured, states, threads, interfaces] = await others;
  // Rule tests run in the engine as well, but they are nothing to watch.
  for (const { id, cpuUs } of times) if (!isTestRun(id)) text.addCpuTime(id, cpuUs);
  for (const { id, bytes } of used) if (!isTestRun(id)) text.addMemory(id, bytes);
  for (const rule of measured) if (!isTestRun(rule.id)) text.addLatencies(rule.id, rule);
  for (const { id, status } of states) text.addConnection(id, status);
  text.addThreads(threads);
  for (const one of interfaces) text.addService(one);
  text.addLosses(losses());
  const parts: Buffer[] = [];
  for (const piece of text.pieces()) {
    parts.push(Buffer.from(piece));
    if (parts.length % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return Buffer.concat(parts);
}
