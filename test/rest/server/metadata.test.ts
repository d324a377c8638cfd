import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startControlPlane } from '../../support/rest/control-plane.js';
import { type Refusal, wrongAnswer } from '../../support/rest/given-files.js';

const plane = await startControlPlane();
test.after(() => plane.close());

interface Named {
  name: string;
}

const names = async (path: string) => ((await plane.request('GET', path)).json as Named[]).map(({ name }) => name);

test('lists the connectors that users may name', async () => {
  const sources = await names('/metadata/sources');
  for (const name of ['file', 'memory', 'mqtt', 'simulator']) assert.ok(sources.includes(name), name);
  const sinks = await names('/metadata/sinks');
  for (const name of ['file', 'log', 'memory', 'mqtt', 'nop']) assert.ok(sinks.includes(name), name);
  assert.not.ok(sinks.includes('ruletest'));
  assert.ok((await names('/metadata/connections')).includes('mqtt'));
  const [first] = (await plane.request('GET', '/metadata/sources')).json;
  assert.is(first.type, 'internal');
  assert.is(typeof first.about.description.en, 'string');
});

interface Texts {
  en: string;
  zh: string;
}

interface Input extends Named {
  default: unknown;
  type: string;
  control: string;
  optional: boolean;
  connection_related: boolean;
  values: unknown[] | null;
}

/** The inputs of the form of a connector, by name. */
async function inputs(path: string): Promise<Map<string, Input>> {
  const { properties } = (await plane.request('GET', path)).json;
  const list = (properties.default ?? properties) as Input[];
  return new Map(list.map((input) => [input.name, input]));
}

interface Form {
  name?: string;
  hint?: Texts;
  default?: unknown;
}

/** Paths of the inputs of a form, those within objects as well, whose explanation is not in Chinese. */
function untranslated(form: unknown, path: string): string[] {
  if (!Array.isArray(form)) return [];
  return (form as Form[]).flatMap(({ name = '', hint, default: inner }) => {
    if (hint === undefined) return [];
    const here = `${path}.${name}`;
    return [...(/\p{Script=Han}/u.test(hint.zh) ? [] : [here]), ...untranslated(inner, here)];
  });
}

test('the forms of all connectors are in both languages', async () => {
  const missing: string[] = [];
  for (const kind of ['sources', 'sinks', 'connections']) {
    for (const name of await names(`/metadata/${kind}`)) {
      const { properties, about } = (await plane.request('GET', `/metadata/${kind}/${name}`)).json;
      const form = properties.default ?? properties;
      assert.ok(form.length > 0 || name === 'nop', `${kind}/${name} has inputs`);
      missing.push(...untranslated(form, `${kind}.${name}`));
      if (!/\p{Script=Han}/u.test(about.description.zh)) missing.push(`${kind}.${name}: about`);
    }
  }
  assert.equal(missing, []);
});

test('describes the properties of a source by its declaration', async () => {
  const { about, dataSource, properties, node, type } = (await plane.request('GET', '/metadata/sources/mqtt')).json;
  assert.equal([about.installed, node.category, type], [true, 'source', 'internal']);
  assert.match(dataSource.hint.en, /Topic/);
  const { hint, label, ...server } = properties.default.find(({ name }: Named) => name === 'server');
  assert.equal(server, {
    exist: false,
    name: 'server',
    default: 'tcp://127.0.0.1:1883',
    type: 'string',
    control: 'text',
    connection_related: true,
    optional: false,
    values: null,
  });
  assert.ok(hint.en.length > 0 && label.en === 'Server');
  assert.equal((await plane.request('GET', '/metadata/sources/simulator')).json.dataSource, {});
});

test('offers what may be chosen, and asks only for what is needed', async () => {
  const source = await inputs('/metadata/sources/mqtt');
  const shown = (name: string) => {
    const { type, control, optional, connection_related, values } = source.get(name) as Input;
    return [type, control, optional, connection_related, values];
  };
  assert.equal(shown('qos'), ['int', 'select', true, false, [0, 1, 2]]);
  assert.equal(shown('protocolVersion').slice(0, 4), ['string', 'select', true, true]);
  assert.ok(source.get('protocolVersion')?.values?.includes('5'));
  assert.equal(shown('password'), ['string', 'password', true, true, null]);
  assert.equal(shown('insecureSkipVerify'), ['bool', 'radio', true, true, null]);
  assert.equal(shown('keepAlive').slice(0, 3), ['string', 'text', true]);
  assert.is((await inputs('/metadata/sinks/mqtt')).get('topic')?.optional, false);
});

