/** Dashboard, alert rules and exports: what they name is what a server with rules has. */
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { eventually, startServer } from '../support/harness.js';
import { readDocument } from '../support/rest/prometheus-text.js';
import { installService } from '../support/services/install.js';

const folder = fileURLToPath(new URL('../../examples/deploy/watching/', import.meta.url));
const read = (file: string) => readFileSync(folder + file, 'utf8');

interface Received {
  readonly path: string;
  readonly key: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: the bodies of OTLP
  readonly body: any;
}

const received: Received[] = [];
/** Answers of the collector, first to last; 200 after them. */
const answers = [503, 400];
const collector = createServer((request, response) => {
  let text = '';
  request.on('data', (chunk) => (text += chunk));
  request.on('end', () => {
    const status = answers.shift() ?? 200;
    if (status === 200) {
      received.push({ path: request.url ?? '', key: request.headers['x-key'] as string, body: JSON.parse(text) });
    }
    response.writeHead(status, status === 503 ? { 'retry-after': '0' } : {}).end('{}');
  });
}).listen(0, '127.0.0.1');
await new Promise((resolve) => collector.once('listening', resolve));
const { port } = collector.address() as { port: number };

const server = await startServer({
  env: {
    KUIPER__BASIC__PROMETHEUS: 'true',
    KUIPER__BASIC__PROMETHEUSPORT: '0',
    KUIPER__OPENTELEMETRY__ENABLEREMOTECOLLECTOR: 'true',
    KUIPER__OPENTELEMETRY__ENABLEMETRICS: 'true',
    KUIPER__OPENTELEMETRY__METRICSINTERVAL: '200ms',
    KUIPER__OPENTELEMETRY__REMOTEENDPOINT: `http://127.0.0.1:${port}/v1/traces`,
    KUIPER__OPENTELEMETRY__HEADERS: 'x-key=a%20key',
    KUIPER__OPENTELEMETRY__SERVICENAME: 'plant',
  },
});
test.after(async () => {
  await server.stop();
  collector.closeAllConnections();
  collector.close();
});

/** Rules of each kind that the files look at. */
async function makeRules(): Promise<void> {
  const done = async (path: string, body: unknown) => {
    const answer = await server.request('POST', path, body);
    assert.is(answer.status, 201, answer.text);
  };
  await server.request('PUT', '/metadata/sources/simulator/confKeys/fast', { data: [{ a: 1, t: 1 }], interval: 5 });
  await done('/streams', { sql: 'CREATE STREAM s (a BIGINT, t BIGINT) WITH (TYPE="simulator", CONF_KEY="fast")' });
  const timed = 'TYPE="simulator", CONF_KEY="fast", TIMESTAMP="t"';
  await done('/streams', { sql: `CREATE STREAM e (a BIGINT, t BIGINT) WITH (${timed})` });
  const away = 'tcp://127.0.0.1:1';
  await done('/connections', { id: 'away', typ: 'mqtt', props: { server: away } });
  await done('/udf/javascript', { id: 'twice', script: 'function twice(x) { return x * 2; }', isAgg: false });
  const web = { address: 'http://127.0.0.1:1', protocol: 'rest', schemaless: true };
  await installService(server, 'shop', { interfaces: { web } });
  const far = { mqtt: { server: away, topic: 't', enableCache: true } };
  await done('/rules', { id: 'far', sql: 'SELECT twice(a) AS a FROM s', actions: [far] });
  const state = 'SELECT acc_sum(a) OVER (PARTITION BY a) AS n FROM s';
  const actions = [{ memory: { topic: 'kept' } }];
  await done('/rules', { id: 'kept', sql: state, actions, options: { qos: 1, checkpointInterval: 50 } });
  const window = 'SELECT count(*) AS n FROM e GROUP BY TUMBLINGWINDOW(ss, 1)';
  await done('/rules', { id: 'timed', sql: window, actions: [{ nop: {} }], options: { isEventTime: true } });
  assert.is((await server.request('POST', '/rules/kept/trace/start', { strategy: 'always' })).status, 200);
}
await makeRules();

