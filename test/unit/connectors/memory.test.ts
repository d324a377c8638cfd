import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Block, MemoryBus } from '../../../host/connectors/topics/bus.js';
import { matches } from '../../../host/connectors/topics/matches.js';
import { sinkContract, sourceContract } from '../../support/connectors/contract.js';

sourceContract(
  test,
  () => ({
    type: 'memory',
    dataSource: 'a/#',
    props: {},
    refused: [[{ decompression: 'gzip' }, /decompression is not supported yet/]],
  }),
  'memory',
);
sinkContract(
  test,
  () => ({
    type: 'memory',
    props: { topic: 'a/b' },
    refused: [
      [{}, /topic is required/],
      [{ topic: 'a/#' }, /must not have wildcards/],
      [{ topic: 'a', rowkindField: 'op' }, /keyField is required when rowkindField is set/],
    ],
  }),
  'memory',
);

sourceContract(
  test,
  () => ({
    type: 'simulator',
    dataSource: '',
    props: { interval: 1 },
    refused: [[{ data: 'x{' }, /data\[0\] must be/]],
  }),
  'simulator',
);
sinkContract(test, () => ({ type: 'log', props: {}, refused: [[{ enableCache: 'x' }, /enableCache must be/]] }), 'log');
sinkContract(test, () => ({ type: 'nop', props: { log: true }, refused: [[{ log: 'x' }, /log must be/]] }), 'nop');

test('topics match their filters', () => {
  const fits = (filter: string, topic: string) => matches(filter.split('/'), topic.split('/'));
  assert.ok(fits('a/b', 'a/b'));
  assert.ok(fits('a/+', 'a/b'));
  assert.ok(fits('#', 'a/b'));
  assert.ok(fits('a/#', 'a'));
  assert.ok(fits('a/#', 'a/b/c'));
  assert.ok(fits('+/+/c', 'a/b/c'));
  assert.not(fits('a/+', 'a/b/c'));
  assert.not(fits('a/b', 'a'));
  assert.not(fits('a/b', 'b/a'));
});

test('the publisher is told when the last reader has taken its rows', () => {
  const bus = new MemoryBus();
  const blocks: Block[] = [];
  bus.subscribe('t/+', { deliver: (block) => blocks.push(block) });
  bus.subscribe('t/x', { deliver: (block) => blocks.push(block) });
  let isDone = false;
  bus.publish('t/x', Buffer.from('1'), () => {
    isDone = true;
  });
  assert.is(blocks.length, 2);
  blocks[0]!.taken();
  assert.not(isDone);
  blocks[1]!.taken();
  assert.ok(isDone);
});

test.run();