test('texts of forms are in English and in Chinese', async () => {
  const { label, hint } = (await inputs('/metadata/sources/mqtt')).get('server') as Input &
    Record<'label' | 'hint', Texts>;
  assert.equal(label, { en: 'Server', zh: '服务器地址' });
  assert.match(hint.en, /Address of the broker/);
  assert.match(hint.zh, /MQTT 代理的地址/);
  const operators = (await plane.request('GET', '/metadata/operators')).json;
  assert.equal(operators.find(({ name }: Named) => name === 'filter').node.label, { en: 'Filter', zh: '过滤' });
  // Names such as Mqtt and Nop are the same in both.
  const { about, node } = (await plane.request('GET', '/metadata/sinks/nop')).json;
  assert.equal([about.description.zh, node.label], ['接收结果并丢弃。', { en: 'Nop', zh: 'Nop' }]);
});

test('a form that is there in Chinese is so with all its texts, whatever its English sentences are', async () => {
  const missing: string[] = [];
  const seen = new Set<string>();
  const see = (where: string, { en, zh }: Texts) => en !== '' && en === zh && missing.push(`${where}: ${en}`);
  const seeForm = (where: string, fields: (Named & Record<'label' | 'hint', Texts>)[]) => {
    for (const { name, label, hint } of fields) {
      see(`${where}.${name}`, label);
      see(`${where}.${name}`, hint);
    }
  };
  for (const owner of ['sources', 'sinks', 'connections']) {
    for (const { name } of (await plane.request('GET', `/metadata/${owner}`)).json) {
      const { about, dataSource, properties } = (await plane.request('GET', `/metadata/${owner}/${name}`)).json;
      if (about.description.en === about.description.zh) continue;
      seen.add(name);
      if (dataSource?.hint !== undefined) see(`${owner}/${name}`, dataSource.hint);
      seeForm(`${owner}/${name}`, properties.default ?? properties);
    }
  }
  for (const { name, about, properties } of (await plane.request('GET', '/metadata/operators')).json) {
    see(name, about.description);
    seeForm(name, properties);
  }
  assert.equal(missing, []);
  assert.ok(seen.has('mqtt') && seen.has('file'));
});

test('a function has its own name in Chinese, not that of a sink', async () => {
  const groups: { functions: (Named & { node: { label: Texts } })[] }[] = (
    await plane.request('GET', '/metadata/functions')
  ).json;
  const log = groups.flatMap(({ functions }) => functions).find(({ name }) => name === 'log');
  assert.equal(log?.node.label, { en: 'Log', zh: 'Log' });
});

test('offers nothing that would be refused or do nothing', async () => {
  for (const path of ['sources/mqtt', 'sinks/mqtt', 'sources/file', 'sinks/file', 'sources/memory', 'sinks/log']) {
    const form = await inputs(`/metadata/${path}`);
    for (const name of ['bufferLength', 'renegotiationSupport', 'parallel']) assert.not.ok(form.has(name), path + name);
    const [owner, connector] = path.split('/') as [string, string];
    for (const { name, values } of form.values()) {
      for (const value of values ?? []) {
        const key = `/metadata/${owner}/${connector}/confKeys/offered`;
        const answer = await plane.request('PUT', key, { [name]: value });
        assert.is(answer.status, 200, `${path} ${name} ${value}: ${answer.text}`);
      }
    }
    await plane.request('DELETE', `/metadata/${owner}/${connector}/confKeys/offered`);
  }
});

