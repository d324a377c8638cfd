/**
 * Functions of plugins whose states the engine keeps, in random statements: what comes out is what built-in functions
 * say, and the same when the state moves to another kernel and another instance of the plugin at any moment.
 * `HAUMEA_STATE_RUNS` sets how many cases are tried.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { callHost } from '../../../host/functions/registry.js';
import { argumentCounts, callOf, type UserFunction } from '../../../host/plugins/define.js';
import { isUserNumber, newUserNumber } from '../../../host/plugins/numbers.js';
import { BatchMemory } from '../../../host/plugins/wasm/isolate/batch-memory.js';
import { loadModule } from '../../../host/plugins/wasm/load.js';
import { prepare } from '../../../host/plugins/wasm/prepare/prepare.js';
import { UserCalls } from '../../../host/run/plane/calls/user-calls.js';
import type { HostColumns, Kernel, NodeHandle } from '../../../kernels/api.js';
import { HostPart } from '../../../kernels/gen/layouts.js';
import { createKernel } from '../../../kernels/index.js';
import { CarriedColumn, type CarriedColumns } from '../../../kernels/values/carried.js';
import { type KernelRule, openRule } from '../../support/engine/rule-kernel.js';
import { temporaryFolder } from '../../support/harness.js';
import { kernelUnderTest } from '../../support/kernel/drive.js';
import { beginOfCases, casesOf, longWindows, type StateCase, tail, windows } from '../../support/sql/state-cases.js';

const numRuns = Number(process.env.HAUMEA_STATE_RUNS ?? 40);

const { ready, manifest } = prepare(readFileSync(new URL('../../guests/states.wasm', import.meta.url)));
const path = join(temporaryFolder(), 'states.wasm');
writeFileSync(path, ready);
const limits = { callFuel: 100_000_000n, batchFuel: 1_000_000_000n };
const code = { kind: 'wasm', name: 'states', version: 1, path, manifest, limits } as const;
const functions = manifest.functions.map(
  (fn): UserFunction => ({
    name: fn.name,
    owner: 'wasm plugin states',
    number: newUserNumber(fn.name),
    code,
    entry: fn.name,
    ...callOf(fn),
    args: argumentCounts(fn),
  }),
);

/** The same functions where the plugin has a thread of its own. */
const isolated = { ...code, isolate: { timeoutMs: 1000 } };
const apart = functions.map((fn): UserFunction => ({ ...fn, number: newUserNumber(fn.name), code: isolated }));

const faults: string[] = [];
const logs = { log: (line: string) => void faults.push(line), fault: (reason: string) => void faults.push(reason) };

interface Asked {
  readonly node: NodeHandle;
  readonly request: number;
  readonly keys: CarriedColumns;
}

interface Place {
  readonly kernel: Kernel;
  readonly output: string[];
  /** What functions on threads were asked and have not answered. */
  readonly asked: Asked[];
}

/** A kernel with an instance of the plugin. */
async function place(): Promise<Place> {
  const calls = new UserCalls({ shared: (_key, make) => make(), codeWatch: { hostOf: () => logs } });
  await calls.use(functions);
  const output: string[] = [];
  const asked: Asked[] = [];
  const kernel = createKernel(
    {
      onOutput: ({ bytes }) => output.push(...Buffer.from(bytes).toString().trimEnd().split('\n')),
      onPacket: () => {},
      onAcknowledge: () => {},
      onAskEach: (node, request, keys) => void asked.push({ node, request, keys }),
      call: (fn, columns) => (isUserNumber(fn) ? calls.call(fn, columns) : callHost(fn, columns)),
    },
    kernelUnderTest,
  );
  return { kernel, output, asked };
}

const places = [await place(), await place()];

/** What a thread does for a kernel. */
const thread = await loadModule(isolated, logs);
const batches = new BatchMemory();

