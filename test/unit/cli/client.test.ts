import { once } from 'node:events';
import { mkdirSync, readFileSync, realpathSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { temporaryFolder } from '../../support/harness.js';
import { fakeServer, type Reaction, run } from '../../support/rest/fake-server.js';

const server = await fakeServer();

test.before.each(() => server.reset());
test.after(() => server.close());

async function outOf(argv: string, reaction: Reaction): Promise<string> {
  server.on('*', reaction);
  return (await run(server.base, argv.split(' '))).out;
}

test('prints texts, lists and tables', async () => {
  assert.is(await outOf('start rule r', { body: 'Rule r was started' }), 'Rule r was started\n');
  assert.is(await outOf('show streams', { body: ['a', 'bc'] }), 'a\nbc\n');
  assert.is(await outOf('show streams', { body: [] }), '(none)\n');
  assert.is(
    await outOf('show rules', {
      body: [
        { id: 'r1', name: 'first', status: 'running', version: '', trace: false, tags: ['x', 'y'] },
        { id: 'rule2', name: 'rule2', status: 'stopped', version: '', trace: false, tags: null },
      ],
    }),
    'ID     NAME   STATUS   TAGS\nr1     first  running  x, y\nrule2  rule2  stopped\n',
  );
  assert.is(await outOf('describe udf f', { body: { name: 'f', plugin: 'p' } }), 'name:   f\nplugin: p\n');
});

test('prints columns and options of a stream', async () => {
  const body = {
    Name: 'demo',
    StreamFields: [
      { Name: 'a', FieldType: 'bigint' },
      { Name: 'bc', FieldType: { Type: 3 } },
      {
        Name: 'd',
        FieldType: {
          Type: 8,
          Fields: [
            { Name: 'x', FieldType: { Type: 1 } },
            { Name: 'y', FieldType: { Type: 'array', ElementType: 'float' } },
          ],
        },
      },
    ],
    Options: { datasource: 'x', FORMAT: 'json' },
  };
  assert.is(
    await outOf('describe stream demo', { body }),
    'FIELD  TYPE\na      bigint\nbc     string\nd      struct(x bigint, y array(float))\n\nDATASOURCE: ' +
      'x\nFORMAT:     json\n',
  );
  assert.is(
    await outOf('describe stream demo', { body: { ...body, StreamFields: null, Options: {} } }),
    'No declared fields\n\n',
  );
});

test('prints state and operators of a rule, and fails when the rule has failed', async () => {
  const status = {
    status: 'running',
    message: '',
    lastStartTimestamp: 1_700_000_000_000,
    lastStopTimestamp: 0,
    source_demo_0_records_in_total: 5,
    source_demo_0_records_out_total: 5,
    source_demo_0_exceptions_total: 0,
    source_demo_0_connection_status: 1,
    source_demo_0_last_exception: '',
    op_2_filter_0_records_in_total: 5,
    op_2_filter_0_records_out_total: 2,
    op_2_filter_1_records_in_total: 7,
  };
  const out = await outOf('getstatus rule r', { body: status });
  assert.match(out, /^status: +running$/m);
  assert.match(out, /^lastStartTimestamp: +2023-11-14T22:13:20.000Z$/m);
  assert.match(out, /^source_demo +5 +5 +0 +connected$/m);
  assert.match(out, /^op_2_filter +12 +2$/m);
  server.on('*', { body: { status: 'stopped by error', message: 'no such connection' } });
  const failed = await run(server.base, ['getstatus', 'rule', 'r']);
  assert.is(failed.code, 1);
  assert.match(failed.out, 'no such connection');
  server.on('*', { body: 'Stopped: canceled by error.' });
  assert.is((await run(server.base, ['getstatus', 'rule', 'r'])).code, 1);
});

test('prints the operators of a rule as a tree', async () => {
  const body = {
    sources: ['source_s'],
    edges: { source_s: ['op_2_project'], op_2_project: ['sink_log_0', 'sink_log_1'] },
  };
  assert.is(await outOf('gettopo rule r', { body }), 'source_s\n  op_2_project\n    sink_log_0\n    sink_log_1\n');
  const circle = { sources: ['a'], edges: { a: ['b'], b: ['a'] } };
  assert.is(await outOf('gettopo rule r', { body: circle }), 'a\n  b\n    a\n');
});

test('prints JSON when asked', async () => {
  assert.equal(JSON.parse(await outOf('show rules --json', { body: [{ id: 'r' }] })), [{ id: 'r' }]);
  assert.equal(JSON.parse(await outOf('start rule r --json', { body: 'Rule r was started' })), {
    message: 'Rule r was started',
  });
  server.on('*', { status: 404, body: { error: 1002, message: 'not there' } });
  const { code, err } = await run(server.base, ['--json', 'describe', 'rule', 'r']);
  assert.equal([code, JSON.parse(err)], [1, { error: 1002, status: 404, message: 'not there' }]);
});

test('understands every form of an error', async () => {
  const errors: [Reaction, string][] = [
    [{ status: 400, body: { msg: 'bad query' } }, 'bad query'],
    [{ status: 422, body: 'plain reason\n' }, 'plain reason'],
    [{ status: 401, body: 'missing_token' }, 'missing_token (--token FILE or HAUMEA_TOKEN gives an access token)'],
    [{ status: 405 }, 'the server answers with status 405'],
    [{ status: 500, body: '{"broken' }, '{"broken'],
  ];
  for (const [reaction, message] of errors) {
    server.on('*', reaction);
    const { code, err } = await run(server.base, ['show', 'rules']);
    assert.equal([code, err], [1, `haumea: ${message}\n`]);
  }
});

test('says when nobody answers', async () => {
  const gone = await fakeServer();
  gone.close();
  const refused = await run(gone.base, ['show', 'rules']);
  assert.is(refused.code, 1);
  assert.match(refused.err, `can't reach ${gone.base}`);
  assert.match(refused.err, 'haumea serve');
  server.on('*', () => {});
  const silent = await run(server.base, ['show', 'rules', '--timeout', '0.05']);
  assert.equal([silent.code, silent.err], [1, `haumea: ${server.base} did not answer within 0.05 s\n`]);
});

test('says that the server is no https one, and asks when it hangs up', async () => {
  const secure = server.base.replace('http:', 'https:');
  const wrong = await run(secure, ['show', 'rules']);
  assert.equal([wrong.code, wrong.err], [1, `haumea: can't reach ${secure}: the server speaks http, not https\n`]);
  const rude = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
  await once(rude, 'listening');
  const base = `http://127.0.0.1:${(rude.address() as AddressInfo).port}`;
  const closed = await run(base, ['show', 'rules']);
  rude.close();
  assert.is(closed.code, 1);
  assert.match(closed.err, new RegExp(`^haumea: can't reach ${base}: .*is http:// or https:// right\\?\\n$`));
});

test('finds the server by flag, environment and client.yaml, in this order', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'etc'));
  const file = join(folder, 'etc', 'client.yaml');
  writeFileSync(file, `basic:\n  host: 127.0.0.1\n  port: ${server.port}\n`);
  const env = { KuiperBaseKey: folder, HAUMEA_URL: '' };
  assert.is((await run('', ['show', 'rules'], { env })).code, 0);
  assert.is(
    (await run('http://127.0.0.1:1', ['show', 'rules', '--url', `${server.base}/`], { env: { KuiperBaseKey: folder } }))
      .code,
    0,
  );
  assert.is((await run(server.base, ['show', 'rules'], { env: { KuiperBaseKey: '/nosuch' } })).code, 0);
  assert.equal(
    server.asked.map(({ path }) => path),
    ['/rules?trouble=true', '/rules?trouble=true', '/rules?trouble=true'],
  );
  for (const [content, reason] of [
    ['basic:\n  port: much\n', 'basic.port must be a port number'],
    ['basic:\n  host: 5\n', 'basic.host must be a text'],
    ['basic: [', 'client.yaml: '],
  ] as const) {
    writeFileSync(file, content);
    const { code, err } = await run('', ['show', 'rules'], { env });
    assert.is(code, 2);
    assert.match(err, reason);
  }
});

