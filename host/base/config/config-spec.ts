/** Table of the configuration file: every key with its type, default and meaning. Read by config.ts. */
import { isAbsolute } from 'node:path';
import { aesKeyReason } from '../bytes/aes-props.js';
import { field } from '../fields/field.js';
import { sinkCacheSpec } from '../fields/sink-cache-spec.js';
import { mainLogFile } from '../log/log.js';
import { putAside } from '../log/log-file.js';
import { cluster } from './cluster-spec.js';
import { plugin } from './plugin-spec.js';
import { dataServer, tls } from './server-spec.js';

const period = {
  begin: field.string().doc('Begin as YYYY-MM-DD hh:mm:ss'),
  end: field.string().doc('End as YYYY-MM-DD hh:mm:ss'),
  beginTimestamp: field.int().min(0).doc('Begin in epoch milliseconds; with endTimestamp in the place of the texts'),
  endTimestamp: field.int().min(0).doc('End in epoch milliseconds'),
};

const planning = {
  enableIncrementalWindow: field.bool().default(false).doc('Aggregate while rows come in'),
  enableAliasPushdown: field.bool().default(false).doc('Compute aliases at the source'),
  disableAliasRefCal: field.bool().default(false).doc('Compute an alias again at each use'),
  optimizeControl: field
    .object({ disableOptimizeRules: field.list(field.string()).doc('Steps of optimisation that are left out') })
    .doc('Steps of optimisation'),
  windowOption: field
    .object({
      enableSendSlidingWindowTwice: field.bool().default(false).doc('Send a delayed sliding window twice'),
      windowVersion: field.string().default('').doc('Implementation of windows'),
    })
    .doc('Windows'),
};

