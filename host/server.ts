/** The server as a list of parts, which are started and stopped in order; `wiring/` makes each part. */
import { join } from 'node:path';
import { configWarnings } from './base/config/config-warnings.js';
import { openLog } from './base/config/open-log.js';
import { HaumeaError, reasonOf } from './base/errors.js';
import { makeFolderSync } from './base/files/folder.js';
import { type FolderLock, lockFolder } from './base/files/lock-file.js';
import { type Log, NotedLog } from './base/log/log.js';
import type { ClusterNode } from './cluster/node.js';
import { openStore } from './meta/journal/journal-store.js';
import type { Store } from './meta/store.js';
import type { Catalog } from './model/engine.js';
import { defaultStoreFile, lockFileName } from './run/props/access.js';
import type { Followed } from './wiring/cluster.js';
import { dataServerPart } from './wiring/data-server.js';
import { catalogOf, openDefinitions } from './wiring/definitions.js';
import { type EnginePart, startEngine } from './wiring/engine.js';
import { type InstalledPart, installedPart } from './wiring/installed.js';
import { metricsOf } from './wiring/metrics.js';
import { openRest } from './wiring/rest.js';
import { type RulesPart, rulesPart } from './wiring/rules.js';
import { sourceServices } from './wiring/sources.js';
import type { ServerOptions, Start } from './wiring/start.js';
import { systemServices } from './wiring/system.js';

/** Delay between the first answers of REST and the start of stored rules. */
const firstAnswersMs = 50;

/** How long a start waits for the lock of the data folder, ms; a process that is stopping gets its own time on top. */
const lockWaitMs = 3000;

export interface Server {
  /** Address of the REST interface. */
  readonly url: string;
  /** What the owner should know about the configuration; the log has it, too. */
  readonly warnings: readonly string[];
  /** Resolves when all stored rules were given to the engine. */
  readonly rulesStarted: Promise<void>;
  /** Stops accepting requests, ends rules, writes definitions; takes at most the configured time. */
  close(): Promise<void>;
}

/** Brings the server up; resolves when REST answers. Throws HaumeaErrors that name what is in the way. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { config, folders } = options;
  try {
    makeFolderSync(folders.data, true);
  } catch (error) {
    throw new HaumeaError('config', `the data folder can't be made: ${reasonOf(error)}`, { cause: error });
  }
  const lock = await lockFolder(join(folders.data, lockFileName), {
    waitMs: lockWaitMs,
    onWait: (pid, stopMs) => options.note?.(waitNote(pid, stopMs)),
  });
  const log = await openLog(config.basic, folders.log);
  let store: Store | undefined;
  let cluster: ClusterNode | undefined;
  try {
    const atOpen = new NotedLog(log);
    store = await openStore({ path: join(folders.data, config.store.sqlite.name || defaultStoreFile), log: atOpen });
    cluster = await clusterOf(options, store, log);
    const server = await startParts({ ...options, log, store: cluster?.store ?? store, cluster }, lock);
    return { ...server, warnings: [...atOpen.noted, ...server.warnings] };
  } catch (error) {
    await (cluster ?? store)?.close();
    log.close();
    lock.close();
    throw error;
  }
}

/** Joins the cluster that the settings name; none is loaded without one. */
async function clusterOf(options: ServerOptions, store: Store, log: Log): Promise<ClusterNode | undefined> {
  if (options.config.cluster.servers === '') return undefined;
  const { joinCluster } = await import('./wiring/cluster.js');
  return joinCluster(options, store, log);
}

/** Has this node follow what others change. */
async function followed({ cluster }: Start, parts: Followed): Promise<void> {
  if (cluster === undefined) return;
  const { followCluster } = await import('./wiring/cluster.js');
  followCluster(cluster, parts);
}

function waitNote(pid: number, stopMs: number | undefined): string {
  const note = `waiting for process ${pid}, which has the data folder, to end`;
  return stopMs === undefined ? note : `${note}: it is stopping and may take ${stopMs / 1000} s`;
}

async function startParts(start: Start, lock: FolderLock): Promise<Server> {
  const { config, folders, log, store } = start;
  const definitions = await openDefinitions(start);
  const catalog: Catalog = catalogOf(start, definitions, {
    codec: (schemaId) => installed.codec(schemaId),
    program: (name) => installed.program(name),
    schemaText: (type, name) => installed.schemaText(type, name),
    messages: (schemaId) => installed.messages(schemaId),
  });
  const running = await startEngine(start, definitions, catalog);
  const { engine } = running;
  const { losses } = running.services;
  const rules = rulesPart(start, definitions, catalog, running);
  const data = await dataServerPart(start, running);
  const installed = installedPart(start, definitions, engine);
  await installed.open();
  const metrics = metricsOf(start, running, rules, installed.services.connections, installed.services.externalServices);
  const {
    registry,
    services: { cpuUsage },
  } = rules;
  await followed(start, { definitions, engine, registry, installed: installed.services, log });
  const services = {
    ...installed.services,
    ...running.services,
    ...rules.services,
    ...data.services,
    ...sourceServices(start, definitions, engine, registry, installed.services.schemas),
    ...systemServices(start, { definitions, catalog, installed, registry, losses, metrics, cpuUsage }),
    metrics,
  };
  const rest = await openRest(start, services, data.access).catch(async (error: unknown) => {
    await engine.close(0);
    throw error;
  });
  metrics.setCopying(config.basic.metricsDumpConfig.enable);
  const warnings = configWarnings(config);
  for (const warning of warnings) log.warn(warning);
  log.info(`REST answers at ${rest.url}`, { version: start.version, data: folders.data });
  let closing: Promise<void> | undefined;
  const close = async () => {
    log.info('stopping');
    try {
      lock.stopping(config.basic.gracefulShutdownTimeout);
    } catch (error) {
      log.warn(`the next server will not know that this one is stopping: ${reasonOf(error)}`);
    }
    for (const part of [rules, rest, data, metrics, running, start.cluster ?? store]) await part.close();
    log.info('stopped');
    for (const part of [running.logs, log, lock]) part.close();
  };
  return {
    url: rest.url,
    warnings,
    rulesStarted: startRules(start, rules, running, installed, {
      url: rest.url,
      isClosing: () => closing !== undefined,
    }),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** Starts the stored rules; resolves when the engine has all of them. */
function startRules(
  { log, cluster }: Start,
  rules: RulesPart,
  { services: { losses } }: EnginePart,
  installed: InstalledPart,
  { url, isClosing }: { readonly url: string; readonly isClosing: () => boolean },
): Promise<void> {
  // Clients that wait for the server are answered first.
  const started = new Promise((resolve) => setTimeout(resolve, firstAnswersMs))
    .then(async () => {
      if (isClosing()) return;
      await rules.startStored();
      await cluster?.join(url);
    })
    .catch((error: unknown) => {
      log.error(`starting the stored rules failed: ${reasonOf(error)}`);
    });
  // In the background: modules may be large.
  void started
    .then(() => installed.check((loss) => isClosing() || losses.note(loss)))
    .catch((error: unknown) => {
      log.error(`checking the files of plugins failed: ${reasonOf(error)}`);
    });
  return started;
}
