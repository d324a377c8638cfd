/** The connector redisStream at a real server. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { sinkContract, sourceContract } from '../../../support/connectors/contract.js';
import { fromRows, toFile } from '../../../support/connectors/flows.js';
import { eventually } from '../../../support/harness.js';
import { needsRedis, openRedis, type TestRedis } from '../../../support/servers/redis.js';

if (!needsRedis('the connector redisStream')) process.exit(0);

let redis: TestRedis;
test.before(async () => {
  redis = await openRedis();
});
test.after(() => redis.close());

sourceContract(
  test,
  () => ({
    type: 'redisStream',
    dataSource: 'contract',
    props: { address: redis.addr },
    refused: [
      [{ startId: 'x' }, /startId must be an id/],
      [{ maxPending: 0 }, /maxPending must be at least 1/],
    ],
  }),
  'redisStream',
);

sinkContract(
  test,
  () => ({
    type: 'redisStream',
    props: { address: redis.addr, stream: 'contract' },
    refused: [
      [{}, /stream is required/],
      [{ stream: '' }, /stream must not be empty/],
    ],
  }),
  'redisStream',
);

const row = (id: number) => JSON.stringify({ id: String(id) });
const rows = (count: number, from = 0) => Array.from({ length: count }, (_, i) => row(from + i));

async function add(key: string, count: number, from = 0): Promise<void> {
  for (let i = 0; i < count; i++) await redis.client.xAdd(key, '*', { id: String(from + i) });
}

test('a stream is read in order, from its begin and as it grows', async () => {
  await add('plain', 1200);
  const flow = await toFile({ type: 'redisStream', dataSource: 'plain', props: { address: redis.addr } });
  await flow.has(1200);
  await add('plain', 100, 1200);
  await flow.has(1300);
  assert.equal(flow.lines(), rows(1300));
  await flow.close();
});

test('with $ new entries alone come', async () => {
  await add('late', 10);
  const props = { address: redis.addr, startId: '$' };
  const flow = await toFile({ type: 'redisStream', dataSource: 'late', props });
  await eventually('the connection', flow.isUp);
  await add('late', 5, 10);
  await flow.has(5);
  assert.equal(flow.lines(), rows(5, 10));
  await flow.close();
});

test('one field may have the message', async () => {
  await redis.client.xAdd('field', '*', { other: 'x', data: '{"id":7}' });
  const props = { address: redis.addr, field: 'data' };
  const flow = await toFile({ type: 'redisStream', dataSource: 'field', props });
  await flow.has(1);
  assert.equal(flow.lines(), ['{"id":7}']);
  await flow.close();
});

test('entries of a group are acknowledged, and a new rule goes on behind them', async () => {
  await add('grouped', 500);
  const props = { address: redis.addr, group: 'g', maxPending: 50 };
  const flow = await toFile({ type: 'redisStream', dataSource: 'grouped', props });
  await flow.has(500);
  const isAllSafe = async () => (await redis.client.xPending('grouped', 'g')).pending === 0;
  await eventually('all acknowledgements', isAllSafe);
  await flow.close();
  await add('grouped', 10, 500);
  const next = await toFile({ type: 'redisStream', dataSource: 'grouped', props });
  await next.has(10);
  assert.equal(next.lines(), rows(10, 500));
  await next.close();
});

test('what the consumer or another one has left unacknowledged is read', async () => {
  await redis.client.xGroupCreate('left', 'g', '0', { MKSTREAM: true });
  await add('left', 20);
  const streams = { key: 'left', id: '>' };
  await redis.client.xReadGroup('g', 'demo', streams, { COUNT: 5 });
  await redis.client.xReadGroup('g', 'gone', streams, { COUNT: 5 });
  const props = { address: redis.addr, group: 'g', claimAfter: 1000 };
  const flow = await toFile({ type: 'redisStream', dataSource: 'left', props });
  await flow.has(20);
  assert.equal([...flow.lines()].sort(), rows(20).sort());
  await flow.close();
});

test('rows are added as fields or as one, and the oldest go', async () => {
  const data = Array.from({ length: 300 }, (_, id) => ({ id, deep: { a: [id] } }));
  const flow = await fromRows(data, 'redisStream', { address: redis.addr, stream: 'out' });
  await flow.ended();
  await flow.close();
  const entries = (await redis.client.xRange('out', '-', '+')) ?? [];
  assert.is(entries.length, 300);
  assert.equal({ ...entries[7]!.message }, { id: '7', deep: '{"a":[7]}' });
  const props = { address: redis.addr, stream: 'short', field: 'data', maxLen: 100 };
  const bounded = await fromRows(data, 'redisStream', props);
  await bounded.ended();
  await bounded.close();
  assert.ok((await redis.client.xLen('short')) <= 200);
  const [last] = (await redis.client.xRevRange('short', '+', '-', { COUNT: 1 })) ?? [];
  assert.equal(JSON.parse(last!.message.data!), data.at(-1));
});

test.run();