/** Options of a rule; the section `rule` of the configuration changes the defaults for all rules. */
export const ruleOptionSpec = {
  debug: field.bool().default(false).doc('Log more about this rule'),
  logFilename: field.string().default('').check(logFileReason).doc('File in the log folder for the lines of this rule'),
  isEventTime: field.bool().default(false).doc('Windows follow the time stamps of the data'),
  lateTolerance: field.duration().min(0).default(1000).doc('How late an event may come before it is dropped'),
  idleTimeout: field
    .duration()
    .min(0)
    .default(0)
    .doc('Event time: a stream that brings nothing for so long no longer holds the watermark back; 0 is for ever'),
  timezone: field
    .string()
    .default('')
    .check(timeZoneReason)
    .doc(
      'Time zone of the date functions, windows and schedule of the rule: Local or an IANA name; empty is that ' +
        'of the server',
    ),
  maxFutureSkew: field
    .duration()
    .min(0)
    .default(2_592_000_000)
    .doc("How far ahead of the server's clock the time stamp of an event may lie, else it is an error; 0 is no bound"),
  maxStateBytes: field
    .int()
    .min(0)
    .default(2 ** 30)
    .doc('Bytes that the rule may keep in windows, tables and functions that look back; beyond it ends; 0 is no bound'),
  maxPartialMatches: field
    .int()
    .min(0)
    .default(100_000)
    .doc('MATCH_RECOGNIZE: partial matches that a key may have; 0 is no bound'),
  partialMatchPolicy: field
    .string()
    .oneOf('stop', 'dropOldest')
    .default('stop')
    .doc('When a key has more partial matches: the rule ends (stop), or the oldest ones go, counted as exceptions'),
  stateTtl: field
    .duration()
    .min(0)
    .default(0)
    .doc(
      'How long functions that look back, COUNTWINDOW and STATEWINDOW (OVER PARTITION BY) keep a partition, and ' +
        'ASOF JOIN and MATCH_RECOGNIZE a key, after its last row; 0 for ever',
    ),
  concurrency: field.int().min(0).default(1).doc('Parallel instances of an operator').unused(),
  parallelism: field
    .int()
    .min(1)
    .max(64)
    .default(1)
    .doc('Parts among which rows are divided by key, with several data planes'),
  bufferLength: field
    .int()
    .min(0)
    .default(1024)
    .doc(
      'KiB that wait in memory for a sink, 64 to 262144; input that waits for a throttled rule on a shared ' +
        'stream has 16 times that, 256 MiB at most',
    ),
  maxBacklogBytes: field
    .int()
    .min(0)
    .default(2 ** 30)
    .doc('Bytes that may wait on disk for the sinks of the rule, when memory is full; 0: nothing waits there'),
  bufferFullPolicy: field
    .string()
    .oneOf('auto', 'block', 'dropOldest', 'stop')
    .default('auto')
    .doc(
      'When memory and disk are full: the sources wait (block); or the oldest messages are dropped and counted ' +
        '(dropOldest); or the rule ends when a sink has blocked a source for 3 s (stop). The same holds for input ' +
        'that waits in memory for a throttled rule on a shared stream. auto is dropOldest for a rule with qos 0 on ' +
        'a shared stream that something comes to from outside, else block',
    ),
  sendMetaToSink: field.bool().default(false).doc('Send metadata along with the results'),
  sendNilField: field.bool().default(false).doc('Send fields without a value as null'),
  sendError: field.bool().default(false).doc('Send runtime errors to the sinks'),
  qos: field
    .int()
    .min(0)
    .default(0)
    .doc(
      '1: the state is kept in checkpoints, sources that can rewind to them; 2: files of sinks are cut back to ' +
        'them as well; see guarantees.md',
    ),
  checkpointInterval: field
    .duration()
    .min(0)
    .default(300_000)
    .doc('Time between two checkpoints when qos is above 0; 0: only at the end of the rule'),
  restartStrategy: field
    .object({
      attempts: field.int().min(0).default(0).doc('Restarts after a failure; 0 does not restart'),
      delay: field.duration().min(0).default(1000).doc('Time before the first restart'),
      multiplier: field.float().min(0).default(2).doc('Factor on the delay of each further restart'),
      maxDelay: field.duration().min(0).default(30_000).doc('Longest time before a restart'),
      jitterFactor: field.float().min(0).default(0.1).doc('Random part of the delay'),
    })
    .doc('What happens after a failure'),
  cron: field.string().default('').doc('Start times of a periodic rule'),
  duration: field.duration().min(0).default(0).doc('Run time of a periodic rule; 0 is unlimited'),
  cronDatetimeRange: field.list(field.object(period)).default([]).doc('Periods in which the rule runs'),
  planOptimizeStrategy: field.object(planning).doc('Choices of the planner, accepted for compatibility').unused(),
  notifySub: field.bool().default(false).doc('Accepted for compatibility: memory sources need no wake-up'),
  disableBufferFullDiscard: field.bool().default(false).doc('Accepted for compatibility: nothing is dropped'),
  enableSaveStateBeforeStop: field
    .bool()
    .default(false)
    .doc('Keep the state over a stop with qos 0, too; above it always is'),
  forceExitTimeout: field.duration().min(0).default(0).doc('Longest time a stop may take; 0 is that of the server'),
  enableRuleTracer: field.bool().default(false).doc('Trace the rule from its start'),
  experiment: field
    .object({ useSliceTuple: field.bool().default(false).doc('Accepted for compatibility') })
    .doc('Options under trial')
    .unused(),
};

