/** Composition root: the only file that wires modules together. */
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer, type Server as HttpServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import type { Config, LoadedConfig } from './base/config.js';
import { HaumeaError, reasonOf } from './base/errors.js';
import { type FolderLock, lockFolder } from './base/lock-file.js';
import { type Level, Log, type Logger } from './base/log.js';
import { connectorNames } from './connectors/index.js';
import { ConfKeyRepository } from './meta/conf-keys.js';
import { loadDefaultKeys } from './meta/default-keys.js';
import { openStore } from './meta/journal-store.js';
import { RuleRepository } from './meta/rules.js';
import { SourceRepository } from './meta/sources.js';
import type { Store } from './meta/store.js';
import { createApp } from './rest/app.js';
import { ConfKeyService } from './rest/services/conf-keys.js';
import { RuleService } from './rest/services/rules.js';
import { SourceService } from './rest/services/sources.js';
import { SystemService } from './rest/services/system.js';
import type { Catalog, Engine } from './run/api.js';

/** A client that sends nothing for so long is cut off. */
const requestTimeoutMs = 120_000;
const headersTimeoutMs = 20_000;
/** Open keep-alive connections get so long at a stop. */
const connectionGraceMs = 500;

/** Part of the time of a stop that rules may take to flush; the rest is for writing the definitions. */
const ruleShareOfStop = 0.7;

/** What the engine is made with. */
export interface EngineContext {
  readonly catalog: Catalog;
  readonly config: Config;
  readonly folders: LoadedConfig['folders'];
  readonly log: Logger;
}

export interface ServerOptions extends LoadedConfig {
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly createEngine: (context: EngineContext) => Engine;
  /** Called when a client asks for the end of the server. */
  readonly onStopRequest: () => void;
}

export interface Server {
  /** Address of the REST interface. */
  readonly url: string;
  /** Resolves when all stored rules were given to the engine. */
  readonly rulesStarted: Promise<void>;
  /** Stops accepting requests, ends rules, writes definitions; takes at most the configured time. */
  close(): Promise<void>;
}

/** Brings the server up; resolves when REST answers. Throws HaumeaErrors that name what is in the way. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { config, folders } = options;
  mkdirSync(folders.data, { recursive: true });
  const lock = lockFolder(join(folders.data, 'haumea.lock'));
  const log = openLog(config, folders.log);
  let store: Store | undefined;
  try {
    store = await openStore({ path: join(folders.data, config.store.sqlite.name || 'sqliteKV.db'), log });
    return await assemble(options, { lock, log, store });
  } catch (error) {
    await store?.close();
    log.close();
    lock.close();
    throw error;
  }
}

interface Resources {
  readonly lock: FolderLock;
  readonly log: Log;
  readonly store: Store;
}

async function assemble(options: ServerOptions, { lock, log, store }: Resources): Promise<Server> {
  const { config, folders } = options;
  const sources = new SourceRepository(store);
  const confKeys = new ConfKeyRepository(store, await loadDefaultKeys(folders.etc, options.env));
  const catalog: Catalog = {
    source: (name) => sources.get(name)?.definition,
    confKey: (source, key) => confKeys.resolve(source, key),
    connection: () => undefined,
  };
  const engine = options.createEngine({ catalog, config, folders, log });
  const rules = new RuleService(new RuleRepository(store), engine, config.rule, log);
  const app = createApp(
    {
      system: new SystemService(options.version, options.onStopRequest),
      sources: new SourceService(sources, (name) => engine.usersOf(name)),
      confKeys: new ConfKeyService(confKeys, (owner) => connectorNames(owner === 'sinks' ? 'sink' : 'source')),
      rules,
    },
    log,
  );
  let http: HttpServer;
  let url: string;
  try {
    http = makeHttpServer(config, app.callback());
    url = await listen(http, config);
  } catch (error) {
    await engine.close(0);
    throw error;
  }
  warnWhenOpen(config, log);
  log.info(`REST answers at ${url}`, { version: options.version, data: folders.data });
  const rulesStarted = rules.startStored().catch((error: unknown) => {
    log.error(`starting the stored rules failed: ${reasonOf(error)}`);
  });
  let closing: Promise<void> | undefined;
  const close = async () => {
    log.info('stopping');
    await closeHttp(http);
    await engine.close(ruleShareOfStop * config.basic.gracefulShutdownTimeout).catch((error: unknown) => {
      log.error(`stopping the rules failed: ${reasonOf(error)}`);
    });
    await store.close();
    log.info('stopped');
    log.close();
    lock.close();
  };
  return {
    url,
    rulesStarted,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

function openLog({ basic }: Config, folder: string): Log {
  const level: Level = basic.logLevel === 'fatal' || basic.logLevel === 'panic' ? 'error' : basic.logLevel;
  return new Log({
    level: basic.debug ? 'debug' : level,
    console: basic.consoleLog,
    folder: basic.fileLog ? folder : undefined,
    fileName: 'stream.log',
    hasTimestamp: !basic.logDisableTimestamp,
    rotateSizeBytes: basic.rotateSize,
    rotateMs: basic.rotateTime * 3_600_000,
    maxAgeMs: basic.maxAge * 3_600_000,
    rotateCount: basic.rotateCount,
  });
}

function makeHttpServer({ basic }: Config, handle: RequestListener): HttpServer {
  const { certfile, keyfile } = basic.restTls;
  const limits = { requestTimeout: requestTimeoutMs, headersTimeout: headersTimeoutMs };
  if (!certfile && !keyfile) return createServer(limits, handle);
  if (!certfile || !keyfile) throw new HaumeaError('config', 'basic.restTls needs both certfile and keyfile');
  return createSecureServer(
    { ...limits, cert: readPem('certfile', certfile), key: readPem('keyfile', keyfile) },
    handle,
  );
}

function readPem(name: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new HaumeaError('config', `basic.restTls.${name} ${path} can't be read: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

function listen(http: HttpServer, { basic }: Config): Promise<string> {
  const { restIp, restPort } = basic;
  return new Promise((resolve, reject) => {
    http.once('error', (error: NodeJS.ErrnoException) => {
      const reason = error.code === 'EADDRINUSE' ? 'the port is in use by another program' : error.message;
      reject(new HaumeaError('general', `REST can't listen on ${restIp}:${restPort}: ${reason}`, { cause: error }));
    });
    http.listen(restPort, restIp, () => {
      const address = http.address();
      const port = typeof address === 'object' && address !== null ? address.port : restPort;
      const host = restIp === '0.0.0.0' || restIp === '::' ? 'localhost' : isIPv6(restIp) ? `[${restIp}]` : restIp;
      resolve(`${basic.restTls.certfile ? 'https' : 'http'}://${host}:${port}`);
    });
  });
}

function warnWhenOpen({ basic }: Config, log: Logger): void {
  const isLocal = basic.restIp === 'localhost' || basic.restIp === '::1' || basic.restIp.startsWith('127.');
  if (!isLocal && !basic.authentication) {
    log.warn(`REST is open to the network on ${basic.restIp}:${basic.restPort} without authentication`);
  }
}

/** Ends when requests under way are answered; connections that stay open are cut. */
async function closeHttp(http: HttpServer): Promise<void> {
  const closed = new Promise<void>((resolve) => http.close(() => resolve()));
  http.closeIdleConnections();
  const timer = setTimeout(() => http.closeAllConnections(), connectionGraceMs);
  await closed;
  clearTimeout(timer);
}
