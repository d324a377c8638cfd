/** Figures of the server and its rules. */
import { join } from 'node:path';
import type { ExternalServices } from '../services/external/services.js';
import { MetricsService } from '../services/observe/metrics.js';
import type { MetricsDocument } from '../services/observe/metrics-document.js';
import type { MetricsOptions } from '../services/observe/metrics-options.js';
import type { ConnectionService } from '../services/sources/connections.js';
import type { EnginePart } from './engine.js';
import type { RulesPart } from './rules.js';
import type { Start } from './start.js';

export function metricsOf(
  { config, folders, log, cluster, version }: Start,
  { engine, tracing, services: { losses } }: EnginePart,
  { services: { rules } }: RulesPart,
  connections: ConnectionService,
  externalServices: ExternalServices,
): MetricsService {
  const { prometheus, metricsDumpConfig } = config.basic;
  const openExport = async (document: () => Promise<MetricsDocument>) => {
    const { MetricsExport } = await import('../services/observe/metrics-export.js');
    return new MetricsExport({ config, version, log, document });
  };
  const options: MetricsOptions = {
    // Each node tells of its own rules.
    ids: () => {
      if (cluster === undefined) return rules.ids();
      return rules.ids().filter((id) => !(engine.partsOf?.(id) ?? [id]).every((part) => cluster.isElsewhere(part)));
    },
    figures: (some) => rules.figures(some),
    cpuTimes: () => engine.cpuTimes(),
    memory: async () => (await engine.memory?.()) ?? [],
    planes: async () => (await engine.threadMemory?.()) ?? [],
    latencies: async () => (prometheus ? ((await engine.latencies?.()) ?? []) : []),
    connections: () => connections.list(false),
    services: () => externalServices.figures(),
    exports: () => [tracing() ?? []].flat(),
    losses: () => losses.count,
    folder: join(folders.data, 'metrics'),
    retainedMs: metricsDumpConfig.retainedDuration,
    log,
  };
  return new MetricsService(options, config.openTelemetry.enableMetrics ? openExport : undefined);
}
