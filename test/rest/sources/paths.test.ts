/** Paths in requests lead into the data folder and the allowed ones, and nowhere else. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Answer,
  announceSkip,
  eventually,
  startServer,
  type TestServer,
  temporaryFolder,
} from '../../support/harness.js';

const data = temporaryFolder();
const allowed = temporaryFolder();
const outside = temporaryFolder();
const secretText = 'syntax = "proto3"; message Hidden {string password = 1;}';
let server: TestServer;

test.before(async () => {
  writeFileSync(join(outside, 'hidden'), `${secretText}\n`);
  writeFileSync(join(allowed, 'rows.txt'), '{"a":1}\n{"a":2}\n');
  symlinkSync(outside, join(allowed, 'out'));
  symlinkSync(join(outside, 'hidden'), join(allowed, 'link'));
  symlinkSync(join(outside, 'none'), join(allowed, 'nowhere'));
  symlinkSync('rows.txt', join(allowed, 'near'));
  mkdirSync(join(data, 'secrets'));
  writeFileSync(join(data, 'secrets/key'), secretText);
  server = await startServer({
    data,
    args: ['--etc', join(data, 'etc')],
    env: { KUIPER__BASIC__ALLOWEDPATHS: allowed, HAUMEA_TEST_PRIVATE: secretText },
  });
});
test.after(async () => void (await server.stop()));

/** What must not be read, or written to. */
const closed = () => [
  '/etc/passwd',
  '/proc/self/environ',
  join(outside, 'hidden'),
  join(outside, 'none'),
  join(allowed, 'link'),
  join(allowed, 'out/hidden'),
  join(allowed, 'nowhere'),
  join(allowed, '../x'),
  join(data, 'secrets/key'),
  join(data, 'sqliteKV.db'),
  join(data, 'sqliteKV.db.changes-000001'),
  join(data, 'haumea.lock'),
  join(data, 'log/stream.log'),
  join(data, 'etc/mgmt/key.pub'),
];

const refused = (answer: Answer, path: string) => {
  assert.is(answer.status, 400, `${path}: ${answer.text}`);
  assert.match(answer.text, 'access is denied');
  assert.not.match(answer.text, 'Hidden');
};

test('no resource takes a file from elsewhere', async () => {
  const requests: [string, object][] = [
    ['/schemas/protobuf', { name: 'leak' }],
    ['/schemas/custom', { name: 'leak', content: 'x' }],
    ['/config/uploads', { name: 'leak' }],
    ['/services', { name: 'leak' }],
    ['/plugins/wasm', { name: 'leak' }],
    ['/plugins/portables', { name: 'leak' }],
    ['/plugins/functions', { name: 'leak' }],
    ['/data/import', {}],
    ['/ruleset/import', {}],
  ];
  for (const [path, body] of requests) {
    for (const file of path === '/schemas/protobuf' ? closed() : closed().slice(0, 3)) {
      const name = path === '/schemas/custom' ? 'soFile' : 'file';
      refused(await server.request('POST', path, { ...body, [name]: pathToFileURL(file).href }), `${path} ${file}`);
    }
  }
  const near = await server.request('POST', '/config/uploads', { name: 'n', file: `file://${allowed}/near` });
  assert.is(near.status, 201, near.text);
  assert.is(readFileSync(join(data, 'uploads/n'), 'utf8'), '{"a":1}\n{"a":2}\n');
});

test('uploads are not stored where a link in their folder leads', async () => {
  symlinkSync(outside, join(data, 'uploads/away'));
  refused(await server.request('POST', '/config/uploads', { name: 'away/new', content: 'x' }), 'away/new');
  assert.equal(readdirSync(outside), ['hidden']);
});

/** Creates a stream over a file; returns the answer to a rule that reads it. */
async function read(id: string, dataSource: string, key: object): Promise<Answer> {
  await server.request('PUT', `/metadata/sources/file/confKeys/${id}`, { fileType: 'lines', ...key });
  const sql = `CREATE STREAM ${id} () WITH (TYPE="file", DATASOURCE="${dataSource}", CONF_KEY="${id}", FORMAT="json")`;
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  return server.request('POST', '/rules', {
    id,
    sql: `SELECT * FROM ${id}`,
    actions: [{ file: { path: `${id}.out` } }],
  });
}

const wrote = (path: string, text: string) =>
  eventually(`${text} in ${path}`, () => (existsSync(path) && readFileSync(path, 'utf8') === text) || undefined);