function answer({ kernel, asked }: Place, rule: KernelRule, now: number): void {
  const { node, request, keys } = asked.shift() as Asked;
  const call = (columns: HostColumns) => thread.call(rule.calledBy(node) ?? '', columns);
  const value = new CarriedColumn(batches.run(keys, call, HostPart.step), 0);
  const of = Array.from({ length: keys.count }, (_, i) => i);
  kernel.answer(node, request, { of, columns: { value } }, now);
}

function open({ statements, sql, wishes }: StateCase, { kernel }: { kernel: Kernel }, own = functions): KernelRule {
  const brought = (name: string) => {
    const run = own.find((one) => one.name === name.toLowerCase());
    return run && { owner: run.owner, run };
  };
  return openRule(statements, sql, { ...wishes, kernel, brought });
}

/** Messages that come out; `moves`: from one kernel to the other and back. */
function run(given: StateCase, moves: boolean): string[] {
  let turn = 0;
  const [here] = places;
  for (const { output } of places) output.length = 0;
  let rule = open(given, here!);
  const all: string[] = [];
  let now = beginOfCases;
  const take = (): void => {
    for (const { output } of places) all.push(...output.splice(0));
  };
  const move = (): void => {
    take();
    const state = rule.save();
    rule.close();
    rule = open(given, places[++turn % 2]!);
    const { loaded, ...rest } = rule.load(state, given.portion);
    assert.equal(rest, { unclaimed: 0, brokenOff: null, failed: [] });
    assert.ok(loaded > 0);
    if (!given.sql.includes('PARTITION')) assert.is(Buffer.compare(rule.save(), state), 0);
  };
  for (const { name, bytes, waitMs, moves: moved } of given.arrivals) {
    now += waitMs;
    rule.kernel.tick(now);
    rule.feed(name, bytes, now);
    if (moves && moved) move();
  }
  for (const waitMs of [1000, 4000, 20_000, 60_000]) {
    if (moves && given.movesAtLast) move();
    now += waitMs;
    rule.kernel.tick(now);
  }
  rule.end('s');
  take();
  const { kernel } = rule;
  rule.close();
  assert.is(kernel.memory().inUse - kernel.memory().workspace, empty);
  return all;
}

const empty = places[0]!.kernel.memory().inUse - places[0]!.kernel.memory().workspace;

/** Calls of the plugin, and what says the same without it. */
const pairs = [
  ['total(n, k)', 'coalesce(sum(n * k), 0)'],
  ['total(n, n) FILTER (WHERE k = 1)', 'coalesce(sum(n * n) FILTER (WHERE k = 1), 0)'],
  ['path(cast(n, "string"))', 'collect(n)'],
  ['walk(cast(n, "string"))', 'collect(n)'],
  ['path(cast(n, "string")) FILTER (WHERE k = 2)', 'collect(n) FILTER (WHERE k = 2)'],
] as const;

const aggregates = fc
  .record({
    list: fc.uniqueArray(fc.constantFrom(...pairs), { minLength: 1, maxLength: 3 }),
    keys: fc.constantFrom([], ['k'], ['n'], ['n', 'k']),
    window: fc.oneof({ weight: 3, arbitrary: windows }, { weight: 2, arbitrary: longWindows }),
    tail,
    isLong: fc.boolean(),
  })
  .map(({ list, keys, window, tail: { where, having }, isLong }) => {
    const columns = [...keys, ...list.map(([call], i) => `${call} AS x${i}`), 'window_start() AS ws'];
    const sql = `SELECT ${columns.join(', ')} FROM s ${where} GROUP BY ${[...keys, window].join(', ')} ${having}`;
    return { names: ['s'], sql, ...(isLong ? { mostRows: 60 } : {}) };
  });

const lookingBack = fc
  .record({
    list: fc.uniqueArray(
      fc.constantFrom(
        'running(n) AS a',
        'running(n) OVER (PARTITION BY k) AS b',
        'running(n) OVER (PARTITION BY k, n WHEN a > 1) AS c',
        'trail(cast(n, "string")) AS d',
        'trail(cast(n, "string")) OVER (PARTITION BY n WHEN k = 1) AS e',
        'lag(trail(cast(n, "string"))) AS f',
      ),
      { minLength: 1, maxLength: 4 },
    ),
    tail,
  })
  .map(({ list, tail: { where } }) => ({ names: ['s'], sql: `SELECT n, k, ${list.join(', ')} FROM s ${where}` }));

