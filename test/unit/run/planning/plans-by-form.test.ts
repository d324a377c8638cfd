/** Rules that differ in constants alone: their plans are those that the planner makes of each by itself. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Catalog, RuleDefinition } from '../../../../host/model/engine.js';
import { planRule } from '../../../../host/plan/index.js';
import { PlansByForm, readStatement } from '../../../../host/run/planning/plans-by-form.js';
import { catalogOf, noFold, ruleOf, streams } from '../../../support/engine/planned-rules.js';

let seed = 1;
const random = (below: number): number => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
};
const oneOf = <T>(list: readonly T[]): T => list[random(list.length)]!;

/** Plans of rules by form, and how often the planner was asked. */
function byForm() {
  const asked: string[] = [];
  const forms = new PlansByForm(
    (rule, catalog) => {
      asked.push(rule.sql);
      return planRule(rule, catalog, noFold);
    },
    () => 'UTC',
  );
  return { asked, plan: (rule: RuleDefinition, catalog: Catalog = streams) => forms.plan(rule, catalog) };
}

const outcome = (plan: () => unknown): unknown => {
  try {
    return { plan: plan() };
  } catch (error) {
    return { refused: (error as Error).message };
  }
};

const texts = ['""', '"a"', '"d17"', '"AND"', '"x AND y"', '"%"', '"2024-01-01"', '"true"', '"é"'];
const integers = ['0', '1', '5', '999999999999999', '42', '007', '9007199254740993'];
const decimals = ['0.0', '1.5', '21.00001', '999999999.999999999', '5.0'];
const others = ['true', '-5', 'null', "'a'", '"a\\"b"', '1e3', 'b', '"a" OR a = 1'];

test('plans are those of each rule by itself', () => {
  const { plan, asked } = byForm();
  const { options } = ruleOf('');
  let rules = 0;
  for (let form = 0; form < 30; form++) {
    const stream = oneOf(['demo', 'typed', 'timed']);
    const head = oneOf([
      'a',
      'a, b AS c',
      '*',
      'a + c AS sum, st',
      'a, 5 AS five',
      'upper(b) AS b',
      'a, b',
      'a AS x, *',
      'case when a then b end',
    ]);
    const parts = Array.from({ length: 1 + random(3) }, () => ({
      left: `${oneOf(['a', 'b', 'c', 'st.x', 'ts', `${stream}.a`])} ${oneOf(['=', '!=', '<', '<=', '>', '>='])} `,
      constants: oneOf([texts, texts, integers, decimals, [...texts, ...integers, ...others]]),
    }));
    const sinks = () => [{ type: 'memory', props: { topic: `t${random(100)}`, sendSingle: form % 2 === 0 } }];
    for (let i = 0; i < 20; i++, rules++) {
      const conditions = parts.map(({ left, constants }) => left + oneOf(constants)).join(oneOf([' AND ', ' and ']));
      const rule = { ...ruleOf(`SELECT ${head} FROM ${stream} WHERE ${conditions}`, {}, sinks()), options };
      assert.equal(
        outcome(() => plan(rule)),
        outcome(() => planRule(rule, streams, noFold)),
        rule.sql,
      );
    }
  }
  assert.ok(asked.length < rules * 0.85, `the planner was asked ${asked.length} times for ${rules} rules`);
});

test('the planner is asked for the first two rules of a form', () => {
  const { plan, asked } = byForm();
  const { options } = ruleOf('');
  const rule = (sql: string, topic: string) => ({
    ...ruleOf(sql, {}, [{ type: 'memory', props: { topic } }]),
    options,
  });
  for (let i = 0; i < 50; i++) plan(rule(`SELECT a FROM demo WHERE b = "d${i}" AND a > ${i}.5`, `t${i}`));
  assert.is(asked.length, 3);
  // Equal constants are one of a plan.
  plan(rule('SELECT a FROM demo WHERE b = "x" AND c = "x"', 't'));
  plan(rule('SELECT a FROM demo WHERE b = "x" AND c = "y"', 't'));
  const before = asked.length;
  plan(rule('SELECT a FROM demo WHERE b = "x" AND c = "z"', 't'));
  assert.is(asked.length, before);
  plan(rule('SELECT a FROM demo WHERE b = "z" AND c = "z"', 't'));
  assert.is(asked.length, before + 1);
});

test('a stream that is defined anew has plans of its own', () => {
  const { plan } = byForm();
  const catalog = (columns: string) => catalogOf(`CREATE STREAM s (${columns}) WITH (DATASOURCE="s", TYPE="memory")`);
  const [first, second] = [catalog('a BIGINT, b STRING'), catalog('b STRING, a FLOAT, c BIGINT')];
  const { options } = ruleOf('');
  const rule = (i: number) => ({ ...ruleOf(`SELECT * FROM s WHERE b = "d${i}"`), options });
  for (let i = 0; i < 3; i++) assert.equal(plan(rule(i), first), planRule(rule(i), first, noFold));
  for (let i = 0; i < 3; i++) assert.equal(plan(rule(i), second), planRule(rule(i), second, noFold));
});

test('only comparisons of columns with constants are taken apart', () => {
  const read = (sql: string) => readStatement(sql)?.constants.map((one) => ('value' in one ? one.value : null));
  assert.equal(read('SELECT a, b FROM s WHERE device = "d1" AND temp >= 2.50'), ['d1', 2.5]);
  assert.equal(read('select * from s where s.id!=12'), [12n]);
  for (const sql of [
    'SELECT a FROM s',
    'SELECT a FROM s WHERE a = -1',
    'SELECT a FROM s WHERE a = "x" OR b = "y"',
    'SELECT a FROM s WHERE a = "x" GROUP BY b',
    'SELECT 5 AS x FROM s WHERE a = "x"',
    'SELECT f(a) FROM s WHERE a = "x"',
    'SELECT a FROM s /* WHERE */ WHERE a = "x"',
    'SELECT a FROM s WHERE a = "x\\n"',
    'SELECT a FROM s WHERE a = "x" "y"',
    'SELECT a FROM s WHERE a = 5 AND',
  ]) {
    assert.is(read(sql), undefined, sql);
  }
});

test.run();
