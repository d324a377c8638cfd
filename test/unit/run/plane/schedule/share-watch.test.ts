/** Who is found to take more than its share, by figures and times of the test. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RuleGroup } from '../../../../../host/run/plane/running/rule-groups.js';
import type { RunningRule, RunningSource } from '../../../../../host/run/plane/running/running.js';
import { ShareWatch } from '../../../../../host/run/plane/schedule/share-watch.js';

/** Rules on streams, and what the kernel has measured for them. */
class Rules {
  readonly all = new Set<RunningRule>();
  readonly busy = new Map<number, number>();
  used = 1;
  isSampledOften = false;
  now = 0;
  readonly put: string[] = [];
  readonly throttled = new Set<RunningRule>();
  readonly watch = new ShareWatch({
    rules: this.all,
    usedTime: () => this.used,
    sampleOften: (isOn) => {
      this.isSampledOften = isOn;
    },
    load: async () => ({
      worked: () => {},
      look: () => {},
      isThrottled: ({ rules }) => rules.some((rule) => this.throttled.has(rule)),
      throttle: ({ rules }: RuleGroup) => {
        this.put.push(rules.map(({ id }) => id).join('+'));
        for (const rule of rules) this.throttled.add(rule);
      },
    }),
  });

  source(): RunningSource {
    return { workUs: 0, counters: { tickUs: 0 }, users: new Set() } as unknown as RunningSource;
  }

  add(id: string, source: RunningSource, nodes: readonly number[]): RunningRule {
    const rule = {
      id,
      sources: [source],
      nodes: nodes.map((handle) => ({ kind: 'filter', handle })),
      host: { kernel: { busyUs: (node: number) => this.busy.get(node) ?? 0 } },
      isTable: () => false,
    };
    this.all.add(rule as unknown as RunningRule);
    return rule as unknown as RunningRule;
  }

  /** The rule goes, with its nodes. */
  end(rule: RunningRule): void {
    this.watch.ended(rule);
    this.all.delete(rule);
  }

  /** The source was worked for so many ms, the nodes took so much of it. */
  took(source: RunningSource, ms: number, nodes: Readonly<Record<number, number>>): void {
    source.workUs += ms * 1000;
    for (const [node, part] of Object.entries(nodes)) {
      this.busy.set(Number(node), (this.busy.get(Number(node)) ?? 0) + part * 1000);
    }
  }

  /** A second passes; the sources were worked for so many ms, the nodes took so much of it. */
  async second(work: readonly [RunningSource, number][], nodes: Readonly<Record<number, number>>): Promise<void> {
    this.now += 1001;
    for (const [source, ms] of work) source.workUs += ms * 1000;
    for (const [node, ms] of Object.entries(nodes)) {
      this.busy.set(Number(node), (this.busy.get(Number(node)) ?? 0) + ms * 1000);
    }
    this.watch.worked(
      work.reduce((sum, [, ms]) => sum + ms, 0),
      this.now,
    );
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('the rule that takes most of the time of a stream is throttled when the thread has no rest', async () => {
  const rules = new Rules();
  const stream = rules.source();
  for (let i = 0; i < 5; i++) rules.add(`light${i}`, stream, [i]);
  rules.add('greedy', stream, [10, 11]);
  const took = { 0: 5, 1: 5, 2: 5, 3: 5, 4: 5, 10: 100, 11: 600 };
  rules.used = 0.5;
  for (let i = 0; i < 5; i++) await rules.second([[stream, 900]], took);
  assert.equal(rules.put, [], 'there is time for all');
  assert.not(rules.isSampledOften);
  rules.used = 0.97;
  for (let i = 0; i < 5; i++) await rules.second([[stream, 900]], took);
  assert.equal(rules.put, ['greedy']);
  assert.ok(rules.isSampledOften);
  rules.used = 0.5;
  await rules.second([[stream, 400]], took);
  assert.not(rules.isSampledOften, 'there is time for all again');
});

test('rules that take equal parts are left alone, and so is a rule without others', async () => {
  const rules = new Rules();
  const stream = rules.source();
  for (let i = 0; i < 10; i++) rules.add(`r${i}`, stream, [i]);
  const took = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [i, 80 + 5 * (i % 3)]));
  for (let i = 0; i < 5; i++) await rules.second([[stream, 950]], took);
  assert.equal(rules.put, []);
  const alone = new Rules();
  const own = alone.source();
  alone.add('alone', own, [1]);
  for (let i = 0; i < 5; i++) await alone.second([[own, 950]], { 1: 900 });
  assert.equal(alone.put, []);
});

test('rules that share an operator are throttled together; one after the other, the greediest first', async () => {
  const rules = new Rules();
  const [stream, other, third] = [rules.source(), rules.source(), rules.source()];
  for (let i = 0; i < 10; i++) rules.add(`light${i}`, stream, [i]);
  rules.add('first', other, [20, 21]);
  rules.add('second', other, [20, 22]);
  rules.add('third', third, [30]);
  const work: [RunningSource, number][] = [
    [stream, 100],
    [other, 600],
    [third, 250],
  ];
  for (let i = 0; i < 6; i++) await rules.second(work, { 1: 10, 20: 500, 30: 200 });
  assert.equal(rules.put, ['first+second', 'third']);
});

