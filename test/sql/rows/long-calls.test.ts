/** Rules that keep the kernel busy are known by the work of their nodes, and named in their logs and their status. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Logger } from '../../../host/base/log/log.js';
import { noteLongCall } from '../../../host/run/plane/observe/long-calls.js';
import type { RuleRun } from '../../../host/run/plane/rule/rule-run.js';
import { type KernelRule, openRule } from '../../support/engine/rule-kernel.js';

const stream = 'CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="s", FORMAT="json")';
const rows = Array.from({ length: 1000 }, (_, i) => ({ a: i }));
const slowText = `regexp_replace(a, "(?U)x", "${'y'.repeat(100)}")`;
const longText = { a: 'x'.repeat(20_000) };

type Nodes = readonly ('window' | 'filter' | 'encode')[];

/** A rule of the data plane, as far as long calls look at it: an operator for each of the nodes. */
function runOf(id: string, rule: KernelRule, kinds: Nodes, lines: string[]): RuleRun {
  const nodes = kinds.map((kind) => ({ kind, handle: rule.node(kind) }));
  const operators = kinds.map((kind, i) => ({ name: `op_${i + 2}_${kind}`, part: 'operator', nodes: [i] }));
  const log = { warn: (line: string) => lines.push(line) } as unknown as Logger;
  return {
    id,
    host: { kernel: rule.kernel },
    sources: [],
    nodes,
    operators,
    log,
    longCalls: undefined,
  } as unknown as RuleRun;
}

const logTo = (lines: string[]) => ({ warn: (line: string) => lines.push(line) }) as unknown as Logger;

test('the node that took the most is known, with the rows that came to it', () => {
  const rule = openRule([stream], 'SELECT collect(*) AS c FROM s GROUP BY SLIDINGWINDOW(hh, 1)');
  rule.kernel.beginWork();
  rule.feed('s', rows, 1000);
  const { us, hostUs, rows: seen } = rule.kernel.timeInWork(rule.node('window'));
  assert.ok(us > 0);
  assert.is(hostUs, 0);
  assert.is(seen, rows.length);
  rule.kernel.beginWork();
  assert.is(rule.kernel.timeInWork(rule.node('window')).us, 0);
  rule.close();
});

test('functions of the host are measured for a single row', () => {
  const rule = openRule([stream], `SELECT length(${slowText}) AS m FROM s`);
  rule.kernel.beginWork();
  rule.feed('s', [longText], 1000);
  const time = rule.kernel.timeInWork(rule.node('encode'));
  assert.ok(time.hostUs > 0 && time.us >= time.hostUs);
  assert.is(time.rows, 1);
  rule.close();
});

test('calls with little work are not looked at', () => {
  const rule = openRule([stream], 'SELECT a FROM s');
  rule.kernel.beginWork();
  rule.feed('s', rows, 1000);
  assert.is(rule.kernel.timeInWork(rule.node('encode')).us, 0);
  rule.close();
});

test('a long call is counted for its rule and named once, and again when it is twice as long', () => {
  const rule = openRule([stream], 'SELECT collect(*) AS c FROM s GROUP BY SLIDINGWINDOW(hh, 1)');
  const lines: string[] = [];
  const run = runOf('r', rule, ['window'], lines);
  rule.kernel.beginWork();
  rule.feed('s', rows, 1000);
  const { us } = rule.kernel.timeInWork(rule.node('window'));
  for (const ms of [us / 1000, us / 1000, us / 1000, us / 600]) noteLongCall(ms, new Set([run]), true, logTo(lines));
  assert.is(run.longCalls?.count, 4);
  assert.is(run.longCalls?.operator, 'op_2_window');
  assert.is(run.longCalls?.rows, 1000);
  assert.is(lines.length, 1);
  assert.match(lines[0]!, /^op_2_window kept the kernel for \d+ ms with 1,000 rows; all rules waited meanwhile/);
  rule.close();
});

test('of several rules that which took the time is named, and the operator: a filter as well', () => {
  const sql = `SELECT count(*) AS n FROM s WHERE length(${slowText}) > 0 GROUP BY TUMBLINGWINDOW(ss, 1)`;
  const rule = openRule([stream], sql);
  const light = openRule([stream], 'SELECT a FROM s', { kernel: rule.kernel });
  const lines: string[] = [];
  const run = runOf('r', rule, ['filter', 'window'], lines);
  const other = runOf('other', light, ['encode'], lines);
  rule.kernel.beginWork();
  rule.feed('s', [longText], 1000);
  const { us } = rule.kernel.timeInWork(rule.node('filter'));
  noteLongCall(us / 1000, new Set([other, run]), true, logTo(lines));
  assert.is(other.longCalls, undefined);
  assert.is(run.longCalls?.operator, 'op_2_filter');
  assert.is(run.longCalls?.rows, 1);
  assert.match(lines.join('\n'), /^op_2_filter kept the kernel for \d+ ms with 1 row; [^\n]*$/);
  light.close();
  rule.close();
});

test('where it is not known who took the time, all rules that the call was for are counted and named', () => {
  const rule = openRule([stream], 'SELECT a FROM s');
  const lines: string[] = [];
  const runs = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((id) => runOf(id, rule, ['encode'], lines));
  rule.kernel.beginWork();
  rule.feed('s', rows, 1000);
  noteLongCall(1500, new Set(runs.slice(0, 2)), true, logTo(lines));
  assert.equal(lines, [
    'a call of the kernel took 1500 ms for rules a, b together; which of them took it is not known',
  ]);
  assert.equal(runs[1]?.longCalls, { ms: 1500, operator: '', rows: 0, count: 1 });
  noteLongCall(1500, new Set(runs.slice(0, 2)), true, logTo(lines));
  assert.is(lines.length, 1);
  noteLongCall(3000, new Set(runs), true, logTo(lines));
  assert.match(lines[1]!, /^a call of the kernel took 3000 ms for rules a, b, c, d, e and 2 more together/);
  assert.is(runs[0]?.longCalls?.count, 3);
  rule.close();
});

test.run();