test('sends the token of a file or of the environment', async () => {
  const file = join(temporaryFolder(), 'token');
  writeFileSync(file, 'abc.def.ghi\n');
  await run(server.base, ['show', 'rules', '--token', file], { env: { HAUMEA_TOKEN: 'other' } });
  await run(server.base, ['show', 'rules'], { env: { HAUMEA_TOKEN: 'other' } });
  await run(server.base, ['show', 'rules']);
  assert.equal(
    server.asked.map(({ headers }) => headers.authorization),
    ['abc.def.ghi', 'other', undefined],
  );
});

test('refuses wrong command lines with exit code 2 and asks nobody', async () => {
  const wrong: [string[], string][] = [
    [['shwo', 'rules'], 'unknown command shwo, did you mean show?'],
    [['show'], 'show what?'],
    [['show', 'rule'], 'show does not know rule, did you mean rules?'],
    [['describe', 'rule'], 'name is missing\nusage: haumea describe rule NAME'],
    [['describe', 'rule', 'a', 'b'], 'unexpected argument b'],
    [['drop', 'plugin', 'thing', 'p'], 'kind must be one of source, sink, function, portable, wasm, not thing'],
    [['show', 'rules', '--jsno'], 'unknown flag --jsno, did you mean --json?'],
    [['show', 'rules', '--url'], '--url needs a value: URL'],
    [['show', 'rules', '--url', 'ftp://x'], 'no address of a server'],
    [['show', 'rules', '--timeout', 'soon'], '--timeout must be a number of seconds'],
    [['show', 'rules', '--token', '/nosuch'], "can't read the token"],
    [['create', 'stream'], 'sql is missing'],
    [['create', 'rule', 'r', '{bad'], 'the definition is no JSON'],
    [['create', 'rule', 'r', '[]'], 'the definition is no JSON object'],
    [['create', 'rule', 'r', '{"id":"q"}'], 'the definition has the id "q", not r'],
    [['create', 'rule', 'r', '-f', '/nosuch'], "can't read /nosuch"],
    [['create', 'rule', 'r', '{}', '-f', '/nosuch'], 'json and -f exclude each other'],
    [['create', 'plugin', 'source', 'p', '-zf', '/nosuch'], "can't read /nosuch"],
    [['create', 'plugin', 'source', 'p', '{}', '-zf', '/nosuch'], '-zf excludes json and -f'],
    [['import', 'data'], 'a file is missing: -f FILE'],
    [['export', 'data', '-', '-r', '["a",1]'], '-r needs an array of rule ids'],
    [['export', 'data', 'x.yaml', '-r', 'a'], '-r needs a JSON file'],
    [['query', 'SELECT 1', '--limit', '0'], '--limit must be a whole number above 0'],
    [['completion', 'tcsh'], 'shell must be one of bash, zsh, fish'],
  ];
  for (const [argv, message] of wrong) {
    const { code, out, err } = await run(server.base, argv);
    assert.equal([code, out], [2, ''], argv.join(' '));
    assert.match(err, message, argv.join(' '));
  }
  assert.is((await run(server.base, [])).code, 2);
  assert.is(server.asked.length, 0);
});

