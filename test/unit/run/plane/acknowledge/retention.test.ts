/**
 * What rules hold of a source until they have it safe: a message is free when no rule holds it, in order, and one list
 * is kept for all.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Acknowledgements } from '../../../../../host/run/plane/acknowledge/barrier.js';
import { type Hold, type Retainer, Retention } from '../../../../../host/run/plane/acknowledge/retention.js';
import { eventually } from '../../../../support/harness.js';

/** A source whose messages come one by one, and rules that hold them. */
class Source {
  readonly acknowledged: number[] = [];
  readonly retention = new Retention(() => {});
  readonly acknowledgements = new Acknowledgements((ids) => this.acknowledged.push(...ids));
  #came = 0;

  rule(): { hold: Hold; retainer: Retainer; requests: number } {
    const rule = {
      requests: 0,
      hold: undefined as unknown as Hold,
      retainer: {
        get isHolding() {
          return rule.hold.isHolding;
        },
        request: () => {
          rule.requests++;
        },
      },
    };
    rule.hold = this.retention.add(rule.retainer);
    return rule;
  }

  message(): void {
    const barrier = this.acknowledgements.begin();
    barrier.receipts.push(Uint32Array.of(++this.#came));
    this.retention.hold(barrier);
    this.acknowledgements.end(barrier);
  }
}

test('a message is free when the last rule has it safe, and those that came later are not', () => {
  const source = new Source();
  const [a, b] = [source.rule(), source.rule()];
  source.message();
  source.message();
  const [first, second] = [a.hold.claim(), b.hold.claim()];
  source.message();
  first.pass();
  assert.equal(source.acknowledged, []);
  second.pass();
  assert.equal(source.acknowledged, [1, 2]);
  b.hold.claim().pass();
  assert.equal(source.acknowledged, [1, 2]);
  a.hold.claim().pass();
  assert.equal(source.acknowledged, [1, 2, 3]);
});

test('what did not get safe is held again, and goes with the next checkpoint', () => {
  const source = new Source();
  const { hold } = source.rule();
  source.message();
  const failed = hold.claim();
  assert.not(hold.isHolding);
  failed.giveBack();
  assert.ok(hold.isHolding);
  hold.claim().pass();
  assert.equal(source.acknowledged, [1]);
});

test('a rule that comes later holds nothing from before, and one that has gone nothing that comes', () => {
  const source = new Source();
  const early = source.rule();
  source.message();
  const late = source.rule();
  source.message();
  early.hold.claim().pass();
  assert.equal(source.acknowledged, [1]);
  early.hold.close();
  source.retention.delete(early.retainer);
  source.message();
  late.hold.claim().pass();
  assert.equal(source.acknowledged, [1, 2, 3]);
});

test('what a rule leaves behind at its end is free, but where it is sent again otherwise', () => {
  const source = new Source();
  const [a, b] = [source.rule(), source.rule()];
  source.message();
  a.hold.drop(true);
  source.retention.delete(a.retainer);
  b.hold.claim().pass();
  assert.equal(source.acknowledged, [1]);
  source.message();
  source.acknowledgements.keepsLost = true;
  b.hold.drop(true);
  assert.equal(source.acknowledged, [1]);
});

test('random rules come, go, fail and have it safe: each message is free exactly when nobody holds it', () => {
  let seed = 20;
  const random = (n: number) => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    return Math.floor(seed / 65536) % n;
  };
  for (let round = 0; round < 200; round++) {
    const source = new Source();
    // What each rule holds, by its own account.
    const rules: {
      hold: Hold;
      retainer: Retainer;
      held: Set<number>;
      claims: { of: number[]; end(isSafe: boolean): void }[];
    }[] = [];
    const all: number[] = [];
    for (let step = 0; step < 60; step++) {
      const rule = rules[random(Math.max(1, rules.length))];
      const what = random(6);
      if (what === 0 || rule === undefined) rules.push({ ...source.rule(), held: new Set(), claims: [] });
      else if (what < 3) {
        source.message();
        all.push(all.length + 1);
        for (const one of rules) one.held.add(all.length);
      } else if (what === 3 && rule.claims.length === 0) {
        const claim = rule.hold.claim();
        rule.claims.push({ of: [...rule.held], end: (isSafe) => (isSafe ? claim.pass() : claim.giveBack()) });
      } else if (what === 4 && rule.claims.length > 0) {
        const { of, end } = rule.claims.pop()!;
        const isSafe = random(3) > 0;
        end(isSafe);
        if (isSafe) for (const id of of) rule.held.delete(id);
      } else if (what === 5) {
        rule.hold.close();
        rule.hold.drop(false);
        source.retention.delete(rule.retainer);
        rules.splice(rules.indexOf(rule), 1);
      }
      const first = all.find((id) => rules.some(({ held }) => held.has(id))) ?? all.length + 1;
      assert.equal(source.acknowledged, all.slice(0, first - 1), `round ${round}, step ${step}`);
    }
  }
});

test('thousands of rules are asked for checkpoints in several turns, and only those that hold something', async () => {
  const source = new Source();
  const rules = Array.from({ length: 5 }, () => source.rule());
  source.message();
  rules[2]!.hold.claim();
  source.retention.request();
  await eventually('all requests', () => rules.filter(({ requests }) => requests === 1).length === 4);
  assert.is(rules[2]!.requests, 0);
});

test.run();
