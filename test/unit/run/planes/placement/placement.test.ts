/** Placement: what has a common tie is in one place, and places have equal loads as far as groups allow it. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Placement } from '../../../../../host/run/planes/placement/placement.js';

/** Numbers that are the same in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Groups as the definition says: what is reached by common ties. */
function groupsOf(units: ReadonlyMap<string, readonly string[]>): Set<string>[] {
  const left = new Map(units);
  const groups: Set<string>[] = [];
  for (const [first] of units) {
    if (!left.has(first)) continue;
    const group = new Set<string>();
    const next = [first];
    for (const id of next) {
      if (!left.delete(id)) continue;
      group.add(id);
      for (const [other, ties] of left) if (ties.some((tie) => units.get(id)!.includes(tie))) next.push(other);
    }
    groups.push(group);
  }
  return groups;
}

test('whatever comes and goes, units with a common tie are in one place, and moves are told', () => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = numbers(seed);
    const placement = new Placement(3);
    const units = new Map<string, readonly string[]>();
    const places = new Map<string, number>();
    for (let step = 0; step < 200; step++) {
      const id = `u${random(30)}`;
      if (random(4) === 0) {
        placement.delete(id);
        units.delete(id);
        places.delete(id);
      } else {
        const ties = Array.from({ length: random(3) }, () => `t${random(15)}`);
        const moved = placement.set(id, ties, id === 'u7');
        units.set(id, ties);
        if (random(3) === 0) placement.setLoad(id, random(100) / 100);
        places.set(id, placement.place(id));
        for (const other of moved) if (places.has(other)) places.set(other, placement.place(other));
      }
      if (random(10) === 0) {
        const move = placement.betterMove(0.1, () => true);
        for (const unit of move?.units ?? []) places.set(unit, move!.to);
      }
      for (const [unit, place] of places) assert.is(placement.shown(unit)?.place, place, `${unit}, seed ${seed}`);
      for (const group of groupsOf(units)) {
        const inUse = new Set([...group].map((unit) => places.get(unit)));
        assert.is(inUse.size, 1, `seed ${seed}, step ${step}`);
        if (group.has('u7')) assert.equal([...inUse], [0]);
      }
    }
    assert.is(
      placement.counts().reduce((sum, count) => sum + count),
      units.size,
    );
    for (const id of units.keys()) placement.delete(id);
    assert.equal(placement.counts(), [0, 0, 0]);
    assert.equal(placement.loads(), [0, 0, 0]);
  }
});

test('the same units are placed in the same way, in whichever order they come', () => {
  const shown = (order: readonly number[]) => {
    const placement = new Placement(4);
    for (const i of order) placement.set(`r${i}`, [`stream ${i % 7}`]);
    placement.placeAll();
    return Array.from({ length: 20 }, (_, i) => placement.shown(`r${i}`)?.place);
  };
  const order = Array.from({ length: 20 }, (_, i) => i);
  assert.equal(shown(order), shown([...order].reverse()));
});

test('units are divided by their number until their loads are known', () => {
  const placement = new Placement(2);
  for (let i = 0; i < 10; i++) {
    placement.set(`r${i}`, []);
    placement.place(`r${i}`);
  }
  assert.equal(placement.counts(), [5, 5]);
  for (let i = 0; i < 10; i++) placement.setLoad(`r${i}`, placement.place(`r${i}`) === 0 ? 0.1 : 0.01);
  placement.set('next', []);
  assert.is(placement.place('next'), 1);
});

test('a unit that has ties with two places brings the one with less load to the other', () => {
  const placement = new Placement(2);
  placement.set('a', ['stream a']);
  placement.set('b', ['stream b']);
  placement.setLoad('a', 0.1);
  placement.setLoad('b', 0.2);
  assert.equal([placement.place('a'), placement.place('b')], [0, 1]);
  assert.is(placement.foreseen('both', ['stream a', 'stream b']).place, 1);
  assert.equal(placement.set('both', ['stream a', 'stream b']), ['a']);
  assert.equal(placement.shown('both'), {
    place: 1,
    shared: [
      ['stream a', 1],
      ['stream b', 1],
    ],
    groupSize: 3,
    isFixed: false,
  });
  placement.delete('both');
  placement.placeAll();
  assert.equal(placement.shown('a'), { place: 1, shared: [], groupSize: 1, isFixed: false }, 'it stays where it is');
});

