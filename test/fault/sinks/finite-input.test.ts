/** A rule whose input ends while its sink takes nothing waits for it, says so, and loses nothing. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer } from '../../support/harness.js';

const rows = 20;

test('a sink that went away with messages in flight gets them when it is back, and then the rule ends', async () => {
  const server = await startServer();
  const seen = new Set<number>();
  let isHeld = true;
  const held: ServerResponse[] = [];
  const open = async (port: number): Promise<Server> => {
    const web = createServer(async (request, response) => {
      let body = '';
      for await (const part of request) body += part;
      if (isHeld) held.push(response);
      else {
        seen.add(JSON.parse(body).i);
        response.end();
      }
    }).listen(port, '127.0.0.1');
    await once(web, 'listening');
    return web;
  };
  const first = await open(0);
  const { port } = first.address() as AddressInfo;
  const lines = Array.from({ length: rows }, (_, i) => `{"i":${i}}\n`);
  writeFileSync(join(server.data, 'in.lines'), lines.join(''));
  await server.request('PUT', '/metadata/sources/file/confKeys/once', { path: server.data, fileType: 'lines' });
  const sql = 'CREATE STREAM once (i BIGINT) WITH (TYPE="file", DATASOURCE="in.lines", CONF_KEY="once")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const rest = { url: `http://127.0.0.1:${port}/`, method: 'post', sendSingle: true, timeout: '1h' };
  const rule = { id: 'once', sql: 'SELECT * FROM once', actions: [{ rest }] };
  assert.is((await server.request('POST', '/rules', rule)).status, 201);
  const status = async () => (await server.request('GET', '/rules/once/status')).json;

  await eventually('a message in flight', () => held.length > 0);
  const waits = new RegExp(`its input is at its end, ${rows} messages wait for sink rest`);
  await eventually('what it waits for', async () => waits.test((await status()).message));
  first.closeAllConnections();
  first.close();
  await eventually('the loss of the connection', async () => (await status()).sink_rest_0_0_connection_status === -1);
  assert.match((await status()).status, /^Running/);
  isHeld = false;
  const second = await open(port);
  await eventually('the end', async () => /^Stopped/.test((await status()).status));
  const { status: end, sinkRecordsFailedTotal } = await status();
  assert.is(end, 'Stopped');
  assert.is(sinkRecordsFailedTotal ?? 0, 0);
  assert.equal(
    [...seen].sort((a, b) => a - b),
    [...Array(rows).keys()],
  );
  second.closeAllConnections();
  second.close();
  await server.stop();
});

test.run();
