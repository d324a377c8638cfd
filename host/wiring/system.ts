/** The server itself: its settings, tasks in the background, imports and exports of all definitions. */
import { join } from 'node:path';
import { Gate } from '../base/structures/gate.js';
import { lazy } from '../base/structures/lazy.js';
import type { Catalog } from '../model/engine.js';
import type { CpuUsageService } from '../services/observe/cpu-usage.js';
import type { MetricsService } from '../services/observe/metrics.js';
import type { RuleRegistry } from '../services/rules/registry.js';
import type { LossService } from '../services/server/losses.js';
import { SystemService } from '../services/server/system.js';
import type { Definitions } from './definitions.js';
import type { InstalledPart } from './installed.js';
import type { Start } from './start.js';

export interface SystemParts {
  readonly definitions: Definitions;
  readonly catalog: Catalog;
  readonly installed: InstalledPart;
  readonly registry: RuleRegistry;
  readonly losses: LossService;
  readonly metrics: MetricsService;
  readonly cpuUsage: () => Promise<CpuUsageService>;
}

export function systemServices(
  start: Start,
  { definitions, catalog, installed, registry, losses, metrics, cpuUsage }: SystemParts,
) {
  const { config, folders, log, store } = start;
  const gate = new Gate();
  const system = new SystemService(
    start.version,
    start.onStopRequest,
    losses,
    async () => (await registry.engine.planeFigures?.()) ?? [],
  );
  return {
    gate,
    cluster: lazy(async () => {
      const { ClusterService } = await import('../services/server/cluster.js');
      return new ClusterService(start.cluster);
    }),
    fleet: lazy(async () => {
      const { FleetService } = await import('../services/server/fleet.js');
      return new FleetService(join(folders.etc, 'fleet.yaml'));
    }),
    system,
    overview: lazy(async () => {
      const { OverviewService } = await import('../services/observe/overview.js');
      return new OverviewService({
        engine: registry.engine,
        version: start.version,
        cpuUsage: async () => (await cpuUsage()).usage(),
        connections: () => installed.services.connections.list(true),
        refused: () => registry.refused,
        losses: () => losses.count,
      });
    }),
    reports: lazy(async () => {
      const { ReportService } = await import('../services/observe/reports.js');
      return new ReportService(join(folders.data, 'reports'));
    }),
    configs: lazy(async () => {
      const { ConfigsService } = await import('../services/server/configs.js');
      const setCopying = (isOn: boolean) => metrics.setCopying(isOn);
      return new ConfigsService({ config, log, logFolder: folders.log, setCopying });
    }),
    tasks: lazy(async () => {
      const { TaskService } = await import('../services/server/tasks.js');
      return new TaskService();
    }),
    transfer: async () => {
      const { createTransfer } = await import('./transfer.js');
      const { sources, confKeys, connections } = definitions;
      const { files, services: stored } = installed;
      const stop = () => void system.stop();
      return createTransfer({ store, stored, files, gate, catalog, sources, confKeys, connections, registry, stop });
    },
  };
}
