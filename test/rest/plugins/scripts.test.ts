import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startControlPlane } from '../../support/rest/control-plane.js';
import { type Refusal, wrongAnswer } from '../../support/rest/given-files.js';

const plane = await startControlPlane();
test.after(() => plane.close());

const path = '/udf/javascript';
const area = { id: 'area', description: 'text', script: 'function area(x, y) { return x * y; }', isAgg: false };

test('registers, lists, describes, replaces and deletes a function', async () => {
  const created = await plane.request('POST', path, area);
  assert.equal([created.status, created.text], [201, 'javascript function area is created']);
  assert.equal((await plane.request('GET', path)).json, ['area']);
  assert.equal((await plane.request('GET', `${path}/area`)).json, area);
  const replaced = await plane.request('PUT', `${path}/area`, { ...area, isAgg: true });
  assert.is(replaced.text, 'javascript function area is updated');
  assert.is((await plane.request('GET', `${path}/area`)).json.isAgg, true);
  assert.is((await plane.request('DELETE', `${path}/area`)).text, 'javascript function area is deleted');
  assert.equal((await plane.request('GET', path)).json, []);
});

test('a replacement creates what is missing, with defaults', async () => {
  const script = 'const fresh = (x) => x;';
  assert.is((await plane.request('PUT', `${path}/fresh`, { id: 'fresh', script })).status, 200);
  const described = (await plane.request('GET', `${path}/fresh`)).json;
  assert.equal(described, { id: 'fresh', description: '', script, isAgg: false });
});

test('runs nothing of a script', async () => {
  const script = 'while (true) {}\nfunction endless() {}';
  assert.is((await plane.request('POST', path, { id: 'endless', script })).status, 201);
});

test('a function may be defined by a declaration or by an assignment', async () => {
  const scripts = [
    'function made() {}',
    'async function made() {}',
    'var made = function () {};',
    'let made = () => 1;',
    'class made {}',
    'made = (x) => x',
    'const help = 1; made = function () {}',
    'this.made = function () {}',
    'globalThis . made = function () {}',
  ];
  for (const script of scripts) {
    const answer = await plane.request('POST', path, { id: 'made', script });
    assert.is(answer.status, 201, `${script}: ${answer.text}`);
    await plane.request('DELETE', `${path}/made`);
  }
  for (const script of ['made == 1', 'x.made = 1', 'remade = 1', 'made => 1', '"made = 1"']) {
    const answer = await plane.request('POST', path, { id: 'made', script });
    assert.is(answer.status, 400, script);
  }
});

const refusals: Refusal[] = [
  [
    'POST',
    path,
    { id: 'nofn', script: 'var a = 1; function other() { function nofn() {} }' },
    400,
    1000,
    /no function nofn/,
  ],
  ['POST', path, { id: 'syn', script: 'function syn( {' }, 400, 1000, /no JavaScript/],
  ['POST', path, { id: 'noscript' }, 400, 1000, /noscript: script is required/],
  ['POST', path, { id: 'a-b', script: 'function a() {}' }, 400, 1000, /a-b.*name that JavaScript allows/],
  ['POST', path, { id: 'agg', script: 'function agg() {}', isAgg: 'yes' }, 400, 1000, /isAgg must be/],
  ['POST', path, { id: 'upper', script: 'function upper() {}' }, 400, 1000, /upper is taken by a built-in/],
  ['POST', path, { id: 'UPPER', script: 'function UPPER() {}' }, 400, 1000, /UPPER is taken by a built-in/],
  ['POST', path, { id: 'Fresh', script: 'function Fresh() {}' }, 400, 1000, /Fresh is taken by .* fresh/],
  ['POST', path, { id: 'fresh', script: 'function fresh() {}' }, 400, 1000, /fresh already exists/],
  ['POST', path, { script: 'function a() {}' }, 400, 1000, /id cannot be empty/],
  ['POST', path, '{bad', 400, 1000, /no JSON/],
  ['PUT', `${path}/q`, { script: 'function q() {}' }, 400, 1000, /id cannot be empty/],
  ['PUT', `${path}/q`, { id: 'r', script: 'function r() {}' }, 400, 1000, /path says q/],
  ['GET', `${path}/none`, undefined, 400, 1000, /none is not found/],
  ['DELETE', `${path}/none`, undefined, 404, 1002, /none is not found/],
];

for (const refusal of refusals) {
  test(`${refusal[0]} ${refusal[1]} is refused: ${refusal[5].source}`, async () => {
    const before = (await plane.request('GET', path)).json;
    assert.is(await wrongAnswer(plane, refusal), undefined);
    assert.equal((await plane.request('GET', path)).json, before);
  });
}

test.run();
