/** Windows of very many partitions: none of them is in the way of others, and what is idle gives its memory back. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { deferredWork, hasDeferred, workOn } from '../../../kernels/state/deferred.js';
import { type KernelRule, openRule, type RuleWishes } from '../../support/engine/rule-kernel.js';

const begin = 1_700_000_000_000;
const devices = 30_000;
const ids = Array.from({ length: devices }, (_, i) => i);

const open = (window: string, wishes: RuleWishes = {}): KernelRule =>
  openRule(
    ['CREATE STREAM s (device STRING, v BIGINT, ts BIGINT) WITH (TYPE="memory", DATASOURCE="s", TIMESTAMP="ts")'],
    `SELECT device, sum(v) AS v FROM s GROUP BY device, ${window} OVER (PARTITION BY device)`,
    wishes,
  );

const rowOf = (id: number, ts: number) => ({ device: `device ${id}`, v: id, ts });

/** Rows of all devices, a thousand in each batch. */
function feedAll(rule: KernelRule, now: number): void {
  for (let i = 0; i < devices; i += 1000) {
    rule.feed(
      's',
      ids.slice(i, i + 1000).map((id) => rowOf(id, now)),
      now,
    );
  }
}

function ownBytes({ kernel }: KernelRule): number {
  const { inUse, workspace } = kernel.memory();
  return inUse - workspace;
}

/** What is left is next to nothing of what there was. */
function assertEmpty(rule: KernelRule, empty: number, full: number): void {
  const left = ownBytes(rule) - empty;
  assert.ok(left < (full - empty) / 100, `${left} of ${full - empty} bytes are left`);
}

const sentBy = (rule: KernelRule) => rule.taken().flat() as { device: string; v: number }[];
const expected = ids.map((id) => ({ device: `device ${id}`, v: id }));

test(
  'all devices that fall silent at once are told of in several goes, in their order, and leave nothing ' + 'behind',
  () => {
    const rule = open('SESSIONWINDOW(ss, 3600, 5)');
    const empty = ownBytes(rule);
    feedAll(rule, begin);
    rule.kernel.tick(begin + 4000);
    const kept = rule.kernel.partitions(rule.node('window'));
    assert.equal(kept, { kept: devices, forgotten: 0 });
    const full = ownBytes(rule);
    const all: object[] = [];
    let now = begin + 5000;
    let goes = 0;
    for (; rule.kernel.nextDeadline() <= now; goes++) {
      rule.kernel.tick(now);
      const sent = sentBy(rule);
      assert.ok(sent.length < 5000, `${sent.length} at once`);
      all.push(...sent);
      // Others have their turns in between, and time goes on.
      assert.ok(rule.kernel.nextDeadline() > now);
      now = Math.ceil(Math.min(rule.kernel.nextDeadline(), now + 1));
    }
    assert.ok(goes > 5);
    assert.equal(all, expected);
    assert.equal(rule.kernel.partitions(rule.node('window')), { kept: 0, forgotten: 0 });
    assertEmpty(rule, empty, full);
    rule.close();
  },
);

test(
  'what a watermark ends of all devices is worked on in pieces; a row that comes meanwhile finds its device ' + 'done',
  () => {
    for (const comes of [false, true]) {
      const rule = open('SESSIONWINDOW(ss, 3600, 5)', {
        options: { isEventTime: true, lateToleranceMs: 1000, maxFutureSkewMs: 0 },
        limits: { longRows: 1000 },
      });
      feedAll(rule, begin);
      rule.feed('s', [rowOf(-1, begin + 1000)], begin);
      // These rows go on in pieces themselves.
      while (hasDeferred(rule.kernel)) workOn(rule.kernel, 1);
      rule.feed('s', [rowOf(-1, begin + 60_000)], begin);
      assert.ok(hasDeferred(rule.kernel));
      assert.ok((deferredWork(rule.kernel)[0]?.results ?? 0) > devices / 2, 'sources are told that much waits');
      const first = sentBy(rule);
      assert.ok(first.length <= 1001, `${first.length} at once`);
      const all = [...first];
      if (comes) {
        workOn(rule.kernel, 0);
        rule.feed('s', [rowOf(7, begin + 61_000), rowOf(-1, begin + 62_000)], begin);
        rule.feed('s', [rowOf(-1, begin + 80_000)], begin);
      }
      for (let i = 0; hasDeferred(rule.kernel); i++) {
        assert.ok(i < 2 * devices, 'each piece does something');
        workOn(rule.kernel, 1);
        all.push(...sentBy(rule));
      }
      const added = comes
        ? [
            { device: 'device 7', v: 7 },
            { device: 'device -1', v: -2 },
          ]
        : [];
      assert.equal(all, [...expected, { device: 'device -1', v: -1 }, ...added]);
      rule.close();
    }
  },
);

for (const [window, sends] of [
  ['SLIDINGWINDOW(ss, 10)', devices],
  ['SLIDINGWINDOW(ss, 1, 2)', 0],
] as const) {
  test(`${window}: devices that nothing comes from give their memory back`, () => {
    const rule = open(window);
    const empty = ownBytes(rule);
    feedAll(rule, begin);
    assert.is(sentBy(rule).length, sends);
    const full = ownBytes(rule);
    for (let now = begin + 11_000; rule.kernel.nextDeadline() <= now; now++) rule.kernel.tick(now);
    assert.is(sentBy(rule).length, devices - sends);
    assert.equal(rule.kernel.partitions(rule.node('window')), { kept: 0, forgotten: 0 });
    assertEmpty(rule, empty, full);
    rule.close();
  });
}

test('counts of devices stay until stateTtl has passed, and give their memory back then', () => {
  for (const stateTtlMs of [0, 10_000]) {
    const rule = open('COUNTWINDOW(2)', { options: { stateTtlMs } });
    const empty = ownBytes(rule);
    feedAll(rule, begin);
    const full = ownBytes(rule);
    for (let now = begin + 3_600_000; rule.kernel.nextDeadline() <= now; now++) rule.kernel.tick(now);
    const { kept, forgotten } = rule.kernel.partitions(rule.node('window'));
    assert.equal([kept, forgotten], stateTtlMs === 0 ? [devices, 0] : [0, devices]);
    if (stateTtlMs > 0) assertEmpty(rule, empty, full);
    rule.close();
  }
});

test.run();
