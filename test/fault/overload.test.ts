/**
 * More work than the data plane can do: many rules on one stream, and one read of messages that keep them at work for
 * far longer than a thread may
 * be silent. The plane goes from one rule to the next, so it is slow and not hung: no rule ends, none misses a row,
 * questions are answered.
 */
import type { Socket } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig } from '../../host/base/config/config.js';
import { createEngine } from '../../host/run/engine.js';
import type { Rules } from '../../host/run/rules.js';
import { startServer } from '../../host/server.js';
import { openRawBroker, publish } from '../support/brokers/raw-broker.js';
import { eventually, request, temporaryFolder } from '../support/harness.js';

/** A thread that is silent for so long is ended, ms. */
const hangMs = 1000;
const rules = 40;
const messages = 20;
/**
 * What a rule does with a message takes some milliseconds: all together several times as long as a thread may be
 * silent.
 */
const slow = 'length(regexp_replace(regexp_replace(regexp_replace(text, "(?U)x", "y"), "(?U)y", "z"), "(?U)z", "x"))';
const text = 'x'.repeat(600);

test('a plane with more work than it can do is slow: no rule ends, none misses a row, and questions are answered', async () => {
  let socket: Socket | undefined;
  const broker = await openRawBroker((connected) => {
    socket = connected;
  });
  const data = temporaryFolder();
  const env = {
    KuiperBaseKey: data,
    KUIPER__BASIC__RESTIP: '127.0.0.1',
    KUIPER__BASIC__RESTPORT: '0',
    KUIPER__BASIC__FILELOG: 'false',
    KUIPER__SOURCE__HTTPSERVERPORT: '0',
  };
  let engine: Rules | undefined;
  const server = await startServer({
    ...(await loadConfig({ data, env })),
    version: '0.0.0-test',
    env,
    createEngine: (context) => {
      engine = createEngine({ ...context, hangMs });
      return engine;
    },
    onStopRequest: () => {},
  });
  const ask = (method: string, path: string, body?: unknown) => request(server.url, method, path, body);
  const make = async (path: string, body: unknown) => {
    const answer = await ask('POST', path, body);
    assert.is(answer.status, 201, answer.text);
  };
  await ask('PUT', '/metadata/sources/mqtt/confKeys/many', { server: broker.url, qos: 0 });
  await make('/streams', {
    sql: 'CREATE STREAM many (d BIGINT, text STRING, ts BIGINT) WITH (DATASOURCE="a", FORMAT="json", SHARED="true", CONF_KEY="many", TIMESTAMP="ts")',
  });
  for (let i = 0; i < rules; i++) {
    await make('/rules', {
      id: `r${i}`,
      sql: `SELECT count(*) AS n FROM many WHERE ${slow} > ${i} GROUP BY TUMBLINGWINDOW(hh, 1)`,
      actions: [{ nop: {} }],
      options: { isEventTime: true },
    });
  }
  await eventually('the connection', () => socket);
  const thread = engine?.planes.next.threadId;
  const status = async (id: string) => (await ask('GET', `/rules/${id}/status`)).json;
  const all = Array.from({ length: messages }, (_, i) =>
    publish(JSON.stringify({ d: i, text, ts: 1700000000000 + i }), 0),
  );
  socket!.write(Buffer.concat(all));
  for (let i = 0; i < rules; i++) {
    const done = await eventually(`all rows in r${i}`, async () => {
      const now = await status(`r${i}`);
      assert.is(now.status, 'Running', now.message);
      return now.source_many_0_records_in_total >= messages ? now : undefined;
    });
    assert.is(done.source_many_0_records_in_total, messages);
    const window = Object.keys(done).find((name) => /^op_\d+_window_0_records_in_total$/.test(name));
    assert.ok(window !== undefined, JSON.stringify(done));
  }
  assert.is(engine?.planes.next.threadId, thread, 'the thread is the same');
  await server.close();
  broker.close();
});

test.run();
