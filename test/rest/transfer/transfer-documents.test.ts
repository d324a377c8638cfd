/** What documents of imports may hold: wrong types at every place, odd names and bytes, large ones, and round trips. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { nativePlugin, portablePlugin, wasmModule } from '../../support/rest/archives.js';
import { startControlPlane } from '../../support/rest/control-plane.js';
import { fileUri } from '../../support/rest/given-files.js';
import { writeZip } from '../../support/rest/zip-writer.js';

const plane = await startControlPlane();
test.after(() => plane.close());

const stream = (name: string) => `CREATE STREAM ${name} (a BIGINT) WITH (DATASOURCE="t", TYPE="memory")`;
const table = (name: string) => `CREATE TABLE ${name} (a BIGINT) WITH (DATASOURCE="t", TYPE="memory", KIND="scan")`;
const rule = (id: string, more: object = {}) => ({ id, sql: 'SELECT a FROM s', actions: [{ nop: {} }], ...more });
const script = (id: string) => ({ id, description: 'é\n"', script: `function ${id}(x) { return x; }`, isAgg: false });
const service = writeZip([
  {
    name: 'shop.json',
    content: JSON.stringify({
      interfaces: {
        i: { address: 'http://127.0.0.1:1', protocol: 'rest', schemaless: true, functions: [{ name: 'cost' }] },
      },
    }),
  },
]);

/** One good item of each section, by name. */
const good: Readonly<Record<string, readonly [name: string, text: string]>> = {
  streams: ['s', stream('s')],
  tables: ['t', table('t')],
  rules: ['r', JSON.stringify(rule('r', { triggered: false, tags: ['a'], options: { qos: 1 } }))],
  nativePlugins: ['functions_near', JSON.stringify({ name: 'near', file: nativePlugin('near'), shellParas: ['x'] })],
  portablePlugins: ['py', JSON.stringify({ name: 'py', file: portablePlugin('py') })],
  sourceConfig: ['mqtt', JSON.stringify({ k: { qos: 1, password: 'open', nested: { list: [1, null] } } })],
  sinkConfig: ['mqtt', JSON.stringify({ k: { qos: 2 }, __proto: {} })],
  connectionConfig: ['mqtt', JSON.stringify({ c: { server: 'tcp://127.0.0.1:1', password: 'open' } })],
  Service: ['shop', JSON.stringify({ name: 'shop', file: fileUri('shop.zip', service) })],
  Schema: ['protobuf_p', JSON.stringify({ type: 'protobuf', name: 'p', content: 'message A {}', version: '2' })],
  uploads: [
    'dir/x.bin',
    JSON.stringify({ name: 'dir/x.bin', base64: Buffer.from([0, 255, 13, 10]).toString('base64') }),
  ],
  scripts: ['area', JSON.stringify(script('area'))],
};
const sections = Object.keys(good);
const everything = Object.fromEntries(sections.map((section) => [section, Object.fromEntries([good[section] ?? []])]));

const send = (document: unknown, query = '', { request } = plane) =>
  request('POST', `/data/import${query}`, {
    content: typeof document === 'string' ? document : JSON.stringify(document),
  });
const exported = async ({ request } = plane) => (await request('GET', '/data/export')).text;
const shown = (value: unknown) => (JSON.stringify(value) ?? String(value)).slice(0, 80);

test.before.each(async () => {
  assert.is((await send('{}')).status, 200);
});

test('a map of the wrong type refuses the whole document, null stands for none', async () => {
  assert.is((await send(everything)).status, 200);
  const before = await exported();
  for (const section of sections) {
    for (const value of [5, 'text', true, [], [{}]]) {
      const answer = await send({ ...everything, [section]: value });
      assert.is(answer.status, 400, `${section} ${shown(value)}`);
      assert.match(answer.json.message, `${section} must map names to definitions`);
    }
  }
  assert.is(await exported(), before);
  for (const section of sections) assert.is((await send({ [section]: null }, '?partial=1')).status, 200, section);
  assert.is(await exported(), before);
});

