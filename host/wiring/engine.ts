/** The engine with its reports: logs of rules, losses, traces. */
import { reasonOf } from '../base/errors.js';
import { LogTree } from '../base/log/log-tree.js';
import { LossRepository } from '../meta/journal/losses.js';
import type { Catalog, Engine } from '../model/engine.js';
import type { ExportFigures } from '../model/figures.js';
import type { TraceExporter } from '../run/traces/trace-export.js';
import { LossService } from '../services/server/losses.js';
import type { Definitions } from './definitions.js';
import type { Start } from './start.js';

/** Part of the time of a stop that rules may take to flush; the rest is for writing the definitions. */
const ruleShareOfStop = 0.7;

export interface EnginePart {
  readonly engine: Engine;
  /** Sends traces to a collector; the code is loaded when a collector is configured. */
  readonly exporter: () => Promise<TraceExporter>;
  /** What became of the traces that were to be sent; undefined before any was. */
  readonly tracing: () => ExportFigures | undefined;
  readonly logs: LogTree;
  readonly services: { readonly losses: LossService };
  close(): Promise<void>;
}

/** The engine of a node of a cluster, in front of that which runs its rules. */
async function leadOf(cluster: NonNullable<Start['cluster']>, own: Engine, catalog: Catalog): Promise<Engine> {
  const { withPartitions } = await import('../run/parallel/partitions/partitioned-engine.js');
  const source = (name: string) => catalog.source(name);
  return withPartitions(
    cluster.lead(own, (name) => source(name)?.options.type),
    source,
  );
}

export async function startEngine(start: Start, definitions: Definitions, catalog: Catalog): Promise<EnginePart> {
  const { config, folders, log, store } = start;
  const logs = new LogTree(log, folders.log);
  const { cluster } = start;
  const own = start.createEngine({
    catalog,
    config,
    folders,
    log,
    logs,
    fence: cluster?.fence,
    states: cluster?.states,
  });
  const engine = cluster === undefined ? own : await leadOf(cluster, own, catalog);
  definitions.sources.onChange = (name) => engine.sourceChanged?.(name);
  const losses = new LossService(new LossRepository(store), log);
  engine.onLoss = (loss) => losses.note(loss);
  let opened: Promise<TraceExporter> | undefined;
  let tracing: TraceExporter | undefined;
  const openExporter = async () => {
    const { openExporter } = await import('../run/traces/trace-export.js');
    const exporter = await openExporter(config, log);
    engine.traces.listener = (trace) => exporter.add(trace);
    tracing = exporter;
    return exporter;
  };
  const exporter = () => {
    opened ??= openExporter();
    return opened;
  };
  if (config.openTelemetry.enableRemoteCollector) await exporter();
  return {
    engine,
    exporter,
    tracing: () => tracing?.figures,
    logs,
    services: { losses },
    close: async () => {
      cluster?.rest();
      await engine.close(ruleShareOfStop * config.basic.gracefulShutdownTimeout).catch((error: unknown) => {
        log.error(`stopping the rules failed: ${reasonOf(error)}`);
      });
      // Traces of the last rows are among those that wait.
      await (await opened)?.stop(true);
      await cluster?.leave();
    },
  };
}
