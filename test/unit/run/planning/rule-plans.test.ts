/** A rule is planned once, from the first look at its definition to its start. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RuleDefinition } from '../../../../host/model/engine.js';
import { planRule } from '../../../../host/plan/index.js';
import { type Planner, RulePlans } from '../../../../host/run/planning/rule-plans.js';
import { CheckpointFolders } from '../../../../host/run/props/checkpoint-folders.js';
import { catalogOf, noFold, ruleOf } from '../../../support/engine/planned-rules.js';

const create = (column: string) => `CREATE STREAM demo (${column} BIGINT) WITH (DATASOURCE="demo", TYPE="memory")`;

/** Plans of rules that read the stream as it is now, with a count of how often one was planned. */
function open() {
  let catalog = catalogOf(create('a'));
  let count = 0;
  const never = () => {
    throw new Error('not asked for');
  };
  const planner: Planner = {
    plan: (rule, seen) => {
      count++;
      return planRule(rule, seen, noFold);
    },
    formOf: () => undefined,
    explain: never,
    table: never,
    taps: never,
    elsewhere: { plan: never, explain: never, close: never },
  };
  const { confKey, connection } = catalog;
  const now = { source: (name: string) => catalog.source(name), confKey, connection };
  const plans = new RulePlans(now, planner, new CheckpointFolders(undefined));
  return {
    plans,
    replace: (column: string) => {
      catalog = catalogOf(create(column));
    },
    start: (rule: RuleDefinition) => plans.startOf(rule, 1, 'UTC').start.plan,
    get count() {
      return count;
    },
  };
}

const rule = () => ruleOf('SELECT * FROM demo', {}, [{ type: 'nop', props: {} }]);

test('a rule that is checked, compared, defined and started is planned once', () => {
  const opened = open();
  const one = rule();
  const { plan } = opened.plans.make(one);
  assert.is(opened.plans.make(one).plan, plan);
  assert.is(opened.start(one), plan);
  assert.is(opened.count, 1);
});

test('a stream that was replaced since counts as it is now', () => {
  const opened = open();
  const one = rule();
  assert.equal(opened.plans.make(one).plan.outputFields, ['a']);
  opened.replace('b');
  assert.equal(opened.plans.make(one).plan.outputFields, ['b']);
  opened.replace('c');
  assert.equal(opened.start(one).outputFields, ['c']);
  assert.is(opened.count, 3);
});

test('the plan of a rule that has started is not kept', () => {
  const opened = open();
  const one = rule();
  const plan = opened.start(one);
  assert.is.not(opened.plans.make(one).plan, plan);
  assert.is.not(opened.plans.make(one).plan, opened.plans.make(one).plan);
});

test.run();
