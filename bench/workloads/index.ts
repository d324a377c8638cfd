/** The named workloads. */
import { ID_MARK } from '../messages/frames.js';
import { groupChecker } from './check-groups.js';
import { rowChecker } from './check-rows.js';
import { slidingChecker } from './check-sliding.js';
import { type Reading, readings, telemetryMessages } from './telemetry.js';
import { BLOCK_ROWS, BLOCKS, random, type Workload } from './workload.js';

const COLUMNS = 'id BIGINT, device STRING, temp FLOAT, speed FLOAT, hum FLOAT, ts BIGINT';
const GROUP_ITEMS = 'device, count(*) AS n, avg(temp) AS avg_temp, max(speed) AS max_speed';

function ddl(stream: string, columns: string, topic: string, extra = ''): string {
  return (
    `CREATE STREAM ${stream} (${columns}) WITH (TYPE="mqtt", DATASOURCE="${topic}", FORMAT="json"${extra}, ` +
    'CONF_KEY="bench")'
  );
}

function grouped(
  name: string,
  title: string,
  devices: number,
  topic: string,
  window: string,
  settleMs: number,
  session: boolean,
): Workload {
  const topicOf = (r: Reading): string => topic.replace('+', r.device);
  return {
    name,
    title,
    stream: 'telem',
    topic,
    ddl: ddl('telem', COLUMNS, topic),
    ddlSchemaless: ddl('telem', '', topic),
    sql: `SELECT ${GROUP_ITEMS} FROM telem GROUP BY device, ${window}`,
    messages: (dataSet) => telemetryMessages(devices, dataSet, topicOf),
    checker: (_dataSet, count) => groupChecker(readings(devices).flat(), count),
    settleMs,
    twin: { kind: 'group', windowMs: 10_000, ...(session ? { session: { maxMs: 10_000, timeoutMs: 2_000 } } : {}) },
  };
}

const w1: Workload = {
  name: 'w1',
  title: 'filter and projection',
  stream: 'telem',
  topic: 'bench/telem',
  ddl: ddl('telem', COLUMNS, 'bench/telem'),
  ddlSchemaless: ddl('telem', '', 'bench/telem'),
  sql: 'SELECT id, device, temp, speed*3.6 AS speed_kmh FROM telem WHERE temp > 21.0',
  messages: (dataSet) => telemetryMessages(1000, dataSet, () => 'bench/telem'),
  checker: (_dataSet, count) =>
    rowChecker(
      readings(1000)
        .flat()
        .map((r) =>
          r.temp > 21
            ? { before: `{"device":"${r.device}","id":`, after: `,"speed_kmh":${r.speed * 3.6},"temp":${r.temp}}` }
            : null,
        ),
      count,
    ),
  settleMs: 3000,
  twin: { kind: 'filter' },
};

const RAW_TOPICS = 10_000;

function rawValues(): { topic: string; value: string }[][] {
  const next = random(7);
  return Array.from({ length: BLOCKS }, (_, b) =>
    Array.from({ length: BLOCK_ROWS }, (_, i) => ({
      topic: `plant/line${i % 10}/sensor${(i * 7 + b) % RAW_TOPICS}/state`,
      value: `${ID_MARK} ${next() < 0.5 ? 'on' : 'off'} ${Math.round(next() * 1000) / 10}`,
    })),
  );
}

const w3: Workload = {
  name: 'w3',
  title: 'raw text and topic',
  stream: 'telem',
  topic: 'plant/#',
  ddl: `CREATE STREAM telem () WITH (TYPE="mqtt", DATASOURCE="plant/#", FORMAT="binary", CONF_KEY="bench")`,
  ddlSchemaless: `CREATE STREAM telem () WITH (TYPE="mqtt", DATASOURCE="plant/#", FORMAT="binary", CONF_KEY="bench")`,
  sql: 'SELECT meta(topic) AS topic, self AS state FROM telem',
  messages: () => rawValues().map((block) => block.map(({ topic, value }) => ({ topic, payload: value }))),
  checker: (_dataSet, count) => rawChecker(rawValues().flat(), count),
  settleMs: 3000,
  twin: { kind: 'raw' },
};