/** Names that only some servers have: where rules are throttled. */
const sometimes = new Set(['kuiper_source_input_dropped_total', 'kuiper_source_input_waiting_bytes']);
/** What Prometheus adds to each sample, and what it makes itself. */
const added = new Set(['instance', 'job', 'le']);

interface Known {
  readonly labels: ReadonlySet<string>;
  readonly values: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Metrics with their labels, once all are there. */
const known = await eventually('all metrics', async () => {
  const all = new Map<string, Known>();
  const families = readDocument((await server.request('GET', '/metrics')).text);
  for (const { samples } of families.values()) {
    for (const { name, labels } of samples) {
      const found = all.get(name) ?? { labels: new Set<string>(), values: new Map<string, Set<string>>() };
      all.set(name, found);
      for (const [label, value] of Object.entries(labels)) {
        (found.labels as Set<string>).add(label);
        const values = (found.values.get(label) ?? new Set()) as Set<string>;
        (found.values as Map<string, Set<string>>).set(label, values.add(value));
      }
    }
  }
  const late = [
    'kuiper_rule_checkpoints_total',
    'kuiper_io_duration_hist_bucket',
    'kuiper_user_code_memory_bytes',
    'kuiper_op_partitions',
    'kuiper_op_records_late_total',
  ];
  const isThere = [...late, 'kuiper_telemetry_sent_total', 'kuiper_sync_cache_gauge'].every((name) => all.has(name));
  return isThere ? all : undefined;
});

/** Faults of an expression: metrics that are not there, and labels that they do not have. */
function faultsOf(expression: string): string[] {
  const faults: string[] = [];
  const plain = expression.replace(/"[^"]*"/g, (text) => ' '.repeat(text.length));
  let metrics = 0;
  for (const { 0: name, index } of plain.matchAll(/\b(?:kuiper|process)_\w+/g)) {
    metrics++;
    if (sometimes.has(name)) continue;
    const found = known.get(name);
    if (found === undefined) faults.push(`${name} is not there`);
    const [, inner = ''] = /^\{((?:[^}"]|"[^"]*")*)\}/.exec(expression.slice(index + name.length)) ?? [];
    for (const [, label = '', operator, value = ''] of inner.matchAll(/(\w+)\s*(=~|!=|!~|=)\s*"([^"]*)"/g)) {
      if (added.has(label)) continue;
      if (found !== undefined && !found.labels.has(label)) faults.push(`${name} has no label ${label}`);
      if (value.startsWith('$')) continue;
      const wanted = operator === '=~' ? value.split('|') : [value];
      const values = found?.values.get(label);
      for (const one of wanted) if (values && !values.has(one)) faults.push(`${name} has no ${label} ${one}`);
    }
  }
  const labels = new Set([...known.values()].flatMap((one) => [...one.labels]));
  for (const [, list = ''] of plain.matchAll(/\bby \(([^)]*)\)/g)) {
    for (const label of list.split(',').map((one) => one.trim())) {
      if (!labels.has(label) && !added.has(label)) faults.push(`nothing has the label ${label}`);
    }
  }
  const open = [...plain].reduce((depth, c) => depth + (c === '(' ? 1 : c === ')' ? -1 : 0), 0);
  if (open !== 0) faults.push('parentheses');
  if (metrics === 0 && !/\bup\b/.test(plain)) faults.push('no metric');
  return faults.map((fault) => `${fault}: ${expression}`);
}

