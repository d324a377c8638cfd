/** Guests that were written and published for other hosts run as they are (test/guests/third-party). */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startServer } from '../../support/harness.js';
import { RowsThrough } from '../../support/rest/rows-through.js';

const server = await startServer();
test.after(async () => {
  await server.stop();
});
const rule = new RowsThrough(server);
const folder = new URL('../../guests/third-party/', import.meta.url);

async function install(name: string, file: string): Promise<readonly string[]> {
  const body = { name, bytecode: readFileSync(new URL(file, folder)).toString('base64') };
  const answer = await server.request('POST', '/plugins/wasm', body);
  assert.is(answer.status, 201, answer.text);
  return answer.json.functions;
}

test('each module is the one that its page tells the source and the checksum of', () => {
  const page = readFileSync(new URL('README.md', folder), 'utf8');
  for (const file of ['count-vowels.wasm', 'sum-wasi.wasm', 'long.wasm']) {
    const sum = createHash('sha256')
      .update(readFileSync(new URL(file, folder)))
      .digest('hex');
    assert.ok(page.includes(sum), `${file} is ${sum}`);
  }
});

test("the example of Extism's development kit for Rust counts vowels", async () => {
  assert.equal(await install('vowels', 'count-vowels.wasm'), ['count_vowels']);
  assert.equal(
    await rule.results('SELECT count_vowels(v) AS r, wasm_run("vowels.count_vowels", w) AS s FROM s', [
      { v: 'hello world', w: 'x' },
      { v: 'Ünïcödé AEIOU', w: 'o'.repeat(10_000) },
      {},
    ]),
    [{ r: '{"count":3}', s: '{"count":0}' }, { r: '{"count":5}', s: '{"count":10000}' }, {}],
  );
});

test(
  'an example of the kit, compiled for WASI, takes an object and gives one, and says what it cannot ' + 'read',
  async () => {
    assert.equal(await install('adder', 'sum-wasi.wasm'), ['add']);
    const rows = await rule.results('SELECT add(v) AS r FROM s', [
      { v: { a: 1, b: 2 } },
      { v: { a: 1 } },
      { v: 'no object' },
      { v: { a: 4_000_000_000, b: 5 } },
    ]);
    assert.equal([rows[0], rows[3]], [{ r: '{"sum":3}' }, { r: '{"sum":4000000005}' }]);
    assert.match(String(rows[1]), /^function add of adder: missing field `b`/);
    assert.match(String(rows[2]), /^function add of adder: /);
  },
);

test('the module within the package long multiplies and divides whole numbers', async () => {
  const names = ['mul', 'div_s', 'div_u', 'rem_s', 'rem_u', 'get_high'];
  assert.equal(await install('long', 'long.wasm'), names);
  // Numbers of 64 bits in two halves each, the lower first.
  assert.equal(
    await rule.results(
      'SELECT mul(a, 0, b, 0) AS m, div_s(a, 0, b, 0) AS d, rem_u(a, 0, b, 0) AS r, div_s(-7, -1, 2, 0) AS n FROM s',
      [
        { a: 17, b: 5 },
        { a: 1, b: 0 },
        { a: 100, b: 7 },
      ],
    ),
    [{ m: 85, d: 3, r: 2, n: -3 }, 'function div_s of long: divide by zero', { m: 700, d: 14, r: 2, n: -3 }],
  );
});

test.run();
