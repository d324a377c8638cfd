import { request as httpRequest } from 'node:http';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startControlPlane } from '../../support/rest/control-plane.js';

const plane = await startControlPlane();
test.after(() => plane.close());

test('tells about itself', async () => {
  const { json } = await plane.request('GET', '/');
  assert.is(json.version, '0.0.0-test');
  assert.type(json.os, 'string');
  assert.ok(Number.isInteger(json.upTimeSeconds));
  assert.match(json.cpuUsage, /^\d+\.\d\d%$/);
  assert.is((await plane.request('POST', '/')).status, 200);
});

test('answers a ping with an empty body', async () => {
  const answer = await plane.request('GET', '/ping');
  assert.is(answer.status, 200);
  assert.is(answer.text, '');
  assert.is(answer.headers.get('access-control-allow-origin'), null);
});

for (const [method, path, status] of [
  ['GET', '/nosuch', 404],
  ['POST', '/nosuch', 404],
  ['GET', '/rules/a/nosuch', 404],
  ['GET', '/streams/', 404],
  ['POST', '/ping', 405],
  ['DELETE', '/streams', 405],
  ['POST', '/streams/a', 405],
  ['PATCH', '/rules/a', 405],
  ['GET', '/rules/a/start', 405],
] as const) {
  test(`${method} ${path} is answered with ${status}`, async () => {
    const answer = await plane.request(method, path);
    assert.is(answer.status, status);
    assert.is(answer.text, status === 404 ? '404 page not found\n' : '');
  });
}

test('refuses a path that is not correctly encoded', async () => {
  assert.is((await plane.request('GET', '/streams/%zz')).status, 400);
});

test('refuses a body beyond the limit without reading it', async () => {
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const { hostname, port } = new URL(plane.base);
    const request = httpRequest({
      hostname,
      port,
      method: 'POST',
      path: '/streams',
      headers: { 'content-length': 1 << 30 },
    });
    request.on('response', (response) => resolve(response.statusCode));
    request.on('error', reject);
    request.write('{');
  });
  assert.is(status, 413);
});

test('registers, lists, replaces and deletes configuration keys', async () => {
  const path = '/metadata/sources/mqtt/confKeys/ck';
  assert.is((await plane.request('PUT', path, { qos: 1, password: 'hidden', nested: { token: 't' } })).status, 200);
  const list = (await plane.request('GET', '/metadata/sources/yaml/mqtt')).json;
  assert.equal(list.ck, { qos: 1, password: '******', nested: { token: '******' } });
  assert.is(list.default.server, 'tcp://127.0.0.1:1883');
  assert.is((await plane.request('PUT', path, { qos: 2 })).text, '');
  assert.equal((await plane.request('GET', '/metadata/sources/yaml/mqtt')).json.ck, { qos: 2 });
  assert.is((await plane.request('DELETE', path)).status, 200);
  assert.is((await plane.request('DELETE', path)).status, 400);
  assert.is((await plane.request('GET', '/metadata/sources/yaml/mqtt')).json.ck, undefined);
  assert.equal((await plane.request('GET', '/metadata/sources/yaml/memory')).json, {});
});

for (const [method, path, body, code] of [
  ['PUT', '/metadata/sources/mqtt/confKeys/b', [], 5000],
  ['PUT', '/metadata/sources/mqtt/confKeys/b', '{bad', 5000],
  ['PUT', '/metadata/sources/mqtt/confKeys/b', '', 5000],
  ['PUT', '/metadata/sources/mqtt/confKeys/a%20b', { a: 1 }, 1000],
  ['GET', '/metadata/sources/yaml/nosuch', undefined, 5000],
  ['DELETE', '/metadata/sources/nosuch/confKeys/k', undefined, 5000],
] as const) {
  test(`${method} ${path} refuses ${JSON.stringify(body)}`, async () => {
    const answer = await plane.request(method, path, body);
    assert.is(answer.status, 400);
    assert.is(answer.json.error, code);
  });
}

test('a second server on the same folder is refused with the pid of the first', async () => {
  let reason = '';
  await startControlPlane(plane.data).catch((error: Error) => {
    reason = error.message;
  });
  assert.match(reason, new RegExp(`in use by process ${process.pid}`));
});

test('a request to stop is passed on after its answer', async () => {
  assert.is((await plane.request('POST', '/stop')).text, 'stop success');
  await new Promise((resolve) => setImmediate(resolve));
  assert.is(plane.stopRequests, 1);
});

test.run();