const basic = {
  logLevel: field.string().oneOf('debug', 'info', 'warn', 'error', 'fatal', 'panic').default('info').doc('Log level'),
  debug: field.bool().default(false).doc('Same as log level debug'),
  consoleLog: field.bool().default(false).doc('Log to the console'),
  fileLog: field.bool().default(true).doc('Log to a file in the log folder'),
  logDisableTimestamp: field.bool().default(false).doc('Leave the time out of log lines'),
  syslog: field.object({
    enable: field.bool().default(false).doc('Log to syslog'),
    network: field.string().oneOf('', 'udp', 'tcp').default('udp').doc('Protocol of the syslog server'),
    address: field.string().default('localhost:514').doc('Address of the syslog server'),
    level: field.string().oneOf('debug', 'info', 'warn', 'error').default('info').doc('Level sent to syslog'),
    tag: field.string().default('kuiper').doc('Name in syslog messages'),
  }),
  rotateTime: field.int().min(0).default(24).doc('Hours after which a new log file begins; 0 never'),
  maxAge: field.int().min(0).default(72).doc('Hours that log files are kept; 0 for ever'),
  rotateSize: field.int().min(0).default(10_485_760).doc('Bytes after which a new log file begins; 0 never'),
  rotateCount: field.int().min(0).default(3).doc('Number of old log files kept; 0 keeps all'),
  ip: field.string().default('0.0.0.0').doc('Address of the command line service').unused(),
  port: field.int().min(0).max(65_535).default(20_498).doc('Port of the command line service').unused(),
  restIp: field.string().default('0.0.0.0').doc('Address of the REST service'),
  restPort: field.int().min(0).max(65_535).default(9081).doc('Port of the REST service'),
  restTls: tls().doc('TLS of the REST service'),
  timezone: field
    .string()
    .default('Local')
    .check(timeZoneReason)
    .doc('Time zone of all date functions: Local or an IANA name'),
  authentication: field.bool().default(false).doc('Ask for a token (RS256) in all REST requests but / and /ping'),
  prometheus: field
    .bool()
    .default(false)
    .doc('Serve metrics on a port of their own as well, with histograms; /metrics of REST is always there'),
  prometheusPort: field
    .int()
    .min(0)
    .max(65_535)
    .default(20_499)
    .doc('Port of the metrics with prometheus: true, may be the REST port'),
  pprof: field.bool().default(false).doc('Accepted for compatibility').unused(),
  pprofIp: field.string().default('').doc('Accepted for compatibility').unused(),
  pprofPort: field.int().min(0).max(65_535).default(6060).doc('Accepted for compatibility').unused(),
  pluginHosts: field.string().default('https://packages.emqx.net').doc('Hosts of prebuilt plugins').unused(),
  allowInstallScripts: field
    .bool()
    .default(false)
    .doc('Run the install.sh of portable plugins when they are installed, with the rights of the server'),
  ignoreCase: field.bool().default(false).doc('Names in SQL match in any letter case').unused(),
  sql: field.object({
    maxConnections: field
      .int()
      .min(0)
      .default(0)
      .doc(
        'Most connections to one database by equal properties: up to half of them for sources, the others for sinks ' +
          'and lookup tables, one at least for each; 0: eight for each',
      ),
  }),
  rulePatrolInterval: field.duration().min(1).default(10_000).doc('Time between two checks of scheduled rules'),
  enableOpenZiti: field.bool().default(false).doc('Accepted for compatibility').unused(),
  aesKey: field
    .secret()
    .default('')
    .check((key) => (key === '' ? undefined : aesKeyReason(key)))
    .doc('Key of messages that sinks encrypt (`encryption`): 16, 24 or 32 bytes in base64'),
  minFreeDisk: field
    .int()
    .min(0)
    .default(2 ** 28)
    .doc('Bytes that the backlogs of rules leave free on the disk of the data folder'),
  dataPlanes: field.int().min(1).max(64).default(1).doc('Number of threads that run rules'),
  maxDataMemory: field
    .int()
    .min(0)
    .default(0)
    .doc(
      'Bound of the memory in which the rules of a data plane keep their state, bytes; 0 is the most there can be: ' +
        '4 GiB',
    ),
  maxValueBytes: field
    .int()
    .min(1024)
    .max(2 ** 30)
    .default(2 ** 24)
    .doc('Longest value that a function or an aggregate may make, bytes; a longer one is an error of its row'),
  gracefulShutdownTimeout: field.duration().min(0).default(10_000).doc('Longest time a stop of the server may take'),
  connection: field.object({
    backoffMaxElapsedDuration: field
      .duration()
      .min(0)
      .default(180_000)
      .doc('How long a connection is retried')
      .unused(),
    maxReconnectInterval: field
      .duration()
      .min(100)
      .default(5000)
      .doc('Longest time between two attempts to reach a broker, file or other side that is away'),
  }),
  ResourceProfileConfig: field.object({
    enable: field
      .bool()
      .default(false)
      .doc('Take samples for /rules/usage/cpu all the time; otherwise the first answer is an average'),
    interval: field.duration().min(1).default(5000).doc('Time between two samples'),
  }),
  metricsDumpConfig: field.object({
    enable: field.bool().default(false).doc('Keep metrics in files'),
    retainedDuration: field.duration().min(0).default(21_600_000).doc('How long metrics files are kept'),
  }),
  enableRestAuditLog: field
    .bool()
    .default(false)
    .doc('Log each request: method, path, status, client, subject of the token'),
  enablePrivateNet: field
    .bool()
    .default(false)
    .doc('Loopback and private addresses are open to fetched files, services, and addresses that come with data'),
  corsOrigins: field
    .list(field.string().check(originReason))
    .default([])
    .doc('Web pages that may send requests, by their origin such as https://plant.example:8443; * for all'),
  allowedHosts: field
    .list(field.string())
    .default([])
    .doc('Names by which clients may call the server without a token, besides addresses, localhost and plain names'),
  allowExternalFileAccess: field
    .bool()
    .default(false)
    .doc('Paths in requests may lead anywhere; false only into the data folder and allowedPaths'),
  allowedPaths: field
    .list(field.string().check(absoluteReason))
    .default([])
    .doc('Folders outside of the data folder that paths in requests may lead into: files, certificates, file:// URIs'),
  secrets: field
    .object({
      variables: field
        .list(field.string())
        .default(['HAUMEA_SECRET_*'])
        .doc('Environment variables that env:// references may name; * at the end stands for any rest'),
      folders: field
        .list(field.string().check(absoluteReason))
        .default(['/run/secrets'])
        .doc('Folders of files that file:// references may name, besides the folder secrets in the data folder'),
    })
    .doc('What secret properties may refer to'),
  cfgStorageType: field
    .string()
    .oneOf('', 'file', 'kv', 'sqlite', 'fdb')
    .default('kv')
    .doc('Accepted for compatibility')
    .unused(),
};

