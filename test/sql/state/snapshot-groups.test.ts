/**
 * Windows of many groups that are saved while rows change them, windows end and memory gets short: another kernel that
 * takes up what was written goes on to the byte as the one that was not disturbed.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Snapshot, SnapshotContent } from '../../../kernels/snapshot-api.js';
import { finishWork } from '../../../kernels/state/deferred.js';
import { openLoadedSnapshot } from '../../../kernels/state/snapshot.js';
import { fillMemory } from '../../support/engine/full-kernel.js';
import { type KernelRule, openRule, readerOf, textOf } from '../../support/engine/rule-kernel.js';

const stream = 'CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="s")';
const begin = 1_700_000_000_000;
const keys = 3000;
const columns = 'count(*) AS n, sum(v) AS total, max(t) AS most, collect(v) AS list, last_value(t, true) AS l';
let chains = 0;

/** A row for each `each`-th key; with its own texts in each round. */
function rows(round: number, each = 1): Buffer {
  const ids = Array.from({ length: Math.ceil(keys / each) }, (_, i) => (i * each * 7) % keys);
  const all = ids.map((id) => ({ k: `key ${id} of all`, v: id + round, t: `text ${round} ${'x'.repeat(id % 40)}` }));
  return textOf([...all, { v: round }, { k: null, v: round }]);
}

interface Taken {
  readonly state: Uint8Array;
  readonly snapshot: Snapshot;
  readonly slices: Buffer[];
}

function take(rule: KernelRule): Taken {
  const { state, snapshot } = rule.snapshot({ chain: ++chains, segment: 0, serial: 0, small: 100 });
  assert.equal(snapshot.sets, [0]);
  return { state, snapshot, slices: [] };
}

/** Writes a piece; false when it was the last. */
function write({ snapshot, slices }: Taken, most = 10_000): boolean {
  const outcome = snapshot.write(most, (bytes) => slices.push(Buffer.from(bytes)));
  if (outcome === 'more') return true;
  assert.is(outcome, 'all');
  return false;
}

const contentOf = ({ least, serial, sets }: Snapshot): SnapshotContent => ({ least, count: serial - least, sets });

/** What was written in another rule. */
function takenUp({ state, snapshot, slices }: Taken, open: () => KernelRule): KernelRule {
  const rule = open();
  const loadedSnapshot = openLoadedSnapshot(rule.kernel, contentOf(snapshot));
  const read = readerOf(Buffer.concat(slices), 5000);
  while (loadedSnapshot.fill(2, read));
  const { failed } = rule.loadWith(state, loadedSnapshot);
  assert.equal(failed, []);
  loadedSnapshot.close();
  return rule;
}

const ownBytes = ({ kernel }: KernelRule): number => kernel.memory().inUse - kernel.memory().workspace;

function ended(rule: KernelRule, now: number): string[] {
  rule.kernel.tick(now);
  finishWork(rule.kernel, rule.nodes);
  return rule.written();
}

test('rows that come to groups before and behind what is written are in the window, and not in the snapshot', () => {
  const open = () => openRule([stream], `SELECT k, ${columns} FROM s GROUP BY k, TUMBLINGWINDOW(hh, 1)`);
  const rule = open();
  const quiet = open();
  for (const one of [rule, quiet]) {
    one.kernel.tick(begin);
    one.feed('s', rows(0), begin);
  }
  const taken = take(rule);
  let round = 0;
  while (write(taken)) rule.feed('s', rows(++round, 1 + (round % 5)), begin + round);
  assert.ok(round > 10);
  taken.snapshot.close();
  const again = takenUp(taken, open);
  for (const one of [quiet, again]) one.feed('s', rows(77), begin + 1000);
  const expected = ended(quiet, begin + 3_600_000);
  assert.is(JSON.parse(expected[0]!).length, keys + 1);
  assert.equal(ended(again, begin + 3_600_000), expected);
  const undisturbed = open();
  undisturbed.kernel.tick(begin);
  undisturbed.feed('s', rows(0), begin);
  for (let i = 1; i <= round; i++) undisturbed.feed('s', rows(i, 1 + (i % 5)), begin + i);
  assert.equal(ended(rule, begin + 3_600_000), ended(undisturbed, begin + 3_600_000));
  const empty = open();
  empty.close();
  for (const one of [rule, quiet, again, undisturbed]) {
    one.close();
    assert.is(ownBytes(one), ownBytes(empty));
  }
});

