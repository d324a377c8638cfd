/**
 * Long work in pieces: whatever the statement, the rows and the moments, a kernel that does all work that can wait in
 * the smallest pieces, with input in between and state that moves to another kernel, sends to the byte what one does
 * that works at once. `HAUMEA_STATE_RUNS` sets how many cases are tried.
 */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { callHost } from '../../../host/functions/registry.js';
import type { Kernel } from '../../../kernels/api.js';
import { createKernel } from '../../../kernels/index.js';
import { hasDeferred, workOn } from '../../../kernels/state/deferred.js';
import { type KernelRule, openRule } from '../../support/engine/rule-kernel.js';
import { kernelUnderTest } from '../../support/kernel/drive.js';
import { beginOfCases, longCases, type StateCase, stateCases } from '../../support/sql/state-cases.js';

const numRuns = Number(process.env.HAUMEA_STATE_RUNS ?? 150);
const afterwards = [1000, 4000, 20_000, 60_000];

let output: string[] = [];
let pieces = 0;

/** Kernels that are empty are used again, by the rows that they work on at once. */
const idle = new Map<number | undefined, Kernel[]>();

function kernelOf(longRows: number | undefined): Kernel {
  return (
    idle.get(longRows)?.pop() ??
    createKernel(
      {
        onOutput: ({ bytes }) => output.push(Buffer.from(bytes).toString()),
        onPacket: () => {},
        onAcknowledge: () => {},
        call: callHost,
      },
      kernelUnderTest,
      longRows === undefined ? {} : { longRows },
    )
  );
}

function bytesOf(kernel: Kernel): number {
  const { inUse, workspace } = kernel.memory();
  return inUse - workspace;
}

function leave(rule: KernelRule, longRows: number | undefined): void {
  rule.close();
  assert.not(hasDeferred(rule.kernel));
  idle.set(longRows, [rule.kernel, ...(idle.get(longRows) ?? [])]);
}

/** Does some pieces, or all that are left. */
function turns(kernel: Kernel, most = Number.POSITIVE_INFINITY): void {
  for (let i = 0; i < most && hasDeferred(kernel); i++) {
    workOn(kernel, 0);
    pieces++;
  }
}

/** What comes out; with `longRows` in pieces, of which some are done after each arrival. */
function run(given: StateCase, longRows?: number, some = 0): string {
  output = [];
  let kernel = kernelOf(longRows);
  const empty = bytesOf(kernel);
  // How long results are gathered is a matter of the clock as well, and failures do not wait for them.
  const { lingerInterval: _, ...props } = given.wishes.props ?? {};
  const open = () => openRule(given.statements, given.sql, { ...given.wishes, props, kernel });
  let rule = open();
  let now = beginOfCases;
  for (const { name, bytes, waitMs, moves } of given.arrivals) {
    // What rows below a window see of the clock, or of a lookup table, is what it is when they come there.
    if (waitMs > 0 || name >= 'v') turns(kernel);
    now += waitMs;
    kernel.tick(now);
    turns(kernel, name >= 'v' ? Number.POSITIVE_INFINITY : some);
    rule.feed(name, bytes, now);
    turns(kernel, some);
    if (!moves || longRows === undefined) continue;
    const state = rule.save();
    assert.not(hasDeferred(kernel));
    leave(rule, longRows);
    kernel = kernelOf(longRows);
    rule = open();
    assert.equal(rule.load(state, given.portion).failed, []);
  }
  for (const waitMs of afterwards) {
    turns(kernel);
    now += waitMs;
    kernel.tick(now);
  }
  for (const name of new Set(given.arrivals.map((arrival) => arrival.name))) rule.end(name);
  turns(kernel);
  leave(rule, longRows);
  assert.is(bytesOf(kernel), empty);
  return output.join('');
}

test('work in pieces sends to the byte what work at once does, with input and moves of the state in between', () => {
  fc.assert(
    fc.property(stateCases, fc.constantFrom(0, 1, 3), fc.integer({ min: 0, max: 4 }), (given, longRows, some) => {
      assert.is(run(given, longRows, some), run(given));
    }),
    { numRuns },
  );
  assert.ok(pieces > numRuns);
});

test('so do long windows with groups: what waits keeps its rows, its stacks and its panes as they were', () => {
  fc.assert(
    fc.property(longCases, fc.constantFrom(0, 2, 20), fc.integer({ min: 0, max: 9 }), (given, longRows, some) => {
      assert.is(run(given, longRows, some), run(given));
    }),
    { numRuns: Math.ceil(numRuns / 3) },
  );
});

test.run();
