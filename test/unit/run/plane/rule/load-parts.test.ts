/** Code that rules need is loaded once for those that start together. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { manifestLoaders } from '../../../../../host/connectors/gen/loaders.js';
import { useManifestLoaders } from '../../../../../host/connectors/loaded.js';
import type { RuleStart, SinkSpec } from '../../../../../host/run/link/protocol.js';
import { isLoaded, loadParts } from '../../../../../host/run/plane/rule/load-parts.js';

useManifestLoaders(manifestLoaders);

const noTables = () => {
  throw new Error('no rule asks a table');
};
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

function startOf(run: number, sinks: SinkSpec[], more: Partial<RuleStart> = {}): RuleStart {
  const plan = { nodes: [], sources: [] } as unknown as RuleStart['plan'];
  return { id: `r${run}`, run, plan, sources, sinks, sendError: true, sinkLimitBytes: 1024, zone: 'UTC', ...more };
}

test('rules with the same sources and sinks that start together wait for one load', async () => {
  const sinks = [{ type: 'nop', props: {} }];
  const [one, two] = [startOf(1, sinks), startOf(2, sinks)];
  const [first, second] = [loadParts(one, noTables), loadParts(two, noTables)];
  assert.is(first, second);
  assert.not.ok(isLoaded(two));
  await first;
  assert.ok(isLoaded(startOf(3, sinks)));
});

test('a rule with other sinks, or with more than these, is loaded by itself', async () => {
  const sinks = [{ type: 'nop', props: {} }];
  const first = loadParts(startOf(1, sinks), noTables);
  const other = loadParts(startOf(2, [{ type: 'log', props: {} }]), noTables);
  const more = loadParts(startOf(3, sinks, { hands: [] as unknown as RuleStart['hands'] }), noTables);
  assert.is.not(first, other);
  assert.is.not(first, more);
  await Promise.all([first, other, more]);
});

test('a load that fails is tried again by the next rule', async () => {
  const sinks = [
    { type: 'nop', props: {} },
    { type: 'nowhere', props: {} },
  ];
  const failing = loadParts(startOf(1, sinks), noTables);
  await failing.then(
    () => assert.unreachable('nobody knows the sink'),
    ({ message }: Error) => assert.match(message, /nowhere/),
  );
  const again = loadParts(startOf(2, sinks), noTables);
  assert.is.not(failing, again);
  await again.catch(() => {});
});

test.run();
