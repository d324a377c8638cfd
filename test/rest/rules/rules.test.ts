import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startControlPlane } from '../../support/rest/control-plane.js';

const plane = await startControlPlane();
test.after(() => plane.close());
await plane.request('POST', '/streams', { sql: 'CREATE STREAM s (a BIGINT) WITH (DATASOURCE="t", TYPE="memory")' });

const rule = (id: string, more: object = {}) => ({ id, sql: 'SELECT a FROM s', actions: [{ log: {} }], ...more });

test('creates, lists, describes, stops, starts and drops a rule', async () => {
  const created = await plane.request('POST', '/rules', rule('r1', { version: '7', tags: ['x'], name: 'Name' }));
  assert.is(created.status, 201);
  assert.is(created.text, 'Rule r1 was created successfully.');
  assert.equal((await plane.request('GET', '/rules')).json, [
    { id: 'r1', name: 'Name', status: 'Running', version: '7', trace: false, tags: ['x'] },
  ]);
  assert.equal((await plane.request('GET', '/rules/r1')).json, rule('r1', { version: '7', tags: ['x'], name: 'Name' }));
  assert.is((await plane.request('POST', '/rules/r1/stop')).text, 'Rule r1 was stopped.');
  assert.is((await plane.request('GET', '/rules/r1')).json.triggered, false);
  assert.match((await plane.request('GET', '/rules/r1/status')).json.status, /^Stopped/);
  assert.is((await plane.request('POST', '/rules/r1/start')).text, 'Rule r1 was started');
  assert.is((await plane.request('POST', '/rules/r1/restart')).text, 'Rule r1 was restarted');
  const status = (await plane.request('GET', '/rules/r1/status')).json;
  assert.equal(Object.keys(status).slice(0, 6), [
    'status',
    'message',
    'lastStartTimestamp',
    'lastStopTimestamp',
    'nextStartTimestamp',
    'sourceRecordsInTotal',
  ]);
  assert.equal((await plane.request('GET', '/rules/status/all')).json, {
    r1: { status: 'Running', last_exception: 'bad row', exceptions_total: 2 },
  });
  assert.equal((await plane.request('GET', '/rules/r1/topo')).json.sources, ['source_s']);
  assert.equal((await plane.request('GET', '/rules/r1/schema')).json, { s: { hasIndex: true, index: 0 } });
  assert.is((await plane.request('DELETE', '/rules/r1')).text, 'Rule r1 is dropped.');
  assert.is((await plane.request('GET', '/rules/r1')).status, 404);
});

test('a rule with triggered false stays stopped', async () => {
  await plane.request('POST', '/rules', rule('quiet', { triggered: false }));
  assert.is((await plane.request('GET', '/rules')).json[0].status, 'Stopped');
  assert.is((await plane.request('GET', '/rules/quiet/topo')).json.error, 1001);
  assert.is((await plane.request('GET', '/rules/quiet/schema')).json.error, 1001);
  await plane.request('DELETE', '/rules/quiet');
});

test('an update replaces the rule, a refused one changes nothing', async () => {
  await plane.request('POST', '/rules', rule('u'));
  const updated = await plane.request('PUT', '/rules/u', {
    sql: 'SELECT b FROM s',
    actions: [{ nop: {} }],
    version: '2',
  });
  assert.is(updated.text, 'Rule u was updated successfully.');
  for (const body of [
    rule('u', { sql: 'SELECT a FROM nowhere', version: '3' }),
    rule('other', { version: '3' }),
    rule('u', { version: '1' }),
    '{bad',
  ]) {
    assert.is((await plane.request('PUT', '/rules/u', body)).status, 400);
  }
  assert.is((await plane.request('GET', '/rules/u')).json.sql, 'SELECT b FROM s');
  assert.is((await plane.request('GET', '/rules')).json[0].status, 'Running');
  await plane.request('DELETE', '/rules/u');
});

