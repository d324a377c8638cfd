/**
 * Functions on threads of their own, as the kernel asks for them: each row by itself, with values of any kind, also
 * after its state has moved.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { FindBrought } from '../../../host/plugins/define.js';
import {
  CarriedColumn,
  type CarriedColumns,
  carriedBase,
  carriedPlace,
  carry,
} from '../../../kernels/values/carried.js';
import { Instant, type Value, ValueAccess, ValueError } from '../../../kernels/values/value.js';
import { type KernelRule, openRule } from '../../support/engine/rule-kernel.js';

const statements = ['CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="s", FORMAT="json")'];
const limits = { callFuel: 1n, batchFuel: 1n };
const brought: FindBrought = (name) =>
  name.toLowerCase() !== 'outside'
    ? undefined
    : {
        owner: 'wasm plugin test',
        run: {
          name: 'outside',
          owner: 'wasm plugin test',
          number: 70_000,
          code: { kind: 'wasm', name: 'test', version: 1, path: '', limits, isolate: { timeoutMs: 100 } },
          entry: 'outside',
          isAggregate: false,
          args: { min: 0, max: null },
        },
      };

interface Request {
  readonly node: number;
  readonly request: number;
  readonly keys: CarriedColumns;
}

/** A memory of its own, as a thread has it. */
function memoryOf(): { access: ValueAccess; take: (size: number) => number } {
  const memory = new WebAssembly.Memory({ initial: 16 });
  let end = 512 * 1024;
  const take = (size: number) => {
    const at = end;
    end = (end + size + 7) & ~7;
    return at;
  };
  return { access: new ValueAccess(memory, take), take };
}

/** Arguments of each row. */
function valuesOf(keys: CarriedColumns): Value[][] {
  const { access } = memoryOf();
  access.bytes().set(keys.bytes, carriedBase);
  return Array.from({ length: keys.count }, (_row, k) =>
    Array.from({ length: keys.columns }, (_column, i) => {
      const { vals, tags } = carriedPlace(keys, i);
      return access.read(access.view().getUint8(carriedBase + tags + k), carriedBase + vals + 8 * k);
    }),
  );
}

/** A column of values, from a memory in which they were written. */
function columnOf(values: readonly Value[]): CarriedColumn {
  const { access, take } = memoryOf();
  const [vals, tags] = [take(8 * values.length), take(values.length)];
  values.forEach((value, k) => {
    const tag = access.write(vals + 8 * k, value);
    access.view().setUint8(tags + k, tag);
  });
  return new CarriedColumn(carry(access, [{ vals, tags }], values.length), 0);
}

function open(sql: string): { rule: KernelRule; asked: Request[]; answer: (values: readonly Value[]) => void } {
  const asked: Request[] = [];
  const onAskEach = (node: number, request: number, keys: CarriedColumns) => void asked.push({ node, request, keys });
  const rule = openRule(statements, sql, { onAskEach, brought });
  const answer = (values: readonly Value[]) => {
    const { node, request } = asked.shift() as Request;
    const of = values.map((_value, i) => i);
    rule.kernel.answer(node, request, { of, columns: { value: columnOf(values) } }, 0);
  };
  return { rule, asked, answer };
}

test('arguments go out as they are, equal ones as well, and results come back as they are', () => {
  const { rule, asked, answer } = open('SELECT n, outside(a, n, cast(a, "bigint")) AS r FROM s');
  const given = [1, 'text', 'x'.repeat(100), '', true, null, [1, 'a', [{ b: null }]], { x: { y: [] } }, 1, 1];
  rule.feed('s', [...given.map((a, n) => ({ n, a })), { n: 10 }]);
  assert.equal(
    valuesOf(asked[0]!.keys).map(([a, n]) => [a, n]),
    [...given, undefined].map((a, n) => [a, n]),
  );
  const [, , , , , , , , last] = valuesOf(asked[0]!.keys);
  assert.equal(last?.[2], 1n);
  assert.instance(valuesOf(asked[0]!.keys)[1]?.[2], ValueError);
  assert.equal(rule.taken(), []);
  answer([
    9_007_199_254_740_993n,
    'é',
    'y'.repeat(1000),
    '',
    false,
    null,
    [1n, ['z', {}], new Instant(0n)],
    { k: { l: 'm' }, empty: [] },
    undefined,
    new ValueError('it failed'),
    2.5,
  ]);
  assert.equal(
    rule.taken().map((one) => (typeof one === 'string' ? one : JSON.stringify(one))),
    [
      '[{"n":0,"r":9007199254740992}]',
      '[{"n":1,"r":"é"}]',
      JSON.stringify([{ n: 2, r: 'y'.repeat(1000) }]),
      '[{"n":3,"r":""}]',
      '[{"n":4,"r":false}]',
      '[{"n":5}]',
      '[{"n":6,"r":[1,["z",{}],"1970-01-01T00:00:00Z"]}]',
      '[{"n":7,"r":{"empty":[],"k":{"l":"m"}}}]',
      '[{"n":8}]',
      'it failed',
      '[{"n":10,"r":2.5}]',
    ],
  );
  rule.close();
});

test('what waits is saved with its arguments and asked for again', () => {
  const { rule, asked } = open('SELECT outside(a) AS r FROM s');
  const rows = [{ a: [1, { b: 'x' }] }, { a: [1, { b: 'x' }] }, {}, { a: 'text' }];
  rule.feed('s', rows);
  rule.feed('s', [{ a: 7 }]);
  assert.is(asked.length, 2);
  const bytes = rule.save();
  rule.close();
  const next = open('SELECT outside(a) AS r FROM s');
  next.rule.load(bytes);
  assert.equal(
    next.asked.flatMap(({ keys }) => valuesOf(keys)),
    [...rows.map(({ a }) => [a]), [7]],
  );
  next.answer(['one', 'two', 'three', 'four']);
  next.answer(['five']);
  assert.equal(
    next.rule.taken(),
    ['one', 'two', 'three', 'four', 'five'].map((r) => [{ r }]),
  );
  next.rule.close();
});

test(
  'rows keep their order, whichever batch is answered first, and a function without arguments is asked as ' + 'well',
  () => {
    const { rule, asked, answer } = open('SELECT n, outside() AS r FROM s');
    rule.feed('s', [{ n: 1 }, { n: 2 }]);
    rule.feed('s', [{ n: 3 }]);
    asked.reverse();
    answer(['c']);
    assert.equal(rule.taken(), []);
    answer(['a', 'b']);
    assert.equal(rule.taken(), [[{ n: 1, r: 'a' }], [{ n: 2, r: 'b' }], [{ n: 3, r: 'c' }]]);
    rule.close();
  },
);

test('in ON of a join it is refused by its name', () => {
  const table = 'CREATE TABLE t () WITH (TYPE="memory", DATASOURCE="t", KIND="lookup", KEY="id")';
  assert.throws(
    () =>
      openRule([...statements, table], 'SELECT s.a FROM s LEFT JOIN t ON s.a = t.id AND outside(t.x) = 1', { brought }),
    /function outside answers later: it can't be called in ON/,
  );
});

test.run();
