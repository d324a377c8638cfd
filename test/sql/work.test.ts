/**
 * What functions cost at worst: each is given the input of 64 KB that costs it most, as its code has it, and is
 * compared with a rule that copies that input, and with itself on a quarter of it. Work may grow with the input, not
 * with its square.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { zoneOffsetMs } from '../../host/functions/calendar/time-zone.js';
import { callHost, functionDefinitions } from '../../host/functions/registry.js';
import { createKernel } from '../../kernels/index.js';
import { openRule, textOf } from '../support/engine/rule-kernel.js';
import { kernelUnderTest } from '../support/kernel/drive.js';
import { streams } from '../support/sql/function-cases.js';

type Input = (bytes: number) => object[];

const many = <T>(bytes: number, each: number, make: (i: number) => T): T[] =>
  Array.from({ length: Math.floor(bytes / each) }, (_, i) => make(i));
const members = (bytes: number, make: (i: number) => unknown = (i) => i) =>
  Object.fromEntries(many(bytes, 16, (i) => [`k${String(i).padStart(6, '0')}`, make(i)]));
const nested = (bytes: number) => many(bytes, 128, () => JSON.parse(`${'['.repeat(60)}1${']'.repeat(60)}`) as unknown);

const text: Input = (bytes) => [{ a: 'a'.repeat(bytes) }];
const letters: Input = (bytes) => [{ a: 'ǆé'.repeat(bytes / 4) }];
const blanks: Input = (bytes) => [{ a: `${' \u2003'.repeat(bytes / 8)}x${' \u2003'.repeat(bytes / 8)}` }];
const digits: Input = (bytes) => [{ a: '1'.repeat(bytes) }];
const numbers: Input = (bytes) => [{ a: many(bytes, 8, (i) => ((i * 7919) % 99991) + 0.5) }];
const nests: Input = (bytes) => [{ a: nested(bytes) }];
const object: Input = (bytes) => [{ a: members(bytes) }];
/** Two texts that agree up to their last characters, at many places. */
const nearly: Input = (bytes) => [{ a: 'a'.repeat(bytes * 0.75), b: `${'a'.repeat(bytes * 0.25)}b`, c: 'c' }];
/** A replacement of many pieces, for each place of a text. */
const references: Input = (bytes) => [{ a: 'a'.repeat(bytes / 2), b: '$0'.repeat(bytes / 64) }];
const twoLists: Input = (bytes) => [{ a: many(bytes / 2, 8, (i) => `a${i}`), b: many(bytes / 2, 8, (i) => `b${i}`) }];
const twoVectors: Input = (bytes) => [
  { a: many(bytes / 2, 8, (i) => i + 0.25), b: many(bytes / 2, 8, (i) => i + 0.5) },
];
const twoObjects: Input = (bytes) => [{ a: members(bytes / 2), b: { z: 1, ...members(bytes / 2, String) } }];
const nameList: Input = (bytes) => [{ a: members(bytes / 2), b: Object.keys(members(bytes / 2)).reverse() }];
/** A text of JSON that is nested so deeply as its length allows. */
const deepText: Input = (bytes) => [{ a: `${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}` }];
const number: Input = () => [{ a: 0.7, b: 3, c: 2 }];
const time: Input = (bytes) => [{ a: '2024-05-06T07:08:09.123456789+05:30', b: `${' '.repeat(bytes)}x` }];
const rows: Input = (bytes) => many(bytes, 32, (i) => ({ a: i % 1000, b: `k${i}`, o: { [`k${i}`]: i } }));

const window = (call: string) => (count: number) => `SELECT ${call} AS r FROM demo GROUP BY COUNTWINDOW(${count})`;
const each = (call: string) => () => `SELECT ${call} AS r FROM demo`;

interface Entry {
  readonly sql: (count: number) => string;
  readonly input: Input;
  /** Times of a copy of the input of 64 KB, as measured. */
  readonly times: number;
}

const table: Record<string, Entry> = {};

function scalar(input: Input, calls: Record<string, number>): void {
  for (const [call, times] of Object.entries(calls)) {
    table[call] = { sql: each(call), input, times };
  }
}

