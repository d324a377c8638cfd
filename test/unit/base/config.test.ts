import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { keysFromEnvironment, loadConfig } from '../../../host/base/config/config.js';
import { configSpec } from '../../../host/base/config/config-spec.js';
import { unusedIn } from '../../../host/base/fields/field.js';
import { temporaryFolder } from '../../support/harness.js';

const folder = temporaryFolder();
let count = 0;

function yaml(text: string): string {
  const path = join(folder, `${count++}.yaml`);
  writeFileSync(path, text);
  return path;
}

async function refusal(file: string | undefined, env: Record<string, string> = {}): Promise<string> {
  try {
    await loadConfig({ file, env: { KuiperBaseKey: folder, ...env } });
  } catch (error) {
    return (error as Error).message;
  }
  return 'accepted';
}

test('has a default for every key', async () => {
  const { config, folders } = await loadConfig({ env: { KuiperBaseKey: folder } });
  assert.is(config.basic.restPort, 9081);
  assert.is(config.basic.gracefulShutdownTimeout, 10_000);
  assert.is(config.source.httpServerPort, 10_081);
  assert.is(config.rule.bufferLength, 1024);
  assert.is(config.store.sqlite.name, '');
  assert.is(config.basic.metricsDumpConfig.retainedDuration, 21_600_000);
  assert.equal(folders, { etc: join(folder, 'etc'), data: join(folder, 'data'), log: join(folder, 'log') });
});

test('reads the file, and the environment over it', async () => {
  const file = yaml('basic:\n  restPort: 1\n  debug: true\n  rulePatrolInterval: 5s\nsource:\n  httpServerPort: 2\n');
  const env = { KUIPER__BASIC__RESTPORT: '3', KUIPER__SINK__ENABLECACHE: 'true', KUIPER__STORE__SQLITE__NAME: 'x.db' };
  const { config } = await loadConfig({ file, env });
  assert.is(config.basic.restPort, 3);
  assert.is(config.basic.debug, true);
  assert.is(config.basic.rulePatrolInterval, 5000);
  assert.is(config.source.httpServerPort, 2);
  assert.is(config.sink.enableCache, true);
  assert.is(config.store.sqlite.name, 'x.db');
});

test('names unknown keys and the one that was probably meant', async () => {
  assert.match(
    await refusal(yaml('basic:\n  restPrt: 1\n')),
    /yaml: property basic.restPrt is not known, did you mean basic.restPort\?/,
  );
  assert.match(await refusal(yaml('bassic: {}\n')), /property bassic is not known, did you mean basic\?/);
  assert.match(
    await refusal(undefined, { KUIPER__BASIC__RESTPRT: '1' }),
    /environment variable KUIPER__BASIC__RESTPRT names no known key, did you mean basic.restPort\?/,
  );
});

test('names all faults at once, each with its place', async () => {
  const file = yaml('basic:\n  restPrt: 1\n  restPort: x\n  debug: perhaps\n');
  const env = { KUIPER__BASIC__RESTPRT: '1', KUIPER__SOURCE__HTTPSERVERPORT: 'y' };
  const faults = (await refusal(file, env)).split('\n');
  assert.is(faults.length, 5, faults.join('\n'));
  for (const pattern of [
    /yaml: property basic.restPrt is not known/,
    /yaml: property basic.restPort must be an integer/,
    /yaml: property basic.debug must be true or false/,
    /environment variable KUIPER__BASIC__RESTPRT names no known key/,
    /environment: property source.httpServerPort must be an integer/,
  ]) {
    assert.ok(
      faults.some((fault) => pattern.test(fault)),
      `${pattern} in ${faults.join('\n')}`,
    );
  }
});

