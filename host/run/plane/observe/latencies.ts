/** Times that the operators of a rule took, and what its sources and sinks exchanged with the world outside. */
import { addLatencies, emptyHistogram, type Histogram } from '../../../../kernels/values/histogram.js';
import type { IoFigures, RuleLatencies } from '../../../model/figures.js';
import type { RunningRule } from '../running/running.js';

/** Collects the times of a rule that is linked. */
export function latenciesOf(rule: RunningRule): RuleLatencies {
  const { kernel } = rule.host;
  const operators: [string, Histogram][] = [];
  const io: IoFigures[] = [];
  const caches: NonNullable<RuleLatencies['caches']> = [];
  for (const { name, part, source: place, action, nodes, outputs } of rule.operators) {
    const times = emptyHistogram();
    const source = place === undefined ? undefined : rule.sources[place];
    const sink = action === undefined ? undefined : rule.sinks[action];
    if (part === 'source' && source !== undefined) {
      addLatencies(times, kernel.latencies(source.stream), rule.sourceLatencies[place ?? 0] ?? null);
      const { messages, exceptions } = source.counters;
      const base = rule.sourceBases[place ?? 0];
      const done = messages - (base?.messages ?? 0);
      const failed = exceptions - (base?.exceptions ?? 0) + source.exceptions;
      io.push({ type: source.spec.type, io: 'source', operator: name, done, failed });
    } else if (part === 'sink' && sink !== undefined) {
      addLatencies(times, sink.latencies, null);
      const failed = sink.exceptions + sink.messagesFailed;
      const { times: ofCache } = sink.cache ?? {};
      for (const work of ['flush', 'load'] as const) {
        if (ofCache !== undefined && hasTimes(ofCache[work])) caches.push([name, work, ofCache[work]]);
      }
      io.push({ type: sink.spec.type, io: 'sink', operator: name, done: sink.messagesOut, failed });
    } else if (part === 'operator' || part === 'transform') {
      for (const node of [...nodes, ...(outputs ?? [])]) {
        const running = rule.nodes[node];
        if (running !== undefined) addLatencies(times, kernel.latencies(running.handle), running.latencyBase);
      }
    }
    if (hasTimes(times)) operators.push([name, times]);
  }
  return { run: rule.run, operators, io, ...(caches.length === 0 ? {} : { caches }) };
}

function hasTimes({ counts }: Histogram): boolean {
  return counts.some((count) => count > 0);
}