const refusals: [unknown, number, RegExp][] = [
  [{ id: 'e', sql: 'SELECT * FROM s' }, 1000, /actions/],
  [{ id: 'e', sql: 'SELECT * FROM nowhere', actions: [{ log: {} }] }, 1000, /nowhere/],
  [{ id: 'e', sql: 'SELEC * FROM s', actions: [{ log: {} }] }, 1000, /SELEC/],
  [{ id: 'e', actions: [{ log: {} }] }, 1000, /sql/],
  [{ sql: 'SELECT * FROM s', actions: [{ log: {} }] }, 1000, /id/],
  [{ id: 1, sql: 'SELECT 1', actions: [] }, 1000, /id must be a text, not 1/],
  [rule('a b'), 1000, /'a b'/],
  [rule('e', { sql: 5 }), 1000, /sql must be a text/],
  [rule('e', { actions: [{ nosink: {} }] }), 2201, /nosink/],
  [rule('e', { actions: [{ log: null }] }), 2201, /actions\[0\].log must be an object/],
  [rule('e', { actions: [{ log: 5 }] }), 2201, /actions\[0\].log must be an object/],
  [rule('e', { actions: [5] }), 1000, /actions must be a list of objects/],
  [rule('e', { options: { concurrency: -1 } }), 1000, /concurrency must be at least 0/],
  [rule('e', { options: { lateTolerance: 'soon' } }), 1000, /lateTolerance must be a duration/],
  [rule('e', { options: 5 }), 1000, /options must be an object/],
  [[], 1000, /JSON object/],
  ['', 1000, /invalid body/],
];

for (const [body, code, message] of refusals) {
  test(`refuses ${JSON.stringify(body)}`, async () => {
    const answer = await plane.request('POST', '/rules', body);
    assert.is(answer.status, 400);
    assert.is(answer.json.error, code);
    assert.match(answer.json.message, message);
    assert.equal((await plane.request('GET', '/rules')).json, []);
  });
}

test('an id is taken once, also when two clients ask at the same time', async () => {
  const answers = await Promise.all([1, 2, 3].map(() => plane.request('POST', '/rules', rule('twice'))));
  assert.equal(answers.map((answer) => answer.status).sort(), [201, 400, 400]);
  assert.match(answers.find((answer) => answer.status === 400)?.json.message, /twice already exists/);
  await plane.request('DELETE', '/rules/twice');
});

test('validates without creating', async () => {
  const valid = await plane.request('POST', '/rules/validate', rule('v'));
  assert.equal(valid.json, { valid: true, sources: ['s'] });
  const invalid = await plane.request('POST', '/rules/validate', rule('v', { sql: 'SELECT a FROM nowhere' }));
  assert.is(invalid.status, 422);
  assert.match(invalid.text, /nowhere/);
  assert.match(invalid.type, /^text\/plain/);
  assert.is((await plane.request('POST', '/rules/validate', '{bad')).status, 400);
  for (const [period, reason] of [
    [{ begin: '2020-01-03 00:00:00', end: '2020-01-02 00:00:00' }, /begin is after end/],
    [{ begin: 'bad', end: '2020-01-02 00:00:00' }, /begin is "bad"/],
  ] as const) {
    const unusable = await plane.request(
      'POST',
      '/rules/validate',
      rule('v', { options: { cronDatetimeRange: [period] } }),
    );
    assert.is(unusable.status, 422);
    assert.match(unusable.text, reason);
  }
  assert.equal((await plane.request('GET', '/rules')).json, []);
});

for (const [method, path] of [
  ['GET', ''],
  ['POST', '/start'],
  ['POST', '/stop'],
  ['POST', '/restart'],
  ['GET', '/status'],
  ['GET', '/topo'],
  ['GET', '/explain'],
  ['GET', '/schema'],
] as const) {
  test(`${method} ${path} of an unknown rule`, async () => {
    const answer = await plane.request(method, `/rules/none${path}`);
    assert.is(answer.status, 404);
    assert.is(answer.json.error, 1002);
    assert.match(answer.json.message, /none/);
  });
}