function aggregate(input: Input, calls: Record<string, number>): void {
  for (const [call, times] of Object.entries(calls)) table[call] = { sql: window(call), input, times };
}

scalar(text, {
  'array_create(a, a)': 2,
  'bypass(a)': 1,
  'cast(a, "float")': 1,
  'chr(a)': 1,
  'coalesce(b, a)': 1,
  'compress(a, "zlib")': 10,
  'crc32(a)': 4,
  'dec2hex(a)': 1,
  'decode(a, "base64")': 6,
  'delay(0, a)': 1,
  'encode(a, "base64")': 3,
  'endswith(a, a)': 1,
  'get_keyed_state(a, "string", a)': 6,
  'hash_bucket(a, 4)': 4,
  'had_changed(true, a)': 1,
  'inc_last_value(a, true)': 1,
  'isnull(a)': 1,
  'lag(a, 1, a)': 2,
  'latest(a, a)': 1,
  'length(a)': 1,
  'lpad(a, 65536)': 2,
  'md5(a)': 6,
  'numbytes(a)': 1,
  'cardinality(repeat(a, 200))': 1,
  'replace(a, "a", "bb")': 45,
  'rpad(a, 65536)': 2,
  'sha1(a)': 4,
  'sha256(a)': 4,
  'sha384(a)': 5,
  'sha512(a)': 5,
  'split_value(a, "", 1000)': 1,
  'startswith(a, a)': 1,
  'substring(a, 1)': 1,
  'changed_col(true, a)': 1,
  'regexp_matches(a, "(a|aa)*b")': 2,
  'regexp_substr(a, "a*b")': 3,
  'regexp_replace(a, "a", "$0$0")': 470,
});
scalar(letters, { 'lower(a)': 3, 'upper(a)': 3, 'reverse(a)': 3, 'concat(a, a)': 2 });
scalar(blanks, { 'trim(a)': 2, 'ltrim(a)': 2, 'rtrim(a)': 2 });
scalar(digits, {
  'cast(a, "bigint")': 1,
  'conv(a, 10, 16)': 7,
  'hex2dec(a)': 4,
  'from_unix_time(cast(a, "float"))': 7,
  'date_calc(now(), a)': 10,
  'parse_time(a, a)': 35,
});
scalar(references, { 'length(regexp_replace(a, "a*?", b))': 2000 });
scalar(numbers, {
  'array_cardinality(a)': 1,
  'array_concat(a, a)': 2,
  'array_contains(a, 0)': 1,
  'array_distinct(a)': 1,
  'array_join(a, ",")': 1,
  'array_last_position(a, 0)': 1,
  'array_map("abs", a)': 1,
  'array_max(a)': 1,
  'array_min(a)': 1,
  'array_position(a, 0)': 1,
  'array_positions(a, 0)': 1,
  'array_remove(a, 0)': 1,
  'array_shuffle(a)': 1,
  'array_sort(a)': 2,
  'cardinality(a)': 1,
  'element_at(a, -1)': 1,
});
scalar(nests, {
  'array_flatten(a)': 1,
  'to_json(a)': 1,
  'vector_match(a[0], a, 10)': 1,
  'unnest(a)': 1,
  'json_path_query(a, "$[*][*][*]..a")': 100,
});
scalar(object, {
  'extract(a)': 1,
  'items(a)': 1,
  'keys(a)': 1,
  'values(a)': 1,
  'obj_to_kvpair_array(a)': 1,
  'kvpair_array_to_obj(obj_to_kvpair_array(a))': 2,
  'object_size(a)': 1,
  'object(keys(a), values(a))': 2,
  'zip(items(a))': 1,
  'object_construct("a", a, "b", a)': 1,
});
scalar(nearly, { 'indexof(a, b)': 3, 'replace(a, b, c)': 3, 'split_value(a, b, 0)': 3, 'a LIKE b': 1 });
scalar(twoLists, {
  'array_contains_any(a, b)': 2,
  'array_except(a, b)': 2,
  'array_intersect(a, b)': 2,
  'array_union(a, b)': 2,
});
scalar(twoVectors, { 'cosine_similarity(a, b)': 1, 'vector_dot(a, b)': 1, 'vector_l2(a, b)': 1 });
scalar(twoObjects, { 'object_concat(a, b)': 2 });
scalar(nameList, { 'erase(a, b)': 2, 'object_pick(a, b)': 3 });
scalar(deepText, {
  'json_path_exists(a, "$..[*]..a")': 530,
  'json_path_query(a, "$..[*]..a")': 515,
  'json_path_query(a, "$..[0,1,2,3,4,5,6,7]")': 500,
  'json_path_query_first(a, "$..[?(@ == $)]")': 125,
  'parse_json(a)': 1,
});
scalar(number, {
  'abs(a)': 1,
  'acos(a)': 1,
  'asin(a)': 1,
  'atan(a)': 1,
  'atan2(a, b)': 1,
  'bitand(b, c)': 1,
  'bitnot(b)': 1,
  'bitor(b, c)': 1,
  'bitxor(b, c)': 1,
  'ceil(a)': 1,
  'cos(a)': 1,
  'cosh(a)': 1,
  'cot(a)': 1,
  'current_date()': 2,
  'current_time(6)': 2,
  'degrees(a)': 1,
  'event_time()': 1,
  'exp(a)': 1,
  'floor(a)': 1,
  'format(a, 100, "de_DE")': 6,
  'from_days(b)': 2,
  'last_hit_count()': 1,
  'last_hit_time()': 1,
  'ln(a)': 1,
  'log(a, b)': 1,
  'meta(topic)': 1,
  'mod(a, b)': 1,
  'mqtt(topic)': 1,
  'newuuid()': 1,
  'now(6)': 2,
  'pi()': 1,
  'power(a, b)': 1,
  'props("et")': 1,
  'radians(a)': 1,
  'rand()': 1,
  'round(a, 5)': 1,
  'row_number()': 1,
  'rule_id()': 1,
  'rule_start()': 1,
  'sequence(1, 1000)': 1,
  'sign(a)': 1,
  'sin(a)': 1,
  'sinh(a)': 1,
  'sqrt(a)': 1,
  'tan(a)': 1,
  'tanh(a)': 1,
  'trunc(a, 2)': 1,
  'tstamp()': 1,
});
scalar(time, {
  'convert_tz(a, b)': 15,
  'date_diff(a, b)': 7,
  'day(b)': 7,
  'day_name(b)': 7,
  'day_of_week(b)': 6,
  'day_of_year(b)': 7,
  'format_time(a, b)': 4,
  'hour(b)': 7,
  'last_day(b)': 7,
  'microsecond(b)': 7,
  'minute(b)': 7,
  'month(b)': 8,
  'month_name(b)': 7,
  'parse_time(b, b)': 25,
  'second(b)': 7,
  'to_datetime(b, "Europe/Paris")': 7,
  'to_seconds(b)': 7,
});
scalar(rows, {
  'acc_avg(a)': 1,
  'acc_count(a)': 1,
  'acc_max(a)': 1,
  'acc_max_by(b, a)': 1,
  'acc_min(a)': 1,
  'acc_min_by(b, a)': 1,
  'acc_sum(a)': 1,
  'inc_avg(a)': 1,
  'inc_count(a)': 1,
  'inc_max(a)': 1,
  'inc_min(a)': 1,
  'inc_sum(a)': 1,
});
table['changed_cols("c_", true, a, b)'] = {
  sql: () => 'SELECT changed_cols("c_", true, a, b) FROM demo',
  input: rows,
  times: 1,
};
// Each row is given all that came before it: what comes out has the square of the rows, so the length of the list
// counts.
scalar(rows, {
  'cardinality(acc_collect(b))': 1,
  'cardinality(acc_distinct_collect(b))': 1,
  'cardinality(inc_collect(b))': 1,
});
aggregate(rows, {
  'avg(a)': 1,
  'collect(*)': 2,
  'count(*)': 1,
  'deduplicate(b, true)': 2,
  'last_agg_hit_count()': 1,
  'last_agg_hit_time()': 1,
  'last_value(b, true)': 1,
  'lead(b, 100)': 1,
  'max(b)': 1,
  'median(a)': 1,
  'merge_agg(o)': 3,
  'min(b)': 1,
  'percentile_approx(a, 0.5)': 1,
  'percentile_cont(a, 0.5)': 1,
  'percentile_disc(a, 0.5)': 1,
  'stddev(a)': 1,
  'stddevs(a)': 1,
  'sum(a)': 1,
  'var(a)': 1,
  'vars(a)': 1,
  'window_end()': 1,
  'window_start()': 1,
  'window_trigger()': 1,
});

