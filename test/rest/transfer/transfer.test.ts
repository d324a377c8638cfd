/** Imports and exports in both generations, background tasks, rulesets. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, temporaryFolder } from '../../support/harness.js';
import { startControlPlane } from '../../support/rest/control-plane.js';
import { run } from '../../support/rest/fake-server.js';

const plane = await startControlPlane();
const { request } = plane;

const sections = [
  'streams',
  'tables',
  'rules',
  'nativePlugins',
  'portablePlugins',
  'sourceConfig',
  'sinkConfig',
  'connectionConfig',
  'Service',
  'Schema',
  'uploads',
  'scripts',
];
const stream = (name: string, columns = 'a BIGINT') =>
  `CREATE STREAM ${name} (${columns}) WITH (DATASOURCE="t", TYPE="memory")`;
const table = (name: string) =>
  `CREATE TABLE ${name} (a BIGINT) WITH (DATASOURCE="t", TYPE="memory", KIND="lookup", KEY="a")`;
const rule = (id: string, source: string, more: Record<string, unknown> = {}) =>
  JSON.stringify({ id, sql: `SELECT a FROM ${source}`, actions: [{ nop: {} }], ...more });

const everything = {
  streams: { s1: stream('s1') },
  tables: { t1: table('t1') },
  rules: { r1: rule('r1', 's1', { tags: ['q'] }), r2: rule('r2', 's1', { triggered: false }) },
  sourceConfig: { mqtt: JSON.stringify({ k: { qos: 1, server: 'tcp://h', password: 'open' } }) },
  sinkConfig: { mqtt: JSON.stringify({ k: { qos: 2 } }) },
  connectionConfig: { mqtt: JSON.stringify({ c1: { server: 'tcp://127.0.0.1:1' } }) },
  Schema: { protobuf_p: JSON.stringify({ type: 'protobuf', name: 'p', content: 'syntax = "proto3";' }) },
  uploads: { 'x.txt': JSON.stringify({ name: 'x.txt', content: 'hello' }) },
  scripts: { area: JSON.stringify({ id: 'area', script: 'function area(x) { return x; }', isAgg: false }) },
};

const doImport = (document: unknown, query = '') =>
  request('POST', `/data/import${query}`, {
    content: typeof document === 'string' ? document : JSON.stringify(document),
  });
const doExport = async () => (await request('GET', '/data/export')).json;
const isEmpty = (document: Record<string, object>) =>
  Object.values(document).every((section) => Object.keys(section).length === 0);

test.before.each(async () => {
  assert.is((await doImport('{}')).status, 200);
});

test('exports what it imported', async () => {
  const answer = await doImport(everything);
  assert.is(answer.status, 200, answer.text);
  assert.is(answer.json.ErrorMsg, '');
  assert.equal(Object.keys(answer.json.ConfigResponse), sections);
  assert.ok(isEmpty(answer.json.ConfigResponse));
  const exported = await request('GET', '/data/export');
  assert.match(exported.headers.get('content-disposition') ?? '', /attachment/i);
  assert.is(exported.type, 'application/octet-stream');
  const document = exported.json;
  assert.equal(Object.keys(document), sections);
  assert.equal(document.streams, everything.streams);
  assert.equal(document.tables, everything.tables);
  assert.equal(JSON.parse(document.rules.r1), JSON.parse(everything.rules.r1));
  assert.equal(JSON.parse(document.rules.r2), JSON.parse(everything.rules.r2));
  assert.equal(document.sourceConfig, everything.sourceConfig, 'secrets are exported');
  assert.equal(document.connectionConfig, everything.connectionConfig);
  assert.is(JSON.parse(document.uploads['x.txt']).content, 'hello');
  const states = (await request('GET', '/rules')).json.map(({ status }: { status: string }) => status);
  assert.equal(states, ['Running', 'Stopped']);
  // And once more, through the export itself.
  assert.is((await doImport(document)).status, 200);
  assert.equal(await doExport(), document);
});

test('replaces everything, or with partial only what has the same name', async () => {
  await doImport(everything);
  const partial = await doImport(
    { streams: { s2: stream('s2'), s1: stream('s1', 'a FLOAT') }, sourceConfig: { mqtt: '{"k2": {"qos": 0}}' } },
    '?partial=1',
  );
  assert.is(partial.status, 200, partial.text);
  let document = await doExport();
  assert.equal(Object.keys(document.streams), ['s1', 's2']);
  assert.match(document.streams.s1, /FLOAT/);
  assert.equal(Object.keys(JSON.parse(document.sourceConfig.mqtt)), ['k', 'k2']);
  assert.equal(Object.keys(document.rules), ['r1', 'r2']);
  await doImport({ streams: { s9: stream('s9') }, rules: { r2: rule('r2', 's9') } });
  document = await doExport();
  assert.equal(Object.keys(document.streams), ['s9']);
  assert.equal(Object.keys(document.rules), ['r2']);
  assert.ok(isEmpty({ ...document, streams: {}, rules: {} }));
  assert.equal(
    (await request('GET', '/rules')).json.map(({ id, status }: { id: string; status: string }) => [id, status]),
    [['r2', 'Running']],
  );
});

test('reports each item that is refused and takes the others', async () => {
  const answer = await doImport({
    streams: { ok: stream('ok'), bad: 'CREATE STRM', other: stream('another'), odd: 7 },
    tables: { ok: table('ok'), notable: stream('notable') },
    rules: {
      okr: rule('okr', 'ok'),
      nosql: '{"id": "nosql"}',
      nowhere: rule('nowhere', 'nowhere'),
      torn: '{"id": "to',
      wrongid: rule('other', 'ok'),
    },
    sourceConfig: { mqtt: '[1]', file: '{"k": 3}', 'a b': '{}' },
    scripts: { f: '{"id": "f", "script": "var x"}' },
    uploads: { u: '{}' },
    nativePlugins: { nokind: '{}', sources_x: '{}' },
    Service: { z: '{"name": "z", "file": "file:///nosuch/z.zip"}' },
  });
  assert.is(answer.status, 400);
  assert.is(answer.json.error, 1000);
  const failures = JSON.parse(answer.json.message);
  assert.equal(Object.keys(failures), sections);
  const reasons = (section: string) => Object.keys(failures[section]);
  assert.equal(reasons('streams'), ['bad', 'other', 'odd']);
  assert.match(failures.streams.bad, /STRM/);
  assert.match(failures.streams.other, /creates the stream another/);
  assert.match(failures.streams.odd, /must be a text, not 7/);
  assert.equal(reasons('tables'), ['ok', 'notable']);
  assert.equal(reasons('rules'), ['nosql', 'nowhere', 'torn', 'wrongid']);
  assert.match(failures.rules.nowhere, /nowhere/);
  assert.match(failures.rules.torn, /no JSON/);
  assert.equal(reasons('sourceConfig'), ['mqtt', 'file', 'a b']);
  assert.equal(reasons('nativePlugins'), ['nokind', 'sources_x']);
  for (const section of ['scripts', 'uploads', 'Service']) assert.is(reasons(section).length, 1);
  assert.equal((await request('GET', '/streams')).json, ['ok']);
  assert.equal((await request('GET', '/data/import/status')).json, failures);
  await doImport({}, '?partial=1');
  assert.ok(isEmpty((await request('GET', '/data/import/status')).json), 'the last import counts');
});

test('changes nothing when the content as a whole can not be used', async () => {
  await doImport(everything);
  const before = await doExport();
  const whole = JSON.stringify(everything);
  for (const [body, reason] of [
    [{ content: whole.slice(0, -20) }, /no JSON/],
    [{ content: '[]' }, /must be a JSON object/],
    [{ content: '{"streams": []}' }, /streams must map names/],
    [{ content: '{"strems": {}}' }, /unknown map strems, did you mean streams\?/],
    [{}, /content or file/],
    [{ content: '{}', file: 'file:///x' }, /both/],
    [{ content: 3 }, /content must be a text/],
    [{ file: 'file:///nosuch/none.json' }, /none\.json/],
    [{ file: 'ftp://x/y' }, /http, https and file/],
    ['{bad', /no JSON/],
    ['', /empty/],
  ] as const) {
    const answer = await request('POST', '/data/import', body);
    assert.is(answer.status, 400, answer.text);
    assert.is(answer.json.error, 1000);
    assert.match(answer.json.message, reason);
  }
  assert.is((await request('GET', '/data/import')).status, 405);
  assert.equal(await doExport(), before);
});

test('refuses bodies beyond the limit and takes large ones below it', async () => {
  const streams = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`s${i}`, stream(`s${i}`)]));
  const rules = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`r${i}`, rule(`r${i}`, `s${i}`)]));
  const answer = await doImport({ streams, rules });
  assert.is(answer.status, 200, answer.text.slice(0, 300));
  assert.is((await request('GET', '/rules')).json.length, 1000);
  const huge = await request('POST', '/data/import', 'x'.repeat((64 << 20) + 1));
  assert.is(huge.status, 413);
  assert.is((await request('GET', '/streams')).json.length, 3000);
});

test('a dry run tells the same failures and changes nothing', async () => {
  await doImport(everything);
  const before = await doExport();
  const refused = await doImport({ streams: { n: stream('n'), bad: 'X' }, rules: { x: rule('x', 'n') } }, '?dryRun=1');
  assert.is(refused.status, 400);
  assert.equal(Object.keys(JSON.parse(refused.json.message).streams), ['bad']);
  assert.equal(JSON.parse(refused.json.message).rules, {}, 'rules see the streams of the import');
  const gone = await doImport({ rules: { x: rule('x', 's1') } }, '?dryRun=1');
  assert.match(JSON.parse(gone.json.message).rules.x, /s1/, 'a full import leaves nothing to refer to');
  assert.is((await doImport({ rules: { x: rule('x', 's1') } }, '?dryRun=1&partial=1')).status, 200);
  const yaml = { content: 'streams:\n  y:\n    sql: CREATE STREAM y () WITH (DATASOURCE="a", TYPE="memory")\n' };
  assert.is((await request('POST', '/v2/data/import?dryRun=1', yaml)).status, 200);
  assert.equal(await doExport(), before);
});

test('with atomic=1 one refused item leaves everything as it was', async () => {
  await doImport(everything);
  const before = await doExport();
  const mixed = {
    streams: { good: stream('good'), bad: 'X' },
    uploads: { 'g.txt': '{"name": "g.txt", "content": "g"}' },
  };
  for (const query of ['?atomic=1', '?atomic=1&partial=1']) {
    const refused = await doImport(mixed, query);
    assert.is(refused.status, 400);
    assert.equal(Object.keys(JSON.parse(refused.json.message).streams), ['bad']);
    assert.equal(await doExport(), before);
  }
  assert.is((await doImport({ streams: { good: stream('good') } }, '?atomic=1')).status, 200);
  assert.equal((await request('GET', '/streams')).json, ['good']);
});

test('stops the server after a successful import when asked to', async () => {
  const before = plane.stopRequests;
  assert.is((await doImport({ streams: { bad: 'X' } }, '?stop=1')).status, 400);
  assert.is((await doImport('{}', '?stop=1&dryRun=1')).status, 200);
  assert.is(plane.stopRequests, before);
  assert.is((await doImport('{}', '?stop=1')).status, 200);
  await eventually('the request to stop', () => plane.stopRequests === before + 1);
});

test('imports files', async () => {
  const path = join(plane.data, 'import.json');
  writeFileSync(path, JSON.stringify(everything));
  assert.is((await request('POST', '/data/import', { file: pathToFileURL(path).href })).status, 200);
  assert.equal((await request('GET', '/streams')).json, ['s1']);
});

test('exports rules with what they refer to and nothing else', async () => {
  await doImport(everything);
  await request('PUT', '/metadata/sources/mqtt/confKeys/used', { connectionSelector: 'c1' });
  await request('POST', '/connections', { id: 'c2', typ: 'mqtt', props: { server: 'tcp://127.0.0.1:2' } });
  const sql = 'CREATE STREAM m (a BIGINT) WITH (DATASOURCE="t", TYPE="mqtt", CONF_KEY="used")';
  await request('POST', '/streams', { sql });
  await request('POST', '/rules', { id: 'rm', sql: 'SELECT area(a) FROM m', actions: [{ mqtt: { resourceId: 'k' } }] });
  const { json } = await request('POST', '/data/export', ['rm']);
  assert.equal(Object.keys(json.streams), ['m']);
  assert.equal(Object.keys(json.rules), ['rm']);
  assert.equal(json.tables, {});
  assert.equal(JSON.parse(json.sourceConfig.mqtt), { used: { connectionSelector: 'c1' } });
  assert.equal(JSON.parse(json.sinkConfig.mqtt), { k: { qos: 2 } });
  assert.equal(Object.keys(JSON.parse(json.connectionConfig.mqtt)), ['c1']);
  assert.equal(Object.keys(json.scripts), ['area']);
  assert.equal(json.uploads, {});
  assert.ok(isEmpty((await request('POST', '/data/export', [])).json));
  const unknown = await request('POST', '/data/export', ['none']);
  assert.is(unknown.status, 404);
  assert.match(unknown.json.message, /rule none is not found/);
  for (const body of ['', '{}', [1]]) assert.is((await request('POST', '/data/export', body)).status, 400);
});

test('writes YAML that it reads again', async () => {
  await doImport(everything);
  const before = await doExport();
  const { text, type } = await request('GET', '/v2/data/export');
  assert.is(type, 'application/octet-stream');
  assert.match(text, /sources\.mqtt\.k:\s+qos: 1/);
  assert.match(text, /connections\.mqtt\.c1:\s+server: tcp:/);
  assert.match(text, /streams:\s+s1:\s+sql: CREATE STREAM s1 .*WITH/);
  assert.match(text, /rules:\s+r1:\s+triggered: true/);
  await doImport('{}');
  const answer = await request('POST', '/v2/data/import', { content: text });
  assert.is(answer.text, 'success');
  const after = await doExport();
  assert.equal({ ...after, rules: {} }, { ...before, rules: {} });
  assert.equal(JSON.parse(after.rules.r2), JSON.parse(before.rules.r2));
});

test('what an import brings may refer to files it brings', async () => {
  const file = pathToFileURL(join(plane.data, 'uploads', 'p.proto')).href;
  const document = {
    uploads: {
      'p.proto': JSON.stringify({ name: 'p.proto', content: 'syntax = "proto3"; message P { int32 a = 1; }' }),
    },
    Schema: { protobuf_p: JSON.stringify({ type: 'protobuf', name: 'p', file }) },
  };
  assert.is((await doImport(document, '?dryRun=1')).status, 200);
  const withoutFile = await doImport({ Schema: document.Schema }, '?dryRun=1');
  assert.is(withoutFile.status, 400, 'a dry run leaves no file behind');
  const answer = await doImport(document);
  assert.is(answer.status, 200, answer.text);
  assert.match((await request('GET', '/schemas/protobuf/p')).json.content, /message P/);
});

test('leaves temporary streams and rules out of exports, and a full import ends them', async () => {
  await doImport(everything);
  await request('POST', '/streams', { sql: stream('ts').replace('TYPE=', 'TEMP="true", TYPE=') });
  await request('POST', '/rules', JSON.parse(rule('tr', 'ts', { temp: true })));
  await request('POST', '/rules', JSON.parse(rule('later', 's1', { temp: true })));
  assert.is((await request('GET', '/rules')).json.length, 4);
  const document = await doExport();
  assert.equal(Object.keys(document.rules), ['r1', 'r2']);
  assert.equal(Object.keys(document.streams), ['s1']);
  const refused = await doImport({ rules: { t: rule('t', 's1', { temp: true }) } }, '?partial=1');
  assert.match(JSON.parse(refused.json.message).rules.t, /temporary/);
  await doImport({ ...everything, rules: { later: rule('later', 's1') } });
  assert.equal(Object.keys((await doExport()).rules), ['later']);
  assert.equal((await request('GET', '/streams')).json, ['s1']);
  assert.is((await request('GET', '/rules')).json.length, 1);
});

test('takes all of a YAML document or nothing', async () => {
  await doImport(everything);
  const before = await doExport();
  for (const [content, reason] of [
    ['streams: [1', /no YAML/],
    ['- 1', /must be a YAML mapping/],
    ['nosuch:\n  a: 1\n', /unknown map nosuch/],
    ['streams:\n  s5:\n    sql: CREATE STREAM s5 () WITH (DATASOURCE="a")\n  bad: 3\n', /streams bad/],
    ['rules:\n  r:\n    sql: SELECT * FROM nowhere\n    actions:\n      - nop: {}\n', /rules r: .*nowhere/],
    ['sourceConfig:\n  mqtt.k:\n    qos: 1\n', /sources\.<type>\.<name>/],
  ] as const) {
    const answer = await request('POST', '/v2/data/import', { content });
    assert.is(answer.status, 400, content);
    assert.is(answer.json.error, 1000);
    assert.match(answer.json.message, reason);
  }
  assert.equal(await doExport(), before);
});

test('imports in the background, under ids of their own', async () => {
  const start = async (body: unknown, query = '') =>
    (await request('POST', `/async/data/import${query}`, body)).json.id;
  const state = async (id: string) => (await request('GET', `/async/task/${id}`)).json;
  const done = (id: string) =>
    eventually('the end of the task', async () => {
      const task = await state(id);
      return task.status === 'finish' || task.status === 'error' ? task : undefined;
    });
  const content = JSON.stringify({ streams: { bg: stream('bg') } });
  const ids = await Promise.all([
    start({ content }),
    start({ content: '{bad' }),
    start({ content: '{}' }, '?partial=1'),
  ]);
  assert.is(new Set(ids).size, 3);
  for (const id of ids) assert.match(id, /^dataImport-\d{10}/);
  const [first, second, third] = await Promise.all(ids.map(done));
  assert.is(first.status, 'finish');
  assert.equal(JSON.parse(first.message).ErrorMsg, '');
  assert.ok(first.createdTimestamp > 1_600_000_000 && first.updatedTimestamp >= first.createdTimestamp);
  assert.is(second.status, 'error');
  assert.match(second.message, /no JSON/);
  assert.is(third.status, 'finish');
  assert.equal((await request('GET', '/streams')).json, ['bg']);
  const canceled = await request('POST', `/async/task/${ids[0]}/cancel`);
  assert.is(canceled.text, 'cancel success');
  assert.is((await state(ids[0])).status, 'cancel');
  for (const [method, path] of [
    ['GET', '/async/task/none'],
    ['POST', '/async/task/none/cancel'],
  ] as const) {
    const unknown = await request(method, path);
    assert.is(unknown.status, 404);
    assert.match(unknown.json.message, /none/);
  }
  assert.is((await request('POST', '/async/data/import', '{bad')).status, 400);
});

test('an import that is canceled before it has changed anything changes nothing', async () => {
  const streams = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`c${i}`, stream(`c${i}`)]));
  const { id } = (await request('POST', '/async/data/import', { content: JSON.stringify({ streams }) })).json;
  await request('POST', `/async/task/${id}/cancel`);
  // Passes when the import is out of the way.
  await request('POST', '/streams', { sql: stream('after') });
  const { status } = (await request('GET', `/async/task/${id}`)).json;
  const { length } = (await request('GET', '/streams')).json;
  assert.ok((status === 'cancel' && length === 1) || (status === 'finish' && length === 3001), `${status} ${length}`);
});

test('changes of others wait for an import, reading does not', async () => {
  const streams = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`w${i}`, stream(`w${i}`)]));
  const running = doImport({ streams });
  const created = Promise.all(
    Array.from({ length: 5 }, (_, i) => request('POST', '/streams', { sql: stream(`mine${i}`) })),
  );
  const reading = await request('GET', '/streams');
  assert.is(reading.status, 200);
  assert.is((await running).status, 200);
  // Those that came before the import are part of what it replaced.
  for (const { status } of await created) assert.is(status, 201);
  const names: string[] = (await request('GET', '/streams')).json;
  assert.is(names.filter((name) => name.startsWith('w')).length, 2000);
});

test('keeps what an import wrote over a restart, with its status', async () => {
  const folder = await startControlPlane();
  const content = JSON.stringify({ ...everything, tables: { bad: 'X' } });
  assert.is((await folder.request('POST', '/data/import', { content })).status, 400);
  const before = (await folder.request('GET', '/data/export')).json;
  await folder.close();
  const again = await startControlPlane(folder.data);
  assert.equal((await again.request('GET', '/data/export')).json, before);
  assert.equal(Object.keys((await again.request('GET', '/data/import/status')).json.tables), ['bad']);
  await again.close();
});

test('a ruleset adds what is new and counts it', async () => {
  await doImport(everything);
  const exported = await request('POST', '/ruleset/export');
  assert.match(exported.headers.get('content-disposition') ?? '', /attachment/i);
  assert.equal(Object.keys(exported.json), ['streams', 'tables', 'rules']);
  const ruleset = {
    streams: { s1: stream('s1', 'z FLOAT'), s3: stream('s3'), bad: 'CREATE STRM' },
    tables: { t3: table('t3') },
    rules: { r1: rule('r1', 's3'), r3: rule('r3', 's3'), r4: rule('r4', 'nowhere') },
  };
  const answer = await request('POST', '/ruleset/import', { content: JSON.stringify(ruleset) });
  assert.is(answer.text, 'imported 1 streams, 1 tables and 1 rules');
  const after = await doExport();
  assert.equal(after.streams.s1, everything.streams.s1);
  assert.equal(Object.keys(after.rules), ['r1', 'r2', 'r3']);
  assert.is(JSON.parse(after.rules.r1).sql, 'SELECT a FROM s1');
  for (const [body, reason] of [
    [{}, /content or file/],
    [{ content: '{bad' }, /no JSON/],
    [{ content: '{}', file: 'x' }, /both/],
  ] as const) {
    const refused = await request('POST', '/ruleset/import', body);
    assert.is(refused.status, 400);
    assert.match(refused.json.message, reason);
  }
  const empty = await request('POST', '/ruleset/import', { content: '{}' });
  assert.is(empty.text, 'imported 0 streams, 0 tables and 0 rules');
  assert.is((await request('GET', '/ruleset/export')).status, 405);
});

test.after(() => plane.close());
test('of two functions of an import whose names differ in letter case one is refused', async () => {
  const script = (id: string) => JSON.stringify({ id, script: `function ${id}(x) { return x; }`, isAgg: false });
  const scripts = { twiceGiven: script('twiceGiven'), TWICEgiven: script('TWICEgiven') };
  const own = await startControlPlane();
  try {
    const refused = await own.request('POST', '/data/import', { content: JSON.stringify({ scripts }) });
    assert.is(refused.status, 400);
    const { TWICEgiven, ...others } = JSON.parse(refused.json.message).scripts;
    assert.equal(others, {});
    assert.match(TWICEgiven, /taken by scripts twiceGiven/);
    assert.equal((await own.request('GET', '/udf/javascript')).json, ['twiceGiven']);
  } finally {
    await own.close();
  }
});

test('a ruleset names what it did not take, with the reasons, to the command line as well', async () => {
  const content = JSON.stringify({
    streams: { a: stream('a'), c: 'CREATE STREAM c () WITH (TYPE="mqtt", DATASOURCE="t", CONF_KEY="none")' },
    tables: {},
    rules: {
      bad1: rule('bad1', 'missing'),
      bad2: JSON.stringify({ id: 'bad2', sql: 'selct * from a', actions: [{ nop: {} }] }),
    },
  });
  const answer = await request('POST', '/ruleset/import', { content });
  assert.is(answer.status, 200);
  assert.match(answer.text, /^imported \d streams, 0 tables and 0 rules$/);
  const warning = answer.headers.get('warning') ?? '';
  assert.match(warning, /not imported: rules bad1: .*missing/);
  assert.match(warning, /not imported: rules bad2: .*selct/);
  const status = (await request('GET', '/data/import/status')).json;
  assert.equal(Object.keys(status.rules), ['bad1', 'bad2']);
  const file = join(temporaryFolder(), 'bad.json');
  writeFileSync(file, content);
  for (const flags of [[], ['--json']]) {
    const { code, out, err } = await run(plane.base, ['import', 'ruleset', '-f', file, ...flags]);
    assert.is(code, 1);
    assert.match(out + err, /not imported: rules bad2: .*selct/);
  }
});

test.run();
