/** Composition root: the only file that wires modules together. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config, LoadedConfig } from './base/config/config.js';
import { configWarnings } from './base/config/config-warnings.js';
import { openLog } from './base/config/open-log.js';
import { HaumeaError, reasonOf } from './base/errors.js';
import { makeFolderSync } from './base/files/folder.js';
import { type FolderLock, lockFolder } from './base/files/lock-file.js';
import { type Log, type Logger, NotedLog } from './base/log/log.js';
import { LogTree } from './base/log/log-tree.js';
import { closeHttp, type HttpLimits, readTls } from './base/net/http-server.js';
import { Gate } from './base/structures/gate.js';
import { systemClock } from './base/time/clock.js';
import { allConnectors, connectorNames, sourceKeys, userConnectors } from './connectors/index.js';
import { functionDefinitions, functionNames } from './functions/registry.js';
import { ConfKeyRepository } from './meta/conf-keys.js';
import { loadDefaultKeys } from './meta/default-keys.js';
import { openStore } from './meta/journal-store.js';
import { kinds } from './meta/kinds.js';
import { LossRepository } from './meta/losses.js';
import { provideConnections } from './meta/provided-connections.js';
import { RecordRepository } from './meta/records.js';
import { RuleRepository } from './meta/rules.js';
import { SourceRepository } from './meta/sources.js';
import type { Store } from './meta/store.js';
import type { Catalog, Engine } from './model/engine.js';
import { createApp } from './rest/app.js';
import { auditParts } from './rest/audit.js';
import { DataServer } from './rest/data-server.js';
import { doorOf, guards } from './rest/door.js';
import { openPorts } from './rest/ports.js';
import { PushGateway } from './rest/push-gateway.js';
import { TestEvents } from './rest/test-events.js';
import { accessOf, defaultStoreFile, lockFileName, sinkCacheFolder } from './run/access.js';
import { sweepCaches } from './run/sink-caches.js';
import { openExporter } from './run/trace-export.js';
import { codecFinder } from './services/codecs.js';
import { ConfKeyService } from './services/conf-keys.js';
import { ConfigsService } from './services/configs.js';
import { connectionShape } from './services/connections.js';
import { CpuUsageService } from './services/cpu-usage.js';
import { LossService } from './services/losses.js';
import { MetadataService } from './services/metadata.js';
import { MetricsService } from './services/metrics.js';
import { resourceFilesOf } from './services/resource-files.js';
import { RuleKeeper } from './services/rule-keeper.js';
import { RuleTagService } from './services/rule-tags.js';
import { RuleTestService } from './services/rule-tests.js';
import { RuleService } from './services/rules.js';
import { ScanTableService } from './services/scan-tables.js';
import { scriptLimitsOf } from './services/scripts.js';
import { SourceService } from './services/sources.js';
import { checkStored, createStoredServices, sweepStored } from './services/stored.js';
import { SystemService } from './services/system.js';
import { TaskService } from './services/tasks.js';
import { TraceService } from './services/traces.js';
import { UserFunctions } from './services/user-functions.js';

/** Open keep-alive connections get so long at a stop. */
const connectionGraceMs = 500;

/** Stored rules are planned and started so long after REST is up. */
const firstAnswersMs = 50;

/** How long the process that had the data folder before may take to end, ms; one that is stopping has its own time besides. */
const lockWaitMs = 3000;

/** Part of the time of a stop that rules may take to flush; the rest is for writing the definitions. */
const ruleShareOfStop = 0.7;

/** What the engine is made with. */
export interface EngineContext {
  readonly catalog: Catalog;
  readonly config: Config;
  readonly folders: LoadedConfig['folders'];
  readonly log: Logger;
  /** Makes the logs of rules. */
  readonly logs: LogTree;
}

export interface ServerOptions extends LoadedConfig {
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly createEngine: (context: EngineContext) => Engine;
  /** Tells the operator what goes on before there is a log. */
  readonly note?: (line: string) => void;
  /** Called when a client asks for the end of the server. */
  readonly onStopRequest: () => void;
  /** Other limits on REST connections than the usual ones. */
  readonly limits?: Partial<HttpLimits>;
}

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
  try {
    const atOpen = new NotedLog(log);
    store = await openStore({ path: join(folders.data, config.store.sqlite.name || defaultStoreFile), log: atOpen });
    return await assemble(options, { lock, log, store, warnings: [...atOpen.noted] });
  } catch (error) {
    await store?.close();
    log.close();
    lock.close();
    throw error;
  }
}