test('alert rules name metrics and labels that there are, also in their texts', () => {
  const { groups } = parse(read('alerts.yml')) as {
    groups: {
      rules: { alert: string; expr: string; labels: { severity: string }; annotations: { summary: string } }[];
    }[];
  };
  const rules = groups.flatMap((group) => group.rules);
  assert.ok(rules.length > 10);
  assert.equal(
    rules.flatMap(({ expr }) => faultsOf(expr)),
    [],
  );
  for (const { alert, expr, labels, annotations } of rules) {
    assert.match(labels.severity, /^(warning|critical)$/, alert);
    const [, grouped] = /\bby \(([^)]*)\)/.exec(expr) ?? [];
    const has = new Set(
      grouped?.split(', ') ??
        [...expr.matchAll(/\b(?:kuiper|process)_\w+/g)].flatMap(([name]) => [
          ...(known.get(name)?.labels ?? ['rule', 'op']),
        ]),
    );
    for (const [, label = ''] of annotations.summary.matchAll(/\$labels\.(\w+)/g)) {
      assert.ok(has.has(label) || added.has(label), `${alert} names the label ${label}`);
    }
  }
});

test('the dashboard names metrics and labels that there are, each panel in a place of its own', () => {
  for (const file of readdirSync(`${folder}grafana/dashboards`)) {
    const { panels, templating } = JSON.parse(read(`grafana/dashboards/${file}`)) as {
      panels: {
        id: number;
        type: string;
        gridPos: { x: number; y: number; w: number };
        targets?: { expr: string }[];
      }[];
      templating: { list: { name: string }[] };
    };
    const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    assert.ok(expressions.length > 40);
    assert.equal(expressions.flatMap(faultsOf), []);
    const variables = new Set(templating.list.map(({ name }) => name));
    for (const expression of expressions) {
      for (const [, name = ''] of expression.matchAll(/\$(\w+)/g)) {
        assert.ok(variables.has(name) || name.startsWith('__'), name);
      }
    }
    const places = new Set(panels.map(({ gridPos: { x, y } }) => `${x} ${y}`));
    assert.is(places.size, panels.length);
    assert.is(new Set(panels.map(({ id }) => id)).size, panels.length);
    for (const { gridPos } of panels) assert.ok(gridPos.x + gridPos.w <= 24);
  }
});

test('metrics go to the collector with the headers of the configuration, as Prometheus has them', async () => {
  const request = await eventually('metrics with histograms', () =>
    received.find(({ path, body }) => {
      const text = JSON.stringify(body);
      return (
        path === '/v1/metrics' &&
        ['"kuiper_rule_checkpoints_total"', '"kuiper_sink_process_latency_us_hist"'].every((name) =>
          text.includes(name),
        )
      );
    }),
  );
  assert.is(request.key, 'a key');
  const [{ resource, scopeMetrics }] = request.body.resourceMetrics;
  assert.equal(resource.attributes[0], { key: 'service.name', value: { stringValue: 'plant' } });
  // biome-ignore lint/suspicious/noExplicitAny: the metrics of OTLP
  const metrics = scopeMetrics.flatMap((scope: any) => scope.metrics) as any[];
  const named = (name: string) => metrics.find((metric) => metric.name === name);
  const total = named('kuiper_rule_checkpoints_total');
  assert.is(total.sum.isMonotonic, true);
  assert.is(total.sum.aggregationTemporality, 2);
  assert.equal(total.sum.dataPoints[0].attributes, [{ key: 'rule', value: { stringValue: 'kept' } }]);
  assert.is(named('kuiper_rule_count').gauge.dataPoints.length, 2);
  const { dataPoints } = named('kuiper_sink_process_latency_us_hist').histogram;
  for (const { count, bucketCounts, explicitBounds } of dataPoints) {
    assert.is(bucketCounts.length, explicitBounds.length + 1);
    const sum = bucketCounts.reduce((all: number, one: string) => all + Number(one), 0);
    assert.is(sum, Number(count));
  }
});

