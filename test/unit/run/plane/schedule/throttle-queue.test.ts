/**
 * Rules of a data plane whose input waits in throttle queues at moments of the test's choice: they send to the byte
 * what they send without, or what they never got is counted. `HAUMEA_STATE_RUNS` sets how many cases are tried.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../../../host/base/log/log.js';
import { FrameBuffer } from '../../../../../host/connectors/messages/frames.js';
import { callHost } from '../../../../../host/functions/registry.js';
import { planRule, ruleTaps } from '../../../../../host/plan/index.js';
import { Heartbeat } from '../../../../../host/run/link/heartbeat.js';
import type { Notice, RuleStart } from '../../../../../host/run/link/protocol.js';
import '../../../../../host/connectors/index.js';
import { DataPlane } from '../../../../../host/run/plane/data-plane.js';
import type { SourceRun } from '../../../../../host/run/plane/input/source-run.js';
import { ruleGroupsOf } from '../../../../../host/run/plane/running/rule-groups.js';
import type { RunningRule } from '../../../../../host/run/plane/running/running.js';
import { Throttling } from '../../../../../host/run/plane/schedule/throttling.js';
import { connectorSpecs } from '../../../../../host/run/props/resolve.js';
import type { Kernel } from '../../../../../kernels/api.js';
import { createKernel } from '../../../../../kernels/index.js';
import type { Tap } from '../../../../../kernels/plan/ir.js';
import { catalogOf, noFold, ruleOf } from '../../../../support/engine/planned-rules.js';
import { eventually, temporaryFolder } from '../../../../support/harness.js';
import { kernelUnderTest } from '../../../../support/kernel/drive.js';

const numRuns = Math.ceil(Number(process.env.HAUMEA_STATE_RUNS ?? 150) / 5);

/** Nothing comes of itself from an empty folder. */
const never = JSON.stringify({ path: temporaryFolder(), interval: 3_600_000 }).replaceAll('"', '\\"');
const shared = `TYPE="file", DATASOURCE="", SHARED="true", EXTRA="${never}"`;
const catalog = catalogOf(`CREATE STREAM s () WITH (${shared})`, `CREATE STREAM t () WITH (${shared}, TIMESTAMP="ts")`);

/** A data plane whose event loop is turned by hand for the throttled. */
class Plant {
  readonly notices: Notice[] = [];
  readonly taps: Tap[][] = [];
  readonly #paths: string[] = [];
  readonly #later: (() => void)[] = [];
  rules: ReadonlySet<RunningRule> = new Set();
  throttling!: Throttling;
  plane!: DataPlane;
  kernel!: Kernel;

  constructor(private readonly format: string) {}

  /** Starts the rules, each with a file of its own in the format. */
  static async open(statements: readonly string[], change: Partial<RuleStart>, format = 'json'): Promise<Plant> {
    const plant = new Plant(format);
    plant.plane = await DataPlane.open({
      kernel: (calls) => {
        plant.kernel = createKernel(calls, kernelUnderTest);
        return plant.kernel;
      },
      call: callHost,
      tell: (notice) => plant.notices.push(notice),
      log: silent,
      heartbeat: new Heartbeat(Heartbeat.allocate()),
      coalesceMs: 1,
      flushTimeoutMs: 2000,
      shares: (rules) => {
        plant.rules = rules;
        return { worked: () => {}, ended: () => {} };
      },
      broken: (error) => {
        throw error;
      },
    });
    const { rules } = plant;
    const later = (call: () => void) => void plant.#later.push(call);
    plant.throttling = new Throttling({ rules, now: () => performance.now(), later, moving: () => {} });
    for (const sql of statements) await plant.#start(sql, change);
    return plant;
  }

  async #start(sql: string, change: Partial<RuleStart>): Promise<void> {
    const run = this.#paths.length + 1;
    const path = join(temporaryFolder(), 'out');
    this.#paths.push(path);
    const rule = { ...ruleOf(sql, {}, [{ type: 'file', props: { path, format: this.format } }]), id: `r${run}` };
    const plan = planRule(rule, catalog, noFold);
    this.taps.push(ruleTaps(rule, catalog, noFold));
    const { sources, sinks } = connectorSpecs(rule, plan, catalog);
    const more = { sendError: false, zone: 'UTC', sinkLimitBytes: 1 << 20, ...change };
    await this.plane.start({ id: rule.id, run, plan, sources, sinks, ...more });
    await eventually('the start', () => this.notices.some((one) => one.kind === 'started' && one.run === run));
  }

  get first(): RunningRule {
    return [...this.rules][0]!;
  }

  get source(): SourceRun {
    return this.first.sources[0] as SourceRun;
  }

  /** Throttles the first rule, and others that share its operators. */
  put(): void {
    const group = ruleGroupsOf(this.rules).find(({ rules }) => rules.includes(this.first))!;
    if (!this.throttling.isThrottled(group)) this.throttling.throttle(group, 0.9);
  }

  /** Brings back whose input does not wait. */
  look(): void {
    this.throttling.look(undefined, 1);
  }

  turn(): boolean {
    const calls = this.#later.splice(0);
    for (const call of calls) call();
    return calls.length > 0;
  }

  /** What came out, by rule, once the input is at its end. */
  async end(): Promise<string[]> {
    this.source.end();
    for (let run = 1; run <= this.#paths.length; run++) {
      await eventually(`the end of ${run}`, () => {
        while (this.turn());
        return this.notices.some((one) => one.kind === 'ended' && one.run === run);
      });
    }
    const out = this.#paths.map((path) => readFileSync(path, 'utf8'));
    await this.plane.close();
    return out;
  }
}

