/**
 * Operators that move to a twin of their stream and back: whatever the statement, the rows and the moments, they send
 * to the byte what those do that stay. `HAUMEA_STATE_RUNS` sets how many cases are tried.
 */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { callHost } from '../../../host/functions/registry.js';
import { createKernel } from '../../../kernels/index.js';
import { openRule } from '../../support/engine/rule-kernel.js';
import { kernelUnderTest } from '../../support/kernel/drive.js';
import { beginOfCases, type StateCase, stateCases } from '../../support/sql/state-cases.js';

const numRuns = Number(process.env.HAUMEA_STATE_RUNS ?? 150);
const afterwards = [1000, 4000, 20_000, 60_000];

let output: string[] = [];
const kernel = createKernel(
  {
    onOutput: ({ bytes }) => output.push(Buffer.from(bytes).toString()),
    onPacket: () => {},
    onAcknowledge: () => {},
    call: callHost,
  },
  kernelUnderTest,
);

function bytesInUse(): number {
  const { inUse, workspace } = kernel.memory();
  return inUse - workspace;
}

/** What comes out; `moves` says after which arrivals the operators move. */
function run(given: StateCase, moves: readonly boolean[]): string {
  output = [];
  const empty = bytesInUse();
  const rule = openRule(given.statements, given.sql, { ...given.wishes, kernel });
  let now = beginOfCases;
  for (const [i, { name, bytes, waitMs }] of given.arrivals.entries()) {
    now += waitMs;
    kernel.tick(now);
    rule.feed(name, bytes, now);
    if (moves[i % moves.length]) rule.move();
  }
  for (const waitMs of afterwards) {
    now += waitMs;
    kernel.tick(now);
  }
  for (const name of new Set(given.arrivals.map((arrival) => arrival.name))) rule.end(name);
  rule.close();
  assert.is(bytesInUse(), empty);
  return output.join('');
}

test('operators that move between a stream and its twin send to the byte what those send that stay', () => {
  fc.assert(
    fc.property(stateCases, fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }), (given, moves) => {
      assert.is(run(given, moves), run(given, [false]));
    }),
    { numRuns },
  );
});

test('equal filters are shared on the stream, not with one that has moved away; figures go along', () => {
  const statements = ['CREATE STREAM s () WITH (DATASOURCE="s", FORMAT="json")'];
  const rule = openRule(statements, 'SELECT a FROM s WHERE a > 1', { kernel });
  output = [];
  rule.feed('s', [{ a: 1 }, { a: 2 }]);
  rule.move();
  rule.feed('s', [{ a: 3 }]);
  rule.move();
  rule.feed('s', Buffer.from('{"a":4}\n{"a":'));
  rule.move();
  rule.feed('s', Buffer.from('5}\n'));
  assert.is(output.join(''), '[{"a":2}]\n[{"a":3}]\n[{"a":4}]\n[{"a":5}]\n');
  const { recordsIn, recordsOut } = kernel.counters(rule.nodes[0]!);
  assert.equal([recordsIn, recordsOut], [5, 4]);
  rule.close();
});

test.run();