const ofGeohashes = (bytes: number) => many(bytes, 4096, () => ({ a: 'wwv8z1tyfdgj', b: 38.11, c: 5, d: 'East' }));
scalar(ofGeohashes, {
  'geohashBoundingBox(a)': 30,
  'geohashBoundingBoxInt(c)': 30,
  'geohashDecode(a)': 30,
  'geohashDecodeInt(c)': 30,
  'geohashEncode(b, c)': 30,
  'geohashEncodeInt(b, c)': 30,
  'geohashNeighbor(a, d)': 60,
  'geohashNeighborInt(c, d)': 60,
  'geohashNeighbors(a)': 60,
  'geohashNeighborsInt(c)': 60,
});

/** Functions with a budget of their own, or that call what a user brought. */
const elsewhere: Record<string, string> = {
  acc_map_agg: 'each row is given all keys so far; what a batch computes is bounded (value-limits.test.ts)',
  inc_merge_agg: 'as acc_map_agg',
  decompress: 'what comes out is bounded (value-limits.test.ts)',
  dedup_trigger: 'cases/statements/dedup-trigger.case: ranges are kept in order',
  wasm_run: 'its fuel is bounded (test/unit/plugins)',
};

const small = 16_384;
const large = 65_536;
const runs = 3;
/** Other processes take their time, too: what is too long is measured again so often. */
const attempts = 60;
/**
 * So many times what is noted may be taken, and so many times as long on four times as much: the square would be 16.
 */