const filter = 'SELECT id, v FROM s WHERE v > 3';
const statements = fc.constantFrom(
  [filter, 'SELECT id FROM s'],
  [filter, filter, 'SELECT id FROM s WHERE v > 4'],
  ['SELECT id, lag(v) AS before FROM s', filter],
  [
    'SELECT count(*) AS n, sum(v) AS s, min(text) AS t FROM s GROUP BY COUNTWINDOW(3)',
    'SELECT id, lag(id) AS x FROM s',
  ],
  ['SELECT k, collect(id) AS ids FROM s WHERE v > 1 GROUP BY k, COUNTWINDOW(5, 2)', filter],
  ['SELECT count(*) AS n, collect(id) AS ids FROM t GROUP BY TUMBLINGWINDOW(ss, 2)', 'SELECT id FROM t'],
  [
    'SELECT a.id, b.id AS other FROM t AS a INNER JOIN t AS b ON a.k = b.k GROUP BY TUMBLINGWINDOW(ss, 1)',
    'SELECT id FROM t',
  ],
);

const rows = fc.array(
  fc.record({
    v: fc.integer({ min: 0, max: 9 }),
    k: fc.integer({ min: 0, max: 2 }),
    text: fc.constantFrom('', 'a', 'x'.repeat(200), 'y'.repeat(20_000)),
  }),
  { minLength: 1, maxLength: 40, size: 'max' },
);

type Step = { readonly do: 'write' | 'put' | 'turn' | 'look' | 'full' | 'reset'; readonly bytes: number };
const steps = fc.array(
  fc.record({
    do: fc.constantFrom<Step['do']>('write', 'write', 'write', 'put', 'put', 'turn', 'turn', 'look', 'look', 'full'),
    bytes: fc.constantFrom(1, 7, 30, 100, 1000, 70_000),
  }),
  { minLength: 5, maxLength: 60, size: 'max' },
);

function framesOf(given: readonly object[]): Buffer {
  const frames = new FrameBuffer();
  for (const [id, row] of given.entries()) {
    frames.add(Buffer.from(JSON.stringify({ id, ts: 1_700_000_000_000 + id * 300, ...row })));
  }
  return Buffer.from(frames.bytes);
}

let moves = 0;

/** What the rules send; with `moves` the first is throttled and back in between. */
async function run(texts: readonly string[], given: readonly object[], order: readonly Step[], isMoved: boolean) {
  const plant = await Plant.open(texts, {});
  const bytes = framesOf(given);
  let at = 0;
  let isFull = false;
  const write = (length: number) => {
    plant.source.write(bytes.subarray(at, at + length));
    at = Math.min(bytes.length, at + length);
  };
  const rule = plant.first as RunningRule & { sinkIsFull(isFull: boolean): void };
  for (const step of order) {
    if (step.do === 'write') write(step.bytes);
    if (!isMoved) continue;
    if (step.do === 'put') plant.put();
    if (step.do === 'turn') plant.turn();
    if (step.do === 'look') plant.look();
    if (step.do === 'full') {
      isFull = !isFull;
      rule.sinkIsFull(isFull);
      // On a busy machine a long read may have to wait for its turn.
      const isBlocked = (isFull && rule.lag === undefined) || plant.source.waitsForTurn;
      assert.is(plant.source.isFull, isBlocked, 'a throttle queue blocks itself alone');
    }
    if (rule.lag !== undefined) moves++;
  }
  if (isFull) rule.sinkIsFull(false);
  write(bytes.length);
  return plant.end();
}

test(
  'rules whose input waits in a queue at random moments send to the byte what they send without, and so do the ' +
    'others',
  async () => {
    await fc.assert(
      fc.asyncProperty(statements, rows, steps, async (texts, given, order) => {
        assert.equal(await run(texts, given, order, true), await run(texts, given, order, false));
      }),
      { numRuns },
    );
    assert.ok(moves > numRuns, 'some were in queues');
  },
);