test('an item of the wrong type is refused by name and the others are taken', async () => {
  for (const section of sections) {
    const [name = '', text] = good[section] ?? [];
    for (const value of [5, true, null, [], {}, '', 'nonsense', '5', 'null', '[]', '"x"', '{}', '{"name":']) {
      if (value === '{}' && section.endsWith('Config')) continue;
      const bad = `${name.replace(/[^_/]*$/, '')}bad`;
      const answer = await send(
        { [section]: { [bad]: value, [name]: text }, streams: { s: stream('s') } },
        '?partial=1',
      );
      const where = `${section} ${bad} ${shown(value)}: ${answer.text}`;
      if (section === 'streams') continue;
      assert.is(answer.status, 400, where);
      const failures = JSON.parse(answer.json.message);
      assert.equal(Object.keys(failures[section]), [bad], where);
      assert.ok(failures[section][bad].length > 10, where);
      assert.ok(Object.hasOwn(JSON.parse(await exported())[section], name), where);
    }
  }
});

/** Members of the wrong type in texts of items: section, change, what the reason says. */
const wrongMembers: readonly (readonly [section: string, change: object, reason: RegExp])[] = [
  ['rules', { sql: 5 }, /sql/],
  ['rules', { actions: 5 }, /actions/],
  ['rules', { actions: ['x'] }, /actions/],
  ['rules', { options: 'x' }, /options/],
  ['rules', { options: { qos: 'x' } }, /qos/],
  ['rules', { triggered: 'x' }, /triggered/],
  ['rules', { tags: 'x' }, /tags/],
  ['rules', { id: 5 }, /id/],
  ['nativePlugins', { file: 5 }, /file must be a text/],
  ['nativePlugins', { name: [] }, /name must be a text/],
  ['nativePlugins', { name: 'far' }, /name is far/],
  ['nativePlugins', { shellParas: 'x' }, /shellParas must be a list of texts/],
  ['nativePlugins', { functions: [5] }, /functions must be a list of texts/],
  ['portablePlugins', { file: {} }, /file must be a text/],
  ['portablePlugins', { file: 'file:///none.zip' }, /none\.zip/],
  ['portablePlugins', { shellParas: [1] }, /shellParas must be a list of texts/],
  ['sourceConfig', { k: 5 }, /properties of k of mqtt must be an object/],
  ['sourceConfig', { 'a b': {} }, /'a b' contains invalid characters/],
  ['sinkConfig', { k: [] }, /properties of k of mqtt must be an object/],
  ['connectionConfig', { c: 'x' }, /properties of c of mqtt must be an object/],
  ['Service', { name: 'other' }, /name is other/],
  ['Service', { file: '' }, /file is required/],
  ['Schema', { content: 5 }, /content must be a text/],
  ['Schema', { version: 5 }, /version must be a text/],
  ['Schema', { type: 'thrift' }, /unknown schema type thrift/],
  ['Schema', { type: 5 }, /type must be a text/],
  ['Schema', { file: 'file:///x' }, /both given/],
  ['uploads', { base64: 5 }, /base64 must be a text/],
  ['uploads', { base64: 'a!' }, /base64/],
  ['uploads', { content: 5 }, /content must be a text/],
  ['uploads', { name: 'other' }, /name is other/],
  ['scripts', { script: 5 }, /script must be a text/],
  ['scripts', { isAgg: 'x' }, /isAgg must be true or false/],
  ['scripts', { description: [] }, /description must be a text/],
  ['scripts', { id: 'other' }, /id is other/],
];

for (const [section, change, reason] of wrongMembers) {
  test(`${section} with ${shown(change)} is refused, nothing of it is kept`, async () => {
    assert.is((await send({ streams: { s: stream('s') } })).status, 200);
    const before = await exported();
    const [name = '', text = ''] = good[section] ?? [];
    const answer = await send(
      { [section]: { [name]: JSON.stringify({ ...JSON.parse(text), ...change }) } },
      '?partial=1',
    );
    assert.is(answer.status, 400, answer.text);
    const failures = JSON.parse(answer.json.message);
    assert.match(failures[section][name], reason);
    assert.is(await exported(), before);
  });
}

const oddNames = ['', 'a b', 'ä', '../x', 'a/b', '.', '__proto__', 'constructor', 'x'.repeat(300), 'a\u0000b'];

