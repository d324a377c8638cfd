/** A broker that goes away again and again: sinks and sources are back with it, and no row is lost. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient } from '../../support/brokers/broker.js';
import { hasMosquitto, openMosquitto } from '../../support/brokers/mosquitto.js';
import { announceSkip, eventually, startServer } from '../../support/harness.js';

if (!hasMosquitto) announceSkip('a broker that goes away', 'mosquitto is not installed');
const withBroker = hasMosquitto ? test : test.skip;

withBroker('sinks of several rules are back with their broker, with every row, each time', async () => {
  const near = await openMosquitto();
  let far = await openMosquitto();
  const client = await connectClient(near.url);
  // A bound that the attempts would soon reach without it.
  const server = await startServer({ env: { KUIPER__BASIC__CONNECTION__MAXRECONNECTINTERVAL: '500ms' } });
  await server.request('PUT', '/metadata/sources/mqtt/confKeys/s', { server: near.url, qos: 1 });
  const sql = 'CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="t", SHARED="TRUE", CONF_KEY="s")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const ids = ['a', 'b', 'c'];
  for (const id of ids) {
    const sink = { server: far.url, clientid: id, topic: id, qos: 1, sendSingle: true };
    const rule = { id, sql: 'SELECT id FROM s', actions: [{ mqtt: sink }] };
    assert.is((await server.request('POST', '/rules', rule)).status, 201);
  }
  const status = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json;
  const all = (what: string, fits: (status: Record<string, unknown>) => boolean) =>
    eventually(what, async () => (await Promise.all(ids.map(status))).every(fits));
  await all('the connections', (json) => json.source_s_0_connection_status === 1);
  let sent = 0;
  const send = async (count: number) => {
    for (let i = 0; i < count; i++) await client.publishAsync('t', `{"id":${sent++}}`, { qos: 1 });
  };
  for (let round = 0; round < 3; round++) {
    await send(20);
    await all('the rows', (json) => json.sink_mqtt_0_0_records_out_total === sent);
    await far.close();
    await all('the loss', (json) => json.sink_mqtt_0_0_connection_status !== 1);
    await send(50);
    far = await openMosquitto(far.port);
    await all('the connections', (json) => json.sink_mqtt_0_0_connection_status === 1);
    await all('the rows that waited', (json) => json.sink_mqtt_0_0_records_out_total === sent);
  }
  for (const id of ids) {
    const { sink_mqtt_0_0_records_in_total: taken, sink_mqtt_0_0_exceptions_total: failures } = await status(id);
    assert.is(taken, sent);
    assert.ok(failures > 0, 'attempts in vain are counted');
  }
  await server.stop();
  await client.endAsync(true);
  await near.close();
  await far.close();
});

test.run();
