/** Scripts that do their worst where the interpreter does not see it: another rule goes on, and so does the server. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startServer } from '../../support/harness.js';
import { Neighbour } from '../../support/rest/neighbour.js';
import { RowsThrough } from '../../support/rest/rows-through.js';

const server = await startServer();
test.after(async () => {
  await server.stop();
});
const rule = new RowsThrough(server);

const neighbour = await Neighbour.start(server);

async function script(id: string, text: string): Promise<void> {
  const answer = await server.request('PUT', `/udf/javascript/${id}`, { id, script: text });
  assert.is(answer.status, 200, answer.text);
}

/** Results of a function for 0, 1 and 2, of which 1 makes it do its worst. */
async function around(name: string): Promise<unknown[]> {
  return rule.results(
    `SELECT ${name}(v) AS r FROM s`,
    [0, 1, 2].map((v) => ({ v })),
  );
}

for (const [name, expression] of [
  ['found', 'Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)'],
  ['searched', '"a".repeat(1e7).indexOf("a".repeat(5e6) + "b")'],
] as const) {
  test(`a script is ended within a function of JavaScript itself: ${expression}`, async () => {
    await script(name, `function ${name}(v) { return v === 1 ? ${expression} : v; }`);
    const rows = await around(name);
    assert.equal([rows[0], rows[2]], [{ r: 0 }, { r: 2 }]);
    assert.match(
      String(rows[1]),
      new RegExp(`^function ${name}: (a built-in function of JavaScript|the call) took more`),
    );
    await neighbour.goesOn();
  });
}

test('a script that begins slowly and breaks in each row is ended with its batch', async () => {
  await script(
    'slow',
    `const begun = Date.now(); while (Date.now() - begun < 300);
    function slow(v) { throw Object.defineProperty(new Error(), 'message', { get() { throw 'no message'; } }); }`,
  );
  const rows = await rule.results(
    'SELECT slow(v) AS r FROM s',
    Array.from({ length: 200 }, (_, v) => ({ v })),
    { restartStrategy: { attempts: 0 } },
  );
  assert.ok(rows.every((row) => typeof row === 'string'));
  await neighbour.goesOn();
});

test('lines of any length for the log cost what they take', async () => {
  await script(
    'loud',
    'function loud(v) { const x = "x".repeat(1e6); while (v === 1) log(x); log(5n, { a: 5n }); return v; }',
  );
  const rows = await around('loud');
  assert.equal([rows[0], rows[2]], [{ r: 0 }, { r: 2 }]);
  assert.match(String(rows[1]), /^function loud: .* took more/);
  await neighbour.goesOn();
});

test('a result that looks like what the engine writes for values that JSON has not is what it says', async () => {
  const marks =
    '[new Date(0), 5n, { "\\0": "t", v: "bad" }, { "\\0": "b", v: { length: 200000000 } }, { "\\0\\0": 1 }]';
  await script('forged', `function forged(v) { return v === 1 ? ${marks} : v; }`);
  const same = { '\0': 't', v: 'bad' };
  assert.equal(await around('forged'), [
    { r: 0 },
    { r: ['1970-01-01T00:00:00Z', 5, same, { '\0': 'b', v: { length: 200_000_000 } }, { '\0\0': 1 }] },
    { r: 2 },
  ]);
  await neighbour.goesOn();
});

test('a message whose members look like that is what it says as well', async () => {
  await script('members', 'function members(v, n) { return [JSON.stringify(v.v), v["\\0"], v["\\0\\0"], typeof n]; }');
  const v = { '\0': 'b', v: { length: 200_000_000 }, '\0\0': 1 };
  assert.equal(await rule.results('SELECT members(v, missing) AS r FROM s', [{ v }]), [
    { r: ['{"length":200000000}', 'b', 1, 'undefined'] },
  ]);
});

test('a script that replaces prototypes, JSON and iterators changes no results', async () => {
  await script(
    'replaced',
    `const forged = [[7, 7, 7], [-2706484, 'outside'], false];
    for (const of of [Array, Object, String, Number, BigInt, Boolean, Date, Uint8Array]) {
      of.prototype.toJSON = function () { return Array.isArray(this) && this.length === 3 ? forged : this; };
    }
    Object.defineProperty(Array.prototype, '0', { get: () => 7, set() {} });
    Object.defineProperty(Object.prototype, 'value', { get: () => 7 });
    Array.prototype[Symbol.iterator] = function* () { yield -1; };
    Array.prototype.map = Array.prototype.push = () => forged;
    Object.keys = Object.entries = Object.fromEntries = Reflect.apply = () => forged;
    JSON.parse = JSON.stringify = () => JSON;
    Date.prototype.getTime = () => ({});
    function replaced(v) { return { v, at: new Date(v), list: [v, null], bytes: Uint8Array.of(v) }; }`,
  );
  const rows = await around('replaced');
  assert.equal(
    rows,
    [0, 1, 2].map((v) => ({
      r: {
        v,
        at: `1970-01-01T00:00:00${v === 0 ? '' : `.00${v}`}Z`,
        list: [v, null],
        bytes: ['AA==', 'AQ==', 'Ag=='][v],
      },
    })),
  );
  await neighbour.goesOn();
});

test('what is thrown may be anything', async () => {
  await script(
    'throwing',
    `function throwing(v) {
      if (v === 0) throw { toString() { throw 1; } };
      if (v === 1) throw Object.defineProperty(new Error(), 'message', { get() { throw 'no message'; } });
      throw new Error('x'.repeat(1e6));
    }`,
  );
  const rows = (await around('throwing')).map(String);
  assert.equal(
    rows.slice(0, 2),
    [0, 1].map(() => 'function throwing: thrown: what has no text'),
  );
  assert.is(rows[2], `function throwing: Error: ${'x'.repeat(1024 - 7)}`);
});

test('a Date that is none and one beyond all calendars are errors of their rows', async () => {
  await script('dates', 'function dates(v) { return v === 1 ? new Date(NaN) : new Date(v * 4e15); }');
  const rows = await around('dates');
  assert.equal(rows[0], { r: '1970-01-01T00:00:00Z' });
  assert.match(String(rows[1]), /^function dates: TypeError: an invalid Date is no result/);
  assert.match(String(rows[2]), /^function dates: the result is no value: a time beyond the years 0 to 9999/);
});

test('a script full of white space is looked at in no time, and a very long one is refused', async () => {
  const body = { id: 'white', script: '\n'.repeat(1_000_000) };
  const answer = await server.request('POST', '/udf/javascript', body);
  assert.match(answer.json.message, /the script defines no function white/);
  const long = await server.request('POST', '/udf/javascript', { id: 'long', script: ' '.repeat(2_000_000) });
  assert.match(long.json.message, /2000000 characters, at most 1048576 are allowed/);
});

test.run();
