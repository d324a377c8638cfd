/** The server at a glance: what is counted, what comes first, how often rules are looked at. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RuleSummary } from '../../../host/model/engine.js';
import { OverviewService } from '../../../host/services/observe/overview.js';

type Traffic = Awaited<ReturnType<NonNullable<ConstructorParameters<typeof OverviewService>[0]['engine']['traffic']>>>;

type Connections = ConstructorParameters<typeof OverviewService>[0]['connections'];

const connected = async () => [{ status: 'connected' }, { status: 'disconnected' }, { status: 'connected' }];

function serviceOf(
  rules: readonly Partial<RuleSummary>[],
  looks: Traffic[],
  refused = new Map<string, string>(),
  connections: Connections = connected,
) {
  let asked = 0;
  let now = 0;
  const summary = { status: 'running', lastException: '', exceptionsTotal: 0, troubles: [] } as const;
  const parts: ConstructorParameters<typeof OverviewService>[0] = {
    engine: {
      summaries: async () => rules.map((rule, i) => ({ id: `r${i}`, ...summary, ...rule })),
      traffic: async () => looks[Math.min(asked++, looks.length - 1)]!,
    },
    version: '1',
    cpuUsage: async () => ({ slow: 5, fast: 1 }),
    connections,
    refused: () => refused,
    losses: () => 2,
  };
  const service = new OverviewService(parts, () => now);
  const pass = (ms: number) => {
    now += ms;
  };
  return { service, asked: () => asked, pass };
}

const run = (id: string, startedAt: number, taken: number, sent: number) => ({
  id,
  startedAt,
  traffic: [taken, sent, 0] as const,
});

test('messages are counted from the first look on, also those of rules that ended or began anew', async () => {
  const looks = [
    [run('a', 1, 100, 10), run('b', 1, 50, 5)],
    [run('a', 1, 110, 12), run('b', 2, 3, 1)],
    [run('b', 2, 4, 1)],
  ];
  const { service, pass } = serviceOf([{}], looks);
  const first = await service.look();
  assert.is(first.messagesIn, 0);
  pass(1000);
  const second = await service.look();
  assert.equal([second.messagesIn, second.messagesOut], [13, 3]);
  pass(1000);
  assert.is((await service.look()).messagesIn, 14);
});

test('watchers at nearly the same time share a look', async () => {
  const { service, asked, pass } = serviceOf([{}], [[]]);
  const slow = service.look();
  pass(100);
  assert.is(await slow, await service.look());
  // It took 100 ms: the next one is worth its time after five seconds.
  pass(4000);
  await service.look();
  assert.is(asked(), 1);
  pass(1000);
  await service.look();
  assert.is(asked(), 2);
});

test('a look that waited long, or failed, is not shared for long', async () => {
  const { service, asked, pass } = serviceOf([{}], [[]]);
  const waiting = service.look();
  pass(100_000);
  await waiting;
  pass(29_000);
  await service.look();
  assert.is(asked(), 1);
  pass(1000);
  await service.look();
  assert.is(asked(), 2);
  const silent = serviceOf([{}], [[]], undefined, async () => {
    throw new Error('silent');
  });
  const failing = silent.service.look();
  silent.pass(5000);
  assert.match(String(await failing.catch((error: Error) => error)), /silent/);
  silent.pass(900);
  await silent.service.look().catch(() => {});
  assert.is(silent.asked(), 2);
});

test('what has failed or was refused comes before what only has troubles', async () => {
  const rules = [{ troubles: ['waits'] }, { status: 'stopped by error', troubles: ['broken'] } as const, {}];
  const { service } = serviceOf(rules, [[]], new Map([['old', 'refused']]));
  const { trouble, troubled, rules: states, connections, busiest } = await service.look();
  assert.equal(
    trouble.map(({ id }) => id),
    ['old', 'r1', 'r0'],
  );
  assert.is(troubled, 3);
  assert.equal(states, { running: 2, 'stopped by error': 1 });
  assert.equal(connections, { connected: 2, disconnected: 1 });
  assert.is(busiest[0]?.id, 'slow');
});

test.run();