test('a move is made only when it evens the loads, and all of the group may move', () => {
  const placement = new Placement(2);
  for (const [id, load] of [
    ['a', 0.5],
    ['b', 0.4],
    ['c', 0.1],
  ] as const) {
    placement.set(id, [], id === 'a');
    placement.setLoad(id, load);
  }
  for (const id of ['b', 'c']) placement.set(id, ['x']);
  placement.set('a', ['x'], true);
  for (const id of ['a', 'b', 'c']) placement.place(id);
  for (const id of ['b', 'c']) placement.set(id, []);
  assert.equal(placement.counts(), [3, 0]);
  assert.is(
    placement.betterMove(2, () => true),
    undefined,
    'there is room enough',
  );
  assert.is(
    placement.betterMove(0.5, (id) => id !== 'b' && id !== 'c'),
    undefined,
  );
  assert.equal(
    placement.betterMove(0.5, () => true),
    { units: ['b'], from: 0, to: 1 },
  );
  assert.equal(
    placement.betterMove(0.5, () => true),
    { units: ['c'], from: 0, to: 1 },
  );
  assert.is(
    placement.betterMove(0.5, () => true),
    undefined,
    'the loads are equal',
  );
});

const soft = (tie: string, more: readonly string[] = []) => ({
  hard: more,
  soft: [{ tie, with: ['client one'] }],
  isMovable: true,
});
const nobody = () => false;

test('a soft tie holds while there is little to do, and is divided by load with few moves', () => {
  const placement = new Placement(2);
  for (const [id, load] of [
    ['a', 0.1],
    ['b', 0.15],
    ['c', 0.05],
    ['d', 0.02],
  ] as const) {
    placement.set(id, soft('stream s'));
    placement.place(id);
    placement.setLoad(id, load);
  }
  placement.set('kept', ['stream s']);
  assert.is(placement.shown('d')?.groupSize, 5);
  assert.is(placement.betterMove(0.6, nobody), undefined, 'they have little to do');
  placement.setLoad('a', 0.5);
  placement.setLoad('b', 0.4);
  const move = placement.betterMove(0.6, nobody);
  assert.equal(move, { units: ['a', 'c'], from: 0, to: 1 });
  assert.equal(placement.dividedOf('a'), ['stream s']);
  assert.is(placement.keeperPlace('stream s'), 0);
  assert.equal(
    ['a', 'b', 'kept'].map((id) => placement.shown(id)?.place),
    [1, 0, 0],
  );
  assert.is(placement.betterMove(0.6, nobody), undefined, 'loads are even');
  placement.set('new', soft('stream s'));
  assert.is(placement.place('new'), 1, 'where the least load is');
  placement.set('one', ['client one']);
  assert.is(placement.place('one'), 0, 'what the source has once stays with the stream');
});

test('a move that does not come about is taken back, and a tie without units is whole again', () => {
  const placement = new Placement(2);
  for (const id of ['a', 'b']) {
    placement.set(id, soft('stream s'));
    placement.place(id);
    placement.setLoad(id, 0.4);
  }
  const move = placement.betterMove(0.6, nobody)!;
  placement.putBack(move);
  assert.equal(
    ['a', 'b'].map((id) => placement.shown(id)?.place),
    [0, 0],
  );
  for (const id of ['a', 'b']) placement.delete(id);
  assert.is(placement.keeperPlace('stream s'), undefined);
  for (const id of ['a', 'b']) placement.set(id, soft('stream s'));
  assert.is(placement.place('a'), placement.place('b'));
});

test('units that are held otherwise stay, and so does a group that a hard tie holds', () => {
  const placement = new Placement(2);
  for (const [id, ties] of [
    ['a', soft('stream s', ['file f'])],
    ['b', soft('stream s', ['file f'])],
    ['c', { ...soft('stream s'), isMovable: false }],
  ] as const) {
    placement.set(id, ties);
    placement.place(id);
    placement.setLoad(id, 0.3);
  }
  const move = placement.betterMove(0.6, nobody);
  assert.is(move, undefined, 'two thirds of the load can only move together');
  assert.equal(
    ['a', 'b', 'c'].map((id) => placement.shown(id)?.place),
    [0, 0, 0],
  );
  placement.setLoad('c', 0.9);
  assert.equal(placement.betterMove(0.6, nobody)?.units.toSorted(), ['a', 'b']);
});

test.run();
