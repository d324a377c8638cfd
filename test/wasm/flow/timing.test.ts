/** What the times of nodes cost: looks at the clock, by a clock of the test that a look takes time of. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { NodeHandle } from '../../../kernels/api.js';
import { sampleOften } from '../../../kernels/streams/copy.js';
import { type Driver, drive, encode, f64, filter, linked } from '../../support/kernel/drive.js';
import { field, lines } from '../../support/kernel/streams.js';

/** Time that a look takes here, µs. */
const lookUs = 0.1;

/** Rules that compare a column with constants, each with a limit of its own. */
function rulesOf(driver: Driver, count: number) {
  const { kernel } = driver;
  const stream = kernel.openStream(lines);
  kernel.useColumns(stream, ['temp'].map(field));
  const nodes: NodeHandle[] = [];
  for (let i = 0; i < count; i++) {
    const node = kernel.addNode({ stream }, linked(filter('compare.gt', 0, f64(i / count)), { host: i }));
    nodes.push(kernel.addNode({ node }, linked(encode({ temp: 0 }), { host: i })));
  }
  return { stream, nodes };
}

/** Runs the steps with a clock that only looks and `pass` move; returns the part of the time that looks took. */
function partOfLooks(steps: (pass: (us: number) => void) => void): number {
  const real = performance.now;
  let us = 1e6;
  let looks = 0;
  performance.now = () => {
    looks++;
    us += lookUs;
    return us / 1000;
  };
  const began = us;
  try {
    steps((passed) => {
      us += passed;
    });
  } finally {
    performance.now = real;
  }
  return (looks * lookUs) / (us - began);
}

test('messages that thousands of rules take one by one pay little for the times of these', () => {
  const driver = drive();
  const { stream, nodes } = rulesOf(driver, 1000);
  sampleOften(driver.kernel, true);
  const part = partOfLooks((pass) => {
    for (let i = 0; i < 600; i++) {
      driver.feed(stream, '{"temp":2}\n', 1000 + i);
      pass(1000);
    }
  });
  assert.ok(part < 0.04, `${(part * 100).toFixed(1)} % of the time`);
  for (const node of [nodes[0]!, nodes.at(-1)!]) {
    const { busyUs, recordsIn } = driver.kernel.counters(node);
    assert.is(recordsIn, 600);
    // Each batch takes one look within the node, and those that were not timed are counted with those that were.
    assert.ok(Math.abs(busyUs / (600 * lookUs) - 1) < 0.2, `${busyUs} µs`);
  }
});

test('rare batches of few rules are timed often', () => {
  const driver = drive();
  const { stream, nodes } = rulesOf(driver, 4);
  sampleOften(driver.kernel, true);
  partOfLooks((pass) => {
    for (let i = 0; i < 16; i++) {
      driver.feed(stream, '{"temp":2}\n', 1000 + i);
      pass(100_000);
    }
  });
  assert.ok(driver.kernel.counters(nodes[0]!).busyUs > 0);
});

test.run();
