/** A rule that keeps the kernel busy is known by its node, and named in its log and its status. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Logger } from '../../host/base/log.js';
import { noteLongCall } from '../../host/run/long-calls.js';
import type { RuleRun } from '../../host/run/rule-run.js';
import { type KernelRule, openRule } from './rule-kernel.js';

const stream = 'CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="s", FORMAT="json")';
const rows = Array.from({ length: 1000 }, (_, i) => ({ a: i }));

/** A rule of the data plane, as far as long calls look at it. */
function runOf(rule: KernelRule, lines: string[]): RuleRun {
  const nodes = [{ kind: 'window', handle: rule.node('window') }];
  const operators = [{ name: 'op_2_window', part: 'operator', nodes: [0] }];
  const log = { warn: (line: string) => lines.push(line) } as unknown as Logger;
  return { host: { kernel: rule.kernel }, nodes, operators, log, longCalls: undefined } as unknown as RuleRun;
}

test('the node that took the most of a call is known, with the rows that came to it', () => {
  const rule = openRule([stream], 'SELECT collect(*) AS c FROM s GROUP BY SLIDINGWINDOW(hh, 1)');
  rule.feed('s', rows, 1000);
  const longest = rule.kernel.longest();
  assert.is(longest?.node, rule.node('window'));
  assert.ok(longest!.us > 0);
  assert.is(longest!.rows, rows.length);
  rule.feed('s', [], 2000);
  rule.close();
});

test('calls with little work are not looked at', () => {
  const rule = openRule([stream], 'SELECT a FROM s');
  rule.feed('s', rows, 1000);
  assert.is(rule.kernel.longest(), null);
  rule.close();
});

test('a long call is counted for its rule and named once, and again when it is twice as long', () => {
  const rule = openRule([stream], 'SELECT collect(*) AS c FROM s GROUP BY SLIDINGWINDOW(hh, 1)');
  const lines: string[] = [];
  const run = runOf(rule, lines);
  rule.feed('s', rows, 1000);
  const { us } = rule.kernel.longest()!;
  const others: string[] = [];
  const log = { warn: (line: string) => others.push(line) } as unknown as Logger;
  for (const ms of [us / 1000, us / 1000, us / 1000, us / 600]) noteLongCall(ms, new Set([run]), log);
  assert.is(run.longCalls?.count, 4);
  assert.is(run.longCalls?.operator, 'op_2_window');
  assert.is(run.longCalls?.rows, 1000);
  assert.is(lines.length, 1);
  assert.match(lines[0]!, /^op_2_window kept the kernel for \d+ ms with 1,000 rows; all rules waited meanwhile/);
  noteLongCall(us / 250, new Set([run, { ...run, nodes: [] } as unknown as RuleRun]), log);
  assert.match(others[0]!, /^a call of the kernel took \d+ ms for 2 rules together$/);
  rule.close();
});

test.run();