/** A list of numbers is the text of them, and that of an empty window is null. */
const plainValue = (value: unknown): unknown =>
  Array.isArray(value) ? value.filter((one) => one !== null).join('') : (value ?? '');

function normal(message: string, isPlain: boolean): unknown {
  if (!message.startsWith('[') && !message.startsWith('{')) return 'an error';
  const rows = [JSON.parse(message)].flat(Number.POSITIVE_INFINITY) as Record<string, unknown>[];
  if (!isPlain) return rows;
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [name, name.startsWith('x') ? plainValue(value) : value]),
    ),
  );
}

/** As `run`, with functions on threads: `turns` says how many answers come after each arrival. */
function runApart(given: StateCase, turns: readonly number[]): string[] {
  let turn = 0;
  const [here] = places;
  for (const { output, asked } of places) {
    output.length = 0;
    asked.length = 0;
  }
  let at = here as Place;
  let now = beginOfCases;
  const opened = () => open({ ...given, wishes: { ...given.wishes, begin: now } }, at, apart);
  let rule = opened();
  const all: string[] = [];
  const move = (): void => {
    all.push(...at.output.splice(0));
    const state = rule.save();
    rule.close();
    at.asked.length = 0;
    at = places[++turn % 2] as Place;
    rule = opened();
    const { loaded, ...rest } = rule.load(state, given.portion);
    assert.equal(rest, { unclaimed: 0, brokenOff: null, failed: [] });
    assert.ok(loaded > 0);
  };
  given.arrivals.forEach(({ name, bytes, waitMs, moves }, i) => {
    now += waitMs;
    rule.kernel.tick(now);
    rule.feed(name, bytes, now);
    for (let n = turns[i % turns.length] as number; n > 0 && at.asked.length > 0; n--) answer(at, rule, now);
    if (moves) move();
  });
  rule.end('s');
  while (at.asked.length > 0) answer(at, rule, now);
  all.push(...at.output.splice(0));
  const { kernel } = rule;
  rule.close();
  assert.is(kernel.memory().inUse - kernel.memory().workspace, empty);
  return all;
}

test('functions that look back give the same on a thread, whenever it answers and however state moves', () => {
  const turns = fc.array(fc.nat(3), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(casesOf(lookingBack), turns, (made, after) => {
      // Rows that a sink gathers leave by the clock.
      const given = { ...made, wishes: { ...made.wishes, props: {} } };
      assert.equal(runApart(given, after), run(given, false));
    }),
    { numRuns },
  );
  assert.equal(faults, []);
});

test('aggregates of plugins give what built-in ones say, in all windows', () => {
  fc.assert(
    fc.property(casesOf(aggregates), (given) => {
      const pair = plainOf(given.sql);
      const one = run(given, false).map((message) => normal(message, false));
      const other = run({ ...given, sql: pair }, false).map((message) => normal(message, true));
      assert.equal(one, other);
    }),
    { numRuns },
  );
});

/** The statement with the built-in functions. */
function plainOf(sql: string): string {
  let plain = sql;
  for (const [own, builtIn] of pairs.toSorted(([a], [b]) => b.length - a.length))
    plain = plain.replaceAll(own, builtIn);
  return plain;
}

for (const [what, statements] of [
  ['aggregates', aggregates],
  ['functions that look back', lookingBack],
] as const) {
  test(`${what} of plugins go on where another kernel and another instance take over`, () => {
    fc.assert(
      fc.property(casesOf(statements), (given) => {
        assert.equal(run(given, true), run(given, false));
      }),
      { numRuns },
    );
    assert.equal(faults, []);
  });
}

test.run();