test('file sources: allowed folders, relative paths in the data folder, nothing else', async () => {
  assert.is((await read('abs', 'rows.txt', { path: allowed })).status, 201);
  await wrote(join(data, 'abs.out'), '[{"a":1}]\n[{"a":2}]\n');
  mkdirSync(join(data, 'in'));
  writeFileSync(join(data, 'in/rows.txt'), '{"a":3}\n');
  assert.is((await read('rel', 'rows.txt', { path: 'in' })).status, 201);
  await wrote(join(data, 'rel.out'), '[{"a":3}]\n');
  const wrong: [string, object][] = [
    ['hidden', { path: outside }],
    [join(outside, 'hidden'), { path: allowed }],
    ['out/hidden', { path: allowed }],
    ['link', { path: allowed }],
    ['../../etc/passwd', {}],
    ['secrets/key', {}],
    ['', { path: '/etc' }],
  ];
  for (const [i, [dataSource, key]] of wrong.entries()) {
    const answer = await read(`bad${i}`, dataSource, key);
    refused(answer, dataSource);
    assert.match(answer.text, `stream bad${i}: property path`);
  }
});

test('files are neither moved nor deleted elsewhere', async () => {
  const moved = await read('move', 'rows.txt', { path: 'in', actionAfterRead: 2, moveTo: join(outside, 'moved') });
  refused(moved, 'moveTo');
  assert.match(moved.text, 'property moveTo');
  refused(await read('remove', 'hidden', { path: join(allowed, 'out'), actionAfterRead: 1 }), 'path');
  assert.equal(readdirSync(outside), ['hidden']);
  writeFileSync(join(data, 'in/once.txt'), '{"a":4}\n');
  await read('good', 'once.txt', { path: 'in', actionAfterRead: 2, moveTo: 'done' });
  await eventually('the move', () => existsSync(join(data, 'done/once.txt')) || undefined);
});

test('a file that is moved takes the place of no file of the server, nor of any other', async () => {
  const names = ['sqliteKV.db', 'sqliteKV.db.changes-000000', 'sqliteKV.db-new', 'haumea.lock', 'secrets'];
  const before = readFileSync(join(data, 'haumea.lock'), 'utf8');
  mkdirSync(join(data, 'plant'));
  for (const [i, name] of names.entries()) {
    writeFileSync(join(data, 'plant', name), '{"a":6}\n');
    const key = { path: 'plant', actionAfterRead: 2, moveTo: '.' };
    await read(`one${i}`, name, key);
    await eventually('the refusal', async () => {
      const { text } = await server.request('GET', `/rules/one${i}/status`);
      return text.includes('access is denied') || undefined;
    });
  }
  // A folder: what may be moved is moved, what may not is told and stays.
  const key = { path: '.', actionAfterRead: 2, moveTo: '.', interval: 20 };
  writeFileSync(join(data, 'plant/free.txt'), '{"a":7}\n');
  await read('plant', 'plant', key);
  await eventually('the refusal', async () => {
    const { text } = await server.request('GET', '/rules/plant/status');
    return text.includes('access is denied') || undefined;
  });
  await server.request('POST', '/rules/plant/stop');
  for (const name of names) assert.is(readFileSync(join(data, 'plant', name), 'utf8'), '{"a":6}\n', name);
  assert.is(readFileSync(join(data, 'haumea.lock'), 'utf8'), before);
  assert.not(existsSync(join(data, 'sqliteKV.db-new')));
  assert.is(readFileSync(join(data, 'secrets/key'), 'utf8'), secretText);

  for (const a of [8, 9]) {
    writeFileSync(join(data, 'in/twice.txt'), `{"a":${a}}\n`);
    await read(`twice${a}`, 'twice.txt', { path: 'in', actionAfterRead: 2, moveTo: 'both' });
    await eventually('the move', () => !existsSync(join(data, 'in/twice.txt')) || undefined);
  }
  const kept = readdirSync(join(data, 'both')).sort();
  assert.is(kept.length, 2);
  assert.match(String(kept[0]), /^twice-\d+\.txt$/);
  const texts = kept.map((name) => readFileSync(join(data, 'both', name), 'utf8'));
  assert.equal(texts, ['{"a":9}\n', '{"a":8}\n']);
});

