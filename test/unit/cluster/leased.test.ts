/** A rule whose lease a node has got, while NATS does not answer. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../host/base/log/log.js';
import { WriteFailure } from '../../../host/cluster/bucket.js';
import { Leased, type LeasedOptions } from '../../../host/cluster/leased-engine.js';
import type { RuleDefinition } from '../../../host/model/engine.js';

/** A node that holds every lease until `lose`, and the rules that it has started. */
function node(isThere: () => Promise<boolean>) {
  const started: string[] = [];
  const losses: string[] = [];
  const stopped: string[] = [];
  let state = 'stopped';
  let holds = true;
  const given = new Set<string>();
  const answers: Partial<Record<'states' | 'summaries', () => unknown>> = {};
  const options = {
    engine: {
      define: () => [],
      check: () => ({ sources: [] }),
      start: (id: string) => void started.push(id),
      restart: async (id: string) => (started.push(id), []),
      state: () => state,
      status: async () => ({ status: state, message: 'canceled manually' }),
      summaries: async () => [{ id: 'r', status: state }],
      stop: async (id: string) => (stopped.push(id), []),
      forgetState: async () => {},
      onLoss: ({ reason }: { reason: string }) => void losses.push(reason),
    },
    node: 'a',
    placing: {
      holds: () => holds,
      held: () => ['r'],
      isGiven: (id: string) => given.has(id),
      want: () => {},
      ownerOf: () => 'a',
    },
    states: { isThere },
    typeOf: () => undefined,
    others: () => [],
    asks: { answer: (_node: string, all: object) => void Object.assign(answers, all), hear: () => {}, tell: () => {} },
    log: silent,
  };
  const leased = new Leased(options as unknown as LeasedOptions);
  leased.engine.define({ id: 'r', actions: [], options: { qos: 1 } } as unknown as RuleDefinition);
  const lose = () => (holds = false);
  return { leased, started, stopped, given, losses, answers, lose, be: (next: string) => (state = next) };
}

test('a rule is started as soon as NATS says whether it has a state', async () => {
  let asked = 0;
  const { leased, started, losses } = node(async () => {
    if (++asked < 3) throw new WriteFailure('away', 'timeout');
    return true;
  });
  await leased.taken('r', 'b');
  assert.equal([started, losses, asked], [['r'], [], 3]);
});

test('until it is started a rule says that it is starting, and not that it is stopped', async () => {
  let answer: (isThere: boolean) => void = () => {};
  const { leased, answers, be } = node(() => new Promise((resolve) => (answer = resolve)));
  const { engine } = leased;
  const seen = async () => {
    const [{ status, message, node: at }, [summary]] = [await engine.status('r'), await engine.summaries()];
    const told = [answers.states!(), await answers.summaries!()];
    return { state: engine.state('r'), status, message, at, summary, told };
  };
  const taken = leased.taken('r', 'b');
  const summary = { id: 'r', status: 'starting' };
  const starting = { state: 'starting', status: 'starting', message: '', at: 'a' };
  assert.equal(await seen(), { ...starting, summary, told: [{ r: 'starting' }, [summary]] });
  answer(true);
  await taken;
  be('running');
  const { state, status } = await seen();
  assert.equal([state, status], ['running', 'running']);
});

test('a rule that goes elsewhere meanwhile is not started', async () => {
  const { leased, started, lose } = node(async () => {
    lose();
    throw new WriteFailure('unsure', 'timeout');
  });
  await leased.taken('r', 'b');
  assert.equal(started, []);
});

test('a rule that another node had without keeping its state begins anew, and that is told', async () => {
  const { leased, started, losses } = node(async () => false);
  await leased.taken('r', 'b');
  assert.equal(started, ['r']);
  assert.match(losses.join(), 'it ran on node b before');
});

test('a rule that this node is giving away is not started here any more', async () => {
  const { leased, started, given } = node(async () => true);
  leased.engine.start('r');
  assert.equal(started, ['r']);
  given.add('r');
  leased.engine.start('r');
  await leased.engine.restart('r');
  assert.equal(started, ['r']);
  given.clear();
  await leased.engine.restart('r');
  assert.equal(started, ['r', 'r']);
});

test('figures are those of the node that has the rule: what it did elsewhere before is not counted', async () => {
  const owners = new Map([
    ['parts:0', 'a'],
    ['parts:1', 'b'],
  ]);
  const figures = async (ids: readonly string[]) =>
    ids.map((id) => ({ id, state: 'running', names: ['sourceRecordsInTotal'], values: [7] }));
  const options = {
    engine: {
      define: () => [],
      check: () => ({ sources: [] }),
      state: () => 'running',
      figures,
      remove: async () => [],
    },
    node: 'a',
    placing: {
      holds: (id: string) => owners.get(id) === 'a',
      isGiven: () => false,
      ownerOf: (id: string) => owners.get(id),
    },
    typeOf: () => undefined,
    asks: { answer: () => {}, hear: () => {}, tell: () => {} },
    log: silent,
  };
  const { engine } = new Leased(options as unknown as LeasedOptions);
  const found = await engine.figures!(['parts:0', 'parts:1', 'free']);
  assert.equal(
    found.map(({ id }) => id),
    ['parts:0', 'free'],
  );
});

test('a rule that runs here although this node has no lease of it is stopped', async () => {
  const { leased, started, stopped, lose, be } = node(async () => true);
  await leased.taken('r', undefined);
  be('running');
  leased.look();
  assert.equal([started, stopped], [['r'], []]);
  lose();
  be('stopping');
  leased.look();
  assert.equal(stopped, []);
  be('running');
  leased.look();
  assert.equal(stopped, ['r']);
});

test.run();
