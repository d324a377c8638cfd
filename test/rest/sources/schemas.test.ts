import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startControlPlane } from '../../support/rest/control-plane.js';
import { fileUri, type Refusal, sendForm, serveBytes, wrongAnswer } from '../../support/rest/given-files.js';
import { writeZip } from '../../support/rest/zip-writer.js';

const plane = await startControlPlane(undefined, { KUIPER__BASIC__ENABLEPRIVATENET: 'true' });
test.after(() => plane.close());

const proto = (field = 'a') => `syntax = "proto3"; message M { string ${field} = 1; }`;
const path = '/schemas/protobuf';

test('creates, lists, describes, replaces and deletes a schema', async () => {
  const created = await plane.request('POST', path, { name: 'one', content: proto() });
  assert.equal([created.status, created.text], [201, 'protobuf schema one is created']);
  assert.equal((await plane.request('GET', path)).json, ['one']);
  const { file, ...described } = (await plane.request('GET', `${path}/one`)).json;
  assert.equal(described, { type: 'protobuf', name: 'one', content: proto() });
  assert.is(readFileSync(file, 'utf8'), proto());
  const replaced = await plane.request('PUT', `${path}/one`, { content: proto('b') });
  assert.equal([replaced.status, replaced.text], [200, 'protobuf schema one is updated']);
  const second = (await plane.request('GET', `${path}/one`)).json.file;
  assert.is(readFileSync(second, 'utf8'), proto('b'));
  assert.not.ok(existsSync(file), 'files of the old one are gone');
  assert.is((await plane.request('DELETE', `${path}/one`)).text, 'protobuf schema one is deleted');
  assert.not.ok(existsSync(second));
  assert.equal((await plane.request('GET', path)).json, []);
});

test('unpacks an archive with the files it imports, and nothing else', async () => {
  const zip = writeZip([
    { name: 'main.proto', content: proto() },
    { name: 'main/part.proto', content: 'part' },
    { name: 'other.txt', content: 'other' },
  ]);
  await plane.request('POST', path, { name: 'main', file: fileUri('main.zip', zip) });
  const { file, content } = (await plane.request('GET', `${path}/main`)).json;
  assert.is(content, proto());
  assert.is(readFileSync(join(dirname(file), 'main/part.proto'), 'utf8'), 'part');
  assert.not.ok(existsSync(join(dirname(file), 'other.txt')));
});

test('takes a schema from a URL', async () => {
  const served = await serveBytes(proto());
  assert.is((await plane.request('POST', path, { name: 'far', file: `${served.url}/far.proto` })).status, 201);
  served.close();
  assert.is((await plane.request('GET', `${path}/far`)).json.content, proto());
});

test('replaces only by a greater version, compared as text', async () => {
  await plane.request('POST', path, { name: 'ver', content: proto(), version: '2' });
  for (const version of ['1', '2', '10', undefined]) {
    const refused = await plane.request('PUT', `${path}/ver`, { content: proto('x'), version });
    assert.is(refused.status, 400);
    assert.match(refused.json.message, /version 2/);
  }
  assert.is((await plane.request('PUT', `${path}/ver`, { content: proto('c'), version: '3' })).status, 200);
  const described = (await plane.request('GET', `${path}/ver`)).json;
  assert.equal([described.version, described.content], ['3', proto('c')]);
});

test('takes uploads: 201 for a new one, 200 for another', async () => {
  const upload = (content: string, version: string) =>
    sendForm(plane, 'PUT', `${path}/up/upload`, { field: 'file', name: 'x.proto', content }, { version });
  const first = await upload(proto(), '1');
  assert.equal([first.status, first.json], [201, { type: 'protobuf', name: 'up' }]);
  assert.is(first.headers.get('location'), '/schemas/protobuf/up');
  assert.is((await upload(proto('b'), '2')).status, 200);
  assert.match((await upload(proto(), '1')).json.message, /version 2/);
  const empty = await sendForm(plane, 'PUT', `${path}/up/upload`, undefined, { version: '5' });
  assert.match(empty.json.message, /no field file/);
  assert.is((await plane.request('GET', `${path}/up`)).json.content, proto('b'));
});

test('an upload may be a text field of the form; a schema of type custom can not be uploaded', async () => {
  const text = await sendForm(plane, 'PUT', `${path}/typed/upload`, undefined, { file: proto('typed') });
  assert.is(text.status, 201);
  assert.is((await plane.request('GET', `${path}/typed`)).json.content, proto('typed'));
  const custom = await sendForm(plane, 'PUT', '/schemas/custom/own/upload', { field: 'file', name: 'x', content: 'a' });
  assert.equal([custom.status, custom.json.error], [400, 1000]);
  assert.match(custom.json.message, /it has a plugin or a soFile/);
  assert.equal((await plane.request('GET', '/schemas/custom')).json, []);
});

