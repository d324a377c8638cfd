import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { temporaryFolder } from '../../support/harness.js';
import { startControlPlane } from '../../support/rest/control-plane.js';
import { type Refusal, sendForm, serveBytes, wrongAnswer } from '../../support/rest/given-files.js';

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

test('a name may lead through folders, which are there as long as they hold files', async () => {
  const before = (await plane.request('GET', path)).json as string[];
  const first = await plane.request('POST', path, { name: 'certs/root/ca.pem', content: 'ca' });
  assert.equal([first.status, first.text], [201, join(plane.data, 'uploads/certs/root/ca.pem')]);
  const second = await plane.request('POST', path, { name: 'certs/key.pem', content: 'key' });
  assert.equal((await plane.request('GET', path)).json, [...before, first.text, second.text].sort());
  for (const name of ['certs', 'certs/root', 'certs/key.pem/x', 'certs/key.pem/x/y']) {
    const refused = await plane.request('POST', path, { name, content: 'a' });
    assert.equal([refused.status, refused.json.error], [400, 1000], name);
    assert.match(refused.json.message, /is the folder of certs|leads through the file certs\/key\.pem/);
  }
  assert.is((await plane.request('DELETE', `${path}/certs%2Froot`)).status, 400);
  assert.is((await plane.request('DELETE', `${path}/certs%2Froot%2Fca.pem`)).text, 'ok');
  assert.not.ok(existsSync(join(plane.data, 'uploads/certs/root')));
  assert.is((await plane.request('DELETE', `${path}/certs%2Fkey.pem`)).text, 'ok');
  assert.not.ok(existsSync(join(plane.data, 'uploads/certs')));
  const freed = await plane.request('POST', path, { name: 'certs', content: 'a file now' });
  assert.is(freed.status, 201);
  await plane.request('DELETE', `${path}/certs`);
  assert.equal((await plane.request('GET', path)).json, before);
});

test('changes below one folder at the same time do not disturb each other', async () => {
  const names = Array.from({ length: 12 }, (_, i) => `busy/${i % 3}/${i}.txt`);
  const store = (name: string) => plane.request('POST', path, { name, content: name });
  const remove = (name: string) => plane.request('DELETE', `${path}/${encodeURIComponent(name)}`);
  for (const { status } of await Promise.all(names.map(store))) assert.is(status, 201);
  const mixed = await Promise.all(names.flatMap((name) => [remove(name), store(name), remove(name)]));
  // Requests may overtake each other: a file may be gone already, but nothing else goes wrong.
  for (const { status, text } of mixed) assert.ok(status < 400 || /is not found/.test(text), text);
  await Promise.all(names.map(remove));
  assert.not.ok(existsSync(join(plane.data, 'uploads/busy')));
});

test('uploads in folders are exported and imported, and go with an import without them', async () => {
  await plane.request('POST', path, { name: 'deep/er/x.txt', content: 'x' });
  const content = (await plane.request('GET', '/data/export')).text;
  assert.is(JSON.parse(content).uploads['deep/er/x.txt'], '{"name":"deep/er/x.txt","content":"x"}');
  assert.is((await plane.request('POST', '/data/import', { content: '{}' })).status, 200);
  assert.equal(readdirSync(join(plane.data, 'uploads')), []);
  assert.is((await plane.request('POST', '/data/import', { content })).status, 200);
  assert.is((await plane.request('GET', '/data/export')).text, content);
  const changed = { uploads: { deep: JSON.stringify({ name: 'deep', content: 'a file now' }) } };
  assert.is((await plane.request('POST', '/data/import', { content: JSON.stringify(changed) })).status, 200);
  assert.equal((await plane.request('GET', path)).json, [join(plane.data, 'uploads/deep')]);
});

test("an import refuses uploads whose names stand in each other's way, or are not those of their texts", async () => {
  const upload = (name: string) => JSON.stringify({ name, content: 'a' });
  const uploads = { way: upload('way'), 'way/x': upload('way/x'), other: upload('another') };
  const refused = await plane.request('POST', '/data/import?atomic=1', { content: JSON.stringify({ uploads }) });
  assert.is(refused.status, 400);
  const failures = JSON.parse(refused.json.message).uploads;
  assert.equal(Object.keys(failures), ['way/x', 'other']);
  assert.match(failures['way/x'], /leads through the file way/);
  assert.match(failures.other, /name is another, but/);
});

test('what a crash left of a write is removed at the next start, and never listed', async () => {
  const data = temporaryFolder();
  mkdirSync(join(data, 'uploads/in'), { recursive: true });
  for (const name of ['.new-0123456789ab', 'in/.new-0123456789ab', 'kept.txt', 'in/.own']) {
    writeFileSync(join(data, 'uploads', name), 'half');
  }
  const restarted = await startControlPlane(data);
  assert.equal((await restarted.request('GET', path)).json, [join(data, 'uploads/kept.txt')]);
  assert.equal(readdirSync(join(data, 'uploads')), ['in', 'kept.txt']);
  assert.equal(readdirSync(join(data, 'uploads/in')), ['.own']);
  await restarted.close();
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
  ['POST', path, { name: '../x', content: 'a' }, 400, 1000, /part that begins with a dot/],
  ['POST', path, { name: 'a/../../x', content: 'a' }, 400, 1000, /part that begins with a dot/],
  ['POST', path, { name: 'a/.x', content: 'a' }, 400, 1000, /part that begins with a dot/],
  ['POST', path, { name: '/etc/x', content: 'a' }, 400, 1000, /folder without a name/],
  ['POST', path, { name: 'a//x', content: 'a' }, 400, 1000, /folder without a name/],
  ['POST', path, { name: 'a/', content: 'a' }, 400, 1000, /folder without a name/],
  ['POST', path, { name: '..\\x', content: 'a' }, 400, 1000, /backslashes/],
  ['POST', path, { name: 'a/'.repeat(600), content: 'a' }, 400, 1000, /longer than 1024/],
  ['POST', path, { name: 'a\u0000x', content: 'a' }, 400, 1000, /control characters/],
  ['POST', path, { name: 'x'.repeat(300), content: 'a' }, 400, 1000, /part longer than 255/],
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
