/** The connector rabbitmq at a real server. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectorOf } from '../../../../host/connectors/index.js';
import { sinkContract, sourceContract } from '../../../support/connectors/contract.js';
import { fromRows, toFile } from '../../../support/connectors/flows.js';
import { eventually } from '../../../support/harness.js';
import { needsRabbit, type RabbitServer, rabbitLogin, sharedRabbit } from '../../../support/servers/rabbitmq.js';

if (!needsRabbit('the connector rabbitmq')) process.exit(0);

let rabbit: RabbitServer;
test.before(async () => {
  rabbit = await sharedRabbit();
});
test.after(() => rabbit.close());

const own = () => ({ server: rabbit.url, ...rabbitLogin });

sourceContract(
  test,
  () => ({
    type: 'rabbitmq',
    dataSource: 'contract',
    props: own(),
    refused: [
      [{ server: 'http://x' }, /server must begin with amqp:\/\/ or amqps:\/\//],
      [{ exchangeType: 'odd' }, /exchangeType must be one of/],
      [{ prefetchCount: -1 }, /prefetchCount must be at least 0/],
    ],
  }),
  'rabbitmq',
);

sinkContract(
  test,
  () => ({
    type: 'rabbitmq',
    props: { ...own(), queue: 'contract-out' },
    refused: [[{}, /exchange, routingKey or queue is required/]],
  }),
  'rabbitmq',
);

test('a queue is read in order, with prefetch windows, and its messages are acknowledged', async () => {
  const channel = await rabbit.client.createChannel();
  await channel.assertQueue('in');
  const flow = await toFile({ type: 'rabbitmq', dataSource: '', props: { ...own(), queue: 'in', prefetchCount: 10 } });
  const sent = Array.from({ length: 1000 }, (_, id) => JSON.stringify({ id }));
  for (const text of sent) channel.sendToQueue('in', Buffer.from(text));
  await flow.has(1000);
  assert.equal(flow.lines(), sent);
  await flow.close();
  assert.is((await channel.checkQueue('in')).messageCount, 0);
  await channel.close();
});

test('a queue of its own is bound to an exchange', async () => {
  const channel = await rabbit.client.createChannel();
  const props = { ...own(), exchange: 'events', exchangeType: 'topic', routingKey: 'a.#' };
  const flow = await toFile({ type: 'rabbitmq', dataSource: '', props });
  await eventually('the connection', flow.isUp);
  channel.publish('events', 'b', Buffer.from('{"id":0}'));
  channel.publish('events', 'a.b', Buffer.from('{"id":1}'));
  await flow.has(1);
  assert.equal(flow.lines(), ['{"id":1}']);
  await flow.close();
  await channel.close();
});

test('what the sink publishes has its headers, and what no queue takes has failed with the reason', async () => {
  const channel = await rabbit.client.createChannel();
  await channel.assertQueue('out');
  const got: [string, unknown][] = [];
  await channel.consume('out', (message) => {
    if (message !== null) got.push([message.content.toString(), message.properties.headers?.kind]);
  });
  const rows = Array.from({ length: 3000 }, (_, id) => ({ id }));
  const flow = await fromRows(rows, 'rabbitmq', { ...own(), routingKey: 'out', headers: { kind: 'x' } });
  await flow.ended();
  await eventually('all messages', () => got.length === 3000);
  assert.equal(
    got,
    rows.map((row) => [JSON.stringify(row), 'x']),
  );
  await flow.close();
  const lost = await fromRows(rows.slice(0, 3), 'rabbitmq', { ...own(), routingKey: 'nowhere', mandatory: true });
  const { metrics } = await lost.ended();
  assert.is(metrics.sinkRecordsFailedTotal, 3);
  assert.match(String(metrics.sink_rabbitmq_0_0_last_exception), /NO_ROUTE.*routing key "nowhere"/);
  await lost.close();
  await channel.close();
});

test('an exchange that is missing is named, and nothing is lost until it is there', async () => {
  const channel = await rabbit.client.createChannel();
  const props = { ...own(), exchange: 'later', routingKey: 'k' };
  const flow = await fromRows([{ id: 1 }], 'rabbitmq', props, { loop: true, interval: 20 });
  await eventually('the reason', () => /no exchange 'later'/.test(flow.trouble()));
  await channel.assertExchange('later', 'fanout');
  await channel.assertQueue('late');
  await channel.bindQueue('late', 'later', '');
  await eventually('messages', async () => (await channel.checkQueue('late')).messageCount > 5);
  assert.is(flow.metrics()?.sinkRecordsFailedTotal, 0);
  await flow.stop();
  await flow.close();
  await channel.close();
});

test('a connection is tried out', async () => {
  const { connection } = connectorOf('rabbitmq')!;
  await connection!.ping!(own());
  await connection!.ping!({ server: rabbit.url.replace('//', `//rows:${rabbitLogin.password}@`) });
  try {
    await connection!.ping!({ ...own(), password: 'wrong' });
    assert.unreachable('it was let in');
  } catch (error) {
    assert.match(String(error), /ACCESS.REFUSED/);
  }
});

test.run();
