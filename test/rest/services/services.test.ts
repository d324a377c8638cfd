import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startControlPlane } from '../../support/rest/control-plane.js';
import { fileUri, type Refusal, wrongAnswer } from '../../support/rest/given-files.js';
import { writeZip } from '../../support/rest/zip-writer.js';

const plane = await startControlPlane();
test.after(() => plane.close());

const proto = `syntax = "proto3"; package shop;
import "google/api/annotations.proto";
message Ask { string item = 1; } message Answer { double price = 1; }
service Shop {
  rpc GetPrice(Ask) returns (Answer) { option (google.api.http) = { get: "/v1/{item}" }; }
  rpc GetStock(Ask) returns (Answer) {}
}`;
const address = 'http://127.0.0.1:5/shop';
const pricing = {
  address,
  protocol: 'rest',
  options: { headers: { Authorization: 'Bearer x', 'X-A': 'b' } },
  schemaType: 'protobuf',
  schemaFile: 'shop.proto',
  functions: [{ name: 'itemPrice', serviceName: 'GetPrice' }],
};

/** URI of an archive that describes a service. */
function archive(name: string, interfaces: Record<string, unknown>, schema = proto): string {
  const zip = writeZip([
    { name: `${name}.json`, content: JSON.stringify({ about: {}, interfaces }) },
    { name: 'schemas/shop.proto', content: schema },
  ]);
  return fileUri(`${name}.zip`, zip);
}

const record = (FuncName: string, MethodName: string) => ({
  FuncName,
  MethodName,
  ServiceName: 'shop',
  InterfaceName: 'pricing',
  Addr: address,
});

test('registers a service with its functions, replaces and deletes it', async () => {
  const created = await plane.request('POST', '/services', { name: 'shop', file: archive('shop', { pricing }) });
  assert.equal([created.status, created.text], [201, 'service shop is created']);
  assert.equal((await plane.request('GET', '/services')).json, ['shop']);
  const functions = (await plane.request('GET', '/services/functions')).json;
  assert.equal(functions, [record('itemPrice', 'GetPrice'), record('GetStock', 'GetStock')]);
  assert.equal((await plane.request('GET', '/services/functions/itemPrice')).json, functions[0]);
  const described = (await plane.request('GET', '/services/shop')).json.Interfaces.pricing;
  assert.equal([described.Addr, described.Protocol], [address, 'rest']);
  assert.equal(described.Functions, ['itemPrice', 'GetStock']);
  assert.equal(described.Options.headers, { Authorization: '******', 'X-A': 'b' });
  const both = { ...pricing, functions: [...pricing.functions, { name: 'stock', serviceName: 'GetStock' }] };
  const file = archive('shop', { pricing: both });
  assert.is((await plane.request('PUT', '/services/shop', { file })).text, 'service shop is updated');
  assert.is((await plane.request('GET', '/services/functions/stock')).status, 200);
  assert.is((await plane.request('GET', '/services/functions/GetStock')).status, 404);
  assert.is(readdirSync(join(plane.data, 'services')).length, 1, 'files of the old one are gone');
  assert.is((await plane.request('DELETE', '/services/shop')).text, 'service shop is deleted');
  assert.equal((await plane.request('GET', '/services/functions')).json, []);
  assert.equal(readdirSync(join(plane.data, 'services')), []);
});

test('takes functions without a schema from their list', async () => {
  const plain = { address, protocol: 'rest', schemaless: true, functions: [{ name: 'anything' }] };
  await plane.request('POST', '/services', { name: 'free', file: archive('free', { plain }) });
  assert.is((await plane.request('GET', '/services/functions/anything')).json.MethodName, 'anything');
});

test('is there after a restart', async () => {
  const first = await startControlPlane();
  await first.request('POST', '/services', { name: 'shop', file: archive('shop', { pricing }) });
  await first.close();
  const second = await startControlPlane(first.data);
  assert.equal((await second.request('GET', '/services')).json, ['shop']);
  assert.ok(existsSync(join(first.data, 'services')) && readdirSync(join(first.data, 'services')).length === 1);
  await second.close();
});

