/** `haumea bench soak`: what is judged to grow, what is counted, which changes a seed makes. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { FIRST_ID } from '../../../bench/messages/frames.js';
import { readSoakArgs } from '../../../bench/soak/args.js';
import { Churn } from '../../../bench/soak/churn.js';
import { Counts } from '../../../bench/soak/counts.js';
import { hotOnes, RowWatch } from '../../../bench/soak/feeder.js';
import { GrowingFiles } from '../../../bench/soak/growing-files.js';
import { kinds, type Request } from '../../../bench/soak/rules.js';
import { trendOf, verdictOf } from '../../../bench/soak/trend.js';
import { random } from '../../../bench/workloads/workload.js';

test('a mistake in the arguments is named', () => {
  const refused = (line: string, reason: RegExp) => assert.throws(() => readSoakArgs(line.split(' ')), reason);
  refused('--rate none', /--rate: "none" is not a whole number from 1 to 10000000/);
  refused('--duration long', /--duration: "long" is no length of time/);
  refused('--duration 2h', /--duration: 1440000000 messages at this rate, at most 899999999 are told apart/);
  const { options } = readSoakArgs('--duration 20s --rate 1000'.split(' '));
  assert.equal([options.durationMs, options.rate, options.rules], [20_000, 1000, 24]);
});

/** Points of an hour, one each 5 s. */
function hour(value: (i: number, noise: number) => number) {
  const next = random(7);
  return Array.from({ length: 720 }, (_, i) => ({ hours: (i * 5) / 3600, value: value(i, next() - 0.5) }));
}

test('growth is what is neither chance nor within its bound, and only the second half counts', () => {
  const bound = { part: 0.03, least: 1 };
  const said = (value: (i: number, noise: number) => number, figure: 'mean' | 'low' = 'mean') =>
    verdictOf(trendOf(hour(value), figure), bound);
  assert.is(
    said((_, noise) => 100 + 20 * noise),
    'flat',
  );
  assert.is(
    said((i, noise) => Math.min(i, 300) + 20 * noise),
    'flat',
    'what fills up at first',
  );
  assert.is(
    said((i, noise) => 100 + i / 20 + 20 * noise),
    'grows',
  );
  assert.is(
    said((i, noise) => 1000 + i / 20 + noise),
    'grows, within its bound',
  );
  assert.is(
    said((i, noise) => 100 - i / 20 + noise),
    'falls',
  );
  // What garbage collection takes back is no growth; what it leaves is.
  assert.is(
    said((i) => 100 + (i % 14), 'low'),
    'flat',
  );
  assert.is(
    said((i) => 100 + (i % 14) + i / 20, 'low'),
    'grows',
  );
  assert.is(verdictOf(trendOf(hour(() => 1).slice(0, 60), 'mean'), bound), 'too short to tell');
});

test('a line tells how much it grows an hour', () => {
  const trend = trendOf(
    hour((i, noise) => 100 + i / 720 + noise / 100),
    'mean',
  )!;
  assert.ok(Math.abs(trend.slope - 1) < 0.01, `${trend.slope}`);
  assert.ok(trend.range < 0.01 && Math.abs(trend.growth - 0.475) < 0.01);
});

test('a file that only grows is named, one that is cut, replaced or small is not', () => {
  const files = new GrowingFiles();
  const mb = 1 << 20;
  for (let i = 0; i < 20; i++) {
    const sizes = [
      ['/data/log', i * mb],
      ['/data/rolled', (i % 12) * mb],
      ['/data/small', i * 100],
      [`/data/${i}.page`, i * mb],
      ['/data/early', Math.min(i, 5) * mb],
    ] as const;
    files.take(i / 20, new Map(sizes));
  }
  assert.equal(files.growing('/data'), ['file log grew from 9437184 to 19922944 bytes in 30.0 min and was never cut']);
});

test('rows that are missing, and those that come again, are counted as they come', () => {
  const watch = new RowWatch();
  const { places, cycle } = hotOnes();
  for (const place of [...places.slice(0, 5), ...places.slice(7, 9), places[3]!]) watch.take(place);
  assert.equal([watch.rows, watch.lost, watch.repeated], [8, 2, 1]);
  for (const place of places.slice(9)) watch.take(place);
  for (const place of places.slice(0, 4)) watch.take(cycle + place);
  assert.equal([watch.lost, watch.repeated], [2, 1], 'the messages come again and again');
  assert.equal(
    [watch.expected(0), watch.expected(cycle), watch.expected(2 * cycle)],
    [0, places.length, 2 * places.length],
  );
});

test('windows that leave messages out, or have them twice, are named', () => {
  const counts = new Counts();
  const take = (low: number, n: number, until: number, high = low + n - 1) =>
    counts.take({
      topic: 'count',
      text: JSON.stringify({ n, low: FIRST_ID + low, high: FIRST_ID + high, until }),
      at: until + 7,
    });
  take(0, 10, 1000);
  counts.take({ topic: 'count', text: '{"until":2000}', at: 2005 });
  take(10, 5, 3000);
  assert.equal([counts.findings, counts.totals.count, counts.late()], [[], 15, (7 + 5 + 7) / 3]);
  take(16, 4, 4000);
  take(19, 4, 5000);
  take(23, 3, 6000, 26);
  assert.is(counts.findings.length, 3, counts.findings.join('\n'));
  assert.match(
    counts.findings[0]!,
    /window 4000: 4 messages 100000016 to 100000019, not messages 100000015 to 100000019/,
  );
});

test('rules of all kinds come and go, the same with the same seed, and what fails is named', async () => {
  const requestsOf = async (seed: number) => {
    const requests: Request[] = [];
    const churn = new Churn(
      async (request) => void requests.push(request),
      { brokerUrl: '', outFolder: '' },
      { rules: 6, seed },
    );
    for (let i = 0; i < 400; i++) {
      await churn.change();
      assert.ok(churn.living <= 6);
    }
    await churn.clear();
    return { requests, churn };
  };
  const { requests, churn } = await requestsOf(3);
  assert.equal((await requestsOf(3)).requests, requests);
  assert.not.equal((await requestsOf(4)).requests, requests);
  assert.ok(churn.counts.create! > kinds.length);
  assert.equal(churn.counts.create, churn.counts.delete);
  assert.equal(Object.keys(churn.counts).sort(), ['create', 'delete', 'restart', 'stop and start', 'update']);
  const failing = new Churn(
    async () => {
      throw new Error('no room');
    },
    { brokerUrl: '', outFolder: '' },
    { rules: 6, seed: 1 },
  );
  await failing.change();
  assert.equal([failing.failed, failing.failures], [1, ['POST /rules: no room']]);
});

test.run();