test('tells of a variable that is one underscore short of a key, not of those of others', async () => {
  const env = {
    KUIPER_BASIC__RESTPORT: '1',
    KUIPER_BASIC_DEBUG: 'true',
    KUIPER_PORT: 'tcp://x',
    KUIPER_SERVICE_HOST: 'h',
  };
  const { warnings } = await loadConfig({ env: { KuiperBaseKey: folder, ...env } });
  assert.equal(warnings, [
    'environment variable KUIPER_BASIC__RESTPORT has no effect, did you mean KUIPER__BASIC__RESTPORT?',
    'environment variable KUIPER_BASIC_DEBUG has no effect, did you mean KUIPER__BASIC__DEBUG?',
  ]);
});

test('names the settings that are given and change nothing', async () => {
  const file = yaml(
    'basic:\n  pprof: true\n  port: 20498\n  debug: true\nsink:\n  enableCache: true\nrule:\n  qos: 1\n  ' +
      'sendError: true\n',
  );
  const env = { KUIPER__STORE__PEBBLE__NAME: 'x', KUIPER__STORE__REDIS__PASSWORD: 'secret' };
  const { config } = await loadConfig({ file, env });
  assert.equal(unusedIn(configSpec, config), ['basic.pprof', 'store.redis.password', 'store.pebble.name']);
  assert.equal(unusedIn(configSpec, (await loadConfig({ env: { KuiperBaseKey: folder } })).config), []);
});

test('names bad values', async () => {
  assert.match(
    await refusal(yaml('basic:\n  restPort: many\n')),
    /property basic.restPort must be an integer, not "many"/,
  );
  assert.match(await refusal(yaml('basic:\n  timezone: Mars/Base\n')), /basic.timezone is no known time zone/);
  assert.match(await refusal(undefined, { KUIPER__BASIC__RESTPORT: '70000' }), /basic.restPort must be at most 65535/);
  assert.match(
    await refusal(yaml('basic: [1, 2')),
    /the file \S+ is no YAML: Flow sequence in block collection must be .*at line 1, column 13$/,
  );
  assert.match(await refusal(yaml('just text')), /must hold a mapping/);
  assert.match(await refusal(join(folder, 'absent.yaml')), /can't be read/);
});

test('doors: closed by default, lists from the environment, entries that mean nothing are named', async () => {
  const { config } = await loadConfig({ env: { KuiperBaseKey: folder } });
  const { allowExternalFileAccess, allowedPaths, secrets, corsOrigins, allowedHosts } = config.basic;
  assert.equal([allowExternalFileAccess, allowedPaths, corsOrigins, allowedHosts], [false, [], [], []]);
  assert.equal(secrets, { variables: ['HAUMEA_SECRET_*'], folders: ['/run/secrets'] });
  assert.is(config.source.openPush, false);
  const env = {
    KuiperBaseKey: folder,
    KUIPER__BASIC__ALLOWEDPATHS: '/srv/in,/srv/out',
    KUIPER__BASIC__SECRETS__VARIABLES: 'A',
  };
  const { basic } = (await loadConfig({ env })).config;
  assert.equal([basic.allowedPaths, basic.secrets.variables], [['/srv/in', '/srv/out'], ['A']]);
  for (const [name, value, reason] of [
    ['ALLOWEDPATHS', 'in', 'basic.allowedPaths[0] must be an absolute path, not "in"'],
    ['SECRETS__FOLDERS', '/a,b', 'basic.secrets.folders[1] must be an absolute path, not "b"'],
    ['CORSORIGINS', 'plant.example', 'basic.corsOrigins[0] must be an origin such as https://plant.example:8443'],
    ['CORSORIGINS', 'http://a/b', 'basic.corsOrigins[0] must be an origin'],
  ] as const) {
    assert.match(await refusal(undefined, { [`KUIPER__BASIC__${name}`]: value }), reason);
  }
});

test('collects configuration keys of sources from the environment', () => {
  const env = {
    MQTT_SOURCE__DEFAULT__SERVER: 'tcp://h:1',
    MQTT_SOURCE__DEFAULT__QOS: '2',
    MQTT_SOURCE__OWN__LIST: '[a,1]',
  };
  assert.equal(keysFromEnvironment('MQTT_SOURCE', env), {
    default: { server: 'tcp://h:1', qos: 2 },
    own: { list: ['a', 1] },
  });
});

test.run();
