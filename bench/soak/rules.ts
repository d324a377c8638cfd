/** Rules of a soak: those that must lose nothing, and the kinds of those that come and go. */
import { hot, inTopic, resultTopic, rowsTopic } from './feeder.js';

export interface Site {
  /** Address of the feeder. */
  readonly brokerUrl: string;
  /** Folder for the files of rules. */
  readonly outFolder: string;
}

export interface SoakRule {
  readonly id: string;
  readonly sql: string;
  readonly actions: readonly Record<string, unknown>[];
  readonly options?: Record<string, unknown>;
}

/** A request: method, path, body. */
export type Request = readonly [method: string, path: string, body?: unknown];

/** Stream of all rules, shared. */
const stream = 'telem';
const groupsTopic = 'soak/groups';

export const setUp = ({ brokerUrl }: Site): readonly Request[] => [
  ['PUT', '/metadata/sources/mqtt/confKeys/soak', { server: brokerUrl, qos: 0 }],
  [
    'POST',
    '/streams',
    {
      sql:
        `CREATE STREAM ${stream} (id BIGINT, device STRING, temp FLOAT, speed FLOAT, hum FLOAT, ts BIGINT) WITH ` +
        `(TYPE="mqtt", DATASOURCE="${inTopic}", FORMAT="json", CONF_KEY="soak", SHARED="true")`,
    },
  ],
  ['POST', '/streams', { sql: `CREATE STREAM groups () WITH (TYPE="memory", DATASOURCE="${groupsTopic}")` }],
  [
    'POST',
    '/tables',
    { sql: `CREATE TABLE latest () WITH (TYPE="memory", DATASOURCE="${groupsTopic}", KIND="lookup", KEY="device")` },
  ],
];

/** A rule for each message that is hot, whose rows the feeder checks. */
export const rowsRule = 'soak_rows';
/** Rules whose results have the number of messages in `n`; together each has counted every message. */
export const counting = ['count', 'chain', 'kept'] as const;

export function lastingRules({ brokerUrl }: Site): readonly SoakRule[] {
  const to = (name: string) => [{ mqtt: { server: brokerUrl, topic: resultTopic + name, qos: 1, sendSingle: true } }];
  return [
    {
      id: rowsRule,
      sql: `SELECT id, device, temp FROM ${stream} WHERE temp > ${hot}`,
      actions: [{ mqtt: { server: brokerUrl, topic: rowsTopic, qos: 1, sendSingle: true } }],
    },
    {
      id: 'soak_count',
      sql:
        `SELECT count(*) AS n, min(id) AS low, max(id) AS high, window_end() AS until FROM ${stream} GROUP BY ` +
        'TUMBLINGWINDOW(ss, 1)',
      actions: to('count'),
    },
    {
      id: 'soak_groups',
      sql:
        `SELECT device, count(*) AS n, avg(temp) AS t, max(speed) AS s FROM ${stream} GROUP BY device, ` +
        'TUMBLINGWINDOW(ss, 10)',
      actions: [{ memory: { topic: groupsTopic } }],
    },
    {
      id: 'soak_chain',
      sql: 'SELECT sum(n) AS n, count(*) AS devices, window_end() AS until FROM groups GROUP BY TUMBLINGWINDOW(ss, 10)',
      actions: to('chain'),
    },
    {
      id: 'soak_kept',
      sql: `SELECT count(*) AS n, avg(temp) AS t, window_end() AS until FROM ${stream} GROUP BY TUMBLINGWINDOW(ss, 10)`,
      actions: to('kept'),
      options: { qos: 1, checkpointInterval: '5s' },
    },
  ];
}

/** A kind of rule that comes and goes; `n` makes names and thresholds differ. */
export interface Kind {
  readonly name: string;
  rule(id: string, n: number, site: Site): SoakRule;
  /** Requests that make what the rule needs, and requests that remove it afterwards. */
  readonly before?: (id: string) => readonly Request[];
  readonly after?: (id: string) => readonly Request[];
}

/** Hot enough for some hundred messages a second of 200,000, and another bound for each rule. */
const some = (n: number) => `temp > ${(hot + 0.1 + (n % 97) / 1000).toFixed(3)}`;
/** Nobody listens there. */
const away = { server: 'tcp://127.0.0.1:1', topic: 'soak/away', qos: 1 };
const nop = [{ nop: {} }];

function windows(name: string, items: string, window: string, options?: Record<string, unknown>): Kind {
  return {
    name,
    rule: (id, n) => ({
      id,
      sql: `SELECT ${items}, count(*) AS n, avg(temp) AS t FROM ${stream} WHERE ${some(n)} GROUP BY ${window}`,
      actions: nop,
      ...(options === undefined ? {} : { options }),
    }),
  };
}

/** A function of numbers, `twice`: what a compiler makes of `(x: f64) => x * 2`. */
function twiceModule(name: string): string {
  const text = Buffer.from(name);
  const section = (id: number, body: readonly number[]) => [id, body.length, ...body];
  return Buffer.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 1, 0x7c, 1, 0x7c]),
    ...section(3, [1, 0]),
    ...section(7, [1, text.length, ...text, 0, 0]),
    ...section(10, [1, 7, 0, 0x20, 0, 0x20, 0, 0xa0, 0x0b]),
  ]).toString('base64');
}

