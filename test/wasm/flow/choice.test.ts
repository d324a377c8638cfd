/**
 * Of many filters of one stream only those are called that a row passes. Each run has the same filters twice: once as
 * they are, and once with a condition that means the same and of which the kernel knows nothing.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { NodeHandle, StreamHandle } from '../../../kernels/api.js';
import { type ConstValue, col, constant, type NodePlan, type Op, reg } from '../../../kernels/plan/ir.js';
import { type Driver, drive, encode, f64, filter, i64, linked } from '../../support/kernel/drive.js';
import { field, lines } from '../../support/kernel/streams.js';

let seed = 1;
const random = (below: number): number => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
};
const oneOf = <T>(list: readonly T[]): T => list[random(list.length)]!;

interface Condition {
  op: Op['op'];
  column: number;
  value: ConstValue;
  /** A second comparison, joined by AND. */
  also?: { op: Op['op']; column: number; value: ConstValue };
}

const str = (value: string): ConstValue => ({ tag: 'str', value });
const orders: Op['op'][] = ['compare.eq', 'compare.ne', 'compare.lt', 'compare.le', 'compare.gt', 'compare.ge'];
const equalities: Op['op'][] = ['compare.eq', 'compare.ne'];
const big = 2n ** 53n;

const constants: (() => ConstValue)[] = [
  () => f64(random(40) / 2 - 5),
  () => i64(random(40) - 20),
  () => i64(big + BigInt(random(8) - 4)),
  () => f64(2 ** 53 + 2 * (random(8) - 4)),
  () => f64(oneOf([0, -0, 1e308, -1e308])),
];
const text = () => 'abcdefghijklmnopqrstuvwxyz'.repeat(2).slice(random(26), 26 + random(20));

/** A number, now and then something else. */
function value(): unknown {
  switch (random(16)) {
    case 0:
      return null;
    case 1:
      return oneOf<unknown>([true, [1], { a: 1 }, '', 'x']);
    case 2:
      return text();
    case 3:
      return Number(big) + random(8) - 4;
    case 4:
      return undefined;
    default:
      return oneOf([random(40) - 20, random(80) / 4 - 5]);
  }
}

function comparison(manner: { op: Op['op']; column: number; isText: boolean }): Condition {
  return { op: manner.op, column: manner.column, value: manner.isText ? str(text()) : oneOf(constants)() };
}

/** The condition as a filter of its own. */
function known({ op, column, value, also }: Condition): NodePlan {
  if (also === undefined) return filter(op, column, value);
  return conditionOf(
    [
      { op, dst: 0, a: col(column), b: constant(0) },
      { op: also.op, dst: 1, a: col(also.column), b: constant(1) },
      { op: 'logic.and', dst: 2, a: reg(0), b: reg(1) },
    ],
    [value, also.value],
  );
}

/** The same, said in another way: `… OR false`. */
function unknown(condition: Condition): NodePlan {
  const { program } = known(condition) as Extract<NodePlan, { kind: 'filter' }>;
  const { ops, consts } = program!;
  const last = ops.at(-1)!.dst;
  return conditionOf(
    [...ops, { op: 'logic.or', dst: last + 1, a: reg(last), b: constant(consts.length) }],
    [...consts, { tag: 'bool', value: false }],
  );
}

function conditionOf(ops: Op[], consts: ConstValue[]): NodePlan {
  return {
    kind: 'filter',
    input: { source: 0 },
    program: { ops, consts },
    condition: reg(ops.at(-1)!.dst),
    name: 'filter',
  };
}

/** Filters below a stream, each with an output of its own. */
class Fan {
  readonly stream: StreamHandle;
  /** Which filter sent what, as it came. */
  sent: [number, string][] = [];
  readonly #nodes = new Map<number, { node: NodeHandle; sink: NodeHandle }>();
  readonly #seconds = new Map<number, NodeHandle>();
  readonly driver: Driver = drive();

  constructor(
    readonly planOf: (condition: Condition) => NodePlan,
    wholeNumbersAreInts: boolean,
  ) {
    this.stream = this.driver.kernel.openStream({ ...lines, wholeNumbersAreInts });
    this.driver.kernel.useColumns(this.stream, [field('a'), field('b'), field('i')]);
    this.driver.onOutput = ({ host, bytes }) => this.sent.push([host, Buffer.from(bytes).toString()]);
  }

  add(id: number, condition: Condition, sendError: boolean, isCounted: boolean): void {
    const { kernel } = this.driver;
    const node = kernel.addNode({ stream: this.stream }, linked(this.planOf(condition), { host: id, sendError }));
    const format = isCounted ? 'none' : 'json';
    const sink = kernel.addNode({ node }, linked(encode({ i: 2 }, { format, sendError }), { host: id, sendError }));
    this.#nodes.set(id, { node, sink });
  }

  /** Adds a second output to a filter, or takes it away. */
  toggleSecond(id: number, isCounted: boolean): void {
    const { kernel } = this.driver;
    const second = this.#seconds.get(id);
    if (second !== undefined) {
      kernel.releaseNode(second);
      this.#seconds.delete(id);
      return;
    }
    const plan = encode({ a: 0 }, { format: isCounted ? 'none' : 'json' });
    this.#seconds.set(id, kernel.addNode({ node: this.#nodes.get(id)!.node }, linked(plan, { host: -id })));
  }

