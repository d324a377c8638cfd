/** The sink prometheus at a real server that takes remote writes. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectorOf } from '../../../../host/connectors/index.js';
import { snappyOf } from '../../../../host/connectors/prometheus/write-request.js';
import { openHttp } from '../../../support/connectors/http-server.js';
import { sinkPlane } from '../../../support/engine/sink-plane.js';
import { eventually, freePort } from '../../../support/harness.js';
import { needsVictoria, openVictoria, type VictoriaServer } from '../../../support/servers/time-series.js';

if (!needsVictoria('the prometheus connector')) process.exit(0);

let victoria: VictoriaServer;
test.before(async () => {
  victoria = await openVictoria();
});
test.after(() => victoria.close());

const urlOf = (base: string) => `${base}/api/v1/write`;

test('properties that are not right are refused', () => {
  const { sink } = connectorOf('prometheus')!;
  assert.throws(() => sink!.check({}), /url is required/);
  assert.throws(() => sink!.check({ url: 'h:1' }), /url must/);
  assert.throws(() => sink!.check({ url: 'http://h', labels: 'a' }), /labels must be an object/);
  assert.is(sink!.props.password?.declared.isSecret, true);
  assert.is(sink!.props.token?.declared.isSecret, true);
});

test('numbers and booleans are samples with labels and the time of the row', async () => {
  const rows = Array.from({ length: 3000 }, (_, i) => ({
    place: i % 2 === 0 ? 'rööf' : '',
    temp: i / 4,
    'fan on': i % 3 === 0,
    text: 'x',
    ts: 1_700_000_000_000 + i * 1000,
  }));
  const props = {
    url: urlOf(victoria.url),
    metric: 'plant',
    labels: { place: '{{.place}}', 'site-id': 'north' },
    tsFieldName: 'ts',
  };
  const metrics = await (await sinkPlane({ type: 'prometheus', props, rows })).ended();
  assert.equal([metrics.sinkRecordsOutTotal, metrics.sinkRecordsFailedTotal], [3000, 0]);
  const [roof] = await victoria.stored('plant_temp{place="rööf"}');
  assert.equal(roof?.metric, { __name__: 'plant_temp', place: 'rööf', site_id: 'north' });
  assert.equal(roof?.values.slice(0, 3), [0, 0.5, 1]);
  assert.is(roof?.values.length, 1500);
  assert.equal(roof?.timestamps.slice(0, 2), [1_700_000_000_000, 1_700_000_002_000]);
  const fans = await victoria.stored('plant_fan_on');
  assert.equal(fans.map(({ metric }) => metric.place).sort(), ['rööf', undefined]);
  assert.equal(fans.flatMap(({ values }) => values.filter((value) => value === 1)).length, 1000);
});

test('rows without a number or their time are counted, others arrive', async () => {
  const rows = [{ a: 1, ts: 1_700_000_000_000 }, { a: 'x', ts: 2 }, { a: 3 }];
  const props = { url: urlOf(victoria.url), fields: ['a'], tsFieldName: 'ts' };
  const metrics = await (await sinkPlane({ type: 'prometheus', props, rows })).ended();
  assert.equal([metrics.sinkRecordsOutTotal, metrics.sinkRecordsFailedTotal], [1, 2]);
  const [series] = await victoria.stored('a');
  assert.equal(series?.values, [1]);
});

test('a request is in the form of Snappy, and says who sends it', async () => {
  const double = await openHttp();
  const props = { url: `${double.url}/write`, token: 't', headers: { 'X-Scope-OrgID': 'one' } };
  await (await sinkPlane({ type: 'prometheus', props, rows: [{ a: 1 }] })).ended();
  const { headers } = double.received.at(-1)!;
  assert.equal([headers['content-encoding'], headers['content-type']], ['snappy', 'application/x-protobuf']);
  assert.equal([headers.authorization, headers['x-scope-orgid']], ['Bearer t', 'one']);
  await double.close();
  const long = snappyOf(Buffer.alloc(70_000, 'x'));
  assert.is(long.length, 70_000 + 3 + 3 + 3);
});

test('a server that comes late has all', async () => {
  const port = await freePort();
  const rows = Array.from({ length: 60 }, (_, i) => ({ late: i, ts: 1_700_000_000_000 + i }));
  const props = { url: urlOf(`http://127.0.0.1:${port}`), tsFieldName: 'ts' };
  const plane = await sinkPlane({ type: 'prometheus', props, rows, pauseMs: 10 });
  await eventually('the failed attempt', () => plane.metrics().sink_prometheus_0_0_connection_status === -1);
  const late = await openVictoria(port);
  assert.is((await plane.ended()).sinkRecordsOutTotal, 60);
  const [series] = await late.stored('late');
  assert.is(series?.values.length, 60);
  await late.close();
});

test.run();
