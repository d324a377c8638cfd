/** Composition root: the only file that wires modules together. */
import type { Server as HttpServer, IncomingMessage, RequestListener } from 'node:http';
import { join, resolve } from 'node:path';
import type { Middleware } from 'koa';
import { systemClock } from './base/clock.js';
import type { Config, LoadedConfig } from './base/config.js';
import { configSpec } from './base/config-spec.js';
import { HaumeaError, reasonOf } from './base/errors.js';
import { unusedIn } from './base/field.js';
import { makeFolderSync } from './base/folder.js';
import { Gate } from './base/gate.js';
import { closeHttp, createHttpServer, type HttpLimits, listen, readTls } from './base/http-server.js';
import { type Authenticator, createAuthenticator } from './base/jwt.js';
import { type FolderLock, lockFolder } from './base/lock-file.js';
import { Log, type Logger, mainLogFile, NotedLog } from './base/log.js';
import { LogTree } from './base/log-tree.js';
import { checkTarget } from './base/private-net.js';
import { openSyslog } from './base/syslog.js';
import { allConnectors, connectorNames, sourceKeys, userConnectors } from './connectors/index.js';
import { functionDefinitions, functionNames } from './functions/registry.js';
import { ConfKeyRepository } from './meta/conf-keys.js';
import { loadDefaultKeys } from './meta/default-keys.js';
import { openStore } from './meta/journal-store.js';
import { kinds } from './meta/kinds.js';
import { provideConnections } from './meta/provided-connections.js';
import { RecordRepository } from './meta/records.js';
import { RuleRepository } from './meta/rules.js';
import { SourceRepository } from './meta/sources.js';
import type { Store } from './meta/store.js';
import { createApp } from './rest/app.js';
import { audit, auditParts } from './rest/audit.js';
import { dataRefusal, requireToken } from './rest/auth.js';
import { DataServer } from './rest/data-server.js';
import { createMetricsServer } from './rest/metrics-server.js';
import { guardOrigins } from './rest/origin-guard.js';
import { PushGateway } from './rest/push-gateway.js';
import { ConfKeyService } from './rest/services/conf-keys.js';
import { ConfigsService, levelOf } from './rest/services/configs.js';
import { connectionShape } from './rest/services/connections.js';
import { CpuUsageService } from './rest/services/cpu-usage.js';
import { createTransfer } from './rest/services/create-transfer.js';
import { MetadataService } from './rest/services/metadata.js';
import { MetricsService } from './rest/services/metrics.js';
import type { ResourceFiles } from './rest/services/resource-files.js';
import { RuleTagService } from './rest/services/rule-tags.js';
import { RuleTestService } from './rest/services/rule-tests.js';
import { RuleService } from './rest/services/rules.js';
import { ScanTableService } from './rest/services/scan-tables.js';
import { SourceService } from './rest/services/sources.js';
import { createStoredServices, sweepStored } from './rest/services/stored.js';
import { SystemService } from './rest/services/system.js';
import { TaskService } from './rest/services/tasks.js';
import { TicketService } from './rest/services/tickets.js';
import { TraceService } from './rest/services/traces.js';
import { UserFunctions } from './rest/services/user-functions.js';
import { type Access, accessOf, defaultStoreFile, lockFileName } from './run/access.js';
import type { Catalog, Engine } from './run/api.js';
import { TraceExporter } from './run/trace-export.js';

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
    makeFolderSync(folders.data);
  } catch (error) {
    throw new HaumeaError('config', `the data folder can't be made: ${reasonOf(error)}`, { cause: error });
  }
  const lock = await lockFolder(join(folders.data, lockFileName), {
    waitMs: lockWaitMs,
    onWait: (pid, stopMs) => options.note?.(waitNote(pid, stopMs)),
  });
  const log = openLog(config, folders.log);
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
    confKey: (source, key) => confKeys.resolve(source, key),
    confKeyLayers: (source, key) => confKeys.layers(source, key),
    confKeyNames: (source) => Object.keys(confKeys.list('sources', source) ?? {}),
    connection: (id) => connections.get(id),
    functionOwner: (name) => functions.ownerOf(name),
    access,
  };
  const logs = new LogTree(log, folders.log);
  const engine = options.createEngine({ catalog, config, folders, log, logs });
  const storedRules = new RuleRepository(store);
  const rules = new RuleService(storedRules, engine, config.rule, log);
  const { httpServerIp: ip, httpServerPort: port, httpServerTls } = config.source;
  const door = doorOf(options, log);
  const dataServer = new DataServer({ ...door, ip, port, tls: readTls(httpServerTls, 'source.httpServerTls'), log });
  const ruleTests = new RuleTestService({ engine, defaults: config.rule, dataServer, clock: systemClock, log });
  const push = new PushGateway(dataServer, log, { isOpen: config.source.openPush });
  const exporter = await openExporter(config, log);
  engine.traces.listener = (trace) => exporter.add(trace);
  const files = resourceFiles(config, folders.data, access);
  const stored = createStoredServices({
    store,
    files,
    functions,
    connections,
    connectors: allConnectors(),
    access,
    uses: () => engine.connectionUses(),
    portableStatus: () => undefined,
  });
  await sweepStored(stored);
  const { metricsDumpConfig } = config.basic;
  const metrics = new MetricsService({
    ids: () => rules.ids(),
    figures: (id) => rules.figures(id),
    cpuTimes: () => engine.cpuTimes(),
    memory: async () => (await engine.memory?.()) ?? [],
    latencies: async () => (config.basic.prometheus ? ((await engine.latencies?.()) ?? []) : []),
    connections: () => stored.connections.list(false),
    folder: join(folders.data, 'metrics'),
    retainedMs: metricsDumpConfig.retainedDuration,
    log,
  });
  const gate = new Gate();
  const cpuUsage = new CpuUsageService(engine);
  const { enable: isProfiled, interval } = config.basic.ResourceProfileConfig;
  if (isProfiled) cpuUsage.start(interval);
  const system = new SystemService(options.version, options.onStopRequest);
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
      sources: new SourceService(
        sources,
        {
          of: (name) => rules.usersOf(name),
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
      transfer: createTransfer({
        store,
        stored,
        files,
        gate,
        catalog,
        sources,
        confKeys,
        connections,
        storedRules,
        rules,
        stop: () => void system.stop(),
      }),
    },
    (step) => store.together(step),
    log,
    guards(config, door, log),
    config.basic.enableRestAuditLog ? auditParts(log) : undefined,
  );
  const { url, ports } = await openPorts(app, metrics, options, door, log).catch(async (error: unknown) => {
    await engine.close(0);
    throw error;
  });
  metrics.setCopying(metricsDumpConfig.enable);
  const warnings = warningsOf(config);
  for (const warning of warnings) log.warn(warning);
  log.info(`REST answers at ${url}`, { version: options.version, data: folders.data });
  let closing: Promise<void> | undefined;
  // Whoever waits for the server to come up is answered first.
  const rulesStarted = new Promise((resolve) => setTimeout(resolve, firstAnswersMs))
    .then(() => (closing === undefined ? rules.startStored() : undefined))
    .catch((error: unknown) => {
      log.error(`starting the stored rules failed: ${reasonOf(error)}`);
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

interface OpenPorts {
  /** Address of REST. */
  readonly url: string;
  readonly ports: readonly HttpServer[];
}

/** Opens the port of REST and that of the metrics, when it has one of its own; both or none. */
async function openPorts(
  app: ReturnType<typeof createApp>,
  metrics: MetricsService,
  options: ServerOptions,
  { guard }: Door,
  log: Log,
): Promise<OpenPorts> {
  const { restIp, restPort, restTls, prometheus, prometheusPort } = options.config.basic;
  const tls = readTls(restTls, 'basic.restTls');
  const http = createHttpServer(guard(app.callback()), { tls, limits: options.limits });
  const url = await listen(http, restIp, restPort, 'REST');
  if (!prometheus || prometheusPort === restPort) return { url, ports: [http] };
  const own = createMetricsServer(metrics, guard);
  try {
    log.info(`metrics at ${await listen(own, restIp, prometheusPort, 'the metrics server')}/metrics`);
  } catch (error) {
    await closeHttp(http, 0);
    throw error;
  }
  return { url, ports: [http, own] };
}

/** Where resources keep their files and what they may fetch. */
function resourceFiles({ basic }: Config, data: string, { paths }: Access): ResourceFiles {
  const folder = resolve(data);
  const { enablePrivateNet: allowPrivate } = basic;
  return { data: folder, uploads: join(folder, 'uploads'), allowPrivate, paths, pending: new Map() };
}

/** Makes the exporter of traces; it starts at once when the configuration says so. */
async function openExporter({ openTelemetry, basic }: Config, log: Logger): Promise<TraceExporter> {
  const { serviceName, remoteEndpoint, enableRemoteCollector } = openTelemetry;
  const defaults = { url: remoteEndpoint, serviceName };
  const guard = async (url: URL) => {
    const own = `${url.protocol}//${url.host}`;
    // The address of the configuration is the owner's own choice.
    if (own === `http://${remoteEndpoint}` || own === remoteEndpoint) return;
    await checkTarget(url, { allowPrivate: basic.enablePrivateNet });
  };
  const exporter = new TraceExporter({ defaults, log, guard });
  if (enableRemoteCollector) await exporter.start(defaults);
  return exporter;
}

function openLog({ basic }: Config, folder: string): Log {
  const { enable, network, address, level, tag } = basic.syslog;
  const syslog = enable ? openSyslog({ network: network || 'udp', address, level, tag }) : undefined;
  return new Log({
    level: levelOf(basic),
    console: basic.consoleLog,
    folder: basic.fileLog ? folder : undefined,
    fileName: mainLogFile,
    hasTimestamp: !basic.logDisableTimestamp,
    rotateSizeBytes: basic.rotateSize,
    rotateMs: basic.rotateTime * 3_600_000,
    maxAgeMs: basic.maxAge * 3_600_000,
    rotateCount: basic.rotateCount,
    ...(syslog === undefined ? {} : { also: syslog.send }),
  });
}

/** Who may ask, at all ports. */
interface Door {
  /** Stands before every request: which web pages may ask. */
  readonly guard: (handle: RequestListener) => RequestListener;
  /** Checks tokens; without it none are asked for. */
  readonly authenticate?: Authenticator;
  readonly tickets: TicketService;
  /** Why a request of the data server may not be answered. */
  readonly refusal?: (request: IncomingMessage) => Promise<string | undefined>;
}

function doorOf({ config, folders }: ServerOptions, log: Logger): Door {
  const { authentication, corsOrigins, allowedHosts, restIp } = config.basic;
  const hosts = [...allowedHosts, restIp, config.source.httpServerIp];
  const rules = { origins: corsOrigins, hosts, hasTokens: authentication, log };
  const door = { guard: (handle: RequestListener) => guardOrigins(rules, handle), tickets: new TicketService() };
  if (!authentication) return door;
  const authenticate = createAuthenticator({ folder: join(folders.etc, 'mgmt') });
  return { ...door, authenticate, refusal: dataRefusal(authenticate, door.tickets) };
}

/** What a request passes before its route. */
function guards({ basic }: Config, { authenticate }: Door, log: Logger): Middleware[] {
  return [
    ...(basic.enableRestAuditLog ? [audit(log)] : []),
    ...(authenticate === undefined ? [] : [requireToken(authenticate)]),
  ];
}

/** What the owner of the configuration should know: doors that are open, settings that do nothing. */
function warningsOf(config: Config): string[] {
  const { restIp, restPort, authentication, corsOrigins } = config.basic;
  const isLocal = restIp === 'localhost' || restIp === '::1' || restIp.startsWith('127.');
  return [
    ...(isLocal || authentication
      ? []
      : [`REST is open to the network on ${restIp}:${restPort} without authentication`]),
    ...(authentication || !corsOrigins.includes('*')
      ? []
      : ['basic.corsOrigins lets every web page command the server without authentication']),
    ...unusedIn(configSpec, config).map((name) => `the setting ${name} has no effect`),
  ];
}
