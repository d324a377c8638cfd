import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { commands } from '../../../host/cli/client/commands.js';
import { temporaryFolder } from '../../support/harness.js';
import { fakeServer, run } from '../../support/rest/fake-server.js';

const server = await fakeServer();
const folder = temporaryFolder();

test.before.each(() => server.reset());
test.after(() => server.close());

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

interface Case {
  readonly argv: readonly string[];
  /** Method and path of the request. */
  readonly asks: string;
  /** Its body, parsed; nothing is sent when it is missing. */
  readonly body?: unknown;
}

const rule = { sql: 'SELECT * FROM demo', actions: [{ log: {} }] };
const words = (text: string) => text.split(' ');
const simple = (argv: string, asks: string): Case => ({ argv: words(argv), asks });

const cases: readonly Case[] = [
  {
    argv: words('create stream demo (a BIGINT) WITH (DATASOURCE="x")'),
    asks: 'POST /streams',
    body: { sql: 'CREATE STREAM demo (a BIGINT) WITH (DATASOURCE="x")' },
  },
  {
    argv: ['create', 'stream', 'create stream demo () WITH (TYPE="x")'],
    asks: 'POST /streams',
    body: { sql: 'create stream demo () WITH (TYPE="x")' },
  },
  {
    argv: ['create', 'table', '-f', file('t.sql', 'CREATE TABLE t () WITH (KIND="scan")\n')],
    asks: 'POST /tables',
    body: { sql: 'CREATE TABLE t () WITH (KIND="scan")' },
  },
  simple('describe stream demo', 'GET /streams/demo'),
  simple('describe stream demo -json', 'GET /streams/demo'),
  simple('describe table t', 'GET /tables/t'),
  simple('drop stream demo', 'DELETE /streams/demo'),
  simple('drop stream demo --force', 'DELETE /streams/demo?force=true'),
  simple('drop table t', 'DELETE /tables/t'),
  simple('show streams', 'GET /streams'),
  simple('show tables', 'GET /tables'),
  { argv: ['create', 'rule', 'r1', JSON.stringify(rule)], asks: 'POST /rules', body: { ...rule, id: 'r1' } },
  {
    argv: ['create', 'rule', 'r1', '-f', file('r.json', JSON.stringify({ ...rule, id: 'r1' }))],
    asks: 'POST /rules',
    body: { ...rule, id: 'r1' },
  },
  {
    argv: ['validate', 'rule', 'r1', JSON.stringify(rule)],
    asks: 'POST /rules/validate',
    body: { ...rule, id: 'r1' },
  },
  { argv: ['update', 'rule', 'r1', JSON.stringify(rule)], asks: 'PUT /rules/r1', body: { ...rule, id: 'r1' } },
  {
    argv: ['update', 'rule', 'r1', '-f', file('u.json', JSON.stringify(rule)), '--dry-run'],
    asks: 'PUT /rules/r1?dryRun=true',
    body: { ...rule, id: 'r1' },
  },
  simple('describe rule r1', 'GET /rules/r1'),
  { argv: ['describe', 'rule', 'a b/c'], asks: 'GET /rules/a%20b%2Fc' },
  simple('explain rule r1', 'GET /rules/r1/explain'),
  simple('drop rule r1', 'DELETE /rules/r1'),
  simple('show rules', 'GET /rules?trouble=true'),
  simple('start rule r1', 'POST /rules/r1/start'),
  simple('stop rule r1', 'POST /rules/r1/stop'),
  simple('restart rule r1', 'POST /rules/r1/restart'),
  simple('getstatus rule r1', 'GET /rules/r1/status'),
  simple('gettopo rule r1', 'GET /rules/r1/topo'),
  {
    argv: ['create', 'plugin', 'source', 'p', '{"file":"http://h/p.zip"}'],
    asks: 'POST /plugins/sources',
    body: { name: 'p', file: 'http://h/p.zip' },
  },
  {
    argv: ['create', 'plugin', 'portable', 'p', '-f', file('p.json', '{"name":"p","file":"x"}')],
    asks: 'POST /plugins/portables',
    body: { name: 'p', file: 'x' },
  },
  simple('describe plugin sink p', 'GET /plugins/sinks/p'),
  simple('drop plugin function p', 'DELETE /plugins/functions/p'),
  simple('drop plugin function p -s', 'DELETE /plugins/functions/p?stop=1'),
  simple('drop plugin -s true function p', 'DELETE /plugins/functions/p?stop=1'),
  simple('drop plugin function p -s=false', 'DELETE /plugins/functions/p'),
  simple('show plugins wasm', 'GET /plugins/wasm'),
  {
    argv: ['register', 'plugin', 'function', 'p', '{"functions":["f","g"]}'],
    asks: 'POST /plugins/functions/p/register',
    body: { functions: ['f', 'g'] },
  },
  simple('show losses', 'GET /losses'),
  simple('show cluster', 'GET /cluster'),
  simple('node drain n.1', 'POST /cluster/nodes/n.1/drain'),
  simple('node resume n.1', 'DELETE /cluster/nodes/n.1/drain'),
  simple('drop loss 1', 'DELETE /losses/1'),
  simple('describe udf f', 'GET /plugins/udfs/f'),
  simple('show udfs', 'GET /plugins/udfs'),
  { argv: ['create', 'service', 's', '{"file":"x"}'], asks: 'POST /services', body: { name: 's', file: 'x' } },
  simple('describe service s', 'GET /services/s'),
  simple('drop service s', 'DELETE /services/s'),
  simple('show services', 'GET /services'),
  simple('describe service_func f', 'GET /services/functions/f'),
  simple('show service_funcs', 'GET /services/functions'),
  {
    argv: ['create', 'schema', 'protobuf', 'b', '{"content":"message"}'],
    asks: 'POST /schemas/protobuf',
    body: { name: 'b', content: 'message' },
  },
  {
    argv: ['create', 'schema', 'protobuf', 'b', '-f', file('b.proto', 'message B {}')],
    asks: 'POST /schemas/protobuf',
    body: { name: 'b', content: 'message B {}' },
  },
  simple('describe schema protobuf b', 'GET /schemas/protobuf/b'),
  simple('drop schema protobuf b', 'DELETE /schemas/protobuf/b'),
  simple('show schemas protobuf', 'GET /schemas/protobuf'),
  {
    argv: ['create', 'script', '{"id":"f","script":"function f() {}"}'],
    asks: 'POST /udf/javascript',
    body: { id: 'f', script: 'function f() {}' },
  },
  simple('describe script f', 'GET /udf/javascript/f'),
  simple('drop script f', 'DELETE /udf/javascript/f'),
  simple('show scripts', 'GET /udf/javascript'),
  {
    argv: ['import', 'ruleset', '-f', file('rs.json', '{"streams":{}}')],
    asks: 'POST /ruleset/import',
    body: { content: '{"streams":{}}' },
  },
  { argv: ['import', 'data', '-f', file('d.json', '{}')], asks: 'POST /data/import', body: { content: '{}' } },
  {
    argv: ['import', 'data', '-f', file('d.json', '{}'), '-p', '-s'],
    asks: 'POST /data/import?partial=1&stop=1',
    body: { content: '{}' },
  },
  {
    argv: ['import', 'data', '-f', file('d.yaml', 'streams: {}')],
    asks: 'POST /v2/data/import',
    body: { content: 'streams: {}' },
  },
  { argv: ['export', 'ruleset', '-'], asks: 'POST /ruleset/export' },
  { argv: ['export', 'data', '-'], asks: 'GET /data/export' },
  { argv: ['export', 'data', join(folder, 'out.yaml')], asks: 'GET /v2/data/export' },
  { argv: ['export', 'data', '-', '-r', '["a","b"]'], asks: 'POST /data/export', body: ['a', 'b'] },
  { argv: ['export', 'data', '-', '-r', 'a, b'], asks: 'POST /data/export', body: ['a', 'b'] },
  simple('getstatus import', 'GET /data/import/status'),
];

