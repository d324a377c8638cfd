/** Rules of one form have the same specs, also when these are put together again. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Catalog } from '../../../../host/model/engine.js';
import { planRule } from '../../../../host/plan/index.js';
import { RulePlans } from '../../../../host/run/planning/rule-plans.js';
import { CheckpointFolders } from '../../../../host/run/props/checkpoint-folders.js';
import { catalogOf, noFold, ruleOf } from '../../../support/engine/planned-rules.js';

const create = 'CREATE STREAM demo (a BIGINT) WITH (DATASOURCE="demo", TYPE="mqtt", CONF_KEY="near", SHARED="true")';
/** Longer than parts are trusted that may lie in files. */
const longMs = 5000;
const realNow = performance.now.bind(performance);

/** Starts rules of one form that read the stream, with the properties of its configuration key as they are now. */
function open() {
  let props = { server: 'tcp://127.0.0.1:1883' };
  let version = 0;
  const never = () => {
    throw new Error('not asked for');
  };
  const catalog: Catalog = { ...catalogOf(create), confKey: () => props, version: () => version };
  const form = {};
  const planner = {
    plan: (rule: ReturnType<typeof ruleOf>, seen: Catalog) => planRule(rule, seen, noFold),
    formOf: () => form,
    explain: never,
    table: never,
    taps: never,
    elsewhere: { plan: never, explain: never, close: never },
  };
  const plans = new RulePlans(catalog, planner, new CheckpointFolders(undefined));
  const { actions, options } = ruleOf('', {}, [{ type: 'nop', props: {} }]);
  let run = 0;
  return {
    start: () => {
      run++;
      const rule = { ...ruleOf(`SELECT a FROM demo WHERE a > ${run}`), id: `r${run}`, actions, options };
      return plans.startOf(rule, run, 'UTC').start;
    },
    configure: (server: string) => {
      props = { server };
      version++;
    },
  };
}

test.after.each(() => {
  performance.now = realNow;
});

test('specs that are put together again after a while, and are equal, are those of the rules before', () => {
  const { start } = open();
  const first = start();
  assert.is(start().sources, first.sources);
  performance.now = () => realNow() + longMs;
  const later = start();
  assert.is(later.sources, first.sources);
  assert.is(later.sinks, first.sinks);
  performance.now = () => realNow() + 2 * longMs;
  assert.is(start().sources, first.sources);
});

test('specs that have changed are new ones', () => {
  const { start, configure } = open();
  const first = start();
  configure('tcp://127.0.0.1:1884');
  const later = start();
  assert.is(first.sources[0]!.props.server, 'tcp://127.0.0.1:1883');
  assert.is(later.sources[0]!.props.server, 'tcp://127.0.0.1:1884');
  assert.is(later.sinks, first.sinks);
  assert.is(start().sources, later.sources);
});

test.run();
