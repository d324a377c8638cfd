/** The document for Prometheus: form, names, values; copies in files; settings at run time. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../host/base/log/log.js';
import { numbersIn } from '../../../host/model/figures.js';
import { MetricsService } from '../../../host/services/observe/metrics.js';
import type { MetricsDocument } from '../../../host/services/observe/metrics-document.js';
import type { Histogram } from '../../../kernels/values/histogram.js';
import { eventually, freePort, request, startServer, temporaryFolder } from '../../support/harness.js';
import { startControlPlane } from '../../support/rest/control-plane.js';
import { readDocument } from '../../support/rest/prometheus-text.js';
import { installService } from '../../support/services/install.js';

const figures = (id: string) => ({
  id,
  state: 'running' as const,
  ...numbersIn({
    processLatencyMs: 9500,
    sourceRecordsInTotal: 7,
    source_demo_0_records_in_total: 7,
    source_demo_0_connection_status: 1,
    op_2_filter_0_records_in_total: 7,
    op_2_filter_0_process_latency_us: 12,
    op_2_filter_0_last_exception: 'text',
    sink_mqtt_0_0_records_out_total: 3,
  }),
});

const textOf = async (document: MetricsDocument): Promise<string> => text(document.pieces());

const measured = {
  operators: [
    ['op_2_filter', { sumUs: 160, counts: Object.assign(new Array(21).fill(0), { 0: 3, 3: 2 }) }],
    ['sink_mqtt_0', { sumUs: 9e6, counts: Object.assign(new Array(21).fill(0), { 1: 1, 20: 1 }) }],
  ] as [string, Histogram][],
  io: [{ type: 'mqtt', io: 'sink' as const, operator: 'sink_mqtt_0', done: 12, failed: 3 }],
};

function service(count: number, ...more: string[]): MetricsService {
  const ids = [...Array.from({ length: count }, (_, i) => `r${i}`), ...more];
  return new MetricsService({
    ids: () => ids,
    figures: async (some) => some.map(figures),
    cpuTimes: async () => ids.map((id, i) => ({ id, cpuUs: 1_500_000 + i })),
    memory: async () => ids.map((id, i) => ({ id, bytes: 4096 + i })),
    planes: async () => [
      {
        plane: 0,
        heapBytes: 100,
        bufferBytes: 200,
        kernelBytes: 65_536,
        kernelUsedBytes: 4096,
        userCode: { maxBytes: 1000, owners: [['wasm plugin a', 10]] },
      },
    ],
    latencies: async () => [{ id: ids.at(-1) ?? '', ...measured }],
    services: async () => [],
    exports: () => [],
    losses: () => 0,
    connections: async () => [
      { id: 'up', status: 'connected' },
      { id: 'down "1"', status: 'disconnected' },
    ],
    folder: temporaryFolder(),
    retainedMs: 0,
    log: silent,
  });
}

test('figures have the names and labels that dashboards know', async () => {
  const lines = (await textOf(await service(2).document())).split('\n');
  for (const line of [
    'kuiper_source_records_in_total{rule="r0",type="source",op="demo",op_instance="0"} 7',
    'kuiper_source_connection_status{rule="r1",type="source",op="demo",op_instance="0"} 1',
    'kuiper_op_records_in_total{rule="r0",type="op",op="2_filter",op_instance="0"} 7',
    'kuiper_op_process_latency_us{rule="r0",type="op",op="2_filter",op_instance="0"} 12',
    'kuiper_sink_records_out_total{rule="r0",type="sink",op="mqtt_0",op_instance="0"} 3',
    'kuiper_rule_status{rule="r0"} 1',
    'kuiper_rule_cpu_time_seconds_total{rule="r0"} 1.5',
    'kuiper_rule_memory_bytes{rule="r1"} 4097',
    'kuiper_heap_bytes{thread="data_0"} 100',
    'kuiper_buffer_bytes{thread="data_0"} 200',
    'kuiper_kernel_memory_bytes{thread="data_0"} 65536',
    'kuiper_kernel_used_bytes{thread="data_0"} 4096',
    'kuiper_user_code_max_bytes{thread="data_0"} 1000',
    'kuiper_user_code_memory_bytes{owner="wasm plugin a",thread="data_0"} 10',
    'kuiper_conn_status_gauge{name="up"} 1',
    'kuiper_conn_status_gauge{name="down \\"1\\""} -1',
    'kuiper_rule_count{status="running"} 2',
    'kuiper_rule_count{status="stop"} 0',
    '# TYPE kuiper_op_records_in_total counter',
  ]) {
    assert.ok(lines.includes(line), line);
  }
});

test('every line follows the text format: types, labels, samples of a name together', async () => {
  const odd = 'a "quoted" \\ back\nline, {x="1"}';
  const metrics = service(3, odd);
  let last: MetricsDocument | undefined;
  for (let i = 0; i < 2; i++) {
    // For a while the same document is given again.
    const document = await eventually('a new document', async () => {
      const found = await metrics.document();
      return found === last ? undefined : found;
    });
    last = document;
    const families = readDocument(await textOf(document));
    const rules = families.get('kuiper_source_records_in_total')?.samples.map(({ labels }) => labels.rule);
    assert.equal(rules, ['r0', 'r1', 'r2', odd]);
    assert.is(families.get('kuiper_rule_status')?.samples.length, 4);
  }
});

test('histograms have the bounds that dashboards know and count what was measured', async () => {
  const families = readDocument(await textOf(await service(1).document()));
  const times = families.get('kuiper_op_process_latency_us_hist');
  const labels = { rule: 'r0', type: 'op', op: '2_filter', op_instance: '0' };
  const bounds = times?.samples.flatMap(({ labels: { le } }) => (le === undefined ? [] : [le]));
  assert.equal(bounds, [...Array.from({ length: 20 }, (_, i) => String(10 * 2 ** i)), '+Inf']);
  const value = (name: string, le?: string) =>
    times?.samples.find((one) => one.name === name && one.labels.le === le)?.value;
  assert.is(value('kuiper_op_process_latency_us_hist_bucket', '40'), 3);
  assert.is(value('kuiper_op_process_latency_us_hist_bucket', '80'), 5);
  assert.is(value('kuiper_op_process_latency_us_hist_sum'), 160);
  assert.equal(times?.samples.at(-1), { name: 'kuiper_op_process_latency_us_hist_count', labels, value: 5 });
  assert.is(families.get('kuiper_sink_process_latency_us_hist')?.samples.at(-1)?.value, 2);
  const io = { type: 'mqtt', io: 'sink', rule: 'r0', op: 'mqtt_0' };
  assert.equal(families.get('kuiper_io_counter')?.samples, [
    { name: 'kuiper_io_counter', labels: { ...io, status: 'success' }, value: 12 },
    { name: 'kuiper_io_counter', labels: { ...io, status: 'err' }, value: 3 },
  ]);
  assert.equal(families.get('kuiper_io_duration_hist')?.samples.at(-1)?.labels, io);
});

test('10,000 rules: other work goes on meanwhile', async () => {
  const metrics = service(10_000);
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  const document = await textOf(await metrics.document());
  clearInterval(timer);
  assert.ok(document.includes('rule="r9999"'));
  assert.ok(turns >= 10, `${turns} turns of the event loop meanwhile`);
});

test('/metrics is served with the type of the text format', async () => {
  const server = await startControlPlane();
  await server.request('POST', '/streams', { sql: 'CREATE STREAM s () WITH (DATASOURCE="t", TYPE="memory")' });
  await server.request('POST', '/rules', { id: 'a', sql: 'SELECT * FROM s', actions: [{ nop: {} }] });
  const answer = await server.request('GET', '/metrics');
  assert.is(answer.status, 200);
  assert.match(answer.type, /^text\/plain; version=0\.0\.4/);
  assert.match(answer.text, 'kuiper_rule_status{rule="a"} 1');
  await server.close();
});

test('a port of its own serves metrics and nothing else', async () => {
  const port = await freePort();
  const server = await startControlPlane(undefined, {
    KUIPER__BASIC__PROMETHEUS: 'true',
    KUIPER__BASIC__PROMETHEUSPORT: String(port),
  });
  const base = `http://127.0.0.1:${port}`;
  assert.match((await request(base, 'GET', '/metrics')).text, 'kuiper_rule_count');
  assert.is((await request(base, 'GET', '/rules')).status, 404);
  assert.is((await request(base, 'POST', '/metrics')).status, 405);
  assert.match((await server.request('GET', '/metrics')).text, 'kuiper_rule_count');
  await server.close();
});

test('a server with monitoring on: every line of its document follows the format', async () => {
  const port = await freePort();
  const server = await startServer({
    env: {
      KUIPER__BASIC__PROMETHEUS: 'true',
      KUIPER__BASIC__PROMETHEUSPORT: String(port),
      // Figures of what goes to a collector are there where something goes to one.
      KUIPER__OPENTELEMETRY__ENABLEMETRICS: 'true',
      KUIPER__OPENTELEMETRY__REMOTEENDPOINT: '127.0.0.1:1',
    },
  });
  const sql = 'CREATE STREAM s () WITH (TYPE="simulator", CONF_KEY="fast", SHARED="true")';
  await server.request('PUT', '/metadata/sources/simulator/confKeys/fast', { data: [{ a: 1 }], interval: 1 });
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const away = { id: 'away', typ: 'mqtt', props: { server: 'tcp://127.0.0.1:1' } };
  assert.is((await server.request('POST', '/connections', away)).status, 201);
  for (const id of ['one', 'two']) {
    const rule = { id, sql: 'SELECT a FROM s WHERE a > 0', actions: [{ memory: { topic: id } }] };
    assert.is((await server.request('POST', '/rules', rule)).status, 201);
  }
  const web = { address: 'http://127.0.0.1:1', protocol: 'rest', schemaless: true };
  await installService(server, 'shop', { interfaces: { web } });
  const far = { mqtt: { server: away.props.server, topic: 't', enableCache: true } };
  const rule = { id: 'far', sql: 'SELECT a FROM s', actions: [far] };
  assert.is((await server.request('POST', '/rules', rule)).status, 201);
  const families = await eventually('the times of all rules', async () => {
    const found = readDocument((await request(`http://127.0.0.1:${port}`, 'GET', '/metrics')).text);
    const counted = found.get('kuiper_sink_process_latency_us_hist')?.samples ?? [];
    const rules = new Set(counted.filter(({ value }) => value > 10).map(({ labels }) => labels.rule));
    return rules.size >= 2 && found.has('kuiper_sync_cache_duration') ? found : undefined;
  });
  for (const name of ['kuiper_source_process_latency_us_hist', 'kuiper_op_process_latency_us_hist']) {
    assert.is(families.get(name)?.type, 'histogram', name);
  }
  const seconds = (name: string) => (families.get(name)?.samples ?? []).reduce((sum, { value }) => sum + value, 0);
  assert.ok(seconds('kuiper_rule_cpu_time_seconds_total') > 0);
  assert.ok(seconds('kuiper_rule_memory_bytes') > 0);
  assert.ok(seconds('kuiper_rule_cpu_time_seconds_total') <= seconds('process_cpu_seconds_total'));
  await server.stop();
  const manual = readFileSync(new URL('../../../docs/monitoring.md', import.meta.url), 'utf8');
  const documented = [...manual.matchAll(/`(kuiper_\w+|process_\w+_(?:seconds|bytes)\w*)`/g)].map(
    ([, name = '']) => name,
  );
  assert.ok(documented.length > 10);
  // Of scripts and plugins there are figures while rules call some: user-memory.test.ts.
  const sometimes = [
    'kuiper_user_code_memory_bytes',
    'kuiper_user_code_max_bytes',
    'kuiper_source_messages_repeated_total',
  ];
  const always = documented.filter((name) => !sometimes.includes(name));
  for (const name of always) assert.ok(families.has(name), `${name} of docs/monitoring.md is served`);
});

test('rule tests are no rules: neither the metrics nor the processor times have them', async () => {
  const server = await startServer({ env: { KUIPER__BASIC__PROMETHEUS: 'true', KUIPER__BASIC__PROMETHEUSPORT: '0' } });
  await server.request('PUT', '/metadata/sources/simulator/confKeys/quick', { interval: 5 });
  const sql = 'CREATE STREAM s () WITH (TYPE="simulator", CONF_KEY="quick")';
  await server.request('POST', '/streams', { sql });
  await server.request('POST', '/rules', { id: 'r', sql: 'SELECT * FROM s', actions: [{ nop: {} }] });
  await server.request('POST', '/ruletest', { id: 't', sql: 'SELECT * FROM s' });
  await server.request('POST', '/ruletest/t/start');
  await eventually('time of the rule', async () => {
    const { json } = await server.request('GET', '/rules/usage/cpu');
    return json.r > 0 ? true : undefined;
  });
  assert.equal(Object.keys((await server.request('GET', '/rules/usage/cpu')).json), ['r']);
  assert.not.match((await server.request('GET', '/metrics')).text, 'test:t');
  await server.stop();
});

test('copies are kept on demand and can be fetched', async () => {
  const server = await startControlPlane();
  const { request } = server;
  assert.is((await request('GET', '/metrics/dump/check')).text, 'disabled');
  assert.is((await request('GET', '/metrics/dump')).status, 400);
  assert.is((await request('PATCH', '/configs', { metricsDumpConfig: { enable: true } })).status, 204);
  assert.is((await request('GET', '/metrics/dump/check')).text, 'enabled');
  const response = await fetch(`${server.base}/metrics/dump`);
  assert.is(response.status, 200);
  assert.match(gunzipSync(Buffer.from(await response.arrayBuffer())).toString(), 'kuiper_rule_count');
  assert.is((await request('GET', '/metrics/dump?startTime=1&endTime=2')).status, 400);
  assert.match((await request('GET', '/metrics/dump?startTime=x')).json.message, 'startTime must be seconds');
  await server.close();
});

test('settings: all or none, with the name of the wrong one; the log level changes at once', async () => {
  const server = await startControlPlane(undefined, { KUIPER__BASIC__FILELOG: 'true' });
  const { request } = server;
  for (const [body, reason] of [
    [{ debug: 'yes' }, 'debug must be true or false'],
    [{ logLevel: 'loud' }, 'logLevel must be one of debug, info'],
    [{ timezone: 5 }, 'timezone must be a text'],
    [{ debug: true, timezone: 'Mars/Base' }, 'Mars/Base'],
    [{ metricsDumpConfig: 1 }, 'metricsDumpConfig must be an object'],
    [[], 'a JSON object was expected'],
  ] as const) {
    const answer = await request('PATCH', '/configs', body);
    assert.is(answer.status, 400);
    assert.match(answer.json.message, reason);
  }
  assert.is((await request('PATCH', '/configs', { logLevel: 'warn' })).status, 204);
  assert.is((await request('PATCH', '/configs', { logLevel: 'info' })).status, 204);
  const path = join(server.data, 'log/stream.log');
  await eventually('the line in the log', () => /settings changed.*logLevel=info/.test(readFileSync(path, 'utf8')));
  assert.not.match(readFileSync(path, 'utf8'), 'logLevel=warn');
  await server.close();
});

test.run();
