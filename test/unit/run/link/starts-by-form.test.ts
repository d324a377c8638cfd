/** Starts of rules on their way to a data plane arrive as they were sent, and equal parts are one object there. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RuleDefinition } from '../../../../host/model/engine.js';
import { planRule } from '../../../../host/plan/index.js';
import type { RuleStart, ToPlane } from '../../../../host/run/link/protocol.js';
import { PackedStarts, UnpackedStarts } from '../../../../host/run/link/starts-by-form.js';
import { PlansByForm } from '../../../../host/run/planning/plans-by-form.js';
import { noFold, ruleOf, streams } from '../../../support/engine/planned-rules.js';

const forms = new PlansByForm(
  (rule, catalog) => planRule(rule, catalog, noFold),
  () => 'UTC',
);
const { options, actions } = ruleOf('');
const sources: RuleStart['sources'] = [
  {
    name: 'demo',
    type: 'memory',
    dataSource: 'demo',
    props: {},
    isShared: true,
    format: 'json',
    schema: null,
    strict: false,
  },
];
const sinks: RuleStart['sinks'] = [{ type: 'nop', props: {} }];
let run = 0;

function startOf(sql: string, more: Partial<RuleStart> = {}): RuleStart {
  const rule: RuleDefinition = { ...ruleOf(sql), options, actions };
  const plan = forms.plan(rule, streams);
  run++;
  return { id: `r${run}`, run, plan, sources, sinks, sendError: true, sinkLimitBytes: 1024, zone: 'UTC', ...more };
}

const command = (rule: RuleStart): ToPlane => ({ kind: 'start', rule });

/** What arrives of some batches, with the bytes that they were on their way. */
function carried(batches: readonly (readonly ToPlane[])[]): { arrived: ToPlane[]; packed: ToPlane[][] } {
  const [pack, unpack] = [new PackedStarts(), new UnpackedStarts()];
  const packed = batches.map((batch) => pack.pack(batch));
  const arrived = packed.flatMap((batch) => structuredClone(batch).flatMap((message) => [...unpack.of(message)]));
  return { arrived, packed };
}

/** The starts without the numbers of forms, which are of the way. */
const rulesOf = (messages: readonly ToPlane[]) => messages.flatMap((one) => (one.kind === 'start' ? [one.rule] : []));

test('rules of one form travel as their constants', () => {
  const rules = Array.from({ length: 20 }, (_, i) => startOf(`SELECT a FROM demo WHERE b = "d${i}" AND a > ${i}`));
  const { arrived, packed } = carried([rules.slice(0, 6).map(command), rules.slice(6).map(command)]);
  assert.equal(rulesOf(arrived), rules);
  const [first, second] = packed;
  assert.ok(first!.length < 6, 'the last of the first batch are one message');
  assert.is(second!.length, 1);
  const [one, other] = rulesOf(arrived).slice(-2);
  assert.is(one!.sources[0], other!.sources[0]);
  assert.is(one!.plan.operators, other!.plan.operators);
});

test('members that differ travel with the constants, also those that a rule lacks', () => {
  const sql = (i: number) => `SELECT c FROM demo WHERE b = "d${i}"`;
  const form = Array.from({ length: 5 }, (_, i) => startOf(sql(i), { dropsInput: true }));
  const queue = startOf(sql(5), { dropsInput: true, sinks: [{ type: 'nop', props: { own: 1 } }] });
  const { dropsInput: _left, ...without } = startOf(sql(6), { maxStateBytes: 5 });
  const same = startOf(sql(7), { dropsInput: true });
  const { arrived, packed } = carried([[...form, queue, without, same].map(command)]);
  assert.ok(packed[0]!.length < 6);
  const found = rulesOf(arrived);
  assert.equal(found.slice(0, 6), [...form, queue]);
  assert.equal(found[7], same);
  assert.is(found[6]!.dropsInput, undefined);
  assert.is(found[6]!.maxStateBytes, 5);
});

test('other rules and other messages keep their place between them', () => {
  const form = (i: number) => startOf(`SELECT a FROM demo WHERE c > ${i}`);
  const messages: ToPlane[] = [form(1), form(2), form(3), form(4)].map(command);
  messages.splice(
    3,
    0,
    { kind: 'stop', run: 1 },
    command(startOf('SELECT count(*) FROM demo GROUP BY COUNTWINDOW(2)')),
  );
  const { arrived } = carried([messages]);
  assert.equal(
    arrived.map((one) => (one.kind === 'start' ? one.rule.id : one.kind)),
    messages.map((one) => (one.kind === 'start' ? one.rule.id : one.kind)),
  );
});

test('more forms than a thread knows take turns', () => {
  const sqls = Array.from({ length: 20 }, (_, i) => `SELECT a AS x${i} FROM demo WHERE b = `);
  const rules = [0, 1, 2, 3, 4].flatMap((round) => sqls.map((sql) => startOf(`${sql}"d${round}"`)));
  const { arrived } = carried(rules.map((rule) => [command(rule)]));
  assert.equal(rulesOf(arrived), rules);
});

test.run();