const leeway = 8;
const growth = 12;

/** One kernel for all: what is measured is the work on rows. */
const kernel = createKernel(
  {
    onOutput: () => {},
    onPacket: () => {},
    onAcknowledge: () => {},
    call: callHost,
    zoneOffset: zoneOffsetMs,
  },
  kernelUnderTest,
);

/** Shortest time of the statement on the rows, ms. */
function timeOf(sql: string, input: readonly object[]): number {
  const bytes = textOf(input);
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < runs; i++) {
    const rule = openRule(streams, sql, { kernel });
    const start = performance.now();
    rule.feed('demo', bytes);
    best = Math.min(best, performance.now() - start);
    rule.close();
  }
  return best;
}

test('each function has an entry', () => {
  const calls = Object.keys(table).join(' ');
  const missing = functionDefinitions()
    .map(({ name }) => name)
    .filter((name) => !new RegExp(`\\b${name}\\(`).test(calls) && !(name in elsewhere));
  assert.equal(missing, []);
});

for (const [call, { sql, input, times }] of Object.entries(table)) {
  test(`${call} of 64 KB takes about ${times} times as long as a copy, and grows with its input`, () => {
    const big = input(large);
    const little = input(small);
    let copied = Number.POSITIVE_INFINITY;
    let taken = Number.POSITIVE_INFINITY;
    let quarter = Number.POSITIVE_INFINITY;
    const isFine = () => taken <= leeway * times * copied && taken <= growth * Math.max(quarter, copied / 2);
    for (let i = 0; i < attempts && (i === 0 || !isFine()); i++) {
      copied = Math.min(copied, Math.max(timeOf('SELECT * FROM demo', big), timeOf('SELECT * FROM demo', text(large))));
      taken = Math.min(taken, timeOf(sql(big.length), big));
      quarter = Math.min(quarter, timeOf(sql(little.length), little));
    }
    if (process.env.HAUMEA_TABLE)
      console.log(`${call}: ${(taken / copied).toFixed(1)} ${(taken / quarter).toFixed(1)}`);
    const found = `${taken.toFixed(2)} ms, a copy ${copied.toFixed(2)} ms, of 16 KB ${quarter.toFixed(2)} ms`;
    assert.ok(isFine(), found);
  });
}

test.run();
