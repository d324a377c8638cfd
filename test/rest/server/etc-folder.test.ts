/** What the etc folder and the environment bring: configuration keys of sources and sinks, connections. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { temporaryFolder } from '../../support/harness.js';
import { startControlPlane } from '../../support/rest/control-plane.js';

/** A folder with these files below `etc`. */
function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, 'etc', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return folder;
}

const connectionFile = 'connections/connection.yaml';

test('configuration keys of sources and sinks', async () => {
  const folder = folderWith({
    'mqtt_source.yaml': 'default:\n  server: tcp://file:1883\nlab:\n  qos: 2\n',
    'sources/random.yaml': 'default:\n  interval: 10s\n',
    'sinks/sql.yaml': 'plant:\n  dburl: mysql://u:secret@h/d\n',
  });
  const server = await startControlPlane(folder, { MQTT_SOURCE__LAB__SERVER: 'tcp://env:1883' });
  const keys = async (path: string) => (await server.request('GET', `/metadata/${path}`)).json;
  const mqtt = await keys('sources/yaml/mqtt');
  assert.equal([mqtt.default.server, mqtt.lab], ['tcp://file:1883', { qos: 2, server: 'tcp://env:1883' }]);
  assert.equal(await keys('sources/yaml/random'), { default: { interval: '10s' } });
  assert.equal(await keys('sinks/yaml/sql'), { plant: { dburl: 'mysql://u:******@h/d' } });
  await server.close();
});

test('connections are created at start, the environment beats the file', async () => {
  const folder = folderWith({
    [connectionFile]: 'mqtt:\n  Local:\n    server: tcp://127.0.0.1:1\n    clientid: c\nsql:\n  db:\n    dburl: x\n',
  });
  const env = { CONNECTION__MQTT__LOCAL__SERVER: 'tcp://127.0.0.1:2', CONNECTION__KAFKA__K1__BROKERS: '127.0.0.1:3' };
  const server = await startControlPlane(folder, env);
  const all = (await server.request('GET', '/connections')).json as { id: string; typ: string; props: object }[];
  assert.equal(
    all.map(({ id, typ, props }) => [id, typ, props]),
    [
      ['Local', 'mqtt', { server: 'tcp://127.0.0.1:2', clientid: 'c' }],
      ['db', 'sql', { dburl: 'x' }],
      ['k1', 'kafka', { brokers: '127.0.0.1:3' }],
    ],
  );
  await server.close();
});

test('changes that clients made to such a connection hold, and the file can take one away', async () => {
  const folder = folderWith({ [connectionFile]: 'mqtt:\n  a:\n    server: tcp://127.0.0.1:1\n' });
  const first = await startControlPlane(folder);
  const changed = { id: 'a', typ: 'mqtt', props: { server: 'tcp://127.0.0.1:9' } };
  assert.is((await first.request('PUT', '/connections/a', changed)).status, 200);
  await first.close();
  const second = await startControlPlane(folder);
  assert.equal((await second.request('GET', '/connections/a')).json.props, changed.props);
  await second.close();
  writeFileSync(join(folder, 'etc', connectionFile), 'mqtt:\n  a:\n    xoperation: delete\n');
  const third = await startControlPlane(folder);
  assert.equal((await third.request('GET', '/connections')).json, []);
  await third.close();
});

test('a connection that can not be read stops the start with its name', async () => {
  const refusal = async (text: string) => {
    try {
      await startControlPlane(folderWith({ [connectionFile]: text }));
    } catch (error) {
      return (error as Error).message;
    }
    return 'started';
  };
  assert.match(await refusal('mqtt: 1\n'), /connection\.yaml: connection mqtt must be a mapping/);
  assert.match(await refusal('mqtt:\n  a: [1]\n'), /connection mqtt\.a must be a mapping/);
  assert.match(
    await refusal('mqtt:\n  a b:\n    qos: 1\n'),
    /connection mqtt\.a b id 'a b' contains invalid characters/,
  );
  assert.match(await refusal('mqtt:\n  a:\n    xoperation: update\n'), /mqtt\.a\.xoperation must be create or delete/);
});

test.run();
