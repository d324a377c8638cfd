/**
 * Questions under way to a lookup table: what becomes of answers, of failures, of answers that are none, of the end of
 * a rule.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AllowedPaths } from '../../../../../host/base/files/allowed-paths.js';
import { silent } from '../../../../../host/base/log/log.js';
import type { AskedPart } from '../../../../../host/connectors/define.js';
import type { Lookup, LookupRequest } from '../../../../../host/connectors/running.js';
import { Barrier } from '../../../../../host/run/plane/acknowledge/barrier.js';
import { AskedTables, Asking } from '../../../../../host/run/plane/calls/asking.js';
import type { LookupAnswer, Waiting } from '../../../../../kernels/api.js';
import type { NodePlan } from '../../../../../kernels/plan/ir.js';
import { FakeKernel } from '../../../../support/engine/fake-kernel.js';

/** Says what waits, and keeps the answers that it gets. */
class WaitingKernel extends FakeKernel {
  given: { request: number; answer: LookupAnswer }[] = [];
  state = { batches: 0, rows: 0, first: 0, last: 0, found: 0, asked: 0 };

  override answer(_node?: unknown, request = 0, answer: LookupAnswer = { of: [], columns: {} }): boolean {
    this.given.push({ request, answer });
    return true;
  }

  override waiting(): Waiting {
    return this.state;
  }
}

const plan: Extract<NodePlan, { kind: 'ask' }> = {
  kind: 'ask',
  input: { source: 0 },
  lookup: 0,
  type: 'left',
  program: null,
  columns: [],
  fields: [
    { kind: 'field', name: 'name', type: { type: 'any' } },
    { kind: 'field', name: 'count', type: { type: 'bigint' } },
  ],
  keys: [{ name: 'id', operand: 0 }],
  condition: null,
  isSingle: false,
  waiting: { timeoutMs: 100, batches: 4, cache: null },
  name: 'lookup',
};

function open(ask: Lookup['ask']) {
  const kernel = new WaitingKernel({} as never);
  const seen = { requests: [] as LookupRequest[], held: [] as boolean[], idle: 0, marked: 0 };
  const lookup: Lookup = {
    ask: (request, signal) => {
      seen.requests.push(request);
      return ask(request, signal);
    },
    close: async () => {},
  };
  const spec = { name: 'tab', type: 'test', dataSource: '', props: {}, waiting: plan.waiting, secrets: ['secret'] };
  const asked = { tables: {} as never, lookup, partOf: () => undefined as never };
  const asking = new Asking(1 as never, plan, spec, asked, {
    rule: {} as never,
    kernel,
    sinks: [{ hold: () => void seen.marked++ }],
    now: () => 5,
    work: (call) => call(),
    hold: (isFull) => void seen.held.push(isFull),
    idle: () => void seen.idle++,
  });
  return { asking, kernel, seen };
}

/** Resolves when all that was to follow at once has. */
const settled = () => new Promise<void>((resolve) => setTimeout(() => setImmediate(resolve), 0));

const reasons = ({ answer }: { answer: LookupAnswer }) => [...(answer.failed ?? [])];

test('a table gets the keys in columns and names what it found, numbers as they are declared', async () => {
  const { asking, kernel, seen } = open(async () => ({ of: [1, 0], columns: { name: ['b', 'a'], count: [2, 1.5] } }));
  asking.ask(7, [[10, 'x']], 2);
  await settled();
  assert.equal(seen.requests, [{ names: ['id'], keys: [[10, 'x']], count: 2, fields: ['name', 'count'] }]);
  assert.equal(kernel.given, [{ request: 7, answer: { of: [1, 0], columns: { name: ['b', 'a'], count: [2n, 1.5] } } }]);
  for (const first of [1, 1, 0, 0]) {
    kernel.state = { ...kernel.state, first };
    asking.settle();
  }
  await settled();
  assert.is(seen.idle, 1);
});

