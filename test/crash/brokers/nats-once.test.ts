/** A stream of NATS into a file at qos 2 is exactly once, over kill -9 of the engine and of the server. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Lines } from '../../support/connectors/lines.js';
import { eventually, startServer, temporaryFolder } from '../../support/harness.js';
import { managerOf, needsNats, openNats, streamsOf } from '../../support/servers/nats.js';

if (!needsNats('NATS exactly once')) process.exit(0);

test('each message is a row, once', async () => {
  let nats = await openNats();
  const manager = await managerOf(nats.client);
  await manager.streams.add({ name: 'S', subjects: ['in'] });
  const data = temporaryFolder();
  const lines = new Lines();
  let server = await startServer({ data });
  await server.request('PUT', '/metadata/sources/nats/confKeys/own', { server: nats.url, stream: 'S' });
  const sql = 'CREATE STREAM s () WITH (DATASOURCE="in", TYPE="nats", FORMAT="json", CONF_KEY="own")';
  await server.request('POST', '/streams', { sql });
  const { text } = await server.request('POST', '/rules', {
    id: 'r',
    sql: 'SELECT id FROM s',
    actions: [{ file: { path: lines.path, fileType: 'lines', sendSingle: true } }],
    options: { qos: 2, checkpointInterval: '200ms' },
  });
  assert.match((await server.request('GET', '/rules/r/explain')).text, /exactly once/, text);
  let sent = 0;
  const send = async (count: number) => {
    const stream = streamsOf(nats.client);
    const ids = Array.from({ length: count }, () => sent++);
    await Promise.all(ids.map((id) => stream.publish('in', `{"id":${id}}`)));
  };
  for (let round = 0; round < 3; round++) {
    await send(1000);
    await eventually('some rows', () => lines.ids().length > round * 1000 + 200);
    await server.stop('SIGKILL');
    await send(300);
    if (round === 1) {
      const { port, store } = nats;
      await nats.close();
      nats = await openNats({ port, store });
    }
    server = await startServer({ data });
  }
  await eventually('all rows', () => lines.ids().length >= sent);
  const ids = lines.ids();
  assert.is(new Set(ids).size, ids.length);
  assert.is(ids.length, sent);
  await server.stop();
  await nats.close();
});

test.run();