test('wherever messages are cut, those that are given up are whole and counted', async () => {
  let dropped = 0;
  await fc.assert(
    fc.asyncProperty(rows, steps, async (given, order) => {
      const plant = await Plant.open(['SELECT id FROM s', 'SELECT id, v FROM s'], {
        sinkLimitBytes: 64,
        dropsInput: true,
      });
      const bytes = framesOf(given);
      let at = 0;
      const { first } = plant;
      for (const step of order) {
        if (step.do === 'write') {
          plant.source.write(bytes.subarray(at, at + step.bytes));
          at = Math.min(bytes.length, at + step.bytes);
        } else if (step.do === 'turn') plant.turn();
        else if (step.do === 'put') plant.put();
        else if (step.do === 'look') plant.look();
        const branch = first.lag?.branchOf(plant.source);
        if (branch !== undefined)
          assert.ok(branch.waitingBytes <= 1024 + 70_000 + 128, `${branch.waitingBytes} bytes wait`);
      }
      plant.source.write(bytes.subarray(at));
      const { source } = plant;
      const [mine, others] = await plant.end();
      const lost = first.lostInput?.get(source)?.messages ?? 0;
      dropped += lost;
      const ids = [...mine!.matchAll(/"id":(\d+)/g)].map(([, id]) => Number(id));
      assert.equal(
        ids,
        ids.toSorted((a, b) => a - b),
      );
      assert.is(ids.length + lost, given.length);
      assert.is(new Set(ids).size, ids.length);
      assert.is([...others!.matchAll(/"id":/g)].length, given.length);
    }),
    { numRuns },
  );
  assert.ok(dropped > 0);
});

test('however much comes in one read, a rule that lacks nothing is at a place that a checkpoint can name', async () => {
  const plant = await Plant.open(['SELECT id FROM s', 'SELECT id, v FROM s'], { sinkLimitBytes: 64 });
  const { first, source } = plant;
  Object.assign(source, { position: () => ({ messages: source.counters.messages }) });
  plant.put();
  for (const count of [1, 40, 2]) {
    plant.source.write(framesOf(Array.from({ length: count }, () => ({ v: 1 }))));
    const { lag } = first;
    await eventually('its turns', () => {
      while (plant.turn());
      return lag?.isWaiting === false;
    });
    assert.is(lag?.isStarved, false, `after ${count} more`);
    assert.equal(lag?.branchOf(source)?.position, { messages: source.counters.messages });
  }
  await plant.plane.close();
});

test(
  'an equal rule that comes later reads for itself, and a rule that goes while its input waits leaves the rest as ' +
    'it was',
  async () => {
    const plant = await Plant.open([filter, 'SELECT id FROM s'], {});
    plant.put();
    plant.source.write(framesOf([{ v: 9 }, { v: 8 }]));
    assert.ok(plant.first.lag?.isWaiting);
    const { inUse, workspace } = plant.kernel.memory();
    const stop = plant.plane.stop(1);
    while (plant.turn());
    await stop;
    const { losses } = plant.notices.find((one) => one.kind === 'stopped') as { losses: readonly string[] };
    assert.equal(losses, []);
    const now = plant.kernel.memory();
    assert.ok(now.inUse - now.workspace < inUse - workspace);
    await plant.plane.close();
  },
);

test('a rule that is traced ends while its input waits, and its neighbours go on', async () => {
  const plant = await Plant.open(['SELECT id, v FROM s', 'SELECT id FROM s'], {}, 'delimited');
  assert.ok(
    plant.taps[0]!.some(({ plan }) => plan.input !== null && 'source' in plan.input),
    'one is below the stream',
  );
  void plant.plane.trace(1, { strategy: 'always', taps: plant.taps[0]! });
  assert.ok(await plant.plane.traced(1), 'the answer comes after the order');
  plant.put();
  plant.source.write(framesOf([{ v: 9 }, { v: 8 }]));
  const stop = plant.plane.stop(1);
  while (plant.turn());
  await stop;
  plant.source.write(framesOf([{ v: 7 }]));
  assert.is(plant.source.counters.messages, 3);
  const status = plant.plane.status(2);
  assert.is(status?.metrics.exceptionsTotal, 0);
  await plant.plane.close();
});

test('what comes until a rule has ended that comes back at once is its own, and counted when it is lost', async () => {
  for (const comesBack of [false, true]) {
    const plant = await Plant.open(['SELECT id, v FROM s', 'SELECT id FROM s'], {});
    plant.put();
    plant.source.write(framesOf([{ v: 9 }, { v: 8 }]));
    const stop = plant.plane.stop(1, comesBack);
    plant.source.write(framesOf([{ v: 7 }]));
    await stop;
    const { losses } = plant.notices.find((one) => one.kind === 'stopped') as { losses: readonly string[] };
    const count = comesBack ? 3 : 2;
    assert.equal(losses, [
      `the rule ends while ${count} messages of s wait for it, since it was throttled: they are lost`,
    ]);
    await plant.plane.close();
  }
});

test('rules of one group that all end work off what waits for them', async () => {
  const plant = await Plant.open([filter, filter, 'SELECT id FROM s'], {});
  plant.put();
  plant.source.write(framesOf([{ v: 9 }, { v: 8 }]));
  const closed = plant.plane.close();
  while (plant.turn());
  await closed;
  for (const run of [1, 2]) {
    const { losses } = plant.notices.find((one) => one.kind === 'stopped' && one.run === run) as { losses: unknown };
    assert.equal(losses, []);
  }
});

test.run();
