/** QoS 1 with rules that keep their state: a message is acknowledged when a checkpoint has it. */
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRawBroker, publish } from '../../support/brokers/raw-broker.js';
import { openEngine, type TestEngine } from '../../support/engine/engine-harness.js';
import { eventually, temporaryFolder } from '../../support/harness.js';

let opened: TestEngine;
let data: string;
test.before.each(() => {
  data = temporaryFolder();
  opened = openEngine({ folders: { data } });
});
test.after.each(() => opened.close());

const hour = { qos: 1, checkpointIntervalMs: 3_600_000 };
const collect = 'SELECT collect(id) AS ids FROM s GROUP BY COUNTWINDOW(1000)';

/** A broker that publishes as it is told, and rules on its stream. */
async function run(rules: readonly string[], options: object) {
  let socket: Socket | undefined;
  const broker = await openRawBroker((accepted) => {
    socket = accepted;
  });
  const server = { server: broker.url, qos: 1 };
  opened.stream('CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="a", SHARED="TRUE", CONF_KEY="s")', server);
  for (const id of rules) opened.run(id, collect, [['file', { path: join(data, id) }]], options);
  const connected = await eventually('the subscription', () => socket);
  for (const id of rules) await opened.figure(id, 'source_s_0_connection_status', (value) => value === 1);
  let sent = 0;
  return {
    broker,
    /** Sends so many rows at once and waits until they were taken. */
    send: async (count: number) => {
      const messages = Array.from({ length: count }, () => publish(`{"id":${sent}}`, ++sent));
      connected.write(Buffer.concat(messages));
      for (const id of rules) await opened.figure(id, 'source_s_0_records_in_total', (value) => value === sent);
    },
  };
}

test(
  'messages are acknowledged in order when the rule has them in a checkpoint, though nothing came of ' + 'them',
  async () => {
    const { broker, send } = await run(['r'], hour);
    await send(3);
    assert.equal(broker.acknowledged, []);
    assert.is((await opened.engine.status('r')).metrics.checkpointsTotal, 0);
    await opened.engine.stop('r');
    await eventually('the acknowledgements', () => broker.acknowledged.length === 3);
    assert.equal(broker.acknowledged, [1, 2, 3]);
    broker.close();
  },
);

test('of rules that share a stream all must have a message', async () => {
  const { broker, send } = await run(['a', 'b'], hour);
  await send(3);
  await opened.engine.stop('a');
  assert.equal(broker.acknowledged, []);
  await opened.engine.stop('b');
  await eventually('the acknowledgements', () => broker.acknowledged.length === 3);
  broker.close();
});

test('a sender that falls silent with as many messages as it may send gets its acknowledgements early', async () => {
  const { broker, send } = await run(['r'], hour);
  await send(20);
  await eventually('the acknowledgements', () => broker.acknowledged.length === 20);
  assert.is((await opened.engine.status('r')).metrics.checkpointsTotal, 0, 'they are in the log of the stream');
  broker.close();
});

test.run();