test('an upload has one file, and one named as an archive is one', async () => {
  const twice = new FormData();
  for (const name of ['a.proto', 'b.proto']) twice.append('file', new Blob([proto()]), name);
  const answer = await fetch(`${plane.base}${path}/two/upload`, { method: 'PUT', body: twice });
  assert.is(answer.status, 400);
  assert.match(((await answer.json()) as { message: string }).message, /2 fields file/);
  const lie = await sendForm(plane, 'PUT', `${path}/lie/upload`, { field: 'file', name: 'lie.ZIP', content: 'PK lie' });
  assert.equal([lie.status, lie.json.error], [400, 1000]);
  assert.match(lie.json.message, /invalid zip archive/);
  for (const name of ['two', 'lie']) assert.is((await plane.request('GET', `${path}/${name}`)).status, 400);
});

test('of two creations at once one wins', async () => {
  const create = () => plane.request('POST', path, { name: 'race', content: proto() });
  const statuses = (await Promise.all([create(), create(), create()])).map(({ status }) => status).sort();
  assert.equal(statuses, [201, 400, 400]);
});

test('is there after a restart, without leftovers of a crash', async () => {
  const first = await startControlPlane();
  await first.request('POST', path, { name: 'kept', content: proto() });
  const { file } = (await first.request('GET', `${path}/kept`)).json;
  await first.close();
  const { mkdirSync } = await import('node:fs');
  const leftover = join(dirname(dirname(file)), 'kept@00000000');
  mkdirSync(leftover);
  const second = await startControlPlane(first.data);
  assert.is((await second.request('GET', `${path}/kept`)).json.content, proto());
  assert.not.ok(existsSync(leftover));
  await second.close();
});

const bomb = writeZip([
  { name: 'z.proto', content: proto() },
  { name: '../z.proto', content: 'out' },
]);
const refusals: Refusal[] = [
  ['POST', path, { name: 'n' }, 400, 1000, /content or file is required/],
  ['POST', path, { content: proto() }, 400, 1000, /name is required/],
  ['POST', path, { name: 'n', content: 'a', file: 'file:///b' }, 400, 1000, /both given/],
  ['POST', path, { name: 'n', content: 5 }, 400, 1000, /content must be a text/],
  ['POST', path, { name: 'a b', content: 'a' }, 400, 1000, /a b/],
  ['POST', path, { name: 'n', file: 'file:///none/x.proto' }, 400, 1000, /x\.proto: access is denied/],
  ['POST', path, { name: 'n', file: 'ftp://x/y.proto' }, 400, 1000, /only the schemes/],
  ['POST', path, { name: 'z', file: fileUri('z.zip', bomb) }, 400, 1000, /leaves the folder/],
  ['POST', path, { name: 'q', file: fileUri('q.zip', writeZip([{ name: 'p.proto' }])) }, 400, 1000, /q\.proto/],
  ['POST', path, { name: 'q', file: fileUri('q.proto', Buffer.from([0xff, 0xfe])) }, 400, 1000, /no text in UTF-8/],
  ['POST', path, { name: 'q', file: fileUri('l.zip', Buffer.from('lie')) }, 400, 1000, /invalid zip archive/],
  ['POST', path, '{bad', 400, 1000, /no JSON/],
  ['POST', path, '', 400, 1000, /empty/],
  ['POST', path, [], 400, 1000, /object was expected/],
  ['POST', path, { name: 'main', content: 'a' }, 400, 1000, /main already registered/],
  ['POST', '/schemas/custom', { name: 'n' }, 400, 1000, /soFile is required/],
  ['POST', '/schemas/custom', { name: 'n', soFile: 'file:///none.so' }, 400, 1000, /none\.so: access is denied/],
  ['POST', path, { name: 'n', content: 'a', soFile: 'lib.so' }, 400, 1000, /lib\.so.*only the schemes/],
  ['POST', '/schemas/thrift', { name: 'n', content: 'a' }, 400, 1000, /unknown schema type thrift/],
  ['GET', '/schemas/thrift', undefined, 400, 1000, /avro/],
  ['GET', `${path}/none`, undefined, 400, 1000, /none is not found/],
  ['DELETE', `${path}/none`, undefined, 400, 1000, /none is not found/],
  ['PUT', `${path}/main`, { name: 'other', content: 'a' }, 400, 1000, /path says main/],
  ['PUT', `${path}/main/upload`, { a: 1 }, 415, 1000, /multipart/],
];

for (const refusal of refusals) {
  test(`${refusal[0]} ${refusal[1]} refuses ${String(JSON.stringify(refusal[2])).slice(0, 70)}`, async () => {
    const before = (await plane.request('GET', path)).json;
    assert.is(await wrongAnswer(plane, refusal), undefined);
    assert.equal((await plane.request('GET', path)).json, before);
  });
}

test('an upload that is no form, of an unknown type, is refused and the server lives', async () => {
  const refused = await plane.request('PUT', '/schemas/nosuch/x/upload', { file: 'x' });
  assert.equal([refused.status, refused.json.error], [415, 1000]);
  assert.match(refused.json.message, /multipart/);
  assert.is((await plane.request('GET', '/ping')).status, 200);
});

test.run();