function waitNote(pid: number, stopMs: number | undefined): string {
  const note = `waiting for process ${pid}, which has the data folder, to end`;
  return stopMs === undefined ? note : `${note}: it is stopping and may take ${stopMs / 1000} s`;
}

interface Resources {
  readonly lock: FolderLock;
  readonly log: Log;
  readonly store: Store;
  /** What was wrong with the definitions when they were read; the log has it. */
  readonly warnings: readonly string[];
}

async function assemble(options: ServerOptions, resources: Resources): Promise<Server> {
  const { lock, log, store } = resources;
  const { config, folders } = options;
  const sources = new SourceRepository(store);
  const confKeys = new ConfKeyRepository(store, await loadDefaultKeys(folders.etc, options.env, sourceKeys()));
  const connections = new RecordRepository(store, kinds.connection, connectionShape);
  await provideConnections({ connections, etc: folders.etc, env: options.env, log });
  const functions = new UserFunctions(functionNames());
  const access = accessOf(options);
  const catalog: Catalog = {
    source: (name) => sources.get(name)?.definition,
    sourceNames: () => [...sources.names('stream'), ...sources.names('table')],
    confKey: (source, key) => confKeys.resolve(source, key),
    confKeyLayers: (source, key) => confKeys.layers(source, key),
    confKeyNames: (source) => Object.keys(confKeys.list('sources', source) ?? {}),
    version: () => store.version(kinds.confKey) + connections.version,
    connection: (id) => connections.get(id),
    brought: Object.assign((name: string) => functions.find(name), { names: () => functions.names() }),
    codec: (schemaId) => findCodec(schemaId),
    scriptLimits: scriptLimitsOf(config.plugin.javascript),
    access,
    sinkCaches: {
      folder: join(folders.data, sinkCacheFolder),
      defaults: config.sink,
      minFreeBytes: config.basic.minFreeDisk,
    },
  };
  const logs = new LogTree(log, folders.log);
  const engine = options.createEngine({ catalog, config, folders, log, logs });
  sources.onChange = (name) => engine.sourceChanged?.(name);
  const losses = new LossService(new LossRepository(store), log);
  engine.onLoss = (loss) => losses.note(loss);
  const storedRules = new RuleRepository(store);
  const keeper = new RuleKeeper(storedRules, engine, config.rule, log, (id) => losses.textsOf('rule', id));
  const rules = new RuleService(keeper, losses);
  const { httpServerIp: ip, httpServerPort: port, httpServerTls } = config.source;
  const door = doorOf(config, folders.etc, log);
  const dataServer = new DataServer({ ...door, ip, port, tls: readTls(httpServerTls, 'source.httpServerTls'), log });
  const ruleTests = new RuleTestService({
    engine,
    defaults: config.rule,
    audience: new TestEvents(dataServer),
    clock: systemClock,
    log,
  });
  const push = new PushGateway(dataServer, log, { isOpen: config.source.openPush });
  const exporter = await openExporter(config, log);
  engine.traces.listener = (trace) => exporter.add(trace);
  const files = resourceFilesOf(config, folders.data, access.paths);
  const stored = createStoredServices({
    store,
    files,
    functions,
    connections,
    connectors: allConnectors(),
    access,
    uses: () => engine.connectionUses(),
    portableStatus: () => undefined,
    userCodeBytes: async (owner) => (await engine.userCodeBytes?.(owner)) ?? 0,
    plugin: config.plugin,
  });
  const findCodec = codecFinder(stored.schemas, stored.wasmPlugins);
  for (const service of [stored.wasmPlugins, stored.externalServices]) {
    service.onChange = (owner, list) => engine.functionsChanged?.(owner, list);
  }
  await sweepStored(stored);
  if (existsSync(join(folders.data, 'plugins', 'wasm'))) {
    const { loadWasmFolder } = await import('./services/wasm-folder.js');
    await loadWasmFolder(stored.wasmPlugins, folders.data, config.plugin.wasm.maxModuleBytes, log);
  }
  const { metricsDumpConfig } = config.basic;
  const metrics = new MetricsService({
    ids: () => rules.ids(),
    figures: (id) => rules.figures(id),
    cpuTimes: () => engine.cpuTimes(),
    memory: async () => (await engine.memory?.()) ?? [],
    planes: async () => (await engine.threadMemory?.()) ?? [],
    latencies: async () => (config.basic.prometheus ? ((await engine.latencies?.()) ?? []) : []),
    connections: () => stored.connections.list(false),
    losses: () => losses.count,
    folder: join(folders.data, 'metrics'),
    retainedMs: metricsDumpConfig.retainedDuration,
    log,
  });
  const gate = new Gate();
  const cpuUsage = new CpuUsageService(engine);
  const { enable: isProfiled, interval } = config.basic.ResourceProfileConfig;
  if (isProfiled) cpuUsage.start(interval);
  const system = new SystemService(options.version, options.onStopRequest, losses);
  const app = createApp(
    {
      ...stored,
      metadata: new MetadataService({
        connectors: userConnectors(),
        functions: functionDefinitions,
        confKeys,
        connections,
      }),
      gate,
      system,
      losses,
      sources: new SourceService(
        sources,
        {
          of: (name) => keeper.usersOf(name),
          fieldsRead: (rule, name) => engine.fieldsRead(rule, name),
          warningsOf: (definition, given) => engine.warningsOf(definition, given),
        },
        (schemaId) => stored.schemas.columns(schemaId),
        log,
      ),
      confKeys: new ConfKeyService({
        keys: confKeys,
        connectors: (owner) => connectorNames(owner === 'sinks' ? 'sink' : 'source'),
        declarations: allConnectors(),
        usersOf: (connector, key) => sources.usersOfKey(connector, key),
        access,
        changed: (connector, key) => engine.renew?.(sources.usersOfKey(connector, key)),
      }),
      rules,
      ruleTests,
      tickets: door.tickets,
      traces: new TraceService(storedRules, engine, exporter),
      metrics,
      configs: new ConfigsService({
        config,
        log,
        logFolder: folders.log,
        setCopying: (isOn) => metrics.setCopying(isOn),
      }),
      ruleTags: new RuleTagService(rules),
      scanTables: new ScanTableService({ engine, catalog, rule: (id) => storedRules.get(id) }),
      cpuUsage,
      tasks: new TaskService(),
      transfer: async () => {
        const { createTransfer } = await import('./services/create-transfer.js');
        return createTransfer({
          store,
          stored,
          files,
          gate,
          catalog,
          sources,
          confKeys,
          connections,
          keeper,
          stop: () => void system.stop(),
        });
      },
    },
    (step) => store.together(step),
    log,
    guards(config.basic, door, log),
    config.basic.enableRestAuditLog ? auditParts(log) : undefined,
  );
  const { url, ports } = await openPorts(app, metrics, {
    config: config.basic,
    limits: options.limits,
    guard: door.guard,
    log,
  }).catch(async (error: unknown) => {
    await engine.close(0);
    throw error;
  });
  metrics.setCopying(metricsDumpConfig.enable);
  const warnings = configWarnings(config);
  for (const warning of warnings) log.warn(warning);
  log.info(`REST answers at ${url}`, { version: options.version, data: folders.data });
  let closing: Promise<void> | undefined;
  // Tables that keep rows are there before the rules that send them some.
  const startStored = async () => {
    await Promise.all(sources.names('table', 'lookup').map((name) => engine.sourceChanged?.(name)));
    // Rules that were lost may come back with their caches and their state.
    const lost = losses.namesOf('rule');
    const ids = () => [...storedRules.ids(), ...(lost ?? [])];
    if (lost !== undefined) await sweepCaches(ids, join(folders.data, sinkCacheFolder), log);
    await keeper.startStored();
    if (lost !== undefined) await engine.sweep?.(new Set(ids()));
  };
  // Whoever waits for the server to come up is answered first.
  const rulesStarted = new Promise((resolve) => setTimeout(resolve, firstAnswersMs))
    .then(() => (closing === undefined ? startStored() : undefined))
    .catch((error: unknown) => {
      log.error(`starting the stored rules failed: ${reasonOf(error)}`);
    });
  // Nobody waits for it: modules may be large.
  void rulesStarted
    .then(() => checkStored(stored, (loss) => closing === undefined && losses.note(loss)))
    .catch((error: unknown) => {
      log.error(`checking the files of plugins failed: ${reasonOf(error)}`);
    });
  const close = async () => {
    log.info('stopping');
    try {
      lock.stopping(config.basic.gracefulShutdownTimeout);
    } catch (error) {
      log.warn(`the next server will not know that this one is stopping: ${reasonOf(error)}`);
    }
    cpuUsage.close();
    await Promise.all(ports.map((port) => closeHttp(port, connectionGraceMs)));
    await ruleTests.close();
    await dataServer.close();
    push.close();
    exporter.stop();
    await engine.close(ruleShareOfStop * config.basic.gracefulShutdownTimeout).catch((error: unknown) => {
      log.error(`stopping the rules failed: ${reasonOf(error)}`);
    });
    await metrics.close();
    await store.close();
    log.info('stopped');
    logs.close();
    log.close();
    lock.close();
  };
  return {
    url,
    warnings: [...resources.warnings, ...warnings],
    rulesStarted,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}