test('a window that ends, and a rule that does, leave their groups to the snapshot until they are written', () => {
  const open = () => openRule([stream], `SELECT k, ${columns} FROM s GROUP BY k, TUMBLINGWINDOW(ss, 10)`);
  for (const isClosed of [false, true]) {
    const rule = open();
    const quiet = open();
    for (const one of [rule, quiet]) {
      one.kernel.tick(begin);
      one.feed('s', rows(0), begin);
    }
    const expected = ended(quiet, begin + 10_000);
    assert.is(expected.length, 1);
    const taken = take(rule);
    assert.ok(write(taken));
    rule.feed('s', rows(1, 3), begin + 1);
    assert.ok(write(taken));
    if (isClosed) rule.close();
    else {
      // The window is on its way, then gone, and others take its place.
      rule.kernel.tick(begin + 10_000);
      assert.ok(write(taken));
      rule.feed('s', rows(2), begin + 10_001);
      finishWork(rule.kernel, rule.nodes);
      assert.ok(write(taken));
      rule.feed('s', rows(3, 2), begin + 10_002);
    }
    while (write(taken));
    taken.snapshot.close();
    const again = takenUp(taken, open);
    assert.equal(ended(again, begin + 10_000), expected);
    for (const one of isClosed ? [quiet, again] : [rule, quiet, again]) one.close();
    assert.is(ownBytes(rule), ownBytes(quiet));
  }
});

test('a group with long lists and texts is written piece by piece, while it grows and other rules are saved', () => {
  const lists =
    'collect(v) AS list, median(v) AS m, percentile_cont(v, 0.3) AS p, percentile_disc(v, 0.5) AS d, ' +
    'merge_agg(o) AS o, ' +
    'last_value(t, true) AS l, a AS f, max(t) AS most, count(*) AS n';
  const open = (sql = `SELECT k, ${lists} FROM s GROUP BY k, TUMBLINGWINDOW(ss, 10)`, kernel?: KernelRule['kernel']) =>
    openRule([stream], sql, kernel === undefined ? {} : { kernel });
  const many = (from: number, count: number) =>
    textOf(
      Array.from({ length: count }, (_, i) => ({
        k: (from + i) % 100 === 7 ? `seldom ${i % 5}` : null,
        v: (from + i) / 8,
        t: `text ${(from + i) % 4500}`,
        o: { [`m${i % 300}`]: i },
        a: [from + i, `item ${i}`],
      })),
    );
  // All that is to be written at once is far below one of them.
  const text = textOf([
    { v: 0.1, t: `z${'y'.repeat(2_000_000)}`, a: Array.from({ length: 6000 }, (_, i) => i) },
    { k: 'text', t: 'x'.repeat(1_500_000), a: Array.from({ length: 5000 }, (_, i) => [`${i}`]) },
  ]);
  for (const ends of ['', 'window', 'rule']) {
    const rule = open();
    const quiet = open();
    const beside = open('SELECT k, count(*) AS n FROM s GROUP BY k, COUNTWINDOW(1000)', rule.kernel);
    beside.feed('s', rows(0, 1000), begin);
    for (const one of [rule, quiet]) {
      one.kernel.tick(begin);
      one.feed('s', text, begin);
      for (let from = 0; from < 20_000; from += 1000) one.feed('s', many(from, 1000), begin);
    }
    const taken = take(rule);
    let pieces = 0;
    let longest = 0;
    for (let isMore = true; isMore; pieces++) {
      const before = taken.slices.length;
      isMore = write(taken, 100_000);
      longest = Math.max(
        longest,
        taken.slices.slice(before).reduce((sum, { length }) => sum + length, 0),
      );
      if (ends !== 'rule' || pieces < 3) rule.feed('s', many(pieces, 50), begin + 1);
      if (pieces === 2 && ends === 'window') {
        rule.kernel.tick(begin + 10_000);
        finishWork(rule.kernel, rule.nodes);
      }
      if (pieces === 2 && ends === 'rule') rule.close();
      assert.ok(beside.save().length > 0);
    }
    taken.snapshot.close();
    beside.close();
    assert.ok(pieces > 20 && longest < 250_000, `${pieces} pieces of at most ${longest} bytes`);
    const again = takenUp(taken, open);
    for (const one of [quiet, again]) one.feed('s', many(9, 300), begin + 1000);
    assert.equal(ended(again, begin + 10_000), ended(quiet, begin + 10_000));
    for (const one of ends === 'rule' ? [quiet, again] : [rule, quiet, again]) one.close();
    assert.is(ownBytes(rule), ownBytes(quiet));
  }
});

