/** Functions of lists, objects, hashes, JSON and patterns: SQL and rows in, rows out. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { arity } from '../../host/functions/define.js';
import { functionDefinitions } from '../../host/functions/registry.js';
import { type Case, check, evaluate, streams } from './function-cases.js';
import { openRule } from './rule-kernel.js';

const none = undefined;
const u = 'é😀ß';

const noList = /argument 1 must be a list, not/;
const noObject = /argument 1 must be an object, not/;

// ---- lists ----------------------------------------------------------------------------------------------------

check('cardinality(a)', [
  [[1, null, 2], 3],
  [[], 0],
  [null, 0],
  [none, 0],
  [5, 0],
  ['x', 0],
  [{ k: 1 }, 0],
]);
check('array_cardinality(a)', [
  [[1, 2, 2, null, 'x', [1], { k: 1 }], 6],
  [[], 0],
  [null, 0],
  [none, 0],
  [{}, 0],
  [5, noList],
  ['x', noList],
  [{ k: 1 }, noList],
]);
check('array_distinct(a)', [
  [
    [1, 2, 2, null, null, 'x', 'x', [1], [1]],
    [1, 2, null, 'x', [1], [1]],
  ],
  [[u, u], [u]],
  [[], null],
  [null, null],
  [5, noList],
]);
const finding: [list: unknown, value: unknown, first: unknown, last: unknown][] = [
  [[1, 2, 1, null, 'x'], 1, 0, 2],
  [[1, 2], '1', -1, -1],
  [['é😀', 'b'], 'é😀', 0, 0],
  [[null, 1, null], null, 0, 2],
  [[1, null], none, 1, 1],
  [[1.5, true], true, 1, 1],
  [[[1], [2]], [1], -1, -1],
  [[], 1, -1, -1],
  [null, 1, -1, -1],
  [none, 1, -1, -1],
  [5, 5, noList, noList],
];
check(
  'array_position(a, b)',
  finding.map(([a, b, first]) => [a, b, first]),
);
check(
  'array_last_position(a, b)',
  finding.map(([a, b, , last]) => [a, b, last]),
);
check(
  'array_contains(a, b)',
  finding.map(([a, b, first]) => [a, b, typeof first === 'number' ? first >= 0 : first]),
);
// Numbers of JSON are floats, which no integer equals.
check('array_position(a, 2)', [[[1, 2], -1]]);
check('array_position(a, 2.0)', [[[1, 2], 1]]);
check('array_remove(a, b)', [
  [[1, 2, 1, null], 1, [2, null]],
  [['é', 'b'], 'é', ['b']],
  [[1, null], none, [1]],
  [[], 1, []],
  [null, 1, null],
  ['x', 'x', noList],
]);
check('array_except(a, b)', [
  [[1, 2, 2, 1, null], [2, null], [1]],
  [[1, 1], [], [1]],
  [[1], null, [1]],
  [[], [1], []],
  [null, [1], null],
  [[[1]], [[1]], [[1]]],
  [[1], 5, /argument 2 must be a list, not 5/],
  [5, [1], noList],
]);
check('array_intersect(a, b)', [
  [
    [1, 2, 2, null],
    [2, 3, null, 2],
    [2, null],
  ],
  [['é'], ['é', u], ['é']],
  [[1], [2], []],
  [[], [1], null],
  [[1], null, null],
  [[1], 'x', /argument 2 must be a list, not x/],
]);
check('array_union(a, b)', [
  [
    [1, 2, 2],
    [3, 2, null],
    [1, 2, 3, null],
  ],
  [null, [1], [1]],
  [[1, 1], none, [1]],
  [null, null, []],
  [[{ x: 1 }], [{ x: 1 }], [{ x: 1 }, { x: 1 }]],
  [5, [1], noList],
]);
check('array_contains_any(a, b)', [
  [[1, 2], [2, 3], true],
  [[1, null], [null], true],
  [[1], ['1'], false],
  [[], [], false],
  [null, [1], false],
  [[1], null, /argument 2 must be a list/],
]);
check('array_concat(a, b)', [
  [[1], [1, null], [1, 1, null]],
  [[[1]], [{ x: [] }], [[1], { x: [] }]],
  [null, [1], [1]],
  [[1], none, [1]],
  [[1], 5, /argument 2 must be a list, not 5/],
]);
check('array_create(a, b, 1)', [
  [2, null, [2, 1]],
  [[1], { x: [] }, [[1], { x: [] }, 1]],
  [none, none, [1]],
]);
check('array_create(a)', [
  [null, null],
  [u, [u]],
]);
check('array_create()', [[1, null]]);
check('element_at(a, b)', [
  [[1, [2]], 1, [2]],
  [[1, 2], -2, 1],
  [[1, 2], -3, /index -3 is out of range/],
  [[1, 2], 2, /index 2 is out of range/],
  [[1, 2], 1.5, /argument 2 must be a whole number/],
  [[1, 2], '0', /argument 2 must be a whole number/],
  [{ é: 1 }, 'é', 1],
  [{ x: 1 }, 'y', null],
  [{ x: 1 }, '__proto__', null],
  [{ x: 1 }, 0, /argument 2 must be a string, not 0/],
  [[], 0, null],
  [null, 0, null],
  ['abc', 0, noObject],
]);

// ---- objects --------------------------------------------------------------------------------------------------

const object = { b: 2, a: null, é: [1] };
const notObjects: Case[] = [
  [5, noObject],
  ['x', noObject],
  [[1], noObject],
];
const emptyObjects: Case[] = [
  [{}, null],
  [null, null],
  [none, null],
];
check('keys(a)', [[object, ['a', 'b', 'é']], ...emptyObjects, ...notObjects]);
check('values(a)', [[object, [null, 2, [1]]], ...emptyObjects, ...notObjects]);
check('items(a)', [
  [
    object,
    [
      ['a', null],
      ['b', 2],
      ['é', [1]],
    ],
  ],
  ...emptyObjects,
  ...notObjects,
]);
check('obj_to_kvpair_array(a)', [
  [
    { x: { y: 1 }, é: u },
    [
      { key: 'x', value: { y: 1 } },
      { key: 'é', value: u },
    ],
  ],
  ...emptyObjects,
  ...notObjects,
]);
check('object_size(a)', [[object, 3], [{}, 0], [null, 0], [none, 0], ...notObjects]);
check('erase(a, b)', [
  [{ x: 1, y: 2 }, 'x', { y: 2 }],
  [{ x: 1 }, 'x', {}],
  [{ x: 1 }, 'z', { x: 1 }],
  [{ x: 1, y: 2, é: 3 }, ['x', 'é', 'x'], { y: 2 }],
  [{ 1: 1, x: 2 }, [1], { x: 2 }],
  [{ x: 1 }, [], null],
  [{ x: 1 }, null, null],
  [{ x: 1 }, 5, /argument 2 must be a string or a list/],
  [5, 'x', noObject],
]);
check('object_concat(a, b)', [
  [
    { x: 1, y: 2 },
    { y: { z: 1 }, w: null },
    { w: null, x: 1, y: { z: 1 } },
  ],
  [{ é: 1 }, { é: 2, [u]: 3 }, { é: 2, [u]: 3 }],
  [{}, {}, {}],
  [null, { x: 1 }, { x: 1 }],
  [none, none, {}],
  [{ x: 1 }, 5, /an object is needed, but found 5/],
  [[1], {}, /an object is needed/],
]);
check('object_concat(a, b, c)', [
  [{ x: 1, y: 1 }, { x: 2, z: 2 }, { x: 3 }, { x: 3, y: 1, z: 2 }],
  [{ x: 1 }, {}, { w: 0 }, { w: 0, x: 1 }],
]);

// ---- hashes, encodings, JSON ----------------------------------------------------------------------------------

check('md5(a)', [
  ['', 'd41d8cd98f00b204e9800998ecf8427e'],
  ['abc', '900150983cd24fb0d6963f7d28e17f72'],
  ['5', 'e4da3b7fbbce2345d7772b0674a318d5'],
  [5, 'e4da3b7fbbce2345d7772b0674a318d5'],
  [null, null],
  [[], null],
]);
check('sha1(a)', [
  ['abc', 'a9993e364706816aba3e25717850c26c9cd0d89d'],
  [none, null],
]);
check('sha256(a)', [
  ['abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
  [{}, null],
]);
check('length(sha384(a))', [['abc', 96]]);
check('length(sha512(a))', [[u, 128]]);
check('encode(a, "base64")', [
  ['', ''],
  ['abc', 'YWJj'],
  [u, 'w6nwn5iAw58='],
  [null, null],
  [5, /argument 1 must be a string, not 5/],
  [[1], /argument 1 must be a string/],
]);
check('parse_json(a)', [
  ['{"x":[1,2.5,null],"é":{}}', { x: [1, 2.5, null], é: {} }],
  ['5', 5],
  [' [1] ', [1]],
  ['"é"', 'é'],
  ['null', null],
  ['{"a":1,"a":2}', { a: 2 }],
  ['{"__proto__":1}', JSON.parse('{"__proto__":1}')],
  ['', /JSON/],
  ['[1,]', /JSON/],
  ['NaN', /JSON/],
  [null, null],
  [5, /argument 1 must be a string, not 5/],
]);

// ---- patterns -------------------------------------------------------------------------------------------------

const slow = '^(a+)+$';
const long = `${'a'.repeat(60)}!`;
check('regexp_matches(a, b)', [
  ['foo1', '[0-9]$', true],
  [u, '^.{3}$', true],
  [12, '2', true],
  [null, 'x', false],
  ['x', '(', /bad regular expression \(/],
  ['aaa', slow, true],
  [long, '^(a+)+b', /takes too long/],
  ['b', '^(a+)+b', false],
]);
check('regexp_substr(a, b)', [
  ['foo123', '[0-9]+', '123'],
  ['foo', '[0-9]', ''],
  [u, '^..', 'é😀'],
  [null, 'x', null],
  [long, '(a+)+c', /takes too long/],
  ['aac', '(a+)+c', 'aac'],
]);
check('regexp_replace(a, b, c)', [
  ['a1b22', '[0-9]+', '#', 'a#b#'],
  [u, '.', '-', '---'],
  ['ab', '(a)(?<n>b)', '$n$1$$', 'ba$'],
  ['aa', '', '-', '-a-a-'],
  ['x', 'x', none, null],
  [long, '(a+)+d', '', /takes too long/],
  ['aad!', '(a+)+d', '', '!'],
]);

// ---- what differs from call to call ---------------------------------------------------------------------------

test('rand() and newuuid() give each row another value', () => {
  const rows = Array.from({ length: 50 }, () => ({ a: 1 }));
  const numbers = evaluate('rand()', rows) as number[];
  assert.is(new Set(numbers).size, rows.length);
  assert.ok(numbers.every((one) => one >= 0 && one < 1));
  const ids = evaluate('newuuid()', rows) as string[];
  assert.is(new Set(ids).size, rows.length);
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

// ---- all of them ----------------------------------------------------------------------------------------------

const categories = ['array', 'object', 'hash', 'json', 'conversion', 'datetime', 'misc'];
const definitions = functionDefinitions().filter(({ category }) => categories.includes(category));

test('too few and too many arguments are refused with the numbers that are allowed', () => {
  for (const { name, args } of definitions) {
    const { min, max } = arity(args);
    for (const count of [min - 1, (max ?? Number.NaN) + 1]) {
      if (!(count >= 0)) continue;
      const sql = `SELECT ${name}(${Array(count).fill('a').join(', ')}) FROM demo`;
      assert.throws(() => openRule(streams, sql), new RegExp(`function ${name} takes .*, not ${count}`), sql);
    }
  }
});

test('a null argument makes the result null where the function says so', () => {
  for (const { name, nulls, args, implementation } of definitions) {
    if (nulls !== 'propagate' || !('call' in implementation) || args.length === 0) continue;
    for (const [i, { name: arg }] of args.entries()) {
      // The encoding has to be a literal.
      if (arg === 'encoding') continue;
      const given = args.map((one, k) => (k === i ? 'a' : one.name === 'encoding' ? "'base64'" : 'b')).join(', ');
      const got = evaluate(`${name}(${given})`, [{ a: null, b: 'x' }, { b: 'x' }]);
      assert.equal(got, [null, null], `${name}(${given})`);
    }
  }
});

test.run();