test('a link put there after the rule was made leads a sink and a source nowhere', async () => {
  mkdirSync(join(data, 'late'));
  writeFileSync(join(data, 'late/hidden'), '{"a":5}\n');
  const key = { path: 'late', interval: 20 };
  assert.is((await read('late', 'hidden', key)).status, 201);
  const out = join(data, 'late.out');
  await eventually(
    'a row',
    () => (existsSync(out) && readFileSync(out, 'utf8').startsWith('[{"a":5}]\n')) || undefined,
  );
  await server.request('POST', '/rules/late/stop');
  rmSync(join(data, 'late'), { recursive: true });
  symlinkSync(outside, join(data, 'late'));
  await server.request('POST', '/rules/late/start');
  await eventually('the refusal', async () => {
    const { text } = await server.request('GET', '/rules/late/status');
    return text.includes('access is denied') || undefined;
  });
  assert.not.match(readFileSync(join(data, 'late.out'), 'utf8'), 'Hidden');
});

test('file sinks write nowhere else', async () => {
  await server.request('POST', '/streams', { sql: 'CREATE STREAM sim () WITH (TYPE="simulator", FORMAT="json")' });
  for (const path of [...closed(), '../escaped', join(outside, 'deep/new')]) {
    const actions = [{ file: { path } }];
    const answer = await server.request('POST', '/rules', { id: 'sink', sql: 'SELECT * FROM sim', actions });
    refused(answer, path);
    assert.match(answer.text, 'sink file: property path');
  }
  assert.equal(readdirSync(outside), ['hidden']);
});

test('a file sink needs a file: a folder, and no path at all, are refused with the rule', async () => {
  for (const [path, reason] of [
    ['', 'property path must not be empty'],
    ['.', 'is a folder, a file is needed'],
    ['in', 'is a folder, a file is needed'],
    [join(allowed, '.'), 'is a folder, a file is needed'],
  ]) {
    const actions = [{ file: { path } }];
    const answer = await server.request('POST', '/rules', { id: 'sink', sql: 'SELECT * FROM sim', actions });
    assert.is(answer.status, 400, `${path}: ${answer.text}`);
    assert.match(answer.text, String(reason));
    assert.match(answer.text, 'property path');
  }
});

test('an image sink takes the folder that is there already', async () => {
  const actions = [{ image: { path: 'in' } }];
  const rule = { id: 'images', sql: 'SELECT * FROM sim', actions, triggered: false };
  const answer = await server.request('POST', '/rules', rule);
  assert.is(answer.status, 201, answer.text);
  await server.request('DELETE', '/rules/images');
});

if (process.platform === 'win32') announceSkip('pipes', 'there is no mkfifo');
else {
  test('pipes hold nobody up, neither to be read nor to be written to', async () => {
    // As many as the process has threads for files, and some more.
    const names = ['p1', 'p2', 'p3', 'p4', 'p5', 'p6'];
    mkdirSync(join(data, 'pipes'));
    execFileSync(
      'mkfifo',
      names.map((name) => join(data, 'pipes', name)),
    );
    for (const name of names) await read(name, name, { path: 'pipes' });
    const pem = await server.request('POST', '/metadata/sinks/connection/mqtt', {
      server: 'ssl://127.0.0.1:1',
      rootCaPath: 'pipes/p1',
    });
    assert.match(pem.text, 'is a pipe, a file is needed');
    const actions = [{ file: { path: 'pipes/p1' } }];
    const sink = await server.request('POST', '/rules', { id: 'pipe', sql: 'SELECT * FROM sim', actions });
    assert.is(sink.status, 400);
    assert.match(sink.text, 'property path');
    assert.match(sink.text, 'is a pipe, a file is needed');
    assert.is((await server.request('POST', '/config/uploads', { name: 'after', content: 'x' })).status, 201);
    for (const name of names) {
      await eventually('the refusal', async () => {
        const { text } = await server.request('GET', `/rules/${name}/status`);
        return text.includes('is a pipe, a file is needed') || undefined;
      });
    }
    writeFileSync(join(data, 'in/plain.txt'), '{"a":10}\n');
    await read('plain', 'plain.txt', { path: 'in' });
    await wrote(join(data, 'plain.out'), '[{"a":10}]\n');
  });
}