test('names of functions are taken once', async () => {
  const named = (name: string) => ({ ...pricing, functions: [{ name, serviceName: 'GetPrice' }] });
  await plane.request('POST', '/services', { name: 'taken', file: archive('taken', { pricing: named('mine') }) });
  const builtIn = await plane.request('POST', '/services', {
    name: 'b',
    file: archive('b', { pricing: named('abs') }),
  });
  assert.match(builtIn.json.message, /abs is taken by a built-in function/);
  const twice = await plane.request('POST', '/services', { name: 'c', file: archive('c', { pricing: named('MINE') }) });
  assert.match(twice.json.message, /MINE is taken by service taken/);
  const stock = archive('d', { pricing: named('own') });
  assert.match(
    (await plane.request('POST', '/services', { name: 'd', file: stock })).json.message,
    /GetStock is taken/,
  );
  const script = { id: 'mine', script: 'function mine() {}' };
  assert.match((await plane.request('POST', '/udf/javascript', script)).json.message, /taken by service taken/);
});

const bad = (change: object, schema?: string) => ({
  name: 'bad',
  file: archive('bad', { p: { ...pricing, ...change } }, schema),
});
const refusals: Refusal[] = [
  ['POST', '/services', { name: 'bad' }, 400, 1000, /file is required/],
  ['POST', '/services', { file: 'file:///x' }, 400, 1000, /id cannot be empty/],
  ['POST', '/services', { name: 'bad', file: 'file:///none.zip' }, 400, 1000, /none\.zip/],
  ['POST', '/services', { name: 'bad', file: fileUri('x.zip', 'no zip') }, 400, 1000, /invalid zip archive/],
  ['POST', '/services', { name: 'bad', file: archive('shop', { pricing }) }, 400, 1000, /no file bad\.json/],
  ['POST', '/services', { name: 'bad', file: archive('bad', {}) }, 400, 1000, /declares no interfaces/],
  ['POST', '/services', bad({ protocol: 'soap' }), 400, 1000, /interface p: protocol must be one of/],
  ['POST', '/services', bad({ address: 'nowhere' }), 400, 1000, /address must be a URL/],
  ['POST', '/services', bad({ schemaFile: 'none.proto' }), 400, 1000, /no file none\.proto/],
  ['POST', '/services', bad({ schemaType: 'avro' }), 400, 1000, /schemaType must be protobuf/],
  ['POST', '/services', bad({}, 'messag A {'), 400, 1000, /no protobuf schema/],
  ['POST', '/services', bad({}, 'syntax = "proto3"; message A {}'), 400, 1000, /no method GetPrice/],
  ['POST', '/services', bad({ functions: [{ name: 'a b', serviceName: 'GetPrice' }] }), 400, 1000, /"a b" can't be/],
  ['POST', '/services', bad({ functions: 5 }), 400, 1000, /functions must be a list/],
  ['POST', '/services', bad({ options: 5 }), 400, 1000, /options must be an object/],
  ['POST', '/services', '{bad', 400, 1000, /no JSON/],
  ['GET', '/services/none', undefined, 404, 1002, /none/],
  ['PUT', '/services/none', { name: 'none', file: 'file:///x' }, 404, 1002, /none/],
  ['DELETE', '/services/none', undefined, 404, 1002, /none/],
  ['GET', '/services/functions/none', undefined, 404, 1002, /none/],
];

for (const refusal of refusals) {
  test(`${refusal[0]} ${refusal[1]} is refused: ${refusal[5].source}`, async () => {
    const before = (await plane.request('GET', '/services')).json;
    assert.is(await wrongAnswer(plane, refusal), undefined);
    assert.equal((await plane.request('GET', '/services')).json, before);
  });
}

test.run();
