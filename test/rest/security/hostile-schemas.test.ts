/** Schemas that are small and mean much, lie too deep, or name files elsewhere: the server answers, and says why. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startServer } from '../../support/harness.js';

const server = await startServer();
test.after(async () => void (await server.stop()));
const { request } = server;

/** Levels of types, each with two members of the next: more columns than any memory has room for. */
const levels = 40;

async function columnsOf(type: string, name: string, content: string, message = '') {
  const made = await request('POST', `/schemas/${type}`, { name, content });
  if (made.status !== 201) return made;
  const options = `TYPE="memory", DATASOURCE="t", FORMAT="${type}", SCHEMAID="${name}${message}"`;
  assert.is((await request('POST', '/streams', { sql: `CREATE STREAM ${name} () WITH (${options})` })).status, 201);
  return request('GET', `/streams/${name}/schema`);
}

test('types that name each other twice have too many columns', async () => {
  let avro: object = { type: 'record', name: `A${levels}`, fields: [{ name: 'n', type: 'null' }] };
  for (let i = levels - 1; i >= 0; i--) {
    const fields = [
      { name: 'x', type: avro },
      { name: 'y', type: `A${i + 1}` },
    ];
    avro = { type: 'record', name: `A${i}`, fields };
  }
  const ofAvro = await columnsOf('avro', 'twiceAvro', JSON.stringify(avro));
  assert.is(ofAvro.status, 400);
  assert.match(ofAvro.text, /more than 10000 columns, members of records among them/);
  const messages = Array.from({ length: levels }, (_, i) => `message A${i} { A${i + 1} x=1; A${i + 1} y=2; }`);
  const proto = `syntax="proto3"; ${messages.join('\n')} message A${levels} { int32 n=1; }`;
  const ofProto = await columnsOf('protobuf', 'twiceProto', proto, '.A0');
  assert.is(ofProto.status, 400);
  assert.match(ofProto.text, /more than 10000 columns, members of messages among them/);
});

test('types within themselves end there, types that lie too deep are refused', async () => {
  const self = await columnsOf(
    'avro',
    'self',
    '{"type":"record","name":"A","fields":[{"name":"a","type":{"type":"array","items":"A"}}]}',
  );
  assert.is(self.status, 200, self.text);
  const depth = 20_000;
  const avro = `${'{"type":"array","items":'.repeat(depth)}"int"${'}'.repeat(depth)}`;
  assert.match((await columnsOf('avro', 'deepAvro', avro)).text, /nested too deeply/);
  const proto = `syntax="proto3"; ${'message A { '.repeat(depth)}${'}'.repeat(depth)}`;
  assert.match((await columnsOf('protobuf', 'deepProto', proto, '.A')).text, /max depth exceeded/);
});

test('an import leads to no file outside of the schema', async () => {
  for (const [i, path] of ['../x.proto', '/etc/passwd', 'a/../../b.proto', '..', '.'].entries()) {
    const answer = await columnsOf('protobuf', `import${i}`, `syntax="proto3"; import "${path}"; message A {}`, '.A');
    assert.is(answer.status, 400);
    assert.match(answer.json.message, `the import ${path} lies outside of the schema`);
  }
});

test.run();