export const kinds: readonly Kind[] = [
  {
    name: 'filter',
    rule: (id, n) => ({ id, sql: `SELECT id, device, temp FROM ${stream} WHERE ${some(n)}`, actions: nop }),
  },
  windows('tumbling', 'device', 'device, TUMBLINGWINDOW(ss, 2)'),
  windows('hopping', 'device', 'device, HOPPINGWINDOW(ss, 4, 1)'),
  windows('sliding', 'max(id) AS high', 'SLIDINGWINDOW(ss, 1)'),
  windows('session', 'device', 'device, SESSIONWINDOW(ss, 5, 1)'),
  windows('count', 'max(id) AS high', 'COUNTWINDOW(100)'),
  windows('checkpoints', 'device', 'device, HOPPINGWINDOW(ss, 4, 2)', { qos: 1, checkpointInterval: '500ms' }),
  windows('transactions', 'device', 'device, TUMBLINGWINDOW(ss, 2)', { qos: 2, checkpointInterval: '1s' }),
  {
    name: 'join',
    rule: (id, n) => ({
      id,
      sql:
        `SELECT ${stream}.id, groups.n FROM ${stream} INNER JOIN groups ON ${stream}.device = groups.device WHERE ` +
        `${stream}.${some(n)} GROUP BY TUMBLINGWINDOW(ss, 1)`,
      actions: nop,
    }),
  },
  {
    name: 'lookup',
    rule: (id, n) => ({
      id,
      sql:
        `SELECT ${stream}.id, latest.t FROM ${stream} INNER JOIN latest ON ${stream}.device = latest.device WHERE ` +
        `${stream}.${some(n)}`,
      actions: nop,
    }),
  },
  {
    name: 'analytic',
    rule: (id, n) => ({
      id,
      sql: `SELECT id, temp - lag(temp) OVER (PARTITION BY device) AS step FROM ${stream} WHERE ${some(n)}`,
      actions: nop,
    }),
  },
  {
    name: 'cache',
    rule: (id, n) => ({
      id,
      sql: `SELECT id, device FROM ${stream} WHERE ${some(n)}`,
      actions: [
        {
          mqtt: {
            ...away,
            enableCache: true,
            memoryCacheThreshold: 64,
            bufferPageSize: 32,
            maxDiskCache: 2048,
            cacheFullPolicy: 'dropOldest',
          },
        },
      ],
    }),
  },
  {
    name: 'backlog',
    rule: (id, n) => ({ id, sql: `SELECT id, device FROM ${stream} WHERE ${some(n)}`, actions: [{ mqtt: away }] }),
  },
  {
    name: 'broker',
    rule: (id, n, { brokerUrl }) => ({
      id,
      sql: `SELECT id, device FROM ${stream} WHERE ${some(n)}`,
      actions: [{ mqtt: { server: brokerUrl, topic: 'soak/other', qos: 1 } }],
      options: { qos: 1, checkpointInterval: '1s' },
    }),
  },
  {
    name: 'file',
    rule: (id, n, { outFolder }) => ({
      id,
      sql: `SELECT device, count(*) AS n FROM ${stream} WHERE ${some(n)} GROUP BY device, TUMBLINGWINDOW(ss, 1)`,
      actions: [{ file: { path: `${outFolder}/${id}.lines` } }],
    }),
  },
  {
    name: 'own stream',
    before: (id) => [
      [
        'POST',
        '/streams',
        { sql: `CREATE STREAM s_${id} () WITH (TYPE="memory", DATASOURCE="${groupsTopic}", SHARED="true")` },
      ],
    ],
    rule: (id, n) => ({
      id,
      sql: `SELECT device, n FROM s_${id} WHERE n > ${n % 97} ORDER BY n LIMIT 5`,
      actions: nop,
    }),
    after: (id) => [['DELETE', `/streams/s_${id}`]],
  },
  {
    name: 'simulator',
    before: (id) => [['POST', '/streams', { sql: `CREATE STREAM s_${id} () WITH (TYPE="simulator", FORMAT="json")` }]],
    rule: (id) => ({ id, sql: `SELECT temperature FROM s_${id}`, actions: nop }),
    after: (id) => [['DELETE', `/streams/s_${id}`]],
  },
  {
    name: 'javascript',
    before: (id) => [
      [
        'POST',
        '/udf/javascript',
        { id: `f_${id}`, description: 'of a soak', script: `function f_${id}(x) { return x * 2; }`, isAgg: false },
      ],
    ],
    rule: (id, n) => ({ id, sql: `SELECT id, f_${id}(temp) AS t FROM ${stream} WHERE ${some(n)}`, actions: nop }),
    after: (id) => [['DELETE', `/udf/javascript/f_${id}`]],
  },
  {
    name: 'webassembly',
    before: (id) => [['POST', '/plugins/wasm', { name: `p_${id}`, bytecode: twiceModule(`g_${id}`) }]],
    rule: (id, n) => ({ id, sql: `SELECT id, g_${id}(temp) AS t FROM ${stream} WHERE ${some(n)}`, actions: nop }),
    after: (id) => [['DELETE', `/plugins/wasm/p_${id}`]],
  },
];
