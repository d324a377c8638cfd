/** Saved state that was damaged on its way: nodes that it is of start empty and say why, and the kernel goes on. */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type KernelRule, openRule } from '../../support/engine/rule-kernel.js';
import { checkOf, headCheckOf, slicesOf } from '../../support/kernel/slices.js';
import { beginOfCases, type StateCase, stateCases } from '../../support/sql/state-cases.js';

const numRuns = Number(process.env.HAUMEA_STATE_RUNS ?? 60);
const reasons = ['damaged', 'other', 'version', 'cut'];

function open({ statements, sql, wishes }: StateCase): KernelRule {
  return openRule(statements, sql, wishes);
}

/** State in the middle of a case. */
function stateOf(given: StateCase): Buffer {
  const rule = open(given);
  let now = beginOfCases;
  for (const { name, bytes, waitMs } of given.arrivals) {
    now += waitMs;
    rule.kernel.tick(now);
    rule.feed(name, bytes, now);
  }
  return Buffer.from(rule.save());
}

/** Feeds all rows and lets time pass. */
function goOn(rule: KernelRule, given: StateCase): void {
  let now = beginOfCases + 3_600_000;
  for (const { name, bytes, waitMs } of given.arrivals) {
    now += waitMs;
    rule.kernel.tick(now);
    rule.feed(name, bytes, now);
  }
  rule.kernel.tick(now + 100_000);
}

function ownBytes(rule: KernelRule): number {
  const { inUse, workspace } = rule.kernel.memory();
  return inUse - workspace;
}

const empty = openRule(['CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="s")'], 'SELECT 1 AS x FROM s');
empty.close();
const emptyBytes = ownBytes(empty);

/** Gives everything back: nothing may be left of what was read before a failure. */
function close(rule: KernelRule): void {
  rule.close();
  assert.is(ownBytes(rule), emptyBytes);
}

const damages = fc.array(fc.record({ place: fc.nat(), change: fc.integer({ min: 1, max: 255 }) }), {
  minLength: 1,
  maxLength: 6,
});

test('changed bytes are told, and rules go on', () => {
  fc.assert(
    fc.property(stateCases, damages, (given, list) => {
      const state = stateOf(given);
      const before = Buffer.from(state);
      for (const { place, change } of list) {
        const at = place % state.length;
        state[at] = state[at]! ^ change;
      }
      fc.pre(Buffer.compare(state, before) !== 0);
      const rule = open(given);
      const { failed, unclaimed, brokenOff } = rule.load(state, given.portion);
      // What is wrong with the empty slice at the end alone hurts nobody.
      assert.ok(failed.length + unclaimed > 0 || brokenOff !== null);
      for (const { reason } of failed) assert.ok(reasons.includes(reason), reason);
      goOn(rule, given);
      close(rule);
    }),
    { numRuns },
  );
});

test('bytes that end early are told, and rules go on', () => {
  fc.assert(
    fc.property(stateCases, fc.nat(), (given, place) => {
      const state = stateOf(given);
      // Without the empty slice at the end all is there but the certainty that nothing follows.
      const rule = open(given);
      const { failed } = rule.load(state.subarray(0, place % (state.length - 16)), given.portion);
      assert.ok(failed.length > 0);
      for (const { reason, text } of failed) {
        assert.is(reason, 'cut');
        assert.is(text, 'what was saved ends early');
      }
      goOn(rule, given);
      close(rule);
    }),
    { numRuns },
  );
});

test('state that nodes share is whole or told: its pieces may end between two parts', () => {
  const given: StateCase = {
    statements: ['CREATE STREAM s () WITH (DATASOURCE="s", TYPE="memory")'],
    sql: 'SELECT acc_map_agg(b, o) AS x0, row_number() AS r, changed_cols("c_", true, b, o) FROM s WHERE a > 0',
    wishes: {},
    arrivals: [
      { name: 's', bytes: Buffer.from('{"a":1,"b":"é","o":{"x":1},"k":1}\n'), waitMs: 0, moves: false },
      { name: 's', bytes: Buffer.from('{"a":2,"b":"a","o":{},"k":2}\n'), waitMs: 0, moves: false },
    ],
    movesAtLast: false,
    portion: 100,
  };
  const state = stateOf(given);
  const slices = slicesOf(state);
  assert.ok(slices.length > 3, 'parts of several nodes');
  const fresh = open(given);
  fresh.feed('s', given.arrivals[1]!.bytes, beginOfCases);
  const fromEmpty = fresh.taken();
  close(fresh);
  const loadOf = (bytes: Buffer): void => {
    const rule = open(given);
    const { failed } = rule.load(bytes, given.portion);
    assert.ok(failed.length > 0);
    rule.feed('s', given.arrivals[1]!.bytes, beginOfCases);
    assert.equal(rule.taken(), fromEmpty, 'what was read of them before is no half of their state');
    close(rule);
  };
  for (let at = 0; at < state.length - 16; at++) loadOf(state.subarray(0, at));
  // The first slice of a part is damaged: nobody can tell whose it is.
  for (let at = 0, i = 0; i < slices.length - 1; at += slices[i]!.bytes.length, i++) {
    if (i === 0) continue;
    const damaged = Buffer.from(state);
    damaged[at + 16] = damaged[at + 16]! ^ 1;
    loadOf(damaged);
  }
});

test('wrong content whose checks are right is read without harm', () => {
  fc.assert(
    fc.property(stateCases, damages, (given, list) => {
      const state = stateOf(given);
      slicesOf(state).forEach(({ bytes, payload }, number) => {
        assert.is(headCheckOf(bytes, number), bytes.readUInt16LE(6));
        assert.is(checkOf(payload, number), bytes.readBigUInt64LE(8));
      });
      for (const { place, change } of list) {
        const slices = slicesOf(state).filter((slice) => slice.payload.length > 0);
        const { payload } = slices[place % slices.length]!;
        const at = Math.floor(place / slices.length) % payload.length;
        payload[at] = payload[at]! ^ change;
      }
      slicesOf(state).forEach((slice, number) => {
        slice.bytes.writeUInt16LE(headCheckOf(slice.bytes, number), 6);
        slice.bytes.writeBigUInt64LE(checkOf(slice.payload, number), 8);
      });
      const rule = open(given);
      rule.load(state, given.portion);
      close(rule);
    }),
    { numRuns },
  );
});

test.run();