test('a table that fails, now or later, fails all that was asked; secrets are masked', async () => {
  for (const ask of [
    () => Promise.reject(new Error('no secret here')),
    () => {
      throw new Error('no secret here');
    },
  ]) {
    const { asking, kernel } = open(ask);
    asking.ask(1, [[1, 2]], 2);
    await settled();
    const [given] = kernel.given;
    assert.equal(
      reasons(given!).map(([list]) => list),
      [0, 1],
    );
    for (const [, reason] of reasons(given!)) assert.not.match(reason, /secret/);
  }
});

test('an answer of the wrong shape is a failure with the reason', async () => {
  const wrong: [answer: unknown, reason: RegExp][] = [
    [undefined, /it has no columns/],
    [{ of: [0] }, /it has no columns/],
    [{ of: [0, 0], columns: { name: ['a'] } }, /it has 2 rows, but 1 values of name/],
    [{ of: [0], columns: { name: null } }, /it has 1 rows, but no values of name/],
    [{ of: [2], columns: { name: ['a'] } }, /row 0 answers nothing that was asked/],
    [{ of: [0.5], columns: { name: ['a'] } }, /row 0 answers nothing/],
  ];
  for (const [answer, reason] of wrong) {
    const { asking, kernel } = open(async () => answer as LookupAnswer);
    asking.ask(1, [[1]], 1);
    await settled();
    assert.match(reasons(kernel.given[0]!)[0]![1], reason);
    assert.match(reasons(kernel.given[0]!)[0]![1], /the lookup table tab gave no answer/);
  }
});

test('the sources pause while too many batches wait', () => {
  const { asking, kernel, seen } = open(() => new Promise(() => {}));
  const waits = (batches: number) => {
    kernel.state = { ...kernel.state, batches, first: batches > 0 ? 1 : 0 };
    asking.settle();
  };
  for (const batches of [1, 4, 5, 3]) waits(batches);
  assert.equal(seen.held, [true]);
  waits(2);
  assert.equal(seen.held, [true, false]);
  waits(4);
  asking.close();
  assert.equal(seen.held, [true, false, true, false]);
});

test('what came in is acknowledged when its rows have gone on and left the sinks', () => {
  const { asking, kernel, seen } = open(() => new Promise(() => {}));
  const acknowledged: number[] = [];
  const barrier = new Barrier({ keepsLost: false, advance: () => {} } as never, 0);
  kernel.state = { ...kernel.state, batches: 2, first: 3, last: 4 };
  asking.holdBarrier(barrier);
  assert.is(barrier.left, 2);
  kernel.state = { ...kernel.state, batches: 1, first: 4 };
  asking.settle();
  assert.is(barrier.left, 2);
  kernel.state = { ...kernel.state, batches: 1, first: 5, last: 5 };
  asking.settle();
  assert.is(barrier.left, 1);
  assert.is(seen.marked, 1);
  assert.equal(acknowledged, []);
});

test('an answer after the end of the rule is nobody’s, and the table is told', async () => {
  let given: AbortSignal | undefined;
  const { asking, kernel } = open(async (_request, signal) => {
    given = signal;
    return { of: [], columns: {} };
  });
  asking.ask(1, [[1]], 1);
  asking.close();
  await settled();
  assert.ok(given?.aborted);
  assert.equal(kernel.given, []);
});

test('nodes with equal properties have one table, which is closed with the last of them', async () => {
  let made = 0;
  let closed = 0;
  const part = {
    create: () => {
      made++;
      return { ask: () => new Promise(() => {}), close: async () => void closed++ };
    },
  } as unknown as AskedPart;
  const tables = new AskedTables({
    log: silent,
    paths: AllowedPaths.any(),
    shared: (_key, make) => make(),
    codeWatch: { hostOf: () => ({ log() {}, fault() {} }) },
    portables: { load: () => Promise.reject(new Error('there are no plugins')) },
  });
  const spec = { name: 't', type: 'x', dataSource: 'd', props: { a: 1 }, waiting: plan.waiting };
  assert.is(
    tables.use(spec, () => part),
    tables.use({ ...spec }, () => part),
  );
  tables.use({ ...spec, props: { a: 2 } }, () => part);
  assert.is(made, 2);
  tables.leave(spec);
  assert.is(closed, 0);
  tables.leave(spec);
  await settled();
  assert.is(closed, 1);
});

test.run();
