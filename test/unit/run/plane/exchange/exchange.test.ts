/** Topics in memory between data planes: two exchanges in one thread, joined by small rings. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../../../host/base/log/log.js';
import { ringMemory } from '../../../../../host/base/structures/ring.js';
import { type Block, MemoryBus } from '../../../../../host/connectors/topics/bus.js';
import { Exchange } from '../../../../../host/run/plane/exchange/exchange.js';
import { eventually } from '../../../../support/harness.js';

const ringBytes = 64;

function pair() {
  const buses = [new MemoryBus(), new MemoryBus()] as const;
  const warnings: string[] = [];
  const log = { ...silent, warn: (text: string) => void warnings.push(text) };
  const exchanges = buses.map((bus) => new Exchange(bus, log)) as [Exchange, Exchange];
  const link = () => {
    const [out, back] = [ringMemory(ringBytes), ringMemory(ringBytes)];
    exchanges[0].link(1, out, back);
    exchanges[1].link(0, back, out);
  };
  return { here: buses[0], there: buses[1], exchanges, link, warnings };
}

/** A reader that keeps blocks until they are taken by hand. */
function reader() {
  const blocks: Block[] = [];
  return { blocks, deliver: (block: Block) => void blocks.push(block) };
}

test('rows longer than the ring arrive whole and in order, and their credit comes back', async () => {
  const { here, there, link, exchanges } = pair();
  const taker = reader();
  there.subscribe('t/+', taker);
  link();
  const sent = [300, 5, 0, 64, 1].map((length, i) => Buffer.alloc(length, i + 1));
  let done = 0;
  for (const bytes of sent) here.publish('t/a', bytes, () => done++);
  await eventually('all blocks', () => taker.blocks.length === sent.length);
  assert.equal(
    taker.blocks.map(({ bytes }) => bytes),
    sent,
  );
  assert.is(done, 0);
  assert.equal(exchanges[0].figures, [{ plane: 1, sentBytes: 370, waitingBytes: 370, isRingFull: false }]);
  taker.blocks[0]!.taken();
  await eventually('credit', () => done === 1);
  for (const block of taker.blocks.slice(1)) block.taken();
  await eventually('all credit', () => done === sent.length);
  assert.is(exchanges[0].figures[0]!.waitingBytes, 0);
});

test('rows go where they are read, once for all readers there', async () => {
  const { here, there, link, exchanges } = pair();
  const [one, other, near] = [reader(), reader(), reader()];
  there.subscribe('t/a', one);
  there.subscribe('t/#', other);
  here.subscribe('t/a', near);
  link();
  const published = new Promise<void>((resolve) => here.publish('t/a', Buffer.from('row'), () => resolve()));
  await eventually('both', () => one.blocks.length === 1 && other.blocks.length === 1);
  for (const { blocks } of [one, other, near]) for (const block of blocks) block.taken();
  await published;
  assert.is(exchanges[0].figures[0]!.sentBytes, 3);
  there.unsubscribe(one);
  there.unsubscribe(other);
  await eventually('nobody far', () => here.subscribersOf('t/a').length === 1);
  assert.is(near.blocks.length, 1);
});

test('who subscribes before a publication gets it, though the ring was not read meanwhile', async () => {
  const { here, there, link } = pair();
  link();
  await eventually('no reader', () => here.subscribersOf('t').length === 0);
  const taker = reader();
  there.subscribe('t', taker);
  here.publish('t', Buffer.from('row'), () => {});
  await eventually('the row', () => taker.blocks.length === 1);
});

test('what is on its way to a data plane that dies is given up, and told', async () => {
  const { here, there, exchanges, link, warnings } = pair();
  there.subscribe('t', reader());
  link();
  const ends: (string | undefined)[] = [];
  for (let i = 0; i < 3; i++) here.publish('t', Buffer.alloc(100), (lost) => void ends.push(lost));
  assert.is(exchanges[0].figures[0]!.isRingFull, true);
  exchanges[0].unlink(1);
  assert.equal(ends, Array(3).fill('data plane 1 ended before its rules had taken it'));
  assert.equal(warnings, ['data plane 1 ended with 3 blocks of rows on their way to it']);
  assert.equal(here.subscribersOf('t'), []);
  // Its next thread begins with rings of its own.
  const after = new MemoryBus();
  const taker = reader();
  after.subscribe('t', taker);
  const next = new Exchange(after, silent);
  const [out, back] = [ringMemory(ringBytes), ringMemory(ringBytes)];
  exchanges[0].link(1, out, back);
  next.link(0, back, out);
  here.publish('t', Buffer.from('row'), () => {});
  await eventually('the row', () => taker.blocks.length === 1);
});

test('what a data plane has written before it dies arrives', async () => {
  const { here, there, exchanges, link } = pair();
  const taker = reader();
  here.subscribe('t', taker);
  link();
  await eventually('its filter', () => there.subscribersOf('t').length === 1);
  for (let i = 0; i < 3; i++) there.publish('t', Buffer.from([i]), () => {});
  exchanges[0].unlink(1);
  assert.equal(
    taker.blocks.map(({ bytes }) => bytes[0]),
    [0, 1, 2],
  );
});

test('a data plane that ends in order leaves the others', async () => {
  const { here, there, exchanges, link } = pair();
  there.subscribe('t', reader());
  link();
  await eventually('its reader', () => here.subscribersOf('t').length === 1);
  exchanges[1].close();
  await eventually('its end', () => exchanges[0].figures.length === 0);
  assert.equal(here.subscribersOf('t'), []);
});

test.run();
