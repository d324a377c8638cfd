/** Scripts that do their worst where the interpreter does not see it: another rule goes on, and so does the server. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startServer } from '../harness.js';
import { Neighbour } from './neighbour.js';
import { RowsThrough } from './rows-through.js';

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

test('a result that looks like one of the values that JSON has not costs its own row', async () => {
  await script('forged', 'function forged(v) { return v === 1 ? [new Date(0), { "\\0": "t", v: "bad" }] : v; }');
  const rows = await around('forged');
  assert.equal([rows[0], rows[2]], [{ r: 0 }, { r: 2 }]);
  assert.match(String(rows[1]), /^function forged: the result is no value/);
});

test('a script full of white space is looked at in no time, and a very long one is refused', async () => {
  const body = { id: 'white', script: '\n'.repeat(1_000_000) };
  const answer = await server.request('POST', '/udf/javascript', body);
  assert.match(answer.json.message, /the script defines no function white/);
  const long = await server.request('POST', '/udf/javascript', { id: 'long', script: ' '.repeat(2_000_000) });
  assert.match(long.json.message, /2000000 characters, at most 1048576 are allowed/);
});

test.run();