/** The segments that a snapshot names, from a chain of them. */
function fromSegments(state: Uint8Array, snapshot: Snapshot, segments: readonly Buffer[], open: () => KernelRule) {
  const rule = open();
  const loadedSnapshot = openLoadedSnapshot(rule.kernel, contentOf(snapshot));
  segments.forEach((bytes, i) => {
    if (bytes.length === 0 || snapshot.live[i] === 0) return;
    const read = readerOf(bytes, 5000);
    while (loadedSnapshot.fill(3, read));
  });
  assert.equal(rule.loadWith(state, loadedSnapshot).failed, []);
  loadedSnapshot.close();
  return rule;
}

for (const [window, list] of [
  ['TUMBLINGWINDOW(hh, 1)', columns],
  ['HOPPINGWINDOW(mi, 60, 10)', 'count(*) AS n, sum(v) AS total, max(t) AS most'],
] as const)
  test(`snapshots of a chain write the groups that rows came to since the one before, in ${window}`, () => {
    const open = () => openRule([stream], `SELECT k, ${list} FROM s GROUP BY k, ${window}`);
    const endMs = 3_600_000;
    const rule = open();
    const chain = ++chains;
    rule.kernel.tick(begin);
    rule.feed('s', rows(0), begin);
    const segments: Buffer[] = [];
    let serial = 0;
    let whole = 0;
    for (let round = 1; round <= 90; round++) {
      const { state, snapshot } = rule.snapshot({ chain, segment: segments.length, serial, small: 100 });
      assert.is(snapshot.sets.length, 1);
      const isWhole = snapshot.sets.every((number) => number >= serial);
      if (isWhole) whole++;
      serial = snapshot.serial;
      const slices: Buffer[] = [];
      // Rows come to groups that are written and that are not.
      const few = [7 * round, 3, 7 * round + 1].map((id) => ({
        k: `key ${id % keys} of all`,
        v: round,
        t: `t ${round}`,
      }));
      const more = textOf([...few, { k: `new ${round}`, v: round, t: 'x' }, { k: null, v: 1 }, { v: round }]);
      rule.feed('s', more, begin + round);
      while (snapshot.write(500, (bytes) => slices.push(Buffer.from(bytes))) === 'more') {
        rule.feed('s', more, begin + round);
      }
      segments.push(Buffer.concat(slices));
      snapshot.close();
      if (round > 1 && !isWhole) assert.ok(segments.at(-1)!.length < segments[0]!.length / 20, `${round}`);
      if (round % 15 > 1) continue;
      const [again, quiet] = [fromSegments(state, snapshot, segments, open), open()];
      quiet.kernel.tick(begin);
      quiet.feed('s', rows(0), begin);
      // What was fed before the snapshot that was taken up is in it.
      assert.is(JSON.parse(ended(again, begin + endMs)[0]!).length, keys + 1 + (round - 1));
      again.close();
      quiet.close();
    }
    // After many changes all groups are written anew.
    assert.ok(whole >= 2 && whole < 5, `${whole}`);
    const { state, snapshot } = rule.snapshot({ chain, segment: segments.length, serial, small: 100 });
    const slices: Buffer[] = [];
    while (snapshot.write(10_000, (bytes) => slices.push(Buffer.from(bytes))) === 'more');
    const again = fromSegments(state, snapshot, [...segments, Buffer.concat(slices)], open);
    snapshot.close();
    for (const one of [rule, again]) one.feed('s', rows(91, 2), begin + 100);
    assert.equal(ended(again, begin + endMs), ended(rule, begin + endMs));
    again.close();
    rule.close();
    assert.is(ownBytes(rule), ownBytes(again));
  });

test('where rows come to all groups, each snapshot writes all of them', () => {
  const open = () => openRule([stream], `SELECT k, ${columns} FROM s GROUP BY k, TUMBLINGWINDOW(hh, 1)`);
  const rule = open();
  const chain = ++chains;
  rule.kernel.tick(begin);
  let serial = 0;
  for (let round = 0; round < 4; round++) {
    rule.feed('s', rows(round), begin + round);
    const { snapshot } = rule.snapshot({ chain, segment: round, serial, small: 100 });
    assert.equal(snapshot.sets.length, 1);
    assert.is(snapshot.live.filter((pages) => pages > 0).length, 1);
    serial = snapshot.serial;
    while (snapshot.write(10_000, () => {}) === 'more');
    snapshot.close();
  }
  rule.close();
});

