/**
 * Functions that look back on threads of their own, as the kernel asks for them: one call at a time, with the states of
 * the partitions behind its rows; calls that fail or are late leave the states as they were.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { FindBrought } from '../../../host/plugins/define.js';
import type { LookupAnswer } from '../../../kernels/api.js';
import { type CarriedColumns, carriedValues } from '../../../kernels/values/carried.js';
import { type Value, ValueError } from '../../../kernels/values/value.js';
import { type KernelRule, openRule, type RuleWishes } from '../../support/engine/rule-kernel.js';

const statements = ['CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="s")'];
const limits = { callFuel: 1n, batchFuel: 1n };
const brought: FindBrought = (name) =>
  name.toLowerCase() !== 'joined'
    ? undefined
    : {
        owner: 'wasm plugin test',
        run: {
          name: 'joined',
          owner: 'wasm plugin test',
          number: 70_001,
          code: { kind: 'wasm', name: 'test', version: 1, path: '', limits, isolate: { timeoutMs: 100 } },
          entry: 'joined',
          isAggregate: false,
          state: 'analytic',
          args: { min: 1, max: 1 },
        },
      };

interface Call {
  readonly node: number;
  readonly request: number;
  readonly keys: CarriedColumns;
}

/** Joins the texts of a partition; `-` fails for its row alone. */
function answered(keys: CarriedColumns): LookupAnswer {
  const [texts = [], groups = []] = carriedValues(keys);
  const rows = groups.filter((group) => typeof group === 'bigint').length;
  const states = groups.slice(rows).map((state) => (state instanceof Uint8Array ? Buffer.from(state).toString() : ''));
  const value: Value[] = groups.slice(0, rows).map((group, i) => {
    const text = String(texts[i]);
    if (text === '-') return new ValueError('it does not want it');
    states[Number(group)] += text;
    return states[Number(group)] as string;
  });
  const all = [...value, ...states.map((state) => (state === '' ? null : Buffer.from(state)))];
  return { of: all.map((_one, i) => i), columns: { value: all } };
}

function open(sql: string, wishes: RuleWishes = {}) {
  const calls: Call[] = [];
  const onAskEach = (node: number, request: number, keys: CarriedColumns) => void calls.push({ node, request, keys });
  const rule = openRule(statements, sql, { onAskEach, brought, ...wishes });
  const answer = (now: number, given?: LookupAnswer) => {
    const { node, request, keys } = calls.shift() as Call;
    rule.kernel.answer(node, request, given ?? answered(keys), now);
  };
  return { rule, calls, answer };
}

/** Rows of a text each: `a:x` is one of partition a. */
function feed(rule: KernelRule, now: number, ...rows: string[]): void {
  const given = rows.map((row) => row.split(':')).map(([k, t]) => ({ k, t }));
  rule.feed('s', given, now);
}

const results = (rule: KernelRule) =>
  rule.taken().map((one) => (typeof one === 'string' ? one : Object.values(one[0]!)[0]));

test('one call is under way, and what came meanwhile goes together with the states that it gave back', () => {
  const { rule, calls, answer } = open('SELECT joined(t) OVER (PARTITION BY k) AS r FROM s');
  feed(rule, 0, 'a:1', 'b:2', 'a:3');
  for (const t of ['4', '5', '6']) feed(rule, 0, `a:${t}`);
  assert.is(calls.length, 1);
  answer(1);
  assert.equal(results(rule), ['1', '2', '13']);
  assert.is(calls.length, 1);
  assert.equal(carriedValues(calls[0]!.keys)[0]?.slice(0, 3), ['4', '5', '6']);
  answer(2);
  assert.equal(results(rule), ['134', '1345', '13456']);
  assert.equal(rule.kernel.partitions(rule.node('ask')), { kept: 2, forgotten: 0 });
  rule.close();
});

test('rows that WHEN leaves out have the last result before them, and wait behind others', () => {
  const { rule, calls, answer } = open('SELECT joined(t) OVER (PARTITION BY k WHEN t != "x") AS r FROM s');
  feed(rule, 0, 'a:x');
  assert.equal(results(rule), [undefined]);
  feed(rule, 0, 'a:1', 'a:x', 'b:x', 'a:2', 'a:x');
  feed(rule, 0, 'a:x');
  assert.equal(results(rule), []);
  answer(1);
  assert.equal(results(rule), ['1', '1', undefined, '12', '12', '12']);
  assert.is(calls.length, 0);
  rule.close();
});

test('a row that fails is an error row, and its state goes on without it', () => {
  const { rule, answer } = open('SELECT joined(t) AS r FROM s');
  feed(rule, 0, 'a:1', 'a:-', 'a:2');
  answer(1);
  assert.equal(results(rule), ['1', 'it does not want it', '12']);
  rule.close();
});

test('a call that fails or is late costs its rows, and leaves the states as they were', () => {
  const waiting = { timeoutMs: 50, batches: 16, cache: null };
  const { rule, calls, answer } = open('SELECT joined(t) AS r FROM s', { waiting });
  feed(rule, 0, 'a:1');
  answer(1);
  feed(rule, 2, 'a:2');
  feed(rule, 2, 'a:3');
  answer(3, {
    of: [],
    columns: {},
    failed: new Map([
      [0, 'it ended'],
      [1, 'it ended'],
    ]),
  });
  assert.equal(results(rule), ['1', 'it ended']);
  const late = calls[0]!;
  rule.kernel.tick(100);
  assert.equal(results(rule), ['no answer within 50 ms']);
  assert.is(rule.kernel.answer(late.node, late.request, answered(late.keys), 101), false);
  calls.length = 0;
  feed(rule, 102, 'a:4');
  answer(103);
  assert.equal(results(rule), ['14']);
  rule.close();
});

test('partitions that nothing comes for are forgotten, but not while rows of theirs wait', () => {
  const { rule, answer } = open('SELECT joined(t) OVER (PARTITION BY k) AS r FROM s', {
    options: { stateTtlMs: 1000 },
  });
  feed(rule, 0, 'a:1', 'b:2');
  answer(0);
  feed(rule, 900, 'b:3');
  rule.kernel.tick(1500);
  answer(1500);
  assert.equal(rule.kernel.partitions(rule.node('ask')), { kept: 1, forgotten: 1 });
  feed(rule, 1600, 'a:4', 'b:5');
  answer(1600);
  assert.equal(results(rule), ['1', '2', '23', '4', '235']);
  rule.kernel.tick(4000);
  assert.equal(rule.kernel.partitions(rule.node('ask')), { kept: 0, forgotten: 3 });
  rule.close();
});

test('states and rows that wait move to another kernel', () => {
  const sql = 'SELECT joined(t) OVER (PARTITION BY k WHEN t != "x") AS r FROM s';
  const { rule, calls, answer } = open(sql);
  feed(rule, 0, 'a:1', 'b:2');
  answer(0);
  feed(rule, 0, 'a:3', 'b:x');
  feed(rule, 0, 'b:4');
  const bytes = rule.save();
  rule.close();
  assert.is(calls.length, 1);
  const next = open(sql);
  const { loaded, failed } = next.rule.load(bytes);
  assert.ok(loaded > 0);
  assert.equal(failed, []);
  next.answer(0);
  next.answer(0);
  assert.equal(results(next.rule), ['13', '2', '24']);
  next.rule.close();
});

test.run();
