/** A large cluster in virtual time: the code that places rules, on nodes that see each change at their own time. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { candidates, due, type PlacedNode, place, surplus } from '../../../host/cluster/placement.js';

const lookMs = 500;
const leaseMs = 3000;
/** A node gives a sign of life so often, and others look for it so often (session.ts, deaths.ts). */
const beatMs = leaseMs / 4;
const deathLookMs = leaseMs / 12;
const mostRoundTripMs = 40;

/** Numbers that are the same in each run. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

interface Claim {
  readonly at: number;
  readonly node: string;
}

/** What becomes of the rules of the nodes that die at time 0. */
interface Outcome {
  /** Time until a rule runs again, ms. */
  readonly times: number[];
  /** Leases that were refused, since another node was first. */
  readonly refused: number;
  readonly loads: ReadonlyMap<string, number>;
}

function failOver(nodeCount: number, ruleCount: number, dying: number): Outcome {
  const next = random(7);
  const names = Array.from({ length: nodeCount }, (_, i) => `node-${i}`);
  const rules = Array.from({ length: ruleCount }, (_, i) => ({ id: `rule-${i}` }));
  const empty = names.map((name): PlacedNode => ({ name, isDraining: false, load: 0 }));
  const loads = new Map(names.map((name) => [name, 0]));
  const home = place(rules, empty);
  for (const name of home.values()) loads.set(name, loads.get(name)! + 1);
  const dead = new Map(names.slice(0, dying).map((name) => [name, leaseMs - next() * beatMs + next() * deathLookMs]));
  const free = rules.filter(({ id }) => dead.has(home.get(id)!));
  const claims = new Map<string, Claim>();
  const live = names.slice(dying).map((name) => ({ name, lag: next() * mostRoundTripMs, phase: next() * lookMs }));
  /** The times at which somebody looks: at each expiry that he sees, and twice a second. */
  const looks = live.flatMap(({ name, lag, phase }) => [
    ...[...dead.values()].map((at) => ({ name, lag, at: at + lag })),
    ...Array.from({ length: 20 }, (_, i) => ({ name, lag, at: phase + i * lookMs })),
  ]);
  looks.sort((a, b) => a.at - b.at);
  let refused = 0;
  for (const { name, lag, at } of looks) {
    const seenAt = at - lag;
    const gone = new Set([...dead].flatMap(([node, end]) => (end <= seenAt ? [node] : [])));
    const waiting = free
      .filter(({ id }) => gone.has(home.get(id)!) && (claims.get(id)?.at ?? Number.POSITIVE_INFINITY) > seenAt)
      .map((rule) => ({ ...rule, since: dead.get(home.get(rule.id)!)! + lag }));
    if (waiting.length === 0) continue;
    const more = new Map<string, number>();
    for (const claim of claims.values()) if (claim.at <= seenAt) more.set(claim.node, (more.get(claim.node) ?? 0) + 1);
    const seen = names
      .filter((node) => !gone.has(node))
      .map((node): PlacedNode => ({ name: node, isDraining: false, load: loads.get(node)! + (more.get(node) ?? 0) }));
    for (const id of due(waiting, seen, name, at)) {
      // The revision that it has seen is the last one, or it is refused.
      if (claims.has(id)) refused++;
      else claims.set(id, { at: at + lag, node: name });
    }
  }
  for (const { node } of claims.values()) loads.set(node, loads.get(node)! + 1);
  return { times: free.map(({ id }) => claims.get(id)?.at ?? Number.POSITIVE_INFINITY), refused, loads };
}

test('of 1,000 nodes five die: each of their rules runs elsewhere once, within the time', () => {
  const { times, refused, loads } = failOver(1000, 10_000, 5);
  const alive = [...loads].filter(([name]) => Number(name.slice(5)) >= 5).map(([, load]) => load);
  assert.ok(times.length > 25, `${times.length} rules moved`);
  assert.ok(Math.max(...times) < 5000, `the last after ${Math.max(...times)} ms`);
  assert.ok(Math.max(...alive) <= 14, `${Math.max(...alive)} rules on a node, 10 in the mean`);
  const mean = times.reduce((sum, time) => sum + time, 0) / times.length;
  console.log(
    `${times.length} rules, ${Math.round(mean)} ms, last ${Math.round(Math.max(...times))} ms, ${refused} refused`,
  );
});

test('a node that comes or goes moves its share and little else', () => {
  const rules = Array.from({ length: 10_000 }, (_, i) => ({ id: `r${i}` }));
  const nodes = Array.from({ length: 100 }, (_, i): PlacedNode => ({ name: `n${i}`, isDraining: false, load: 0 }));
  const before = place(rules, nodes);
  const after = place(rules, nodes.slice(1));
  const moved = rules.filter(({ id }) => before.get(id) !== 'n0' && before.get(id) !== after.get(id)).length;
  assert.ok(moved < 200, `${moved} rules of other nodes moved`);
  const counts = new Map<string, number>();
  for (const name of before.values()) counts.set(name, (counts.get(name) ?? 0) + 1);
  assert.ok(Math.max(...counts.values()) <= 125, `${Math.max(...counts.values())} on a node`);
});

test('who has too much gives the surplus away; who drains gives all; a group stays together', () => {
  const nodes: PlacedNode[] = [
    { name: 'a', isDraining: false, load: 90 },
    { name: 'b', isDraining: false, load: 0 },
    { name: 'c', isDraining: true, load: 7 },
  ];
  assert.is(surplus('a', nodes), 33);
  assert.is(surplus('b', nodes), 0);
  assert.is(surplus('c', nodes), 7);
  assert.equal(candidates({ id: 'r' }, nodes), ['b', 'a']);
  const group = Array.from({ length: 50 }, (_, i) => ({ id: `m${i}`, group: 'memory' }));
  assert.is(new Set(place(group, nodes).values()).size, 1);
});

test.run();