test('stores configuration keys whose values no rule can use yet', async () => {
  const key = '/metadata/sources/file/confKeys/later';
  assert.is((await plane.request('PUT', key, { fileType: 'csv', path: '/data', merger: 'own' })).status, 200);
  assert.equal((await plane.request('GET', '/metadata/sources/yaml/file')).json.later, {
    fileType: 'csv',
    path: '/data',
    merger: 'own',
  });
  assert.not.ok((await inputs('/metadata/sources/file')).has('merger'));
  await plane.request('DELETE', key);
  const sink = '/metadata/sinks/mqtt/confKeys/later';
  assert.is((await plane.request('PUT', sink, { topic: '{{.a}}', compression: 'gzip' })).status, 200);
  assert.is((await plane.request('PUT', sink, { topic: 'a/#' })).status, 400);
  await plane.request('DELETE', sink);
});

test('offers the connections of the type where there are some, and no choice where there can be none', async () => {
  const offered = async () => (await inputs('/metadata/sinks/mqtt')).get('connectionSelector');
  const { control, values } = (await offered()) as Input;
  assert.equal([control, values], ['select', []]);
  await plane.request('POST', '/connections', { id: 'hall', typ: 'mqtt', props: { server: 'tcp://127.0.0.1:1' } });
  await plane.request('POST', '/connections', { id: 'other', typ: 'sql', props: {} });
  assert.equal((await offered())?.values, ['hall']);
  assert.not.ok((await inputs('/metadata/sinks/memory')).has('connectionSelector'));
  for (const id of ['hall', 'other']) await plane.request('DELETE', `/connections/${id}`);
});

test('describes sinks and connections', async () => {
  const sink = (await plane.request('GET', '/metadata/sinks/mqtt')).json;
  assert.ok(sink.properties.some(({ name, optional }: Named & { optional: boolean }) => name === 'topic' && !optional));
  assert.is((await plane.request('GET', '/metadata/sinks/log')).json.node.category, 'sink');
  const connection = (await plane.request('GET', '/metadata/connections/mqtt')).json;
  assert.ok(connection.properties.default.every((one: { connection_related: boolean }) => one.connection_related));
});

test('lists functions by category, and operators with their properties', async () => {
  const groups = (await plane.request('GET', '/metadata/functions')).json as { name: string; functions: Named[] }[];
  const aggregate = groups.find(({ name }) => name === 'aggregate');
  const avg = aggregate?.functions.find(({ name }) => name === 'avg') as Named & {
    aggregate: boolean;
    args: unknown[];
  };
  assert.equal([avg.aggregate, avg.args.length], [true, 1]);
  const operators = (await plane.request('GET', '/metadata/operators')).json;
  const filter = operators.find(({ name }: Named) => name === 'filter');
  assert.equal([filter.properties[0].name, filter.properties[0].optional], ['expr', false]);
});

test('lists the configuration keys that clients registered, secrets masked', async () => {
  await plane.request('PUT', '/metadata/sources/mqtt/confKeys/mine', { qos: 1, password: 'hidden' });
  await plane.request('PUT', '/metadata/sinks/mqtt/confKeys/out', { qos: 0 });
  const resources = (await plane.request('GET', '/metadata/resources')).json;
  assert.equal(resources, { sources: [{ mine: 'mqtt' }], sinks: [{ out: 'mqtt' }], connections: [] });
  const all = (await plane.request('GET', '/metadata/resource')).json;
  assert.equal(all.mqtt.mine, { qos: 1, password: '******' });
  assert.is(all.mqtt.default.server, 'tcp://127.0.0.1:1883');
  assert.ok('default' in all.simulator, 'keys that come with the program are there, too');
});

test('lists the configuration keys marked with a type of source', async () => {
  await plane.request('PUT', '/metadata/sources/mqtt/confKeys/marked', { qos: 0, sourceType: 'stream' });
  const keys = (await plane.request('GET', '/metadata/resource?sourceType=stream')).json;
  assert.equal(keys, { mqtt: { marked: { qos: 0, sourceType: 'stream' } } });
  assert.equal((await plane.request('GET', '/metadata/resource?sourceType=mqtt')).json, {});
  await plane.request('DELETE', '/metadata/sources/mqtt/confKeys/marked');
});

test('a registered key lies over the one of the same name that comes with the program', async () => {
  await plane.request('PUT', '/metadata/sources/mqtt/confKeys/default', { qos: 0 });
  const both = (await plane.request('GET', '/metadata/sources/yaml/mqtt')).json.default;
  assert.equal([both.qos, both.server], [0, 'tcp://127.0.0.1:1883']);
  await plane.request('DELETE', '/metadata/sources/mqtt/confKeys/default');
  assert.is((await plane.request('GET', '/metadata/sources/yaml/mqtt')).json.default.qos, 1);
});

