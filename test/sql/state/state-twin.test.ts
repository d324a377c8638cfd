/**
 * State moves from kernel to kernel: whatever the statement, the rows and the moments, what comes out is to the byte
 * what one kernel would have sent. `HAUMEA_STATE_RUNS` sets how many cases are tried.
 */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { definitions } from '../../../host/functions/gen/index.js';
import { callHost } from '../../../host/functions/registry.js';
import type { Kernel } from '../../../kernels/api.js';
import { createKernel } from '../../../kernels/index.js';
import { type KernelRule, openRule } from '../../support/engine/rule-kernel.js';
import { kernelUnderTest } from '../../support/kernel/drive.js';
import { aggregates, beginOfCases, type StateCase, stateCases } from '../../support/sql/state-cases.js';

const numRuns = Number(process.env.HAUMEA_STATE_RUNS ?? 150);
/** Time that passes after the last row, in steps. */
const afterwards = [1000, 4000, 20_000, 60_000];

/** A kernel that is used again once it is empty: a new one takes more time than a case. */
interface Place {
  readonly kernel: Kernel;
  readonly emptyBytes: number;
  uses: number;
}

const mostUses = 40;
const places: Place[] = [];
let output: Buffer[] = [];

function bytesOf(kernel: Kernel): number {
  const { inUse, workspace } = kernel.memory();
  return inUse - workspace;
}

function place(): Place {
  const free = places.pop();
  if (free !== undefined) return free;
  const kernel = createKernel(
    {
      onOutput: ({ bytes }) => output.push(Buffer.from(bytes)),
      onPacket: () => {},
      onAcknowledge: () => {},
      call: callHost,
    },
    kernelUnderTest,
  );
  return { kernel, emptyBytes: bytesOf(kernel), uses: 0 };
}

function leave(at: Place, rule: KernelRule): void {
  rule.close();
  assert.is(bytesOf(at.kernel), at.emptyBytes);
  if (++at.uses < mostUses) places.unshift(at);
}

/** What comes out; `moves`: through a chain of kernels. */
function run(given: StateCase, moves: boolean): string {
  output = [];
  let at = place();
  let rule = open(given, at);
  let now = beginOfCases;
  const move = (): void => {
    const state = rule.save();
    const next = place();
    leave(at, rule);
    at = next;
    rule = open(given, at);
    const before = output.length;
    const { loaded, ...rest } = rule.load(state, given.portion);
    assert.equal(rest, { unclaimed: 0, brokenOff: null, failed: [] });
    assert.ok(loaded > 0);
    assert.is(output.length, before);
    // What was loaded is what was saved.
    assert.is(Buffer.compare(rule.save(), state), 0);
  };
  for (const { name, bytes, waitMs, moves: moved } of given.arrivals) {
    now += waitMs;
    rule.kernel.tick(now);
    rule.feed(name, bytes, now);
    if (moves && moved) move();
  }
  for (const waitMs of afterwards) {
    if (moves && given.movesAtLast) move();
    now += waitMs;
    rule.kernel.tick(now);
  }
  for (const name of new Set(given.arrivals.map((arrival) => arrival.name))) rule.end(name);
  leave(at, rule);
  return Buffer.concat(output).toString();
}

function open({ statements, sql, wishes }: StateCase, { kernel }: Place): KernelRule {
  return openRule(statements, sql, { ...wishes, kernel });
}

test('a run is to the byte the same run whose state moves to another kernel at any moment', () => {
  fc.assert(
    fc.property(stateCases, (given) => {
      assert.is(run(given, true), run(given, false));
    }),
    { numRuns },
  );
});

test('every aggregate is among the statements', () => {
  const called = new Set(aggregates.map((call) => call.slice(0, call.indexOf('('))));
  const missing = definitions.filter(({ name, implementation }) => 'aggregate' in implementation && !called.has(name));
  assert.equal(
    missing.map(({ name }) => name),
    [],
  );
});

test.run();
