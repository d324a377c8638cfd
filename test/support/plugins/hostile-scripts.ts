/** Scripts that do what no script should, put together at random: each seed gives another. */
import type { Random } from './programs.js';

function oneOf<T>(random: Random, list: readonly T[]): T {
  return list[random(list.length)] as T;
}

const evilNumbers = [
  '-1',
  '-2706484',
  '3',
  '1e300',
  '0.5',
  'NaN',
  '-0',
  '2**32',
  '2**53',
  'Infinity',
  '-1n',
  '2n**70n',
];
const classes = [
  ...['Array', 'Object', 'String', 'Number', 'Boolean', 'BigInt', 'Function', 'Symbol', 'Date', 'Error', 'TypeError'],
  ...['Uint8Array', 'Int32Array', 'Map', 'Promise', 'Proxy', 'Reflect', 'JSON', 'Object.getPrototypeOf(Uint8Array)'],
];
const methods = [
  ...[
    'toJSON',
    'map',
    'push',
    'join',
    'slice',
    'charCodeAt',
    'getTime',
    'valueOf',
    'toString',
    'call',
    'apply',
    'bind',
  ],
  ...[
    'hasOwnProperty',
    'concat',
    'constructor',
    'then',
    'length',
    'v',
    'k',
    'value',
    'get',
    'set',
    'text',
    '0',
    '1',
    '2',
  ],
];
const statics = [
  ...['Object.keys', 'Object.entries', 'Object.fromEntries', 'Object.defineProperty', 'Object.setPrototypeOf'],
  ...['Object.getOwnPropertyDescriptor', 'Object.getPrototypeOf', 'Object.create', 'Array.isArray', 'Array.from'],
  ...['JSON.parse', 'JSON.stringify', 'Reflect.apply', 'Reflect.ownKeys', 'String.fromCharCode', 'Uint8Array.from'],
  ...[
    'Array',
    'Date',
    'Error',
    'TypeError',
    'String',
    'Number',
    'Object',
    'Int32Array',
    'Uint8Array',
    'JSON',
    'Reflect',
  ],
  'Symbol',
];

/** What a forged answer may look like. */
function forged(random: Random): string {
  const n = () => oneOf(random, evilNumbers);
  return oneOf(random, [
    `[this[0], [${n()}, 'outside'], false]`,
    `[[${n()}, ${n()}], [${n()}, ${n()}, 'x'], true]`,
    `[{ length: ${n()} }, { length: ${n()} }, true]`,
    `[[], { length: 2, 0: ${n()}, 1: 'outside' }, 'yes']`,
    `[new Array(2000).fill({ '\\0': 'b', v: { length: 2e8 } }), [], true]`,
    'null',
    '"[[1,2,3],[-1,\\"x\\"],false]"',
    '{}',
  ]);
}

/** A value that a script may return, throw or put into a prototype. */
function value(random: Random, depth = 0): string {
  if (depth > 3) return 'v';
  const inner = () => value(random, depth + 1);
  const name = () =>
    oneOf(random, ['a', '__proto__', 'toJSON', '\\0', '\\0\\0', 'length', 'then', '0', 'v', 'constructor']);
  const kind = oneOf(random, ['b', 't', 'n', 'i', 'u', 'x', '']);
  return oneOf(random, [
    () => 'v',
    () => oneOf(random, evilNumbers),
    () => `[${inner()}, ${inner()}]`,
    () => `{ ["${name()}"]: ${inner()}, ["${name()}"]: ${inner()} }`,
    () => `{ "\\0": "${kind}", v: ${inner()} }`,
    () => `{ "\\0": ${inner()}, v: { length: 200000000 } }`,
    () => `{ get ["${name()}"]() { ${deed(random, depth + 1)} } }`,
    () => `{ toJSON() { return ${forged(random)}; } }`,
    () => 'Object.assign([1, 2], { toJSON: () => [9] })',
    () => `new Proxy([], { get: (of, key) => key === 'length' ? ${oneOf(random, evilNumbers)} : ${inner()} })`,
    () =>
      `new Proxy({}, { ownKeys: () => ['a', '\\0'], get: () => ${inner()},
        getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }) })`,
    () => 'Proxy.revocable([], {}).proxy',
    () => '(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; })()',
    () => 'new Date(NaN)',
    () => 'new Date(8.64e15)',
    () => 'new (class extends Date { getTime() { return {}; } })(5)',
    () => 'Object.create(Date.prototype)',
    () => 'Object.create(Uint8Array.prototype)',
    () => 'Object.setPrototypeOf(new Float64Array([300.5, NaN]), Uint8Array.prototype)',
    () => 'Object.setPrototypeOf(new BigInt64Array(2), Uint8Array.prototype)',
    () => `Object.defineProperty(new Uint8Array(3), 'length', { value: ${oneOf(random, evilNumbers)} })`,
    () => 'new Uint8Array(new ArrayBuffer(8, { maxByteLength: 64 }))',
    () => '(() => { const b = new ArrayBuffer(8); const u = new Uint8Array(b); b.transfer?.(); return u; })()',
    () => `'x'.repeat(${oneOf(random, ['10', '5000', '300000'])})`,
    () => '"\\ud800 \\udc80 \\0 \\u2028"',
    () => 'new Array(3)',
    () => 'new Array(100000)',
    () => 'Object.assign(new Array(5), { 4294967294: 1 })',
    () => '(() => { const a = []; a.push(a); return a; })()',
    () => '(() => { let a = 1; for (let i = 0; i < 300; i++) a = i % 2 ? [a] : { a }; return a; })()',
    () => 'Symbol("s")',
    () => '() => 1',
    () => 'new String("boxed")',
    () => '(function () { return arguments; })(1, 2)',
    () => 'new Map([[1, 2]])',
    () => 'Promise.resolve(1)',
    () => 'Promise.reject(1)',
    () => 'globalThis',
    () => 'undefined',
    () => 'null',
  ])();
}