test('names that nothing can have are refused as such, names that objects know are names', async () => {
  for (const name of oddNames) {
    const source = /^\w{1,255}$/.test(name);
    const document = {
      scripts: JSON.parse(`{${JSON.stringify(name)}: ${JSON.stringify(JSON.stringify(script('f')))}}`),
      Service: JSON.parse(`{${JSON.stringify(name)}: "{}"}`),
      sourceConfig: JSON.parse(`{${JSON.stringify(name)}: ${JSON.stringify('{"k": {"a": 1}}')}}`),
    };
    const answer = await send(document);
    assert.is(answer.status, 400, name);
    const failures = JSON.parse(answer.json.message);
    for (const section of ['scripts', 'Service']) assert.equal(Object.keys(failures[section]), [name], section);
    assert.equal(Object.keys(failures.sourceConfig), source || name.length === 300 ? [] : [name]);
    const kept = JSON.parse(await exported()).sourceConfig;
    assert.equal(Object.keys(kept), source || name.length === 300 ? [name] : []);
  }
});

test('bytes that are no UTF-8 are refused, in the body and in a file', async () => {
  const text = JSON.stringify({ content: JSON.stringify({ scripts: { area: JSON.stringify(script('area')) } }) });
  const bytes = Buffer.from(text.replace('é', '\u0001'));
  bytes[bytes.indexOf(1)] = 0xe9;
  const body = await fetch(`${plane.base}/data/import`, { method: 'POST', body: bytes });
  assert.is(body.status, 400);
  assert.match(await body.text(), /UTF-8/);
  const path = join(plane.data, 'latin1.json');
  writeFileSync(path, Buffer.from(JSON.stringify({ streams: { s: `${stream('s')} -- é` } }), 'latin1'));
  for (const target of ['/data/import', '/v2/data/import', '/ruleset/import']) {
    const answer = await plane.request('POST', target, { file: pathToFileURL(path).href });
    assert.is(answer.status, 400, target);
    assert.match(answer.json.message, /UTF-8/);
  }
  assert.equal((await plane.request('GET', '/streams')).json, []);
});

test('what is nested too deeply is refused, what is just not can be exported in both forms', async () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
  for (const depth of [5000, 200_000]) {
    const text = `{"k": {"a": ${nested(depth)}}}`;
    const document = { sourceConfig: { mqtt: text }, connectionConfig: { mqtt: text }, rules: { k: text } };
    const answer = await send(document);
    assert.is(answer.status, 400);
    const failures = JSON.parse(answer.json.message);
    for (const section of Object.keys(document)) assert.match(JSON.stringify(failures[section]), /nested deeper than/);
    const yaml = `sourceConfig:\n  sources.mqtt.k:\n    a: ${nested(depth)}\n`;
    const refused = await plane.request('POST', '/v2/data/import', { content: yaml });
    assert.equal([refused.status, refused.json.error], [400, 1000]);
  }
  assert.is((await send({ sourceConfig: { mqtt: `{"k": {"a": ${nested(990)}}}` } })).status, 200);
  for (const path of ['/data/export', '/v2/data/export', '/metadata/sources/yaml/mqtt', '/metadata/resource']) {
    assert.is((await plane.request('GET', path)).status, 200, path);
  }
});

test('YAML that grows by its own references is refused, and faults are told in one line', async () => {
  const names = [...'abcdefghi'];
  const lines = names.map((name, i) => `${name}: &${name} [${Array(9).fill(i === 0 ? 'x' : `*${names[i - 1]}`)}]`);
  const answer = await plane.request('POST', '/v2/data/import', { content: lines.join('\n') });
  assert.is(answer.status, 400);
  assert.match(
    answer.json.message,
    /the content has more than 500000 keys and values when its aliases are written out at line 6, column \d+$/,
  );
  const large = `a: &a ${'x'.repeat(1_000_000)}\nb: [${Array(100).fill('*a')}]\n`;
  const grown = await plane.request('POST', '/v2/data/import', { content: large });
  assert.match(
    grown.json.message,
    /has more than 67108864 bytes when its aliases are written out at line 2, column \d+$/,
  );
  for (const [content, reason] of [
    [`a: &a x\nb: [${Array(1001).fill('*a')}]`, 'has more than 1000 aliases: *a at line 2, column 3005'],
    ['a: *b\nb: &b 1', 'has the alias *b without an anchor before it at line 1, column 4'],
    ['a: &a\n  - *a', 'has the alias *a within what it stands for at line 2, column 5'],
    [`a: [${'1,'.repeat(500_000)}]`, 'has more than 500000 keys and values'],
  ] as const) {
    const { status, json } = await plane.request('POST', '/v2/data/import', { content });
    assert.equal([status, json.message], [400, `import error: the content ${reason}`]);
  }
  const twice = await plane.request('POST', '/v2/data/import', { content: 'rules:\n  a: {}\n  a: {}' });
  assert.match(twice.json.message, /no YAML: a is there twice in one map at line 3, column 3$/);
  const broken = await plane.request('POST', '/v2/data/import', { content: 'streams:\n  a: [' });
  assert.match(broken.json.message, /no YAML: .* at line 2, column \d+$/);
});

