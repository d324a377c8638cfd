/** Ways of messages through the engine: streams, rules, where the results go. */
import { type KeeperName, keeperNames } from './keepers/index.js';
import { latenessMs } from './messages.js';

/** Folders, files, addresses and ports of a run. */
export interface Site {
  /** Folder with the input of the stream, file by file. */
  inputFolder(stream: string): string;
  readonly outFile: string;
  /** Addresses of the brokers; empty without them. */
  readonly inUrl: string;
  readonly outUrl: string;
  /** Port of the ledger; 0 without one. */
  readonly ledgerPort: number;
  /** Action that writes to the system that keeps the results; undefined without one. */
  readonly keeperAction: Record<string, unknown> | undefined;
}

export interface ChaosRule {
  readonly id: string;
  readonly sql: string;
  readonly action: Record<string, unknown>;
  readonly options?: Record<string, unknown>;
}

export interface Topology {
  readonly name: string;
  readonly title: string;
  readonly input: 'file' | 'mqtt';
  readonly output: 'file' | 'mqtt' | 'ledger' | KeeperName;
  /** Names of the streams that messages are sent to. */
  readonly feeds: readonly string[];
  /** In order; the last one makes the results. */
  rules(site: Site): readonly ChaosRule[];
  /** Streams between rules: the topics that each reads, by name. */
  readonly inner?: Readonly<Record<string, string>>;
  /** Whether the rules share the streams. */
  readonly isShared?: true;
  /** Expected results: the row of each message, or the rows of an undisturbed run. */
  readonly expects: 'rows' | 'undisturbed';
  /** Whether results come in the order of the messages. */
  readonly isOrdered: boolean;
}

const outTopic = 'chaos/out';
const select = 'SELECT id, k, v FROM s';

function sinkOf(
  output: Topology['output'],
  { outFile, outUrl, ledgerPort, keeperAction }: Site,
): Record<string, unknown> {
  if (keeperAction !== undefined) return keeperAction;
  if (output === 'file') return { file: { path: outFile, sendSingle: true } };
  if (output === 'ledger') return { ledger: { port: ledgerPort, sendSingle: true } };
  return { mqtt: { server: outUrl, topic: outTopic, qos: 1, sendSingle: true } };
}

/** Each message becomes a row. */
function plain(input: Topology['input'], output: Topology['output'], title: string): Topology {
  return {
    name: `${input}-${output}`,
    title,
    input,
    output,
    feeds: ['s'],
    rules: (site) => [{ id: 'chaos', sql: select, action: sinkOf(output, site) }],
    expects: 'rows',
    isOrdered: true,
  };
}

/** Windows of event time over files: they are the same however often rows are read again. */
function windows(
  name: string,
  title: string,
  sql: string,
  feeds: readonly string[] = ['s'],
  output: 'file' | 'ledger' = 'file',
): Topology {
  const options = { isEventTime: true, lateTolerance: `${latenessMs}ms` };
  return {
    name,
    title,
    input: 'file',
    output,
    feeds,
    rules: (site) => [{ id: 'chaos', sql, action: sinkOf(output, site), options }],
    expects: 'undisturbed',
    isOrdered: feeds.length === 1,
  };
}

const joined =
  'SELECT s.id AS a, t.id AS b, s.v + t.v AS v FROM s INNER JOIN t ON s.id = t.id GROUP BY TUMBLINGWINDOW(ss, 1)';
/** Rises with a fall behind them, at most so long; what is on the match so far is in its conditions. */
const rises =
  'SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ' +
  'MEASURES MATCH_NUMBER() AS m, FIRST(A.id) AS low, LAST(id) AS high, count(*) AS n, sum(UP.v) AS total ' +
  "PATTERN (A UP+ FALL) WITHIN INTERVAL '3' SECOND " +
  'DEFINE UP AS v > PREV(v) AND v > avg(UP.v) - 50, FALL AS v < LAST(UP.v))';
/** Overlapping matches, which end when a large value has not come for a while. */
const absences =
  'SELECT id, m, c, n FROM s MATCH_RECOGNIZE (PARTITION BY k ' +
  'MEASURES FIRST(id) AS m, CLASSIFIER() AS c, RUNNING count(*) AS n ' +
  'ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW ' +
  "PATTERN (A (B | C){1,3}? NOT BIG WITHIN INTERVAL '300' MILLISECOND) " +
  'DEFINE A AS v > 300, B AS v > A.v, BIG AS v > 900)';
const figures = 'k, count(*) AS n, sum(v) AS total, min(id) AS low, max(id) AS high, window_end() AS until';

const keptTitles: Readonly<Record<KeeperName, string>> = {
  kafka: 'files of lines to a topic of Kafka, whose broker is killed',
  nats: 'files of lines to a stream of NATS',
  rabbitmq: 'files of lines to a queue of RabbitMQ',
  redisStream: 'files of lines to a stream of Redis',
  sql: 'files of lines into a table of PostgreSQL',
  rest: 'files of lines to an HTTP server, a request each',
};