test('durations given in milliseconds come back as texts, other numbers as they are', async () => {
  const given = { interval: 90_000, timeout: '5s', expiration: 0, size: 1000, lookup: { cacheTtl: 10, ttl: 10 } };
  await plane.request('PUT', '/metadata/sources/simulator/confKeys/timed', given);
  const { timed } = (await plane.request('GET', '/metadata/sources/yaml/simulator')).json;
  const lookup = { cacheTtl: '10ms', ttl: 10 };
  assert.equal(timed, { interval: '1m30s', timeout: '5s', expiration: '0s', size: 1000, lookup });
  await plane.request('DELETE', '/metadata/sources/simulator/confKeys/timed');
});

test('configuration keys may have names that JavaScript objects know', async () => {
  for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    const path = `/metadata/sources/mqtt/confKeys/${key}`;
    const before = await plane.request('DELETE', path);
    assert.equal([before.status, before.json.error], [400, 5000], key);
    assert.is((await plane.request('PUT', path, { qos: 0 })).status, 200, key);
    const listed = JSON.stringify((await plane.request('GET', '/metadata/sources/yaml/mqtt')).json);
    assert.ok(listed.includes(`"${key}":{"qos":0}`), key);
    const sql = `CREATE STREAM odd () WITH (DATASOURCE="t", TYPE="mqtt", CONF_KEY="${key}")`;
    assert.is((await plane.request('POST', '/streams', { sql })).status, 201, key);
    await plane.request('DELETE', '/streams/odd');
    assert.is((await plane.request('DELETE', path)).status, 200, key);
  }
});

const refusals: Refusal[] = ['sources', 'sinks', 'connections'].flatMap((owner): Refusal[] => [
  ['GET', `/metadata/${owner}/nosuch`, undefined, 400, 5000, /no such .*nosuch/],
  ['GET', `/metadata/${owner}/a%20b`, undefined, 400, 1000, /'a b' contains invalid characters/],
]);

for (const refusal of refusals) {
  test(`${refusal[1]} is refused`, async () => assert.is(await wrongAnswer(plane, refusal), undefined));
}

test('a configuration key that a stream uses stays until the stream is gone', async () => {
  const key = '/metadata/sources/mqtt/confKeys/used';
  await plane.request('PUT', key, { server: 'tcp://127.0.0.1:1883' });
  const sql = 'CREATE STREAM keyed () WITH (DATASOURCE="t", TYPE="mqtt", CONF_KEY="used")';
  assert.is((await plane.request('POST', '/streams', { sql })).status, 201);
  const refused = await plane.request('DELETE', key);
  assert.equal([refused.status, refused.json.error], [400, 5000]);
  assert.match(refused.json.message, /used of mqtt is used by keyed/);
  await plane.request('DELETE', '/streams/keyed');
  assert.is((await plane.request('DELETE', key)).status, 200);
});

test('a configuration key with a value its connector can not take is refused, whatever else is missing', async () => {
  const key = '/metadata/sources/mqtt/confKeys/values';
  const refused = await plane.request('PUT', key, { qos: 7 });
  assert.equal([refused.status, refused.json.error], [400, 5000]);
  assert.match(refused.json.message, /values of mqtt: property qos must be at most 2, not 7/);
  const reference = await plane.request('PUT', key, { server: 'env://BROKER' });
  assert.equal([reference.status, reference.json.error], [400, 5000]);
  assert.match(reference.json.message, /values of mqtt: property server: reference env:\/\/BROKER: only properties/);
  assert.not.ok('values' in (await plane.request('GET', '/metadata/sources/yaml/mqtt')).json);
  for (const given of [{ qos: 2 }, { own: 'property' }, { password: 'env://HAUMEA_SECRET_LATER' }]) {
    assert.is((await plane.request('PUT', key, given)).status, 200, JSON.stringify(given));
  }
  assert.is((await plane.request('DELETE', key)).status, 200);
});

test.run();