test(
  'file sinks do not replace what requests of its own have stored, sources read it but do not take it ' + 'away',
  async () => {
    await server.request('POST', '/config/uploads', { name: 'rows', content: '{"a":6}\n' });
    for (const folder of ['uploads', 'schemas', 'services', 'plugins/wasm', 'scripts', 'uploads/deep']) {
      const actions = [{ file: { path: `${folder}/rows` } }];
      const answer = await server.request('POST', '/rules', { id: 'over', sql: 'SELECT * FROM sim', actions });
      refused(answer, folder);
      assert.match(answer.text, 'property path: access is denied');
      assert.match(answer.text, 'is in a folder of resources, which can only be read');
    }
    symlinkSync(join(data, 'uploads'), join(data, 'by-link'));
    const actions = [{ file: { path: 'by-link/rows' } }];
    refused(await server.request('POST', '/rules', { id: 'over', sql: 'SELECT * FROM sim', actions }), 'by-link');
    refused(await read('taken', 'rows', { path: 'uploads', actionAfterRead: 1 }), 'delete');
    refused(await read('into', 'rows.txt', { path: 'in', actionAfterRead: 2, moveTo: 'uploads' }), 'move');
    assert.is((await read('uploaded', 'rows', { path: 'uploads' })).status, 201);
    await wrote(join(data, 'uploaded.out'), '[{"a":6}]\n');
    assert.is(readFileSync(join(data, 'uploads/rows'), 'utf8'), '{"a":6}\n');
  },
);

test('links in a folder are read where they lead to allowed places, others are named', async () => {
  const folder = join(data, 'links');
  mkdirSync(join(folder, 'below'), { recursive: true });
  writeFileSync(join(allowed, 'linked.txt'), '{"a":7}\n');
  symlinkSync(join(allowed, 'linked.txt'), join(folder, 'good'));
  symlinkSync(join(outside, 'hidden'), join(folder, 'bad'));
  symlinkSync(join(folder, 'none'), join(folder, 'broken'));
  assert.is((await read('links', '', { path: 'links', interval: 50 })).status, 201);
  const out = () => (existsSync(join(data, 'links.out')) ? readFileSync(join(data, 'links.out'), 'utf8') : '');
  await eventually('a reading', () => out() === '[{"a":7}]\n' || undefined);
  writeFileSync(join(allowed, 'linked.txt'), '{"a":77}\n');
  await eventually('the changed file', () => out() === '[{"a":7}]\n[{"a":77}]\n' || undefined);
  const status = (await server.request('GET', '/rules/links/status')).json;
  assert.is(status.source_links_0_exceptions_total, 2, 'each is told once');
  assert.match(status.source_links_0_last_exception, /links\/(bad|broken) is passed over: access is denied/);
  const log = () => readFileSync(join(data, 'log/stream.log'), 'utf8');
  await eventually('both in the log', () =>
    ['bad', 'broken'].every((name) => log().includes(`links/${name} is passed over`)),
  );
  assert.not.match(log(), 'Hidden');
});

test('a key with a path that rules are refused is taken with a warning', async () => {
  const answer = await server.request('PUT', '/metadata/sources/file/confKeys/closed', { path: '/etc' });
  assert.is(answer.status, 200);
  assert.match(
    answer.text,
    'Warning: configuration key closed of file: property path: access is denied: /etc is not in',
  );
  assert.match(answer.headers.get('warning') ?? '', 'property path: access is denied');
  const tls = await server.request('PUT', '/metadata/sources/mqtt/confKeys/closed', { rootCaPath: '/etc/x' });
  assert.match(tls.text, 'property rootCaPath: access is denied');
  assert.is((await server.request('PUT', '/metadata/sources/file/confKeys/open', { path: allowed })).text, '');
});

test('a reference that is never allowed is refused with its property where it is sent', async () => {
  const at = (path: string) =>
    path === '/connections'
      ? (props: object) => server.request('POST', path, { id: 'ref', typ: 'mqtt', props })
      : (props: object) => server.request('PUT', path, props);
  for (const path of [
    '/connections',
    '/metadata/sources/mqtt/confKeys/ref',
    '/metadata/sinks/mqtt/confKeys/ref',
    '/metadata/connections/mqtt/confKeys/ref',
  ]) {
    for (const [props, reason] of [
      [
        { server: 'tcp://{{env://PATH}}:1883' },
        'property server: reference {{env://PATH}}: only properties declared secret',
      ],
      [{ password: 'env://PATH' }, 'property password: reference env://PATH: the variable is none of those'],
      [{ password: 'file:///etc/passwd' }, 'property password: reference file:///etc/passwd: the file is not in'],
    ] as const) {
      const answer = await at(path)(props);
      assert.is(answer.status, 400, `${path}: ${answer.text}`);
      assert.ok(answer.text.includes(reason), `${path}: ${answer.text}`);
    }
    // What is allowed may come later.
    const later = await at(path)({ server: 'tcp://127.0.0.1:1', password: 'env://HAUMEA_SECRET_LATER' });
    assert.ok(later.status < 300, `${path}: ${later.text}`);
  }
});