test('a collector that was away gets what waited, what it refuses is counted, and the log says so', async () => {
  await eventually('traces', () => received.find(({ path }) => path === '/v1/traces'));
  const text = (await server.request('GET', '/metrics')).text;
  const figure = (name: string) =>
    [...text.matchAll(new RegExp(`^kuiper_telemetry_${name}\\{.*\\} (\\d+)$`, 'gm'))].reduce(
      (sum, [, n]) => sum + Number(n),
      0,
    );
  assert.is(figure('failed_requests_total'), 2);
  assert.ok(figure('dropped_total') > 0);
  assert.ok(figure('sent_total') > 0);
  const log = readFileSync(`${server.data}/log/stream.log`, 'utf8');
  assert.match(log, /the collector of (traces|metrics) takes nothing: it answered (503|400)/);
  assert.match(log, /the collector of (traces|metrics) takes them again; \d+ were dropped meanwhile/);
});

test('a server that is stopped sends its last figures and spans first', async () => {
  const other = await startServer({
    env: {
      KUIPER__OPENTELEMETRY__ENABLEREMOTECOLLECTOR: 'true',
      KUIPER__OPENTELEMETRY__ENABLEMETRICS: 'true',
      KUIPER__OPENTELEMETRY__METRICSINTERVAL: '1h',
      KUIPER__OPENTELEMETRY__REMOTEENDPOINT: `http://127.0.0.1:${port}`,
      KUIPER__OPENTELEMETRY__SERVICENAME: 'ending',
    },
  });
  const rows = { data: [{ a: 1 }, { a: 2 }], interval: 1, loop: false };
  await other.request('PUT', '/metadata/sources/simulator/confKeys/two', rows);
  const sql = 'CREATE STREAM s (a BIGINT) WITH (TYPE="simulator", CONF_KEY="two")';
  assert.is((await other.request('POST', '/streams', { sql })).status, 201);
  const options = { enableRuleTracer: true };
  const rule = { id: 'last', sql: 'SELECT a FROM s', actions: [{ memory: { topic: 'last' } }], options };
  assert.is((await other.request('POST', '/rules', rule)).status, 201);
  await eventually('both rows', async () => {
    return (await other.request('GET', '/rules/last/status')).json.sinkRecordsOutTotal === 2;
  });
  assert.is(await other.stop(), 0);
  const of = (path: string) =>
    received.filter((one) => one.path === path && JSON.stringify(one.body).includes('"ending"'));
  const [metrics, ...more] = of('/v1/metrics').map(({ body }) => body.resourceMetrics[0].scopeMetrics);
  assert.is(more.length, 0);
  // biome-ignore lint/suspicious/noExplicitAny: the metrics of OTLP
  const all = metrics.flatMap((scope: any) => scope.metrics) as any[];
  const sent = all.find(({ name }) => name === 'kuiper_sink_records_out_total');
  assert.is(Number(sent.sum.dataPoints[0].asInt ?? sent.sum.dataPoints[0].asDouble), 2);
  assert.ok(of('/v1/traces').length > 0);
});

for (const [setting, value] of [
  ['remoteEndpoint', 'otel:99999'],
  ['headers', 'x-key=100%'],
] as const) {
  test(`a server whose ${setting} can't be used runs without what it would send`, async () => {
    const other = await startServer({
      env: {
        KUIPER__OPENTELEMETRY__ENABLEREMOTECOLLECTOR: 'true',
        KUIPER__OPENTELEMETRY__ENABLEMETRICS: 'true',
        [`KUIPER__OPENTELEMETRY__${setting.toUpperCase()}`]: value,
      },
    });
    await eventually('both in the log', () => {
      const log = readFileSync(`${other.data}/log/stream.log`, 'utf8');
      const has = (signal: string) => log.includes(`${signal} are not sent: openTelemetry.${setting} can't be used`);
      return (has('traces') && has('metrics')) || undefined;
    });
    assert.is((await other.request('GET', '/ping')).status, 200);
    assert.is(await other.stop(), 0);
  });
}

test.run();