test('half of a surrogate pair comes back as it was', async () => {
  const content =
    '{"uploads": {"u": "{\\"name\\": \\"u\\", \\"content\\": \\"\\\\ud83d\\"}"}, "sourceConfig": {"mqtt": ' +
    '"{\\"k\\": {\\"a\\": \\"\\\\ud83d\\"}}"}}';
  assert.is((await send(content)).status, 200);
  const first = await exported();
  assert.is((await send(first)).status, 200);
  assert.is(await exported(), first);
  assert.is(JSON.parse(JSON.parse(first).sourceConfig.mqtt).k.a, '\ud83d');
});

test('documents of 20 MB pass, in the body and as a file, while others are answered', async () => {
  const content = 'x'.repeat(20 << 20);
  const document = JSON.stringify({ uploads: { big: JSON.stringify({ name: 'big', content }) } });
  const pending = send(document);
  assert.is((await plane.request('GET', '/ping')).status, 200);
  assert.is((await pending).status, 200);
  assert.is((await exported()).length > 20 << 20, true);
  const path = join(plane.data, 'large.json');
  writeFileSync(path, document);
  const answer = await plane.request('POST', '/data/import?partial=1', { file: pathToFileURL(path).href });
  assert.is(answer.status, 200, answer.text.slice(0, 200));
});

test('of imports at the same time each is whole', async () => {
  const names = ['one', 'two', 'three', 'four'];
  const documents = names.map((name) => ({
    streams: Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`${name}${i}`, stream(`${name}${i}`)])),
    scripts: { [name]: JSON.stringify(script(name)) },
    uploads: { 'same.txt': JSON.stringify({ name: 'same.txt', content: name }) },
  }));
  for (const { status } of await Promise.all(documents.map((document) => send(document)))) assert.is(status, 200);
  const { streams, scripts, uploads } = JSON.parse(await exported());
  const winner = Object.keys(scripts)[0] ?? '';
  assert.equal(Object.keys(streams).sort(), Object.keys(documents[names.indexOf(winner)]?.streams ?? {}).sort());
  assert.is(JSON.parse(uploads['same.txt']).content, winner);
  await send('{}');
  const answers = await Promise.all(documents.map((document) => send(document, '?partial=1&atomic=1')));
  for (const { status } of answers) assert.is(status, 200);
  const all = JSON.parse(await exported());
  assert.is(Object.keys(all.streams).length, 200);
  assert.equal(Object.keys(all.scripts), [...names].sort());
});

for (const [generation, write, read] of [
  ['JSON', '/data/export', '/data/import'],
  ['YAML', '/v2/data/export', '/v2/data/import'],
] as const) {
  test(`an export as ${generation} makes another server the same, to the byte`, async () => {
    const answer = await send(everything);
    assert.is(answer.status, 200, answer.text);
    const wasm = { name: 'wasm', bytecode: wasmModule('plus') };
    assert.is((await plane.request('POST', '/plugins/wasm', wasm)).status, 201);
    const odd = { name: 'ä b.txt', content: '\u0007 "quoted" \\ \u2028 😀\r\n' };
    assert.is((await plane.request('POST', '/config/uploads', odd)).status, 201);
    const content = (await plane.request('GET', write)).text;
    const other = await startControlPlane();
    const taken = await other.request('POST', read, { content });
    assert.is(taken.status, 200, taken.text);
    assert.is((await other.request('GET', write)).text, content);
    assert.is(await exported(other), await exported());
    await other.close();
    const restarted = await startControlPlane(other.data);
    assert.is((await restarted.request('GET', write)).text, content);
    await restarted.close();
  });
}

test.run();
