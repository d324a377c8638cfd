/** `haumea bench neighbours`: what is asked of it, and what is counted. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readNeighboursArgs } from '../../../bench/neighbours/args.js';
import { Counter, idIn } from '../../../bench/neighbours/count.js';

test('a mistake in the arguments is named', () => {
  const refused = (line: string, reason: RegExp) => assert.throws(() => readNeighboursArgs(line.split(' ')), reason);
  refused('lazy', /"lazy" is not one of stuck, away, cache/);
  refused('stuck --rules 1', /--rules: "1" is not a whole number from 2 to 10000/);
  refused('--away soon', /--away: "soon" is no length of time/);
  refused('--rule 3', /rule/);
  const { trials, optionsOf } = readNeighboursArgs('away stuck --away 5s'.split(' '));
  assert.equal(trials, ['away', 'stuck']);
  assert.equal([optionsOf('away').awayMs, optionsOf('away').messages], [5000, 120_000]);
});

test('rows that are missing, come twice or come late are counted', () => {
  const counts = (numbers: number[], sent = 4) => {
    const counter = new Counter();
    for (const number of numbers) counter.take(number);
    const { lost, repeated, reordered } = counter.of(sent);
    return [lost, repeated, reordered];
  };
  assert.equal(counts([0, 1, 2, 3]), [0, 0, 0]);
  assert.equal(counts([0, 2, 3]), [1, 0, 0]);
  assert.equal(counts([0, 1, 1, 2, 0, 3]), [0, 2, 0]);
  assert.equal(counts([0, 2, 1, 3]), [0, 0, 1]);
  assert.equal(counts([199_999], 200_000), [199_999, 0, 0]);
});

test('the number of a row is found among other members', () => {
  const bytes = Buffer.from('{"a":1,"id":100000042}\n{"b":2}\n{"id":7}');
  assert.equal([idIn(bytes, 0, 22), idIn(bytes, 23, 30), idIn(bytes, 31, bytes.length)], [100_000_042, -1, 7]);
});

test.run();