/** Each raw payload is nine digits (twelve base64 characters) and a text that belongs to its place in the cycle. */
function rawChecker(cycle: { topic: string; value: string }[], count: number) {
  const inner = rowChecker(
    cycle.map(({ topic, value }) => ({
      before: '{"id":',
      after: `,"state":"${Buffer.from(value.slice(ID_MARK.length)).toString('base64')}","topic":"${topic}"}`,
    })),
    count,
  );
  const row = /\{"state":"([A-Za-z0-9+/]{12})([A-Za-z0-9+/=]*)",("topic":"[^"]*"\})/g;
  return {
    lines(bytes: Buffer) {
      const text = bytes.toString('latin1').replace(row, (_all, id: string, state: string, topic: string) => {
        return `{"id":${Buffer.from(id, 'base64').toString('latin1')},"state":"${state}",${topic}`;
      });
      inner.lines(Buffer.from(text, 'latin1'));
    },
    get accounted() {
      return inner.accounted;
    },
    finish: () => inner.finish(),
  };
}

/** Rows of a sliding window of 10 s: ids are times, one each millisecond. */
const SLIDING_ROWS = 10_001;

const sliding: Workload = {
  ...w1,
  name: 'sliding',
  title: 'sliding window of 10,000 rows, a message each',
  ddl: ddl('telem', COLUMNS, 'bench/telem', ', TIMESTAMP="id"'),
  ddlSchemaless: ddl('telem', '', 'bench/telem', ', TIMESTAMP="id"'),
  sql:
    'SELECT max(id) AS id, count(*) AS n, avg(temp) AS avg_temp, max(speed) AS max_speed FROM telem GROUP BY ' +
    'SLIDINGWINDOW(ss,10)',
  options: { isEventTime: true, lateTolerance: 0 },
  checker: (_dataSet, count) => slidingChecker(readings(1000).flat(), count, SLIDING_ROWS),
  twin: { kind: 'sliding', rows: SLIDING_ROWS },
};

const latency: Workload = {
  ...w1,
  name: 'latency',
  title: 'latency MQTT in to MQTT out',
  sql: 'SELECT id, device, temp FROM telem',
  checker: (_dataSet, count) =>
    rowChecker(
      readings(1000)
        .flat()
        .map((r) => ({ before: `{"device":"${r.device}","id":`, after: `,"temp":${r.temp}}` })),
      count,
    ),
};

const rules: Workload = {
  ...w1,
  name: 'rules',
  title: 'many rules on one shared stream',
  stream: 'rawdata',
  topic: 'bench/rawdata',
  ddl: ddl('rawdata', COLUMNS, 'bench/rawdata', ', SHARED="true"'),
  ddlSchemaless: ddl('rawdata', '', 'bench/rawdata', ', SHARED="true"'),
  sql: 'SELECT id, device, temp FROM rawdata WHERE temp > 21.0',
  messages: (dataSet) => telemetryMessages(1000, dataSet, () => 'bench/rawdata'),
};

const named: Workload[] = [
  w1,
  grouped('w2', 'group by 1,000 devices, tumbling', 1000, 'bench/telem', 'TUMBLINGWINDOW(ss,10)', 14_000, false),
  w3,
  grouped(
    'w4',
    'wildcard topic, 10,000 devices',
    10_000,
    'bench/vehicles/+/telemetry',
    'TUMBLINGWINDOW(ss,10)',
    14_000,
    false,
  ),
  grouped('w5', 'session windows, 2,000 devices', 2000, 'bench/telem', 'SESSIONWINDOW(ss,10,2)', 14_000, true),
  sliding,
  rules,
  latency,
];

export const workloadNames = named.map((w) => w.name);

/** Titles of the workloads, one line each. */
export const workloadTitles = named.map(({ name, title }) => `  ${name.padEnd(18)} ${title}\n`).join('');

/** Returns the workload; for `custom` the messages are the payloads given, in turn. */
export function workloadByName(name: string, payloads?: string[]): Workload {
  if (payloads && payloads.length > 0) return custom(payloads);
  const found = named.find((w) => w.name === name);
  if (!found) throw new Error(`unknown workload "${name}"; known: ${workloadNames.join(', ')}`);
  return found;
}

/** The user's own payloads with the user's own rule: rows are counted, contents can't be checked. */
function custom(payloads: string[]): Workload {
  return {
    ...w1,
    name: 'custom',
    title: 'own rule and payloads',
    topic: 'bench/custom',
    ddl: ddl('telem', '', 'bench/custom'),
    ddlSchemaless: ddl('telem', '', 'bench/custom'),
    messages: () => [
      Array.from({ length: BLOCK_ROWS }, (_, i) => ({
        topic: 'bench/custom',
        payload: payloads[i % payloads.length] as string,
      })),
    ],
  };
}