test('DELETE of an unknown rule', async () => {
  const answer = await plane.request('DELETE', '/rules/none');
  assert.is(answer.status, 400);
  assert.equal(answer.json, { error: 1000, message: 'delete rule error: rule none is not found' });
});

test('rules are listed page by page, while some come and go', async () => {
  const server = await startControlPlane();
  await server.request('POST', '/streams', { sql: 'CREATE STREAM s (a BIGINT) WITH (DATASOURCE="t", TYPE="memory")' });
  const page = async (query: string): Promise<string[]> =>
    (await server.request('GET', `/rules?${query}`)).json.map(({ id }: { id: string }) => id);
  for (const id of ['c', 'a', 'd']) await server.request('POST', '/rules', rule(id));
  assert.equal(await page('limit=2'), ['a', 'c']);
  await server.request('POST', '/rules', rule('b'));
  await server.request('POST', '/rules', rule('e', { temp: true }));
  await server.request('DELETE', '/rules/c');
  assert.equal(await page('limit=2&after=c'), ['d', 'e']);
  assert.equal(await page('limit=9&after=e'), []);
  assert.equal(await page('after=a&trouble=true'), ['b', 'd', 'e']);
  assert.equal(await page('limit=1'), ['a']);
  await server.close();
});

test('definitions and their states survive a restart', async () => {
  const first = await startControlPlane();
  await first.request('POST', '/streams', { sql: 'CREATE STREAM s (a BIGINT) WITH (DATASOURCE="t", TYPE="memory")' });
  await first.request('POST', '/streams', { sql: 'CREATE STREAM gone () WITH (DATASOURCE="t", TYPE="memory")' });
  await first.request('POST', '/rules', rule('on'));
  await first.request('POST', '/rules', rule('off'));
  await first.request('POST', '/rules', rule('lost', { sql: 'SELECT * FROM gone' }));
  await first.request('POST', '/rules/off/stop');
  await first.request('DELETE', '/streams/gone?force=true');
  await first.close();
  const second = await startControlPlane(first.data);
  const states = (await second.request('GET', '/rules')).json.map((item: { status: string }) => item.status);
  assert.equal(states, ['Stopped: canceled by error.', 'Stopped', 'Running']);
  assert.match((await second.request('GET', '/rules/lost/status')).json.message, /gone/);
  await second.request('POST', '/streams', { sql: 'CREATE STREAM gone () WITH (DATASOURCE="t", TYPE="memory")' });
  assert.is((await second.request('POST', '/rules/lost/start')).status, 200);
  assert.is((await second.request('DELETE', '/rules/lost')).status, 200);
  await second.close();
});

test('a rule that becomes temporary is forgotten at the next restart, one that no longer is stays', async () => {
  const first = await startControlPlane();
  await first.request('POST', '/streams', { sql: 'CREATE STREAM s (a BIGINT) WITH (DATASOURCE="t", TYPE="memory")' });
  await first.request('POST', '/rules', rule('brief'));
  await first.request('POST', '/rules', rule('lasting', { temp: true, tags: ['x'] }));
  assert.is((await first.request('PATCH', '/rules/lasting/tags', { tags: ['y'] })).status, 200);
  assert.equal((await first.request('GET', '/rules/lasting')).json.tags, ['x', 'y']);
  assert.equal(Object.keys((await first.request('GET', '/data/export')).json.rules), ['brief']);
  assert.is((await first.request('PUT', '/rules/brief', rule('brief', { temp: true }))).status, 200);
  assert.is((await first.request('PUT', '/rules/lasting', rule('lasting'))).status, 200);
  assert.equal(Object.keys((await first.request('GET', '/data/export')).json.rules), ['lasting']);
  for (const id of ['brief', 'lasting']) assert.is((await first.request('GET', `/rules/${id}`)).status, 200);
  await first.close();
  const second = await startControlPlane(first.data);
  const ids = (await second.request('GET', '/rules')).json.map(({ id }: { id: string }) => id);
  assert.equal(ids, ['lasting']);
  await second.close();
});

test.run();
