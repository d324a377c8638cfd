/** What is wrong with codecs, and with streams, actions and schemas that name them: each is told where it is made. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withManifest } from '../../../host/plugins/wasm/exports/embed.js';
import { eventually, startServer } from '../../support/harness.js';

const server = await startServer();
test.after(async () => {
  await server.stop();
});

const module = (name: string) => readFileSync(new URL(`../../guests/${name}.wasm`, import.meta.url));
const plugin = (name: string, manifest: object, guest = 'codecs') =>
  server.request('POST', '/plugins/wasm', {
    name,
    bytecode: Buffer.from(withManifest(module(guest), JSON.stringify({ abi: 1, ...manifest }))).toString('base64'),
  });
const stream = (name: string, options: string, kind = 'STREAM') =>
  server.request('POST', kind === 'TABLE' ? '/tables' : '/streams', {
    sql: `CREATE ${kind} ${name} () WITH (TYPE="simulator", FORMAT="custom"${options})`,
  });
const rule = (id: string, sql: string, sink: object = { log: {} }) =>
  server.request('POST', '/rules', { id, sql, actions: [sink], triggered: false });

const codecs = [
  { name: 'turn', decode: 'turn', encode: 'turn' },
  { name: 'reader', decode: 'sick' },
  { name: 'writer', encode: 'sick_write' },
];
assert.is((await plugin('several', { codecs })).status, 201);
assert.is((await plugin('one', { codecs: [codecs[0]] })).status, 201);
const functions = [{ name: 'size_of', args: ['bytea'], result: 'bigint' }];
assert.is((await plugin('functions', { functions }, 'texts')).status, 201);

test('manifests with codecs that are not right are refused by the field', async () => {
  const turn = codecs[0];
  const wrong: [manifest: object, reason: RegExp, guest?: string][] = [
    [{ codecs: [] }, /invalid manifest: codecs is empty/],
    [{ codecs: {} }, /codecs must be a list/],
    [{ codecs: [{ decode: 'turn' }] }, /codecs\[0\]\.name is missing/],
    [{ codecs: [{ name: 'a.b', decode: 'turn' }] }, /codecs\[0\]\.name must be a name of letters/],
    [{ codecs: [{ name: 'a' }] }, /codecs\[0\] has neither decode nor encode/],
    [{ codecs: [{ name: 'a', decode: 5 }] }, /codecs\[0\]\.decode must be a text, not 5/],
    [{ codecs: [{ name: 'a', decode: 'turn', encod: 'turn' }] }, /codecs\[0\]\.encod is not known/],
    [{ codecs: [turn, { ...turn, name: 'TURN' }] }, /codecs\[1\]\.name: TURN is there twice/],
    [{ codecs: [{ name: 'a', decode: 'none' }] }, /codecs\[0\]\.decode: the module exports no function none/],
    [
      { codecs: [turn, { name: 'a', encode: 'haumea_alloc' }] },
      /codecs\[1\]\.encode: the export haumea_alloc is reserved/,
    ],
    [
      { codecs: [{ name: 'a', encode: 'longest_init' }] },
      /codecs\[0\]\.encode: longest_init is \(\) -> i32, by the manifest it must be \(i32, i32\) -> i64/,
      'texts',
    ],
  ];
  for (const [manifest, reason, guest] of wrong) {
    const answer = await plugin('wrong', manifest, guest);
    assert.is(answer.status, 400, answer.text);
    assert.match(answer.json.message, reason);
  }
});

test('a schema of type custom names a plugin that is there and has codecs', async () => {
  const schema = (body: object) => server.request('POST', '/schemas/custom', body);
  const wrong: [object, RegExp][] = [
    [{ name: 'x' }, /plugin, the name of a WebAssembly plugin, or soFile is required/],
    [{ name: 'x', plugin: 'none' }, /wasm plugin none is not found/],
    [{ name: 'x', plugin: 'functions' }, /wasm plugin functions has no codecs/],
    [{ name: 'x', plugin: 5 }, /plugin must be a text/],
  ];
  for (const [body, reason] of wrong) {
    const answer = await schema(body);
    assert.is(answer.status, 400, answer.text);
    assert.match(answer.json.message, reason);
  }
  const proto = { name: 'x', content: 'syntax = "proto3";', plugin: 'one' };
  assert.match(
    (await server.request('POST', '/schemas/protobuf', proto)).json.message,
    /plugin is for schemas of type/,
  );
  assert.is((await schema({ name: 'x', plugin: 'one', version: '1' })).status, 201);
  assert.is((await server.request('PUT', '/schemas/custom/x', { plugin: 'several', version: '2' })).status, 200);
  assert.equal((await server.request('GET', '/schemas/custom/x')).json.plugin, 'several');
  assert.match(
    (await server.request('PUT', '/schemas/custom/x', { plugin: 'none', version: '3' })).json.message,
    /wasm plugin none is not found/,
  );
});

const streams: [name: string, options: string, reason: string][] = [
  ['nowhere', ', SCHEMAID="none"', 'schema none of type custom is not found, nor is a wasm plugin of that name'],
  ['plain', ', SCHEMAID="functions"', 'wasm plugin functions has no codecs'],
  [
    'which',
    ', SCHEMAID="several"',
    'wasm plugin several has the codecs turn, reader, writer: name one, as several.turn',
  ],
  ['unknown', ', SCHEMAID="one.other"', 'wasm plugin one has no codec other, it has turn'],
  ['mute', ', SCHEMAID="several.writer"', 'codec writer of wasm plugin several does not decode'],
];

for (const [name, options, reason] of streams) {
  test(`a stream with${options.slice(1)} is made with a warning, no rule can read it`, async () => {
    const made = await stream(name, options);
    assert.is(made.status, 201, made.text);
    assert.ok(
      made.headers.get('warning')?.includes(`no rule can read it: ${reason}`),
      String(made.headers.get('warning')),
    );
    const refused = await rule(`r_${name}`, `SELECT * FROM ${name}`);
    assert.is(refused.status, 400, refused.text);
    assert.ok(refused.json.message.endsWith(`stream ${name}: ${reason}`), refused.json.message);
  });
}

test('the format custom needs SCHEMAID', async () => {
  for (const [kind, options] of [
    ['STREAM', ''],
    ['STREAM', ', SCHEMAID=""'],
    ['TABLE', ''],
  ] as const) {
    const answer = await stream('without', options, kind);
    assert.is(answer.status, 400);
    assert.match(answer.json.message, /the option FORMAT is "custom", which needs SCHEMAID/);
  }
});

test('a native library is kept, and not loaded', async () => {
  const { writeFileSync, mkdirSync } = await import('node:fs');
  const folder = join(server.data, 'uploads');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'lib.so'), 'ELF');
  const soFile = `file://${join(folder, 'lib.so')}`;
  assert.is((await server.request('POST', '/schemas/custom', { name: 'native', soFile })).status, 201);
  await stream('libs', ', SCHEMAID="native.Message"');
  assert.match(
    (await rule('r_libs', 'SELECT * FROM libs')).json.message,
    /schema native has a native library \(soFile\) only/,
  );
});

test('actions name a codec that can write', async () => {
  await server.request('POST', '/streams', { sql: 'CREATE STREAM s () WITH (TYPE="simulator", FORMAT="json")' });
  const wrong: [object, RegExp][] = [
    [{ log: { format: 'custom' } }, /sink log: the format custom needs schemaId/],
    [{ log: { format: 'custom', schemaId: 'none' } }, /sink log: schema none of type custom is not found/],
    [{ log: { format: 'custom', schemaId: 'several.reader' } }, /codec reader of wasm plugin several does not encode/],
    [{ log: { format: 'custom', schemaId: 5 } }, /schemaId must be a text/],
    [{ log: { schemaId: 'one' } }, /sink property schemaId/],
    [{ memory: { topic: 't', format: 'custom', schemaId: 'one' } }, /sink property format of sink memory/],
  ];
  for (const [sink, reason] of wrong) {
    const answer = await rule('wrong', 'SELECT * FROM s', sink);
    assert.is(answer.status, 400, answer.text);
    assert.match(answer.json.message, reason);
  }
  assert.is((await rule('good', 'SELECT * FROM s', { log: { format: 'CUSTOM', schemaId: 'one' } })).status, 201);
});

test('a rule whose codec is gone says so when it starts, and starts when it is there again', async () => {
  await plugin('passing', { codecs: [codecs[0]] });
  await stream('s_passing', ', SCHEMAID="passing"');
  assert.is((await rule('passing', 'SELECT * FROM s_passing')).status, 201);
  assert.is((await server.request('DELETE', '/plugins/wasm/passing')).status, 200);
  await server.request('POST', '/rules/passing/start');
  const status = await eventually('the failure', async () => {
    const { json } = await server.request('GET', '/rules/passing/status');
    return /by error/.test(json.status) ? json : undefined;
  });
  assert.match(status.message, /stream s_passing: schema passing of type custom is not found, nor is a wasm plugin/);
  await plugin('passing', { codecs: [codecs[0]] });
  await server.request('POST', '/rules/passing/start');
  await eventually('the rule to run', async () => {
    const { json } = await server.request('GET', '/rules/passing/status');
    return /running/i.test(json.status) || undefined;
  });
});

test('an export of a rule has the schemas and plugins of its codecs', async () => {
  assert.is((await server.request('POST', '/schemas/custom', { name: 'format', plugin: 'one' })).status, 201);
  await stream('exported', ', SCHEMAID="format.turn"');
  const sink = { log: { format: 'custom', schemaId: 'several.turn' } };
  assert.is((await rule('exported', 'SELECT * FROM exported', sink)).status, 201);
  const { json } = await server.request('POST', '/data/export', ['exported']);
  assert.equal(Object.keys(json.nativePlugins).sort(), ['wasm_one', 'wasm_several']);
  assert.equal(Object.keys(json.Schema), ['custom_format']);
  assert.equal(JSON.parse(json.Schema.custom_format).plugin, 'one');
  const second = await startServer();
  const imported = await second.request('POST', '/data/import', { content: JSON.stringify(json) });
  assert.is(imported.status, 200, imported.text);
  assert.is((await second.request('GET', '/schemas/custom/format')).json.plugin, 'one');
  const { text } = await second.request('POST', '/rules/exported/start');
  assert.match(text, /started/);
  await second.stop();
});

test.run();
