/** Records that another program left in the database damaged: named where they are asked for, in nobody else's way. */
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { writeDatabase } from '../../../host/meta/journal/database.js';
import { kinds } from '../../../host/meta/kinds.js';
import { temporaryFolder } from '../../support/harness.js';
import { portablePlugin, service, wasmModule } from '../../support/rest/archives.js';
import { startControlPlane } from '../../support/rest/control-plane.js';

/** Where a kind is kept, where it is asked for, and a request that makes a good one beside the damaged. */
const cases: readonly {
  readonly what: string;
  readonly kind: string;
  readonly key: (name: string) => string;
  readonly list: string;
  readonly good: readonly [path: string, body: Record<string, unknown>];
}[] = [
  {
    what: 'schema',
    kind: kinds.schema,
    key: (name) => `protobuf/${name}`,
    list: '/schemas/protobuf',
    good: ['/schemas/protobuf', { name: 'good', content: 'message A {}' }],
  },
  {
    what: 'service',
    kind: kinds.service,
    key: (name) => name,
    list: '/services',
    good: ['/services', { name: 'good', file: service('good', 'cost') }],
  },
  {
    what: 'script',
    kind: kinds.script,
    key: (name) => name,
    list: '/udf/javascript',
    good: ['/udf/javascript', { id: 'good', script: 'function good() {}' }],
  },
  {
    what: 'portable plugin',
    kind: kinds.plugin,
    key: (name) => `portables/${name}`,
    list: '/plugins/portables',
    good: ['/plugins/portables', { name: 'good', file: portablePlugin('good') }],
  },
  {
    what: 'connection',
    kind: kinds.connection,
    key: (name) => name,
    list: '/connections',
    good: ['/connections', { id: 'good', typ: 'mqtt', props: { server: 'tcp://127.0.0.1:1' } }],
  },
];
const damages = ['', 'nonsense', '{"folder":', 'null', '5', '[]', '{}', '{"folder": 7, "functions": 7, "props": 7}'];

for (const { what, kind, key, list, good } of cases) {
  test(`a damaged ${what} is named where it is asked for, and harms nothing else`, async () => {
    const data = temporaryFolder();
    const records = new Map(damages.map((text, i) => [key(`bad${i}`), text]));
    await writeDatabase(join(data, 'sqliteKV.db'), new Map([[kind, records]]), 1);
    const plane = await startControlPlane(data);
    for (let i = 0; i < damages.length; i++) {
      const answer = await plane.request('GET', `${list}/bad${i}`);
      assert.is(answer.status, 400, `${damages[i]}: ${answer.text}`);
      assert.match(answer.json.message, `bad${i}, the data in db may be corrupted`);
    }
    const created = await plane.request('POST', ...good);
    assert.is(created.status, 201, created.text);
    const module = { name: 'other', bytecode: wasmModule('other') };
    assert.is((await plane.request('POST', '/plugins/wasm', module)).status, 201);
    for (const path of [
      list,
      '/plugins/udfs',
      '/services/functions',
      '/data/export',
      '/v2/data/export',
      '/metadata/sinks/mqtt',
    ]) {
      assert.is((await plane.request('GET', path)).status, 200, path);
    }
    assert.match((await plane.request('GET', '/data/export')).text, /good/);
    // Deleted, replaced, or gone with an import: each is a way out.
    assert.is((await plane.request('DELETE', `${list}/bad0`)).status, 200);
    const { name: _name, id: _id, ...body } = good[1];
    if (what === 'schema' || what === 'script') {
      const named = what === 'script' ? { id: 'bad1', script: 'function bad1() {}' } : body;
      assert.is((await plane.request('PUT', `${list}/bad1`, named)).status, 200);
      assert.is((await plane.request('GET', `${list}/bad1`)).status, 200);
    }
    assert.is((await plane.request('POST', '/data/import', { content: '{}' })).status, 200);
    assert.equal((await plane.request('GET', list)).json, []);
    await plane.close();
    const again = await startControlPlane(data);
    assert.equal((await again.request('GET', list)).json, []);
    await again.close();
  });
}

test('a damaged configuration key hides no other, and can be replaced, deleted and imported away', async () => {
  const data = temporaryFolder();
  const records = damages.slice(0, 6).map((text, i) => [`sources.mqtt.bad${i}`, text] as const);
  const all = new Map([...records, ['sources.mqtt.good', '{"qos":0}'], ['sinks.mqtt.bad', 'x']]);
  await writeDatabase(join(data, 'sqliteKV.db'), new Map([[kinds.confKey, all]]), 1);
  const plane = await startControlPlane(data);
  const listed = (await plane.request('GET', '/metadata/sources/yaml/mqtt')).json;
  assert.equal(Object.keys(listed).sort(), ['default', 'good']);
  const { sources, sinks } = (await plane.request('GET', '/metadata/resources')).json;
  assert.is(Object.keys(sources[0]).length, records.length + 1, 'all names, so that they are found');
  assert.equal(sinks, [{ bad: 'mqtt' }]);
  assert.is((await plane.request('GET', '/metadata/resource')).status, 200);
  assert.equal(Object.keys(JSON.parse((await plane.request('GET', '/data/export')).json.sourceConfig.mqtt)), ['good']);
  const key = '/metadata/sources/mqtt/confKeys';
  assert.is((await plane.request('PUT', `${key}/bad1`, { qos: 2 })).status, 200);
  assert.is((await plane.request('GET', '/metadata/sources/yaml/mqtt')).json.bad1.qos, 2);
  assert.is((await plane.request('DELETE', `${key}/bad2`)).status, 200);
  assert.is((await plane.request('POST', '/data/import', { content: '{}' })).status, 200);
  assert.equal((await plane.request('GET', '/metadata/resources')).json, { sources: [], sinks: [], connections: [] });
  await plane.close();
});

test.run();