const store = {
  type: field.string().oneOf('sqlite').default('sqlite').doc('Where definitions are kept'),
  extStateType: field.string().default('sqlite').doc('Where states for other programs are kept').unused(),
  redis: field
    .object({
      host: field.string().default('localhost').doc('Redis host'),
      port: field.int().min(0).max(65_535).default(6379).doc('Redis port'),
      password: field.secret().default('').doc('Redis password'),
      timeout: field.duration().min(0).default(1000).doc('Redis time limit'),
      connectionSelector: field.string().default('').doc('Redis connection to use'),
    })
    .unused(),
  sqlite: field.object({
    name: field.string().default('').doc('Name of the database file in the data folder; empty is sqliteKV.db'),
  }),
  pebble: field
    .object({
      name: field.string().default('pebble').doc('Accepted for compatibility'),
      path: field.string().default('').doc('Accepted for compatibility'),
    })
    .unused(),
  fdb: field.object({ path: field.string().default('').doc('Accepted for compatibility') }).unused(),
};

const portable = {
  pythonBin: field
    .string()
    .default('python')
    .doc('Program that runs plugins in Python; where there is no python, python3 takes its place'),
  initTimeout: field.duration().min(1).default(60_000).doc('Longest start of a plugin, until it connects'),
  sendTimeout: field.duration().min(1).default(5000).doc('Longest wait for a sink of a plugin to confirm a message'),
  recvTimeout: field
    .duration()
    .min(1)
    .default(5000)
    .doc('Longest call of a function of a plugin: a plugin that takes longer is ended and started again'),
  callRetries: field
    .int()
    .min(0)
    .max(100)
    .default(1)
    .doc('How often a call is repeated whose plugin ended meanwhile; then it fails'),
  callsAtOnce: field
    .int()
    .min(1)
    .max(64)
    .default(1)
    .doc('Calls of one function under way at once, in Python; above 1 they come in no order, each to its own object'),
  maxMemoryBytes: field
    .int()
    .min(0)
    .default(0)
    .doc('Memory of a plugin, in bytes; one that takes more is ended and started again; 0: half of the machine'),
};