for (const { argv, asks, body } of cases) {
  test(`${argv.join(' ')}: sends ${asks}`, async () => {
    const { code, err } = await run(server.base, argv);
    assert.equal([code, err], [0, '']);
    // A reset asks what is there, to tell what it removes.
    const isReset = asks === 'POST /data/import';
    // An update asks whether the rule is there.
    const isUpdate = argv[0] === 'update';
    const sent = server.asked.filter(
      ({ method, path }) => !(isReset && path === '/data/export?secrets=omit') && !(isUpdate && method === 'GET'),
    );
    assert.is(sent.length, 1);
    const [asked] = sent;
    assert.is(`${asked?.method} ${asked?.path}`, asks);
    assert.equal(asked?.body === '' ? undefined : JSON.parse(asked?.body ?? ''), body);
  });

  test(`${argv.join(' ')}: tells the server's message`, async () => {
    server.on('*', { status: 400, body: { error: 1000, message: 'it is refused' } });
    const { code, out, err } = await run(
      server.base,
      argv.filter((word) => word !== '-json'),
    );
    assert.equal([code, out, err], [1, '', 'haumea: it is refused\n']);
  });
}

test('every command is tried here, or in the tests of queries and of many servers', () => {
  const tried = new Set(cases.map(({ argv }) => argv.slice(0, 2).join(' ')));
  const isElsewhere = (path: string) => path === 'query' || path.startsWith('fleet ');
  const missing = commands.map(({ path }) => path).filter((path) => !isElsewhere(path) && !tried.has(path));
  assert.equal(missing, []);
});

test.run();
