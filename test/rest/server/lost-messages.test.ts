/** What a sink that is away could not send is lost with its rule: the answer that ends the rule says so. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, eventually, freePort, startServer } from '../../support/harness.js';

const server = await startServer();
const dead = `tcp://127.0.0.1:${await freePort()}`;
test.after(async () => void (await server.stop()));

const actions = [{ mqtt: { server: dead, topic: 't', sendSingle: true } }];
const rule = { id: 'away', sql: 'SELECT a FROM rows', actions, options: { forceExitTimeout: '100ms' } };

/** Waits until messages wait for the broker. */
const waiting = () =>
  eventually('messages that wait', async () => {
    const { json } = await server.request('GET', '/rules/away/status');
    return json.sink_mqtt_0_0_records_in_total > 0 || undefined;
  });

function saysLoss({ status, text, headers }: Answer, expected: string): void {
  assert.is(status, 200, text);
  assert.is(text, expected);
  const lost =
    /sink mqtt is closed before (1 message|[\d,]+ messages) \(\d+ \w+\) could be sent: (it is|they are) lost/;
  assert.match(headers.get('warning') ?? '', lost);
}

test('an update, a restart, a stop and a deletion tell what is lost with the former run', async () => {
  await server.request('PUT', '/metadata/sources/simulator/confKeys/rows', {
    data: [{ a: 1 }],
    interval: 10,
    loop: true,
  });
  const sql = 'CREATE STREAM rows (a BIGINT) WITH (TYPE="simulator", CONF_KEY="rows")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  assert.is((await server.request('POST', '/rules', rule)).status, 201);
  await waiting();
  saysLoss(await server.request('PUT', '/rules/away', rule), 'Rule away was updated successfully.');
  await waiting();
  saysLoss(await server.request('POST', '/rules/away/restart'), 'Rule away was restarted');
  await waiting();
  saysLoss(await server.request('POST', '/rules/away/stop'), 'Rule away was stopped.');
  const { json } = await server.request('GET', '/rules/away/status');
  assert.ok(json.sink_mqtt_0_0_exceptions_total > 0);
  assert.is((await server.request('POST', '/rules/away/stop')).headers.get('warning'), null, 'told once');
  await server.request('POST', '/rules/away/start');
  await waiting();
  saysLoss(await server.request('DELETE', '/rules/away'), 'Rule away is dropped.');
});

test.run();