test('a snapshot for whose groups there is no memory comes to nothing; the window is not harmed', () => {
  const sql = 'SELECT k, count(*) AS n, max(t) AS t1 FROM s GROUP BY k, TUMBLINGWINDOW(hh, 1)';
  const feed = (one: KernelRule) => {
    for (let from = 0; from < keys; from += 100) {
      const ids = Array.from({ length: 100 }, (_, i) => from + i);
      one.feed('s', textOf(ids.map((id) => ({ k: `key ${id}`, t: 'x'.repeat(400) }))), begin);
    }
  };
  const rule = openRule([stream], sql, { limits: { maxMemoryBytes: 24 << 20 } });
  const wide = openRule([stream], sql);
  for (const one of [rule, wide]) {
    one.kernel.tick(begin);
    feed(one);
  }
  const first = take(rule);
  assert.ok(write(first, 1000));
  // Somebody takes what is left, but for what is kept for the work under way.
  const release = fillMemory(rule.kernel);
  for (const one of [rule, wide]) feed(one);
  assert.is(
    first.snapshot.write(1000, () => {}),
    'memory',
  );
  first.snapshot.close();
  release();
  const second = take(rule);
  while (write(second));
  second.snapshot.close();
  assert.equal(ended(rule, begin + 3_600_000), ended(wide, begin + 3_600_000));
  rule.close();
  wide.close();
  assert.is(ownBytes(rule), ownBytes(wide));
});

test('groups of a snapshot before, whose segment is needed for its rows alone, are passed by when that is read', () => {
  const open = () =>
    openRule(
      [stream],
      `SELECT * FROM (SELECT k, ${columns} FROM s GROUP BY k, TUMBLINGWINDOW(ss, 1)) AS d GROUP BY ` +
        'TUMBLINGWINDOW(hh, 1)',
    );
  const rule = open();
  const chain = ++chains;
  rule.kernel.tick(begin);
  rule.feed('s', rows(0), begin);
  rule.kernel.tick(begin + 1000);
  rule.feed('s', rows(1), begin + 1000);
  const first: Taken = { ...rule.snapshot({ chain, segment: 0, serial: 0, small: 100 }), slices: [] };
  assert.equal(first.snapshot.sets, [0]);
  while (write(first));
  rule.kernel.tick(begin + 2000);
  const { serial } = first.snapshot;
  const second: Taken = { ...rule.snapshot({ chain, segment: 1, serial, small: 100 }), slices: [] };
  assert.equal(second.snapshot.sets, []);
  assert.ok(second.snapshot.live[0]! > 0 && second.snapshot.live[1]! > 0);
  while (write(second));
  const again = open();
  const loadedSnapshot = openLoadedSnapshot(again.kernel, contentOf(second.snapshot));
  for (const { slices } of [first, second]) {
    const read = readerOf(Buffer.concat(slices), 5000);
    while (loadedSnapshot.fill(2, read));
  }
  assert.equal(again.loadWith(second.state, loadedSnapshot).failed, []);
  const withLoadedSnapshot = ownBytes(again);
  loadedSnapshot.close();
  assert.ok(withLoadedSnapshot - ownBytes(again) < 1000, `${withLoadedSnapshot - ownBytes(again)} bytes`);
  assert.equal(ended(again, begin + 3_600_000), ended(rule, begin + 3_600_000));
  first.snapshot.close();
  second.snapshot.close();
  rule.close();
  again.close();
  assert.is(ownBytes(again), ownBytes(rule));
});

test('what was damaged on its way, or is of another statement, is told', () => {
  const open = (aggregates = columns) =>
    openRule([stream], `SELECT k, ${aggregates} FROM s GROUP BY k, TUMBLINGWINDOW(hh, 1)`);
  const rule = open();
  rule.kernel.tick(begin);
  rule.feed('s', rows(0), begin);
  const taken = take(rule);
  while (write(taken));
  taken.snapshot.close();
  const loadedSnapshotOf = (one: KernelRule) => openLoadedSnapshot(one.kernel, contentOf(taken.snapshot));
  const bytes = Buffer.concat(taken.slices);
  bytes[bytes.length >> 1]! ^= 4;
  const damaged = open();
  const first = loadedSnapshotOf(damaged);
  const read = readerOf(bytes);
  assert.throws(() => {
    while (first.fill(2, read));
  }, /damaged/);
  first.close();
  // Half of the groups.
  const second = loadedSnapshotOf(damaged);
  const readWhole = readerOf(Buffer.concat(taken.slices));
  assert.ok(second.fill(2, readWhole));
  const { failed } = damaged.loadWith(taken.state, second);
  second.close();
  assert.equal(
    failed.map(({ reason }) => reason),
    ['damaged'],
  );
  damaged.feed('s', rows(1), begin);
  damaged.close();
  rule.close();
  assert.is(ownBytes(damaged), ownBytes(rule));
});

test.run();
