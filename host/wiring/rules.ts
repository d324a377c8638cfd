/** Rules: their definitions, their services, and their start when the server is up. */
import { join } from 'node:path';
import { lazy } from '../base/structures/lazy.js';
import type { Catalog } from '../model/engine.js';
import type { Services } from '../rest/services.js';
import { sinkCacheFolder } from '../run/props/access.js';
import { sweepCaches } from '../run/props/sink-caches.js';
import { RuleRegistry } from '../services/rules/registry.js';
import { RuleService } from '../services/rules/rules.js';
import type { Definitions } from './definitions.js';
import type { EnginePart } from './engine.js';
import type { Start } from './start.js';

export interface RulesPart {
  readonly registry: RuleRegistry;
  readonly services: Pick<
    Services,
    'rules' | 'ruleVersions' | 'ruleTags' | 'scanTables' | 'failedRows' | 'cpuUsage' | 'traces'
  >;
  /** Gives all stored rules to the engine. */
  startStored(): Promise<void>;
  close(): void;
}

export function rulesPart(start: Start, definitions: Definitions, catalog: Catalog, running: EnginePart): RulesPart {
  const { config, folders, log } = start;
  const { sources, rules: stored } = definitions;
  const { engine } = running;
  const { losses } = running.services;
  const registry = new RuleRegistry(stored, engine, config.rule, log, (id) => losses.textsOf('rule', id));
  const rules = new RuleService(registry, losses);
  let isCpuWatched = false;
  const cpuUsage = lazy(async () => {
    const { CpuUsageService } = await import('../services/observe/cpu-usage.js');
    isCpuWatched = true;
    return new CpuUsageService(engine);
  });
  const { enable: isProfiled, interval } = config.basic.ResourceProfileConfig;
  if (isProfiled) void cpuUsage().then((usage) => usage.start(interval));
  return {
    registry,
    services: {
      rules,
      ruleTags: lazy(async () => {
        const { RuleTagService } = await import('../services/rules/tags.js');
        return new RuleTagService(rules);
      }),
      ruleVersions: lazy(async () => {
        const { RuleVersionService } = await import('../services/rules/versions.js');
        return new RuleVersionService(registry, stored.history);
      }),
      scanTables: lazy(async () => {
        const { ScanTableService } = await import('../services/rules/scan-tables.js');
        return new ScanTableService({ engine, catalog, rule: (id) => stored.get(id) });
      }),
      failedRows: lazy(async () => {
        const { FailedRowService } = await import('../services/rules/failed-rows.js');
        return new FailedRowService({ engine, rule: (id) => stored.get(id) });
      }),
      cpuUsage,
      traces: lazy(async () => {
        const { TraceService } = await import('../services/observe/traces.js');
        return new TraceService(stored, engine, await running.exporter());
      }),
    },
    startStored: async () => {
      // Tables that keep rows are there before the rules that send them some.
      await Promise.all(sources.names('table', 'lookup').map((name) => engine.sourceChanged?.(name)));
      // Rules that were lost may come back with their caches and their state.
      const lost = losses.namesOf('rule');
      const ids = () => [...stored.ids(), ...(lost ?? [])];
      if (lost !== undefined) await sweepCaches(ids, join(folders.data, sinkCacheFolder), log);
      await registry.startStored();
      if (lost !== undefined) await engine.sweep?.(new Set(ids()));
    },
    close: () => {
      if (isCpuWatched) void cpuUsage().then((usage) => usage.close());
    },
  };
}
