/**
 * More work than the data plane can do: many rules on one stream, and one read of messages that keep them at work for
 * far longer than a thread may be silent. The plane goes from one rule to the next, so it is slow and not hung: no rule
 * ends, none misses a row, questions are answered.
 */
import type { Socket } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRawBroker, publish } from '../../support/brokers/raw-broker.js';
import { eventually } from '../../support/harness.js';
import { startWatchedServer } from '../../support/rest/watched-server.js';

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

test(
  'a plane with more work than it can do is slow: no rule ends, none misses a row, and questions are ' + 'answered',
  async () => {
    let socket: Socket | undefined;
    const broker = await openRawBroker((connected) => {
      socket = connected;
    });
    const { ask, make, status, supervisor, close } = await startWatchedServer(hangMs);
    await ask('PUT', '/metadata/sources/mqtt/confKeys/many', { server: broker.url, qos: 0 });
    await make('/streams', {
      sql:
        'CREATE STREAM many (d BIGINT, text STRING, ts BIGINT) WITH (DATASOURCE="a", FORMAT="json", SHARED="true", ' +
        'CONF_KEY="many", TIMESTAMP="ts")',
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
    const thread = supervisor.threadId;
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
    assert.is(supervisor.threadId, thread, 'the thread is the same');
    await close();
    broker.close();
  },
);

test.run();
