/** What is wrong with rules and queries is said where people look: in the list of rules and beside a query's rows. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient, openBroker } from '../../support/brokers/broker.js';
import { eventually, freePort, startServer, within } from '../../support/harness.js';
import { run } from '../../support/rest/fake-server.js';

const deadPort = await freePort();
const dead = `tcp://127.0.0.1:${deadPort}`;
const server = await startServer();
test.after(async () => {
  await server.stop();
});

const post = async (path: string, body: object) => {
  const { status, text } = await server.request('POST', path, body);
  assert.is(status, 201, text);
};
await server.request('PUT', '/metadata/sources/mqtt/confKeys/dead', { server: dead });
await post('/streams', { sql: 'CREATE STREAM away () WITH (TYPE="mqtt", DATASOURCE="t", CONF_KEY="dead")' });
const data = [{ a: 1, b: 'x' }];
await server.request('PUT', '/metadata/sources/simulator/confKeys/rows', { data, interval: 20 });
await post('/streams', { sql: 'CREATE STREAM sim () WITH (TYPE="simulator", CONF_KEY="rows")' });

type Listed = { id: string; trouble?: string[] }[];
const troubleOf = (id: string, like: RegExp) =>
  eventually(`${like} in the list`, async () => {
    const list = (await server.request('GET', '/rules?trouble=true')).json as Listed;
    const texts = list.find((rule) => rule.id === id)?.trouble ?? [];
    return texts.find((text) => like.test(text));
  });

test('the list of rules says what is wrong with each, where it is asked', async () => {
  const rules: [string, string, object][] = [
    ['good', 'SELECT a FROM sim', { nop: {} }],
    ['sourceless', 'SELECT * FROM away', { nop: {} }],
    ['sinkless', 'SELECT a FROM sim', { mqtt: { server: dead, topic: 'x' } }],
    ['failing', 'SELECT a + b AS c FROM sim', { nop: {} }],
  ];
  for (const [id, sql, action] of rules) await post('/rules', { id, sql, actions: [action] });
  const noBroker = new RegExp(`^(source away|sink mqtt) is not connected to ${dead}: .*ECONNREFUSED.*, still trying$`);
  assert.match(await troubleOf('sourceless', noBroker), /^source away/);
  assert.match(await troubleOf('sinkless', noBroker), /^sink mqtt/);
  await troubleOf('failing', /^[\d,]+ errors in the last minute, the last one: run Select error: invalid operation/);
  const list = (await server.request('GET', '/rules?trouble=true')).json as Listed;
  assert.equal(list.find(({ id }) => id === 'good')?.trouble, []);
  for (const rule of (await server.request('GET', '/rules')).json as Listed) assert.is(rule.trouble, undefined);
});

test('a rule that is held by another one says so, and so does the one that holds it', async () => {
  const broker = await openBroker();
  const client = await connectClient(broker.url);
  try {
    await server.request('PUT', '/metadata/sources/mqtt/confKeys/here', { server: broker.url, qos: 1 });
    const stream = 'TYPE="mqtt", DATASOURCE="held", CONF_KEY="here", SHARED="TRUE"';
    await post('/streams', { sql: `CREATE STREAM both () WITH (${stream})` });
    await post('/rules', { id: 'held', sql: 'SELECT a FROM both', actions: [{ nop: {} }] });
    const sink = { server: dead, topic: 'out', qos: 1, sendSingle: true };
    const options = { maxBacklogBytes: 0 };
    await post('/rules', { id: 'holder', sql: 'SELECT a FROM both', actions: [{ mqtt: sink }], options });
    for (const id of ['held', 'holder']) {
      await eventually(`the source of ${id}`, async () => {
        const { json } = await server.request('GET', `/rules/${id}/status`);
        return json.source_both_0_connection_status === 1 || undefined;
      });
    }
    for (let a = 0; a < 100; a++) client.publish('held', `{"a":${a}}`, { qos: 1 });
    const reason = 'sink mqtt not connected for \\d+ s, \\d+ bytes waiting';
    await troubleOf('held', new RegExp(`^held by rule holder: ${reason}$`));
    await troubleOf('holder', new RegExp(`^holds source both: ${reason}$`));
    assert.match((await server.request('GET', '/rules/held/status')).json.message, /^held by rule holder: /);
    const { out } = await run(server.base, ['show', 'rules']);
    assert.match(out, /^held .*held by rule holder: sink mqtt not connected/m);
    assert.match(out, /^holder .*holds source both: sink mqtt not connected/m);
  } finally {
    for (const id of ['holder', 'held']) await server.request('DELETE', `/rules/${id}`);
    await client.endAsync(true);
    await broker.close();
  }
});

test('so are messages that a source leaves out', async () => {
  const broker = await openBroker();
  const client = await connectClient(broker.url);
  try {
    const props = { server: broker.url, decompression: 'zstd' };
    await server.request('PUT', '/metadata/sources/mqtt/confKeys/packed', props);
    await post('/streams', { sql: 'CREATE STREAM packed () WITH (TYPE="mqtt", DATASOURCE="p", CONF_KEY="packed")' });
    await post('/rules', { id: 'packed', sql: 'SELECT * FROM packed', actions: [{ nop: {} }] });
    await eventually('the source', async () => {
      const { json } = await server.request('GET', '/rules/packed/status');
      return json.source_packed_0_connection_status === 1 || undefined;
    });
    client.publish('p', 'not packed');
    await troubleOf('packed', /^1 error in the last minute, the last one: a message can't be decompressed by zstd/);
  } finally {
    await server.request('DELETE', '/rules/packed');
    await client.endAsync(true);
    await broker.close();
  }
});

test('show rules has a column for it', async () => {
  const { code, out } = await run(server.base, ['show', 'rules']);
  assert.is(code, 0);
  const [head = '', ...lines] = out.split('\n');
  assert.match(head, /^ID +NAME +STATUS +TAGS +TROUBLE$/);
  const lineOf = (id: string) => lines.find((line) => line.startsWith(`${id} `)) ?? '';
  assert.match(lineOf('good'), /Running$/);
  assert.match(lineOf('sourceless'), new RegExp(`source away is not connected to ${dead}`));
  assert.match(lineOf('sinkless'), /sink mqtt is not connected/);
  assert.match(lineOf('failing'), /errors in the last minute/);
});

test('a query on a stream whose broker is down says so, and that it is back', async () => {
  let said = '';
  let interrupt: (() => void) | undefined;
  const query = run(server.base, ['query', 'SELECT * FROM away'], {
    onListen: (call) => {
      interrupt = call;
    },
    onErr: (text) => {
      said += text;
    },
  });
  await eventually(
    'the reason',
    () => /source away is not connected to .*ECONNREFUSED.*still trying/.test(said) || undefined,
  );
  assert.match(said, dead);
  const broker = await openBroker(deadPort);
  await eventually('the news', () => said.includes('all sources are connected') || undefined, 40_000);
  interrupt?.();
  const { code, err } = await within(10_000, 'the end of the query', query);
  assert.is(code, 0);
  assert.is(err, said);
  await broker.close();
});

test.run();
