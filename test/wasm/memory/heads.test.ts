/** Heads: the rows of a message as JSON before it, for sinks whose properties are templates over them. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { col, type OutputPlan } from '../../../kernels/plan/ir.js';
import { type Driver, drive, encode, linked } from '../../support/kernel/drive.js';
import { field, lines } from '../../support/kernel/streams.js';

/** A head (null before the text of an error) and its message. */
type Pair = [head: string | null, message: string];

interface Opened {
  driver: Driver;
  stream: number;
  sink: number;
  pairs: Pair[];
}

/** Sends column `v` alone; the head has the whole row. */
function open(wishes: Partial<OutputPlan>): Opened {
  const driver = drive();
  const pairs: Pair[] = [];
  driver.onOutput = ({ bytes, ends, messages, errors }) => {
    assert.is(ends?.length, messages);
    assert.is(messages % 2, 0);
    const text = Buffer.from(bytes);
    const at = (place: number): string => text.toString('utf8', place === 0 ? 0 : ends![place - 1], ends![place]);
    for (let place = 0; place < messages; place += 2) {
      assert.not.ok(errors.has(place));
      if (errors.has(place + 1)) {
        assert.is(at(place).slice(0, 30), at(place + 1).slice(0, 30));
        pairs.push([null, at(place + 1)]);
      } else pairs.push([at(place), at(place + 1)]);
    }
  };
  const stream = driver.kernel.openStream(lines);
  driver.kernel.useColumns(stream, [field('v'), { kind: 'row' }]);
  const plan = encode({ v: 0 }, { framing: 'messages', head: col(1), ...wishes });
  const sink = driver.kernel.addNode(
    { stream },
    linked(plan, { saved: { identity: 1n, members: [], isPooled: false } }),
  );
  return { driver, stream, sink, pairs };
}

const row = (v: unknown) => `{"id":"d${String(v).slice(0, 9)}","v":${JSON.stringify(v)}}`;

test('each message has its row before it, an array but for sendSingle', () => {
  for (const [sendSingle, open_, close] of [
    [true, '', ''],
    [false, '[', ']'],
  ] as const) {
    const { driver, stream, pairs } = open({ sendSingle });
    driver.feed(stream, `${row(1)}\n${row('x')}\n{}\n`);
    assert.equal(pairs, [
      [`${open_}${row(1)}${close}`, `${open_}{"v":1}${close}`],
      [`${open_}${row('x')}${close}`, `${open_}{"v":"x"}${close}`],
      [`${open_}{}${close}`, `${open_}{}${close}`],
    ]);
  }
});

test('rows without members that are left out leave no head; the text of an error stands in both places', () => {
  const { driver, stream, pairs } = open({ omitIfEmpty: true, sendError: true, sendSingle: true });
  driver.feed(stream, `{"id":1}\n${row(1)}\nnonsense\n${row(2)}\n`);
  assert.equal(
    pairs.map(([head]) => head),
    [row(1), null, row(2)],
  );
});

test('other formats have the same heads', () => {
  const { driver, stream, pairs } = open({ format: 'delimited', delimiter: ';', sendSingle: true });
  driver.feed(stream, `${row('a')}\n${row(2.5)}\n`);
  assert.equal(pairs, [
    [row('a'), 'a'],
    [row(2.5), '2.5'],
  ]);
});

test('rows that are longer than the output region, and more messages than it has places for', () => {
  const long = 'ü'.repeat(700_000);
  for (const sendSingle of [true, false]) {
    const { driver, stream, pairs } = open({ sendSingle });
    driver.feed(stream, `${row(1)}\n${row(long)}\n${row(2)}\n`, 1000, 1 << 16);
    assert.is(pairs.length, 3);
    assert.equal(JSON.parse(pairs[1]![0]!), sendSingle ? JSON.parse(row(long)) : [JSON.parse(row(long))]);
  }
  const { driver, stream, pairs } = open({ sendSingle: true });
  const count = 80_000;
  driver.feed(stream, Array.from({ length: count }, (_, v) => `${row(v)}\n`).join(''));
  assert.is(pairs.length, count);
  pairs.forEach(([head, message], v) => {
    if (head !== row(v) || message !== `{"v":${v}}`) throw new Error(`${head} ${message} at ${v}`);
  });
});

test('a batch has the rows of its last message before it, also when they went through another kernel', () => {
  for (const [moves, sendSingle] of [
    [false, false],
    [true, false],
    [false, true],
    [true, true],
  ] as const) {
    const list = (...texts: string[]) => texts.map((text) => (sendSingle ? text : `[${text}]`)).join(',');
    const wanted: Pair[] = [
      [`[${row(3)}]`, `[${list('{"v":1}', '{"v":2}', '{"v":3}')}]`],
      [`[${row(4)}]`, `[${list('{"v":4}')}]`],
    ];
    let opened = open({ sendSingle, batchSize: 3 });
    opened.driver.feed(opened.stream, `${row(1)}\n${row(2)}\n`);
    if (moves) {
      const slices: Uint8Array[] = [];
      opened.driver.kernel.saveNode(opened.sink, (bytes) => slices.push(bytes.slice()));
      let left: Uint8Array = Buffer.concat(slices);
      opened = open({ sendSingle, batchSize: 3 });
      const { failed } = opened.driver.kernel.loadNode(opened.sink, (into) => {
        const part = left.subarray(0, into.length);
        into.set(part);
        left = left.subarray(part.length);
        return part.length;
      });
      assert.equal(failed, []);
    }
    opened.driver.feed(opened.stream, `${row(3)}\n${row(4)}\n`);
    opened.driver.kernel.endInput(opened.stream, 2000);
    assert.equal(opened.pairs, wanted);
  }
});

test('a node leaves no memory of its heads behind', () => {
  const { driver, stream, sink } = open({ sendSingle: false, batchSize: 100 });
  const { kernel } = driver;
  driver.feed(stream, `${row('y'.repeat(100_000))}\n`.repeat(3));
  kernel.releaseNode(sink);
  const before = kernel.memory();
  const again = kernel.addNode(
    { stream },
    linked(encode({ v: 0 }, { framing: 'messages', head: col(1), sendSingle: false, batchSize: 100 })),
  );
  driver.feed(stream, `${row('y'.repeat(100_000))}\n`.repeat(3));
  kernel.releaseNode(again);
  assert.is(kernel.memory().inUse - kernel.memory().workspace, before.inUse - before.workspace);
});

test.run();
