/** Ties: what rules share within a data plane. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { PlacedParts, SinkSpec, SourceSpec } from '../../../../../host/run/link/protocol.js';
import { allTiesOf, TopicTies, tiesOf } from '../../../../../host/run/planes/placement/ties.js';

const source = (type: string, dataSource: string, more: Partial<SourceSpec> = {}) =>
  ({ name: 's', type, dataSource, props: {}, isShared: false, ...more }) as SourceSpec;
const sink = (type: string, props: Record<string, unknown>): SinkSpec => ({ type, props });
const rule = (sources: SourceSpec[], sinks: SinkSpec[] = []): PlacedParts => ({ sources, sinks });
/** A rule that keeps its state. */
const keeping = (sources: SourceSpec[], sinks: SinkSpec[] = []): PlacedParts => ({
  ...rule(sources, sinks),
  checkpoint: { qos: 1 },
});
const none = () => new TopicTies(() => true);

test('shared streams, files, clients with a name and addresses that are listened at are ties', () => {
  const parts = rule(
    [
      source('mqtt', 'a', { isShared: true, props: { clientid: 'one' } }),
      source('zmq', '', { props: { server: 'tcp://h:1' } }),
    ],
    [
      sink('file', { path: '/tmp/./x' }),
      sink('zmq', { server: 'tcp://*:5563' }),
      sink('sql', { dburl: 'sqlite:/tmp/d.db', table: 't' }),
      sink('sql', { dburl: 'postgres://h/d', table: 't' }),
      sink('mqtt', { topic: 't' }),
    ],
  );
  assert.equal(tiesOf(parts, none()), [
    'stream s',
    'MQTT client one',
    'file /tmp/x',
    'publisher tcp://*:5563',
    'file /tmp/d.db',
  ]);
});

test('a lookup table in a file of SQLite is tied to those that write it', () => {
  const lookups = [{ name: 't', type: 'sql', dataSource: 't', props: { dburl: 'sqlite:/tmp/d.db' } }];
  const ties = tiesOf({ sources: [], sinks: [], lookups } as unknown as PlacedParts, none());
  assert.equal(ties, ['file /tmp/d.db']);
});

test('topics tie no rules that keep no state', () => {
  const topics = none();
  assert.equal(tiesOf(rule([source('memory', 't')], [sink('memory', { topic: '{{.name}}' })]), topics), []);
  assert.equal(tiesOf(keeping([source('memory', 't')]), topics), ['topic t']);
});

test('topics are ties of their writers and readers, whoever comes first', () => {
  const reads = (topic: string) => keeping([source('memory', topic)]);
  const writes = (topic: string) => keeping([], [sink('memory', { topic })]);
  for (const [read, written, meet] of [
    ['a/b', 'a/b', true],
    ['a/b', 'a/c', false],
    ['a/+', 'a/c', true],
    ['a/#', 'a/b/c', true],
    ['a/+', 'b/c', false],
    ['a/b', '{{.name}}', true],
    ['a/+', '{{.name}}', true],
  ] as const) {
    for (const order of [
      [reads(read), writes(written)],
      [writes(written), reads(read)],
    ]) {
      const topics = none();
      const [first, second] = order.map((parts) => tiesOf(parts, topics));
      assert.is(
        first!.some((tie) => second!.includes(tie)),
        meet,
        `${read} and ${written}`,
      );
    }
  }
});

test('topics that nothing uses any more are forgotten', () => {
  const used = new Set(['topic +/x']);
  const topics = new TopicTies((tie) => used.has(tie));
  tiesOf(keeping([source('memory', '+/x')]), topics);
  for (let i = 0; i < 5000; i++) tiesOf(keeping([], [sink('memory', { topic: `${i}/x` })]), topics);
  assert.ok(tiesOf(keeping([source('memory', 'a/#')]), topics).length < 1000);
  assert.equal(tiesOf(keeping([], [sink('memory', { topic: 'b/x' })]), topics), ['topic b/x', 'topic +/x']);
});

const plan = { sources: [], nodes: [], topology: { sources: [], edges: {} }, operators: [], outputFields: [] };

test('a shared stream can be handed over unless a rule keeps state, or code of users belongs to it', () => {
  const shared = (more: Partial<SourceSpec> = {}) =>
    source('mqtt', 'a', { isShared: true, props: { clientid: 'one' }, ...more });
  const softOf = (parts: PlacedParts) => allTiesOf({ plan, ...parts }, none());
  assert.equal(softOf(rule([shared()], [sink('file', { path: '/tmp/x' })])), {
    hard: ['file /tmp/x'],
    soft: [{ tie: 'stream s', with: ['MQTT client one'] }],
    isMovable: true,
  });
  assert.equal(softOf(keeping([shared()])).hard, ['stream s', 'MQTT client one']);
  const moved = { ...rule([shared()]), checkpoint: { qos: 0, isForMove: true } };
  assert.is(softOf(moved).soft.length, 1, 'state that is kept for a move alone ties nothing');
  assert.equal(softOf(rule([shared({ program: 1 })])).soft, []);
  assert.equal(softOf(rule([shared({ isShared: false })])).soft, []);
  assert.is(softOf(rule([shared(), source('memory', 't', { name: 'u' })])).isMovable, false);
  const ofParts = rule([shared()], [sink('memory', { topic: '\u0000/parts/1' })]);
  assert.equal(softOf(ofParts).soft, []);
});

test.run();