test('as long as no batch of a stream was measured nobody on it is accused', async () => {
  const rules = new Rules();
  const stream = rules.source();
  for (let i = 0; i < 5; i++) rules.add(`r${i}`, stream, [i]);
  for (let i = 0; i < 5; i++) await rules.second([[stream, 950]], {});
  assert.equal(rules.put, []);
  for (let i = 0; i < 3; i++) await rules.second([[stream, 950]], { 3: 64 * 900 });
  assert.equal(rules.put, ['r3']);
});

test('what rules took that have just come, or have gone, is not that of those that stay', async () => {
  const rules = new Rules();
  const stream = rules.source();
  rules.add('stays', stream, [1]);
  rules.add('beside', stream, [2]);
  for (let i = 0; i < 10; i++) {
    // Nodes that have gone leave their place to others.
    const come = 10 + (i % 2);
    rules.busy.delete(come);
    const guest = rules.add(`guest${i}`, stream, [come]);
    await rules.second([[stream, 950]], { 1: 5, 2: 1, [come]: 900 });
    rules.end(guest);
  }
  assert.equal(rules.put, []);
});

test(
  'the rule that takes most is found although rules come and go in each second, and those are not taken for ' + 'it',
  async () => {
    const rules = new Rules();
    const stream = rules.source();
    for (let i = 0; i < 5; i++) rules.add(`light${i}`, stream, [i]);
    rules.add('greedy', stream, [10]);
    for (let i = 0; i < 8; i++) {
      const come = 20 + (i % 2);
      rules.busy.delete(come);
      const guest = rules.add(`guest${i}`, stream, [come]);
      // It ends in the middle of the second.
      rules.took(stream, 100, { [come]: 90 });
      rules.end(guest);
      await rules.second([[stream, 800]], { 0: 10, 1: 10, 2: 10, 3: 10, 4: 10, 10: 700 });
    }
    assert.equal(rules.put, ['greedy']);
  },
);

test('a rule that stays alone on its stream is not taken for one that has ended in the same second', async () => {
  const rules = new Rules();
  const [stream, other] = [rules.source(), rules.source()];
  rules.add('light', other, [1]);
  rules.add('stays', stream, [2]);
  for (let i = 0; i < 8; i++) {
    const guest = rules.add(`guest${i}`, stream, [20 + i]);
    rules.took(stream, 700, { [20 + i]: 680 });
    rules.end(guest);
    await rules.second(
      [
        [stream, 20],
        [other, 200],
      ],
      { 1: 150, 2: 15 },
    );
  }
  assert.equal(rules.put, []);
});

test('an operator that others have as well stays with them when one of its rules ends', async () => {
  const rules = new Rules();
  const [stream, third] = [rules.source(), rules.source()];
  rules.add('light', third, [1]);
  for (let i = 0; i < 3; i++) rules.add(`light${i}`, stream, [30 + i]);
  const first = rules.add('first', stream, [10, 11]);
  rules.add('second', stream, [10, 12]);
  const took = { 1: 10, 10: 700, 11: 5, 12: 5, 30: 5, 31: 5, 32: 5 };
  await rules.second(
    [
      [stream, 800],
      [third, 20],
    ],
    took,
  );
  rules.end(first);
  for (let i = 0; i < 4; i++)
    await rules.second(
      [
        [stream, 800],
        [third, 20],
      ],
      took,
    );
  assert.equal(rules.put, ['second']);
});

test('one measured batch that was interrupted accuses nobody: it takes two looks one after the other', async () => {
  const rules = new Rules();
  const stream = rules.source();
  for (let i = 0; i < 10; i++) rules.add(`r${i}`, stream, [i]);
  const even = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [i, 90]));
  for (let i = 0; i < 12; i++) await rules.second([[stream, 950]], { ...even, [i % 10]: i % 2 === 0 ? 900 : 90 });
  assert.equal(rules.put, []);
});

test('nobody is throttled in the middle of work: what was worked on just now is dealt with first', async () => {
  const rules = new Rules();
  const [stream, other] = [rules.source(), rules.source()];
  rules.add('light', stream, [1]);
  rules.add('greedy', other, [2]);
  const work: [RunningSource, number][] = [
    [stream, 10],
    [other, 950],
  ];
  for (let i = 0; i < 2; i++) await rules.second(work, {});
  const third = rules.second(work, {});
  assert.equal(rules.put, []);
  await third;
  assert.equal(rules.put, ['greedy']);
});

test('a thread that has no rest for other reasons than the work of rules costs no look at each of them', async () => {
  const rules = new Rules();
  const stream = rules.source();
  let looks = 0;
  rules.add('light', stream, [1]);
  for (const rule of rules.all) {
    Object.defineProperty(rule, 'nodes', {
      get: () => {
        looks++;
        return [];
      },
    });
  }
  await rules.second([[stream, 10]], {});
  const first = looks;
  for (let i = 0; i < 3; i++) await rules.second([[stream, 10]], {});
  assert.is(looks, first);
  await rules.second([[stream, 900]], {});
  assert.ok(looks > first);
});

test.run();
