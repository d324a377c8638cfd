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

interface Comparison {
  op: Op['op'];
  column: number;
  /** One constant, the bounds of BETWEEN, or the list of IN. */
  values: ConstValue[];
  /** The constant stands before the column. */
  isTurned?: boolean;
}

/** Comparisons joined by AND. */
interface Condition {
  parts: Comparison[];
  /** `a AND (b AND c)`. */
  isRight: boolean;
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
const letters = 'abcdefghijklmnopqrstuvwxyz';
const text = () => letters.repeat(2).slice(random(26), 26 + random(20));
/** Short texts, some of which begin with others. */
const start = () => Array.from({ length: 1 + random(4) }, () => oneOf(['a', 'b', 'ü'])).join('');

/** A number, now and then something else. */
function value(): unknown {
  switch (random(16)) {
    case 0:
      return null;
    case 1:
      return oneOf<unknown>([true, [1], { a: 1 }, '', 'x']);
    case 2:
      return oneOf([text, start])();
    case 3:
      return Number(big) + random(8) - 4;
    case 4:
      return undefined;
    default:
      return oneOf([random(40) - 20, random(80) / 4 - 5]);
  }
}

type Manner =
  | 'number'
  | 'text'
  | 'bound'
  | 'betweenTexts'
  | 'longList'
  | 'between'
  | 'numbers'
  | 'texts'
  | 'prefix'
  | 'like';

const manners: readonly Manner[] = [
  ...(['number', 'number', 'text', 'bound', 'betweenTexts'] as const),
  ...(['between', 'numbers', 'texts', 'prefix', 'like'] as const),
];

interface Wish {
  manner: Manner;
  op: Op['op'];
  column: number;
}

const list = (of: () => ConstValue) => Array.from({ length: 1 + random(4) }, of);

function comparison({ manner, op, column }: Wish): Comparison {
  const number = () => oneOf(constants)();
  switch (manner) {
    case 'number':
      return { op, column, values: [number()], isTurned: random(4) === 0 };
    case 'text':
      return { op, column, values: [str(oneOf([text, start])())] };
    case 'bound':
      return { op, column, values: [str(oneOf([text, start])())], isTurned: random(4) === 0 };
    case 'betweenTexts':
      return { op: 'compare.between', column, values: [str(start()), random(30) === 0 ? number() : str(start())] };
    case 'longList':
      // Far from most values, so that few of the filters pass.
      return {
        op: 'compare.in',
        column,
        values: Array.from({ length: 257 + random(100) }, () => i64(random(9000) - 20)),
      };
    case 'between':
      return { op: 'compare.between', column, values: [number(), number()] };
    case 'numbers':
      return { op: 'compare.in', column, values: list(number) };
    case 'texts':
      return { op: 'compare.in', column, values: list(() => (random(40) === 0 ? number() : str(start()))) };
    case 'prefix':
      return { op: 'string.startsWith', column, values: [str(start())] };
    default:
      return {
        op: 'compare.like',
        column,
        values: [str(oneOf(['', '%', '%', '_', '%a'].map((end) => start() + end)))],
      };
  }
}

/** The condition as a filter of its own. */
function known({ parts, isRight }: Condition): NodePlan {
  const consts: ConstValue[] = [];
  const ops = parts.map(({ op, column, values, isTurned }, dst): Op => {
    const [first, second, ...others] = values.map((value) => constant(consts.push(value) - 1));
    const a = col(column);
    if (op === 'compare.in')
      return { op, dst, a, args: [first!, ...(second === undefined ? [] : [second]), ...others] };
    if (op === 'compare.between') return { op, dst, a, b: first!, c: second! };
    return isTurned === true ? { op, dst, a: first!, b: a } : { op, dst, a, b: first! };
  });
  const order = parts.map((_, i) => reg(i));
  let joined = isRight ? order.pop()! : order.shift()!;
  while (order.length > 0) {
    const next = isRight ? order.pop()! : order.shift()!;
    const dst = ops.length;
    ops.push({ op: 'logic.and', dst, a: isRight ? next : joined, b: isRight ? joined : next });
    joined = reg(dst);
  }
  return conditionOf(ops, consts);
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

/** `isCounting`: nearly all filters have one comparison and only count. */
function run(number: number, of = manners, isCounting = false): void {
  seed = number;
  const ints = random(2) === 0;
  const fans = [new Fan(known, ints), new Fan(unknown, ints)] as const;
  const wishes = Array.from({ length: 1 + random(4) }, (): Wish => {
    const manner = oneOf(of);
    return { manner, op: oneOf(manner === 'text' ? equalities : orders), column: random(2) };
  });
  const there: number[] = [];
  let next = 0;
  const add = () => {
    const count = isCounting ? 1 : oneOf([1, 1, 1, 1, 2, 2, 3]);
    const parts = Array.from({ length: count }, () => comparison(oneOf(wishes)));
    const condition = { parts, isRight: random(2) === 0 };
    const ways = [random(4) === 0, isCounting ? random(8) > 0 : random(3) === 0] as const;
    for (const fan of fans) fan.add(next, condition, ...ways);
    there.push(next++);
  };
  while (next < 80) add();
  let row = 0;
  for (let batch = 0; batch < 60; batch++) {
    // Long stretches without changes, then several.
    if (random(15) === 0) {
      // Now and then so many that lists are made anew.
      const [come, go] = oneOf([
        [4, 4],
        [4, 4],
        [300, 1],
        [4, there.length - 40],
      ] as const);
      for (let i = random(come); i > 0; i--) add();
      for (let i = random(Math.max(1, go)); i > 0; i--) {
        const [id] = there.splice(random(there.length), 1);
        for (const fan of fans) fan.remove(id!);
      }
    }
    if (random(4) === 0) {
      const second = [oneOf(there), random(2) === 0] as const;
      for (const fan of fans) fan.toggleSecond(...second);
    }
    const rows = Array.from({ length: oneOf([1, 1, 1, 1, 2, 3, 8, 9, 33, 200]) }, () => ({
      a: value(),
      b: value(),
      i: row++,
    }));
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
  for (let number = 1; number <= 30; number++) run(number);
});

test('long lists of IN pass, fail and count as those whose conditions are not known', () => {
  for (let number = 31; number <= 34; number++) run(number, ['longList', 'longList', 'number', 'bound']);
});

test('filters that only count a bound count as those whose conditions are not known', () => {
  for (let number = 35; number <= 50; number++) run(number, ['number'], true);
  for (let number = 51; number <= 56; number++) run(number, ['bound', 'number'], true);
});

test('a comparison that fails before the one that is looked up is not passed over', () => {
  const failures = (first: Comparison, row: object) => {
    const fan = new Fan(known, false);
    for (let id = 0; id < 100; id++) {
      const second: Comparison = { op: 'compare.eq', column: 1, values: [f64(id)] };
      fan.add(id, { parts: [first, second], isRight: false }, false, true);
    }
    for (let i = 0; i < 10; i++) fan.driver.feed(fan.stream, `${JSON.stringify({ a: 'xy', b: 3 })}\n`, 1000);
    fan.driver.feed(fan.stream, `${JSON.stringify(row)}\n`, 1000);
    return (fan.figures() as { filter: { exceptions: number } }[]).filter(
      ({ filter: { exceptions } }) => exceptions > 0,
    );
  };
  const like: Comparison = { op: 'compare.like', column: 0, values: [str('x%')] };
  const above: Comparison = { op: 'compare.ne', column: 0, values: [str('x')] };
  assert.is(failures(like, { a: null, b: 3 }).length, 100);
  assert.is(failures(like, { a: 1, b: 3 }).length, 100);
  assert.is(failures(above, { a: 1, b: 3 }).length, 100);
  assert.is(failures(above, { a: null, b: 3 }).length, 0);
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
