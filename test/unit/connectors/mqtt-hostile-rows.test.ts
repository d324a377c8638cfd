/** Rows that make topics and properties which no packet may hold are refused, one by one, and the others go out. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { hasMosquitto, openMosquitto } from '../../support/brokers/mosquitto.js';
import { fromRows } from '../../support/connectors/flows.js';
import { announceSkip } from '../../support/harness.js';

if (!hasMosquitto) {
  announceSkip('hostile rows at a broker', 'mosquitto is not installed');
  process.exit(0);
}

const long = 'x'.repeat(70_000);
const rows = [
  { t: 'a/#', v: 'x', r: 'r' },
  { t: 'a+b', v: 'x', r: 'r' },
  { t: '', v: 'x', r: 'r' },
  { t: long, v: 'x', r: 'r' },
  { t: 'a\0b', v: 'x', r: 'r' },
  { t: 'ok', v: long, r: 'r' },
  { t: 'ok', v: 'a\0', r: 'r' },
  { t: 'ok', v: 'x', r: 'r/#' },
  { t: 'good', v: 'x', r: 'r' },
];

for (const qos of [0, 1]) {
  test(`with qos ${qos}`, async () => {
    const broker = await openMosquitto();
    const templates = { topic: '{{.t}}', properties: { p: '{{.v}}' }, responseTopic: '{{.r}}', sendSingle: true };
    const flow = await fromRows(rows, 'mqtt', { server: broker.url, qos, protocolVersion: '5', ...templates });
    const { metrics } = await flow.ended();
    assert.is(metrics.sinkRecordsFailedTotal, rows.length - 1);
    assert.is(metrics.sinkRecordsOutTotal, 1);
    await flow.close();
    await broker.close();
  });
}

test.run();