export const topologies: readonly Topology[] = [
  plain('file', 'file', 'files of lines, read and deleted, into a file'),
  plain('mqtt', 'mqtt', 'from one broker to another, QoS 1 with a session'),
  plain('mqtt', 'file', 'from a broker into a file'),
  plain('file', 'mqtt', 'files of lines to a broker'),
  plain('file', 'ledger', 'files of lines to a sink with transactions, which stands for databases'),
  ...keeperNames.map((name) => plain('file', name, keptTitles[name])),
  {
    ...plain('file', 'file', 'file to file over a memory topic between two rules'),
    name: 'memory-chain',
    inner: { m: 'm' },
    rules: (site) => [
      { id: 'chaos', sql: 'SELECT id, k, v FROM m', action: sinkOf('file', site) },
      { id: 'chaos_first', sql: select, action: { memory: { topic: 'm', sendSingle: true } } },
    ],
  },
  {
    ...plain('file', 'file', 'file to file over memory topics: one read by two rules, theirs with a wildcard by one'),
    name: 'memory-fan',
    inner: { m: 'm', n: 'n/+' },
    rules: (site) => [
      { id: 'chaos', sql: 'SELECT id, k, v FROM n', action: sinkOf('file', site) },
      { id: 'chaos_a', sql: 'SELECT id, k, v FROM m WHERE id % 2 = 0', action: { memory: { topic: 'n/a' } } },
      {
        id: 'chaos_b',
        sql: 'SELECT id, k, v FROM m WHERE id % 2 = 1',
        action: { memory: { topic: 'n/b', sendSingle: true } },
      },
      { id: 'chaos_c', sql: select, action: { memory: { topic: 'm', sendSingle: true } } },
    ],
    isOrdered: false,
    isShared: true,
  },
  {
    ...plain('file', 'file', 'files of lines into a file, beside another rule on the same shared stream'),
    name: 'shared',
    rules: (site) => [
      { id: 'chaos', sql: select, action: sinkOf('file', site) },
      {
        id: 'chaos_beside',
        sql: 'SELECT count(*) AS n FROM s GROUP BY COUNTWINDOW(7)',
        action: { file: { path: `${site.outFile}.beside` } },
        options: { checkpointInterval: '35ms' },
      },
    ],
    isShared: true,
  },
  windows('tumbling', 'tumbling windows of event time', `SELECT ${figures} FROM s GROUP BY k, TUMBLINGWINDOW(ss, 1)`),
  windows('hopping', 'hopping windows', `SELECT ${figures} FROM s GROUP BY k, HOPPINGWINDOW(ss, 2, 1)`),
  windows(
    'sliding',
    'sliding windows, one for each row',
    'SELECT count(*) AS n, sum(v) AS total, max(id) AS high, window_end() AS until, last_value(id, true) AS last ' +
      'FROM s GROUP BY SLIDINGWINDOW(ss, 1)',
  ),
  windows('session', 'session windows', `SELECT ${figures} FROM s GROUP BY k, SESSIONWINDOW(ss, 10, 1)`),
  windows('pattern', 'MATCH_RECOGNIZE: rises of each key with a fall behind them, within a time', rises),
  windows('pattern-absent', 'overlapping matches that end when a row has not come, all their rows', absences),
  windows('join', 'two streams, joined in each window', joined, ['s', 't']),
  windows('join-ledger', 'the same to a sink with transactions', joined, ['s', 't'], 'ledger'),
];

/** The statement that makes a stream of the topology. */
export function streamSql(topology: Topology, stream: string): string {
  const shared = topology.isShared === true ? ', SHARED="true"' : '';
  const topic = topology.inner?.[stream];
  if (topic !== undefined) return `CREATE STREAM ${stream} () WITH (TYPE="memory", DATASOURCE="${topic}"${shared})`;
  const time = topology.expects === 'undisturbed' ? ', TIMESTAMP="ts"' : '';
  const source = topology.input === 'file' ? 'file' : `chaos/${stream}`;
  const dataSource = topology.input === 'file' ? '.' : source;
  return (
    `CREATE STREAM ${stream} () WITH (TYPE="${topology.input}", DATASOURCE="${dataSource}", ` +
    `CONF_KEY="${stream}"${time}${shared})`
  );
}

/** The configuration key of a stream. */
export function streamProps(topology: Topology, stream: string, site: Site): Record<string, unknown> {
  if (topology.input === 'mqtt') {
    return { server: site.inUrl, qos: 1, clientid: `chaos-${stream}`, enableClientSession: true };
  }
  return { path: site.inputFolder(stream), fileType: 'lines', interval: '10ms', actionAfterRead: 1 };
}

export { outTopic };
