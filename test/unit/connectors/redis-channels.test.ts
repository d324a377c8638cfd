/** The connectors redisSub and redisPub at a real server. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { sinkContract, sourceContract } from '../../support/connectors/contract.js';
import { openPlane, passRule } from '../../support/engine/plane.js';
import { eventually, temporaryFolder } from '../../support/harness.js';
import { needsRedis, openRedis, type TestRedis } from '../../support/servers/redis.js';

if (!needsRedis('the connectors of Redis channels')) process.exit(0);

let redis: TestRedis;
test.before(async () => {
  redis = await openRedis();
});
test.after(() => redis.close());

sourceContract(
  test,
  () => ({
    type: 'redisSub',
    dataSource: '',
    props: { address: redis.addr, channels: ['contract'] },
    refused: [
      [{}, /channels is required/],
      [{ channels: [] }, /channels must name a channel/],
      [{ channels: ['a'], db: 16 }, /db must be at most 15/],
      [{ channels: ['a'], address: 'a b' }, /address must be an address such as/],
    ],
  }),
  'redisSub',
);

sinkContract(
  test,
  () => ({
    type: 'redisPub',
    props: { address: redis.addr, channel: 'contract' },
    refused: [
      [{}, /channel is required/],
      [{ channel: '' }, /channel must not be empty/],
    ],
  }),
  'redisPub',
);

test('messages of channels and patterns come in order, also after the server was away', async () => {
  const own = await openRedis();
  const { plane } = await openPlane();
  const path = join(temporaryFolder(), 'out.txt');
  const rule = passRule({ type: 'redisSub', props: { address: own.addr, channels: ['one', 'many.*'] } }, [
    { type: 'file', props: { path } },
  ]);
  await plane.start(rule);
  const lines = () => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : []);
  const isUp = () => plane.status(rule.run)!.metrics.source_demo_0_connection_status === 1;
  await eventually('the connection', isUp);
  const sent = Array.from({ length: 500 }, (_, id) => JSON.stringify({ id }));
  await Promise.all(sent.map((text, i) => own.client.publish(i % 2 ? 'one' : 'many.a', text)));
  await eventually('all messages', () => lines().length >= sent.length);
  assert.equal(lines(), sent);
  await own.close();
  await eventually('the loss', () => !isUp());
  const again = await openRedis(own.port);
  await eventually('the connection', isUp);
  assert.is(await again.client.publish('many.b', '{"id":"late"}'), 1);
  await eventually('the message', () => lines().at(-1) === '{"id":"late"}');
  await plane.stop(rule.run);
  await plane.close();
  await again.close();
});

test('messages are published in order', async () => {
  const listener = redis.client.duplicate();
  await listener.connect();
  const got: string[] = [];
  await listener.subscribe('out', (text) => void got.push(text));
  const { plane, report } = await openPlane();
  const data = Array.from({ length: 300 }, (_, id) => ({ id }));
  const rule = passRule({ type: 'simulator', props: { interval: 0, loop: false, data } }, [
    { type: 'redisPub', props: { address: redis.addr, channel: 'out' } },
  ]);
  await plane.start(rule);
  await report(rule.run, 'ended');
  await eventually('all messages', () => got.length >= 300);
  assert.equal(
    got,
    data.map((row) => JSON.stringify(row)),
  );
  listener.destroy();
  await plane.close();
});

test.run();