test('certificates of clients lie in allowed folders', async () => {
  const wrong = { server: 'ssl://127.0.0.1:1', rootCaPath: join(outside, 'hidden') };
  const actions = [{ mqtt: { ...wrong, topic: 't' } }];
  refused(await server.request('POST', '/rules', { id: 'tls', sql: 'SELECT * FROM sim', actions }), 'rule');
  refused(await server.request('POST', '/connections', { id: 'tls', typ: 'mqtt', props: wrong }), 'connection');
  refused(await server.request('POST', '/metadata/sinks/connection/mqtt', wrong), 'check');
  const missing = await server.request('POST', '/metadata/sinks/connection/mqtt', {
    ...wrong,
    rootCaPath: 'uploads/ca',
  });
  assert.match(missing.text, join(data, 'uploads/ca'));
});

test('secrets of the server can not be asked for by other properties or names', async () => {
  const rule = (props: object) =>
    server.request('POST', '/rules', { id: 'ask', sql: 'SELECT * FROM sim', actions: [{ mqtt: props }] });
  const mqtt = { server: 'tcp://127.0.0.1:1', topic: 't' };
  for (const [props, reason] of [
    [{ ...mqtt, topic: 'env://HAUMEA_TEST_PRIVATE' }, 'property topic: reference env://HAUMEA_TEST_PRIVATE: only'],
    [{ ...mqtt, username: `x{{file://${outside}/hidden}}` }, 'only properties declared secret'],
    [{ ...mqtt, password: 'env://HAUMEA_TEST_PRIVATE' }, 'basic.secrets.variables'],
    [{ ...mqtt, password: `file://${outside}/hidden` }, 'basic.secrets.folders'],
    [{ ...mqtt, password: `file://${allowed}/rows.txt` }, 'basic.secrets.folders'],
  ] as const) {
    const answer = await rule(props);
    assert.is(answer.status, 400, answer.text);
    assert.match(answer.text, reason);
    assert.not.match(answer.text, 'Hidden');
  }
  // A topic that looks like the address of a file is a topic.
  assert.is((await rule({ ...mqtt, topic: `file://${outside}/hidden`, password: 'file://key' })).status, 201);
  for (const path of ['/rules/ask', '/rules/ask/status', '/data/export', '/connections?forceAll=true']) {
    assert.not.match((await server.request('GET', path)).text, 'Hidden', path);
  }
  assert.not.match(server.output(), 'Hidden');
});

test('the log of a rule is no file of the server, where logs lie among them', async () => {
  const folder = temporaryFolder();
  const mixed = await startServer({ data: folder, args: ['--log', folder, '--etc', folder] });
  await mixed.request('POST', '/streams', { sql: 'CREATE STREAM sim () WITH (TYPE="simulator", FORMAT="json")' });
  const rule = (id: string, logFilename: string) => ({
    id,
    sql: 'SELECT * FROM sim',
    actions: [{ log: {} }],
    options: { logFilename },
  });
  for (const name of ['haumea.lock', 'sqliteKV.db', 'sqliteKV.db.changes-000001', 'kuiper.yaml', 'secrets']) {
    const answer = await mixed.request('POST', '/rules', rule('bad', name));
    assert.is(answer.status, 400, `${name}: ${answer.text}`);
    assert.match(answer.text, `rule bad options: property logFilename must not be ${name}, a file of the server`);
    assert.is((await mixed.request('POST', '/rules/validate', rule('bad', name))).status, 422, name);
  }
  assert.not.match(readFileSync(join(folder, 'haumea.lock'), 'utf8'), 'level=');
  assert.is((await mixed.request('POST', '/rules', rule('good', 'good.log'))).status, 201);
  await eventually('the log', () => existsSync(join(folder, 'good.log')) || undefined);
  await mixed.stop();
});

test('with basic.allowExternalFileAccess any path but those of the server', async () => {
  const open = await startServer({
    env: { KUIPER__BASIC__ALLOWEDPATHS: '', KUIPER__BASIC__ALLOWEXTERNALFILEACCESS: 'true' },
  });
  const take = (path: string) => open.request('POST', '/config/uploads', { name: 'n', file: `file://${path}` });
  assert.is((await take(join(outside, 'hidden'))).status, 201);
  refused(await take(join(open.data, 'sqliteKV.db')), 'sqliteKV.db');
  await open.stop();
});

test.run();
