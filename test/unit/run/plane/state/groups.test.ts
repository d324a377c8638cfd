/** Which rules' checkpoints are taken at the same instant. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import '../../../../../host/connectors/index.js';
import { topicUse } from '../../../../../host/connectors/topic-use.js';
import { Groups } from '../../../../../host/run/plane/state/checkpoint/groups.js';

const rule = (reads: readonly string[], writes: readonly string[]) =>
  topicUse({
    sources: reads.map((dataSource) => ({ type: 'memory', dataSource })),
    sinks: writes.map((topic) => ({ type: 'memory', props: { topic } })),
  });

test('rules that feed each other are a group, whatever the way', () => {
  const groups = new Groups<{ name: string }>();
  const members = new Map<string, { name: string }>();
  const add = (name: string, reads: readonly string[], writes: readonly string[], shared: readonly object[] = []) => {
    const member = { name };
    members.set(name, member);
    groups.add(member, { use: rule(reads, writes), shared });
  };
  const groupOf = (name: string) =>
    groups
      .of(members.get(name)!)
      .map((one) => one.name)
      .join(' ');
  const stream = {};
  add('writer', [], ['a/x']);
  add('wildcard', ['a/+'], ['b']);
  add('last', ['b'], []);
  add('apart', ['c'], []);
  add('none', [], []);
  add('circle', ['d'], ['d']);
  add('shared1', [], [], [stream]);
  add('shared2', [], [], [stream]);
  assert.equal(['writer', 'wildcard', 'last', 'apart', 'none', 'circle', 'shared1'].map(groupOf), [
    ...Array(3).fill('writer wildcard last'),
    'apart',
    'none',
    'circle',
    'shared1 shared2',
  ]);
  groups.delete(members.get('wildcard')!);
  assert.equal(['writer', 'last'].map(groupOf), ['writer', 'last']);
  add('any', [], ['{{.topic}}']);
  assert.is(groupOf('apart'), 'last apart circle any');
});

test.run();
