import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startControlPlane } from './control-plane.js';
import { type Refusal, sendForm, serveBytes, wrongAnswer } from './given-files.js';

const plane = await startControlPlane(undefined, { KUIPER__BASIC__ENABLEPRIVATENET: 'true' });
const guarded = await startControlPlane(undefined, { KUIPER__BASIC__ALLOWEXTERNALFILEACCESS: 'false' });
test.after(async () => {
  await plane.close();
  await guarded.close();
});

const path = '/config/uploads';

test('stores texts, forms and what a URL names, and lists absolute paths', async () => {
  const text = await plane.request('POST', path, { name: 'a.txt', content: 'one' });
  assert.equal([text.status, text.text], [201, join(plane.data, 'uploads/a.txt')]);
  const bytes = Buffer.from([0, 255, 13, 10, 45, 45]);
  const form = await sendForm(plane, 'POST', path, { field: 'uploadFile', name: 'b.bin', content: bytes });
  assert.is(form.status, 201);
  assert.equal(readFileSync(form.text), bytes);
  const served = await serveBytes('far');
  const far = await plane.request('POST', path, { name: 'c.txt', file: `${served.url}/c` });
  assert.is(readFileSync(far.text, 'utf8'), 'far');
  const missing = await plane.request('POST', path, { name: 'd.txt', file: `${served.url}/missing` });
  assert.equal([missing.status, missing.json.error], [400, 1000]);
  assert.match(missing.json.message, /404/);
  served.close();
  const names = (await plane.request('GET', path)).json as string[];
  assert.equal(
    names,
    ['a.txt', 'b.bin', 'c.txt'].map((name) => join(plane.data, 'uploads', name)),
  );
});

test('overwrites a file of the same name and deletes it', async () => {
  for (const content of ['1', '22']) await plane.request('POST', path, { name: 'o.txt', content });
  assert.is(readFileSync(join(plane.data, 'uploads/o.txt'), 'utf8'), '22');
  const deleted = await plane.request('DELETE', `${path}/o.txt`);
  assert.equal([deleted.status, deleted.text], [200, 'ok']);
});

test('an empty file can be stored', async () => {
  assert.is((await plane.request('POST', path, { name: 'empty', content: '' })).status, 201);
});

test('only uploaded files can be named when external files are not allowed', async () => {
  const { text } = await guarded.request('POST', path, { name: 'in.proto', content: 'message A {}' });
  const inside = await guarded.request('POST', '/schemas/protobuf', { name: 'in', file: `file://${text}` });
  assert.is(inside.status, 201);
  const outside = await guarded.request('POST', '/schemas/protobuf', { name: 'out', file: 'file:///etc/hostname' });
  assert.match(outside.json.message, /access is denied/);
  const loopback = await guarded.request('POST', path, { name: 'x', file: 'http://127.0.0.1:1/x' });
  assert.equal([loopback.status, loopback.json.error], [400, 1000]);
});

test('refuses a form without its field, and a form that is none', async () => {
  const other = await sendForm(plane, 'POST', path, { field: 'wrong', name: 'w.txt', content: 'a' });
  assert.match(other.json.message, /no field uploadFile/);
  const broken = await plane.request('POST', path, 'no form', { 'content-type': 'multipart/form-data; boundary=x' });
  assert.equal([broken.status, broken.json.error], [400, 1000]);
});

const refusals: Refusal[] = [
  ['POST', path, { name: 'x.txt' }, 400, 1000, /content or file is required/],
  ['POST', path, { content: 'a' }, 400, 1000, /name .* is required/],
  ['POST', path, { name: '../x', content: 'a' }, 400, 1000, /must not begin with a dot/],
  ['POST', path, { name: 'a/x', content: 'a' }, 400, 1000, /must not hold folders/],
  ['POST', path, { name: 'a\u0000x', content: 'a' }, 400, 1000, /control characters/],
  ['POST', path, { name: 'x'.repeat(300), content: 'a' }, 400, 1000, /longer than 255/],
  ['POST', path, { name: 'x', content: 'a', file: 'b' }, 400, 1000, /both given/],
  ['POST', path, { name: 7, content: 'a' }, 400, 1000, /name must be a text/],
  ['POST', path, 'plain', 400, 1000, /no JSON/],
  ['DELETE', `${path}/none.txt`, undefined, 400, 1000, /none\.txt is not found/],
  ['DELETE', `${path}/..%2Fhaumea.lock`, undefined, 400, 1000, /must not/],
];

for (const refusal of refusals) {
  test(`${refusal[0]} ${refusal[1]} refuses ${String(JSON.stringify(refusal[2])).slice(0, 60)}`, async () => {
    const before = (await plane.request('GET', path)).json;
    assert.is(await wrongAnswer(plane, refusal), undefined);
    assert.equal((await plane.request('GET', path)).json, before);
  });
}

test.run();
