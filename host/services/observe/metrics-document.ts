/** Gathers the figures of all rules for one document. */
import type { ExportFigures } from '../../model/figures.js';
import { isTestRun } from '../rules/test-names.js';
import type { MetricsOptions } from './metrics-options.js';
import { MetricsText, makeNames } from './metrics-text.js';

/** Rules asked for their figures together: a data plane works for some milliseconds on that. */
const slice = 100;
/** Longest time of making pieces between two turns of the event loop, ms. */
const pieceMs = 5;
const names = makeNames();

/** The document for Prometheus, of figures of one time; its text is made as it is read, by each reader anew. */
export class MetricsDocument {
  constructor(private readonly text: MetricsText) {}

  /** The text in pieces; other requests are answered between two of them. */
  async *pieces(): AsyncGenerator<string> {
    let since = performance.now();
    for (const piece of this.text.pieces()) {
      yield piece;
      if (performance.now() - since < pieceMs) continue;
      await new Promise((resolve) => setImmediate(resolve));
      since = performance.now();
    }
  }
}

/** `exported` is what became of the metrics before, where they are sent to a collector. */
export async function metricsDocument(options: MetricsOptions, exported?: ExportFigures): Promise<MetricsDocument> {
  const { ids, figures, cpuTimes, memory, planes, latencies, connections, services, exports, losses } = options;
  const text = new MetricsText(names);
  const all = ids();
  // A connection that answers slowly is asked while the figures are gathered.
  const others = Promise.all([cpuTimes(), memory(), latencies(), connections(), planes(), services()]);
  others.catch(() => {});
  for (let i = 0; i < all.length; i += slice) {
    for (const found of await figures(all.slice(i, i + slice))) text.add(found);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const [times, used, measured, states, threads, interfaces] = await others;
  // Rule tests run in the engine as well, but they are nothing to watch.
  text.addCpuTimes(times.filter(({ id }) => !isTestRun(id)));
  text.addMemory(used.filter(({ id }) => !isTestRun(id)));
  for (const rule of measured) if (!isTestRun(rule.id)) text.addLatencies(rule.id, rule);
  for (const { id, status } of states) text.addConnection(id, status);
  text.addThreads(threads);
  for (const one of interfaces) text.addService(one);
  for (const one of [...exports(), ...(exported === undefined ? [] : [exported])]) text.addExport(one);
  text.addLosses(losses());
  return new MetricsDocument(text);
}