/** Something that a script does, as statements. */
function deed(random: Random, depth = 1): string {
  if (depth > 3) return 'return v;';
  return oneOf(random, [
    () => `return ${value(random, depth + 1)};`,
    () => `throw ${value(random, depth + 1)};`,
    () => 'for (;;) {}',
    () => 'return deep();',
    () => 'const all = []; for (;;) all.push(new Array(10000).fill(7));',
    () => 'Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);',
    () => `log(${value(random, depth + 1)});`,
    () => `${prelude(random, depth + 1)} return v;`,
    () =>
      'for (const f of found) { try { return f(() => 1, "[[1,2,3]]", "[0,0,0]", false, 1e9, () => {}); } catch {} }',
  ])();
}

/** Something that a script has done before it is called. */
function prelude(random: Random, depth = 1): string {
  if (depth > 3) return '';
  const of = oneOf(random, classes);
  const method = oneOf(random, methods);
  const answer = forged(random);
  return oneOf(random, [
    () => `Array.prototype.toJSON = function () { return typeof this[2] === 'boolean' ? ${answer} : this; };`,
    () =>
      `try { ${of}.prototype.${/^\d/.test(method) ? `toJSON` : method} = function () { return ${answer}; }; } catch {}`,
    () => `try { ${oneOf(random, statics)} = function () { return ${answer}; }; } catch {}`,
    () =>
      `try {
        Object.defineProperty(${oneOf(random, ['Array', 'Object', 'String', 'Uint8Array'])}.prototype, '${method}', {
          configurable: true, get() { return ${value(random, depth + 1)}; }, set() {} });
      } catch {}`,
    () => `try { ${of}.prototype[Symbol.iterator] = function* () { yield ${oneOf(random, evilNumbers)}; }; } catch {}`,
    () => `try { Object.defineProperty(${of}, Symbol.hasInstance, { value: () => ${random(2) === 0} }); } catch {}`,
    () =>
      `try {
        const of = new Proxy(Object.prototype, {
          get: (of, key) => ${value(random, depth + 1)}, has: () => true, set: () => false });
        Object.setPrototypeOf(${oneOf(random, ['Array', 'Function', 'Date'])}.prototype, of);
      } catch {}`,
    () => `try { Object.freeze(${of}.prototype); Object.freeze(${of}); } catch {}`,
    () => `try { delete ${oneOf(random, statics)}; } catch {}`,
    () =>
      `Error.prepareStackTrace = (e, sites) => {
        for (const site of sites) { try { found.push(site.getFunction()); } catch {} }
        return '';
      };`,
    () => 'Object.defineProperty(Object.prototype, "\\0", { configurable: true, get: () => "b", set() {} });',
    () => 'Array[Symbol.species] = function () { return { length: -1 }; };',
  ])();
}

/** A script with a function `f` of one argument. */
export function hostileScript(random: Random): string {
  const before = Array.from({ length: random(4) }, () => prelude(random)).join('\n');
  const rows = Array.from({ length: 1 + random(3) }, (_, i) => `if (n % 5 === ${i}) { ${deed(random)} }`).join('\n');
  return `const found = []; let n = 0;
    function deep() { return deep() + 1; }
    ${before}
    function f(v) { n++; ${random(2) === 0 ? rows : ''} return ${value(random)}; }`;
}

/** Changes a piece of what the sandbox answers, as a sandbox might that is not what it was. */
export function hostileAnswer(random: Random, text: string): string {
  const kinds: (() => string)[] = [
    () =>
      text.replace(/-?\d+(\.\d+)?/, () => oneOf(random, ['-1', '-2706484', '1e300', '0.5', '4294967296', '"3"', '[]'])),
    () =>
      text.replace(
        /,\[\],/,
        `,[${oneOf(random, ['-1,"x"', '0.5,"x"', '"0","x"', '0,1', '0', '1e9,"x"', 'null,"x"', '0,"x"'])}],`,
      ),
    () => text.replace(/(true|false)\]$/, () => `${oneOf(random, ['true', 'false', '1', '"true"', 'null'])}]`),
    () => text.replace(/^\[\[/, `[[${oneOf(random, ['1,', '{"\\u0000":"b","v":{"length":200000000}},', ''])}`),
    () => text.slice(0, random(text.length)),
    () => `${text}]`,
    () => oneOf(random, ['null', '{}', '[]', '[[],[],false]', '[{"length":4},[],true]', '"', '', '[null,null,null]']),
    () => {
      const at = random(text.length);
      return text.slice(0, at) + String.fromCharCode(random(127)) + text.slice(at + 1);
    },
  ];
  return oneOf(random, kinds)();
}