test('shows help', async () => {
  const all = await run(server.base, ['--help']);
  assert.is(all.code, 0);
  assert.match(all.out, 'create rule NAME [JSON] [-f FILE]');
  assert.match((await run(server.base, ['show', '--help'])).out, 'haumea show schemas TYPE');
  const one = await run(server.base, ['import', 'data', '-h']);
  assert.is(one.code, 0);
  assert.match(one.out, /-p, --partial +merge/);
  assert.match(one.out, /--url URL/);
});

test('a ruleset is no data: it would take the place of everything', async () => {
  const file = join(temporaryFolder(), 'rules.json');
  writeFileSync(file, '{"streams":{"s":"CREATE STREAM s () WITH ()"},"tables":{},"rules":{}}');
  const refused = await run(server.base, ['import', 'data', '-f', file]);
  assert.is(refused.code, 2);
  assert.match(refused.err, 'is a ruleset: haumea import ruleset -f');
  assert.match(refused.err, '--force');
  assert.is(server.asked.length, 0, 'the server is not asked');
  server.on('*', { body: {} });
  assert.is((await run(server.base, ['import', 'data', '-p', '-f', file])).code, 0);
  assert.is((await run(server.base, ['import', 'data', '--force', '-f', file])).code, 0);
  assert.is(server.asked.at(-1)?.path, '/data/import');
});

test('an import of data tells what it removed', async () => {
  const file = join(temporaryFolder(), 'data.json');
  const keys = (names: string[]) => JSON.stringify(Object.fromEntries(names.map((name) => [name, {}])));
  const items = (streams: string[], mqtt: string[]) => ({
    streams: Object.fromEntries(streams.map((name) => [name, `CREATE STREAM ${name}`])),
    sourceConfig: { mqtt: keys(mqtt) },
  });
  writeFileSync(file, JSON.stringify(items(['kept', 'fresh'], ['one'])));
  server.on('GET /data/export?secrets=omit', { body: items(['kept', 'gone', 'lost'], ['one', 'two']) });
  server.on('POST /data/import', { body: { ErrorMsg: '' } });
  const { code, out, err } = await run(server.base, ['import', 'data', '-f', file]);
  assert.equal([code, out], [0, 'imported\n']);
  assert.is(err, 'haumea: removed streams: gone, lost\nhaumea: removed sourceConfig: mqtt.two\n');
});