  remove(id: number): void {
    if (this.#seconds.has(id)) this.toggleSecond(id, false);
    const { node, sink } = this.#nodes.get(id)!;
    this.driver.kernel.releaseNode(sink);
    this.driver.kernel.releaseNode(node);
    this.#nodes.delete(id);
  }

  /** What each filter and each output has counted. */
  figures(): unknown[] {
    return [...this.#nodes].map(([id, { node, sink }]) => {
      const of = (at: NodeHandle) => {
        const { recordsIn, recordsOut, exceptions, lastException, lastInvocation } = this.driver.kernel.counters(at);
        return { recordsIn, recordsOut, exceptions, lastException, lastInvocation };
      };
      const second = this.#seconds.get(id);
      return { id, filter: of(node), output: of(sink), second: second === undefined ? null : of(second) };
    });
  }
}

function run(number: number): void {
  seed = number;
  const ints = random(2) === 0;
  const fans = [new Fan(known, ints), new Fan(unknown, ints)] as const;
  const manners = Array.from({ length: 1 + random(4) }, () => {
    const isText = random(3) === 0;
    return { op: oneOf(isText ? equalities : orders), column: random(2), isText };
  });
  const there: number[] = [];
  let next = 0;
  const add = () => {
    const condition = comparison(oneOf(manners));
    if (random(5) === 0) condition.also = comparison(oneOf(manners));
    const wishes = [random(4) === 0, random(3) === 0] as const;
    for (const fan of fans) fan.add(next, condition, ...wishes);
    there.push(next++);
  };
  while (next < 80) add();
  let row = 0;
  for (let batch = 0; batch < 60; batch++) {
    // Long stretches without changes, then several.
    if (random(15) === 0) {
      for (let i = random(4); i > 0; i--) add();
      for (let i = random(4); i > 0; i--) {
        const [id] = there.splice(random(there.length), 1);
        for (const fan of fans) fan.remove(id!);
      }
    }
    if (random(4) === 0) {
      const second = [oneOf(there), random(2) === 0] as const;
      for (const fan of fans) fan.toggleSecond(...second);
    }
    const rows = Array.from({ length: oneOf([1, 1, 1, 2, 3, 8, 9, 33]) }, () => ({ a: value(), b: value(), i: row++ }));
    const input = rows.map((one) => `${JSON.stringify(one)}\n`).join('');
    for (const fan of fans) fan.driver.feed(fan.stream, input, 1000 + batch);
    assert.equal(fans[0].sent, fans[1].sent, `run ${number}, batch ${batch}: ${input}`);
    for (const fan of fans) fan.sent = [];
    if (random(4) === 0) assert.equal(fans[0].figures(), fans[1].figures(), `run ${number}, after batch ${batch}`);
  }
  assert.equal(fans[0].figures(), fans[1].figures(), `run ${number}`);
  for (const id of there) for (const fan of fans) fan.remove(id);
  for (const fan of fans) fan.driver.kernel.closeStream(fan.stream);
}

test('many filters pass, fail and count as those whose conditions are not known', () => {
  for (let number = 1; number <= 40; number++) run(number);
});

test('times are measured of counted rows as well', () => {
  const { kernel, feed } = drive({ measuresAll: true });
  const stream = kernel.openStream(lines);
  kernel.useColumns(stream, [field('a')]);
  const node = kernel.addNode({ stream }, linked(filter('compare.gt', 0, f64(5))));
  const sink = kernel.addNode({ node }, linked(encode({ a: 0 }, { format: 'none' })));
  for (let i = 0; i < 20; i++) feed(stream, `{"a":${i}}\n`);
  const measured = kernel.latencies(sink)!.counts.reduce((sum, count) => sum + count, 0);
  assert.is(measured, 14);
  assert.is(kernel.counters(sink).recordsIn, 14);
  assert.is(kernel.counters(sink).recordsOut, 14);
});

test('nothing is left of filters that are gone', () => {
  const { kernel, feed } = drive();
  const stream = kernel.openStream(lines);
  kernel.useColumns(stream, [field('a')]);
  const held = () => kernel.memory().inUse - kernel.memory().workspace;
  const passed = () => {
    const plans = Array.from({ length: 100 }, (_, i) => filter('compare.gt', 0, f64(i)));
    const nodes = plans.map((plan) => kernel.addNode({ stream }, linked(plan)));
    for (let i = 0; i < 20; i++) feed(stream, `{"a":${i}}\n`);
    const counts = nodes.map((node) => kernel.counters(node).recordsOut);
    for (const node of nodes) kernel.releaseNode(node);
    return counts;
  };
  const expected = Array.from({ length: 100 }, (_, i) => Math.max(0, 19 - i));
  assert.equal(passed(), expected);
  const before = held();
  assert.equal(passed(), expected);
  assert.is(held(), before);
});

test.run();