const openTelemetry = {
  serviceName: field.string().default('kuiperd-service').doc('Name in traces'),
  enableRemoteCollector: field.bool().default(false).doc('Send traces to a collector, by OTLP over HTTP'),
  remoteEndpoint: field
    .string()
    .default('localhost:4318')
    .doc('Address of the collector, `host:port` or a URL; without a path `/v1/traces` and `/v1/metrics`'),
  headers: field
    .secret()
    .default('')
    .doc('Headers of requests to that collector, as `authorization=Bearer%20abc,tenant=plant`'),
  enableMetrics: field.bool().default(false).doc('Send metrics to the collector'),
  metricsInterval: field.duration().min(100).default(10_000).doc('Time between two sets of metrics'),
  localTraceCapacity: field.int().min(0).default(2048).doc('Traces kept in memory'),
  enableLocalStorage: field.bool().default(false).doc('Keep traces in the data folder').unused(),
};

const security = {
  encryption: field.object({
    algorithm: field.string().default('').doc('Algorithm of encrypted properties'),
    key: field.secret().default('').doc('Key of encrypted properties'),
    properties: field.object().doc('Settings of the algorithm'),
  }),
  tls: field.object().doc('TLS settings of all clients'),
};

export const configSpec = {
  basic: field.object(basic).doc('The server'),
  rule: field.object(ruleOptionSpec).doc('Default options of rules'),
  sink: field.object(sinkCacheSpec).doc('Defaults of the cache of sinks'),
  source: field.object(dataServer).doc('The data server'),
  store: field.object(store).doc('Where definitions and states are kept'),
  portable: field.object(portable).doc('Portable plugins'),
  plugin: field.object(plugin).doc('What functions of users may take'),
  connection: field
    .object({
      backoffMaxElapsedDuration: field
        .duration()
        .min(0)
        .default(180_000)
        .doc('How long a connection is retried')
        .unused(),
    })
    .doc('Shared connections'),
  security: field.object(security).doc('Encryption').unused(),
  openTelemetry: field.object(openTelemetry).doc('Traces and metrics for a collector'),
  cluster: field.object(cluster).doc('Many machines; see cluster.md'),
};

/** Says why a text can't be the origin of a page. */
function originReason(origin: string): string | undefined {
  if (origin === '*') return undefined;
  const isOrigin = URL.canParse(origin) && new URL(origin).origin === origin.toLowerCase();
  return isOrigin ? undefined : `must be an origin such as https://plant.example:8443, not ${JSON.stringify(origin)}`;
}

/** Says why a text can't be a folder of the configuration that holds wherever the server is started. */
function absoluteReason(path: string): string | undefined {
  return isAbsolute(path) ? undefined : `must be an absolute path, not ${JSON.stringify(path)}`;
}

/** Says why a text can't name a log file of a rule: it must stay in the log folder and leave other files alone. */
function logFileReason(name: string): string | undefined {
  if (name === '') return undefined;
  if (!/^[\w][\w. -]{0,199}$/.test(name) || name.endsWith('.')) {
    return (
      'must be a plain file name in the log folder (letters, digits, _ - . and spaces), not ' +
      `${JSON.stringify(name)}`
    );
  }
  if (name === mainLogFile) return `must not be ${mainLogFile}, the log of the server`;
  return putAside.test(name)
    ? `must not end like an old log file that was put aside: ${JSON.stringify(name)}`
    : undefined;
}

/** Says why a time zone name can't be used. */
export function timeZoneReason(name: string): string | undefined {
  if (name === '' || name === 'Local') return undefined;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return undefined;
  } catch {
    return `is no known time zone: ${JSON.stringify(name)}`;
  }
}