test('an export that holds secrets names the flag that leaves them out', async () => {
  const told = 'this export holds secrets as they are (rules r), secrets=omit leaves them out';
  server.on('*', (response) => {
    response.writeHead(200, { warning: `299 - ${JSON.stringify(told)}` }).end('{}');
  });
  const { err } = await run(server.base, ['export', 'data', '-']);
  assert.match(err, '(rules r), --no-secrets leaves them out');
});

test('completion works where haumea is no command: the script makes it one', async () => {
  const { out } = await run(server.base, ['completion', 'bash']);
  assert.match(out, /^type haumea >\/dev\/null 2>&1 \|\| haumea\(\) \{ node \S*\/\S+ "\$@"; \}/);
  assert.match((await run(server.base, ['completion', 'fish'])).out, /^type -q haumea; or alias haumea 'node /);
});

test('completion names the program itself, not the link in a cache by which npx calls it', async () => {
  const folder = realpathSync(temporaryFolder());
  writeFileSync(join(folder, 'haumea.mjs'), '');
  symlinkSync(join(folder, 'haumea.mjs'), join(folder, 'link'));
  const called = process.argv[1];
  try {
    process.argv[1] = join(folder, 'link');
    const { out } = await run(server.base, ['completion', 'bash']);
    assert.ok(out.includes(`haumea() { node ${join(folder, 'haumea.mjs')} "$@"; }`), out.slice(0, 200));
  } finally {
    process.argv[1] = called!;
  }
});

test('prints completion scripts that know all commands', async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, out } = await run(server.base, ['completion', shell]);
    assert.is(code, 0);
    for (const word of ['serve', 'query', 'getstatus', 'service_funcs', 'portable', '--partial'.slice(2)]) {
      assert.match(out, word);
    }
  }
});

test('uploads a local plugin, installs it and removes the upload', async () => {
  const zip = join(temporaryFolder(), 'my plugin.zip');
  writeFileSync(zip, 'PK zip bytes');
  server.on('POST /config/uploads', { status: 201, body: '/data/uploads/my plugin.zip' });
  server.on('POST /plugins/portables', { status: 201, body: 'portable plugin p is created' });
  const argv = ['create', 'plugin', 'portable', 'p', '-zf', zip];
  assert.equal(await run(server.base, argv), { code: 0, out: 'portable plugin p is created\n', err: '' });
  const [upload, create, remove] = server.asked;
  assert.match(upload?.body ?? '', 'name="uploadFile"; filename="my plugin.zip"');
  assert.match(upload?.body ?? '', 'PK zip bytes');
  assert.equal(JSON.parse(create?.body ?? ''), { name: 'p', file: 'file:///data/uploads/my%20plugin.zip' });
  assert.is(`${remove?.method} ${remove?.path}`, 'DELETE /config/uploads/my%20plugin.zip');
  server.on('POST /plugins/portables', { status: 400, body: { error: 1000, message: 'no good' } });
  server.asked.length = 0;
  assert.equal(await run(server.base, argv), { code: 1, out: '', err: 'haumea: no good\n' });
  assert.is(server.asked.at(-1)?.method, 'DELETE', 'the upload is removed after a failure, too');
});

test('lists what an import could not take over', async () => {
  const file = join(temporaryFolder(), 'd.json');
  writeFileSync(file, '{}');
  const status = { streams: { bad: 'syntax' }, tables: {}, rules: { r: 'no stream' } };
  server.on('*', { status: 400, body: { error: 1000, message: JSON.stringify(status) } });
  const { code, err } = await run(server.base, ['import', 'data', '-f', file]);
  assert.is(code, 1);
  assert.match(err, /^streams +bad +syntax$/m);
  assert.match(err, /^rules +r +no stream$/m);
  server.on('*', { body: status });
  const asked = await run(server.base, ['getstatus', 'import']);
  assert.is(asked.code, 1);
  assert.match(asked.out, /^rules +r +no stream$/m);
});

test('exports to a file or to the standard output', async () => {
  const file = join(temporaryFolder(), 'out.json');
  server.on('*', { body: '{"streams":{}}' });
  assert.equal(await run(server.base, ['export', 'data', file]), { code: 0, out: `exported to ${file}\n`, err: '' });
  assert.is(readFileSync(file, 'utf8'), '{"streams":{}}');
  assert.is(statSync(file).mode & 0o777, 0o600, 'only the owner reads the passwords in it');
  assert.is((await run(server.base, ['export', 'ruleset', '-'])).out, '{"streams":{}}\n');
  const { code, err } = await run(server.base, ['export', 'data', '/nosuch/out.json']);
  assert.is(code, 2);
  assert.match(err, "can't write /nosuch/out.json");
});

test.run();
