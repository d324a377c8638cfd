/** What is taken although it will hardly do what was meant: the answer says so, in lines below the usual text. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer } from '../../support/harness.js';

const server = await startServer({ env: { KUIPER__BASIC__CONSOLELOG: 'true' } });
test.after(async () => {
  await server.stop();
});

const key = { server: 'tcp://127.0.0.1:1', sever: 'x' };
const keyed = await server.request('PUT', '/metadata/sources/mqtt/confKeys/plant', key);

const logged = (line: RegExp) => eventually(`${line} in the log`, () => line.test(server.output()) || undefined);

let header = '';

/** Lines below the first of the answer to a statement, and the header with all warnings. */
async function create(sql: string): Promise<string[]> {
  const { status, text, headers } = await server.request('POST', '/streams', { sql });
  assert.is(status, 201, text);
  const [first, ...warnings] = text.split('\n');
  assert.match(first ?? '', /^(Stream|Table) \w+ is created\.$/);
  header = headers.get('warning') ?? '';
  for (const line of warnings) assert.ok(header.includes(JSON.stringify(line.slice('Warning: '.length))), header);
  return warnings;
}

test('a stream that no rule could read is made, and the answer says why', async () => {
  assert.equal(await create('CREATE STREAM w1 () WITH (TYPE="mqqt", DATASOURCE="t")'), [
    'Warning: no rule can read it: source mqqt not found, did you mean mqtt?',
  ]);
  assert.equal(await create('CREATE STREAM w2 () WITH (TYPE="mqtt", DATASOURCE="t", CONF_KEY="plat")'), [
    'Warning: no rule can read it: configuration key plat of source mqtt not found, did you mean plant?',
  ]);
  assert.equal(
    await create('CREATE STREAM w3 () WITH (TYPE="mqtt", DATASOURCE="t", FORMAT="protobuf", SCHEMAID="a.b")'),
    ['Warning: no rule can read it: schema a is not found'],
  );
  assert.equal(await create('CREATE TABLE w4 () WITH (TYPE="memory", DATASOURCE="t", KEY="id", KIND="lookup")'), []);
  assert.equal(await create('CREATE STREAM w5 () WITH (TYPE="mqtt")'), [
    'Warning: the option DATASOURCE is missing: Topic to subscribe to; may have the wildcards + and #',
  ]);
  assert.equal((await server.request('GET', '/streams')).json.length, 4);
});

test('options without effect are named, and properties that the source does not know', async () => {
  assert.equal(
    await create(
      'CREATE STREAM w6 () WITH (TYPE="simulator", DATASOURCE="x", KIND="scan", KEY="a", RETAIN_SIZE="3", ' +
        'DELIMITER=",", ' +
        'SCHEMAID="a.b", STRICT_VALIDATION="TRUE", TIMESTAMP_FORMAT="YYYY", BUFFER_FULL_POLICY="block", ' +
        `EXTRA='{"intervall": 5}')`,
    ),
    [
      'Warning: the property intervall is not known, did you mean interval? (option EXTRA)',
      'Warning: the option KIND has no effect on a stream',
      'Warning: the option DELIMITER has no effect with the format json',
      'Warning: the option SCHEMAID has no effect with the format json',
      'Warning: the option TIMESTAMP_FORMAT has no effect without TIMESTAMP',
    ],
  );
  for (const name of ['DATASOURCE', 'KEY', 'RETAIN_SIZE', 'STRICT_VALIDATION', 'BUFFER_FULL_POLICY']) {
    assert.ok(header.includes(`the option ${name} has no effect`), header);
  }
  assert.equal(await create('CREATE STREAM w7 () WITH (TYPE="mqtt", DATASOURCE="t", CONF_KEY="plant")'), [
    'Warning: the property sever is not known, did you mean server? (configuration key plant of source mqtt)',
  ]);
  assert.equal(keyed.status, 200);
  assert.is(keyed.text, 'Warning: the property sever is not known, did you mean server?');
  const replaced = await server.request('PUT', '/streams/w7', { sql: 'CREATE STREAM w7 () WITH (TYPE="mqqt")' });
  assert.match(replaced.text, /^Stream w7 is updated\.\nWarning: no rule can read it: source mqqt not found/);
  await logged(/stream w7: no rule can read it: source mqqt not found/);
});

test('what is right is answered as ever', async () => {
  assert.equal(await create('CREATE STREAM good (a BIGINT) WITH (TYPE="simulator", FORMAT="json")'), []);
  assert.equal(await create('CREATE STREAM good2 () WITH (TYPE="mqtt", DATASOURCE="t", SHARED="true")'), []);
  assert.is(header, '');
});

test('misspelt properties of sinks are named in the answer to a rule', async () => {
  const sinkProps = { topic: 't', sendsingle: true, qoss: 1, tpoic: 'x', runAsync: true, batchSize: 1 };
  const rule = { id: 'r', sql: 'SELECT * FROM good', actions: [{ memory: sinkProps }, { nop: { lgo: true } }] };
  const expected = [
    'actions[0].memory.qoss is not known',
    'actions[0].memory.tpoic is not known, did you mean topic?',
    'actions[1].nop.lgo is not known, did you mean log?',
  ];
  const validated = await server.request('POST', '/rules/validate', rule);
  assert.equal(validated.json, { valid: true, sources: ['good'], warnings: expected });
  const lines = expected.map((text) => `\nWarning: ${text}`).join('');
  const created = await server.request('POST', '/rules', rule);
  assert.is(created.text, `Rule r was created successfully.${lines}`);
  assert.match(created.headers.get('warning') ?? '', /actions\[0\]\.memory\.runAsync has no effect/);
  const updated = await server.request('PUT', '/rules/r', rule);
  assert.is(updated.text, `Rule r was updated successfully.${lines}`);
  const idle = await server.request('PUT', '/rules/r', {
    ...rule,
    actions: [{ nop: {} }],
    options: { concurrency: 2 },
  });
  assert.is(idle.text, 'Rule r was updated successfully.');
  assert.is(idle.headers.get('warning'), '299 - "the option concurrency has no effect"');
  const csv = { path: 'w.csv', format: 'delimited', delimiter: ';', hasHeader: true };
  const ofFile = (props: object) => server.request('PUT', '/rules/r', { ...rule, actions: [{ file: props }] });
  assert.is((await ofFile(csv)).text, 'Rule r was updated successfully.');
  assert.is(
    (await ofFile({ ...csv, format: 'json', encProps: { a: 1 } })).text,
    'Rule r was updated successfully.' +
      ['delimiter', 'hasHeader', 'encProps'].map((name) => `\nWarning: actions[0].file.${name} has no effect`).join(''),
  );
  const right = { ...rule, actions: [{ memory: { topic: 't', sendSingle: true } }] };
  assert.is((await server.request('PUT', '/rules/r', right)).text, 'Rule r was updated successfully.');
  assert.equal((await server.request('POST', '/rules/validate', right)).json, { valid: true, sources: ['good'] });
  await logged(/rule r: actions\[0\]\.memory\.tpoic is not known, did you mean topic\?/);
});

test('what grows with the square of its input is advice, in the header of the answer', async () => {
  await create('CREATE STREAM grows () WITH (TYPE="memory", DATASOURCE="grows")');
  const sql = 'SELECT * FROM grows GROUP BY SLIDINGWINDOW(ss, 10)';
  const rule = { id: 'grows', sql, actions: [{ nop: {} }] };
  const created = await server.request('POST', '/rules', rule);
  assert.is(created.text, 'Rule grows was created successfully.');
  assert.match(created.headers.get('warning') ?? '', /its output grows with the square of its input/);
  await logged(/rule grows: the sliding window sends all its rows with each row/);
  const validated = await server.request('POST', '/rules/validate', { ...rule, id: 'others' });
  assert.match(validated.json.warnings.join(), /grows with the square of its input/);
});

test('members of a rule that nobody knows are named by its creation, its change and its validation', async () => {
  await create('CREATE STREAM members () WITH (TYPE="memory", DATASOURCE="members")');
  const rule = {
    id: 'members',
    sql: 'SELECT a FROM members',
    actions: [{ nop: {} }],
    optionz: { qos: 1 },
    triggerd: false,
  };
  const expected = ['optionz is not known, did you mean options?', 'triggerd is not known, did you mean triggered?'];
  const created = await server.request('POST', '/rules', rule);
  assert.is(created.status, 201);
  const changed = await server.request('PUT', '/rules/members', rule);
  for (const { text, headers } of [created, changed]) {
    assert.equal(
      text.split('\n').slice(1),
      expected.map((warning) => `Warning: ${warning}`),
    );
    for (const warning of expected) assert.match(headers.get('warning') ?? '', warning);
  }
  assert.equal((await server.request('POST', '/rules/validate', { ...rule, id: 'other' })).json.warnings, expected);
});

test('a configuration key of a connector that is not there, and values out of range', async () => {
  const key = (type: string, props: object) => server.request('PUT', `/metadata/sources/${type}/confKeys/k`, props);
  const odd = await key('mqqt', { server: 'tcp://x:1883' });
  assert.equal([odd.status, odd.text], [200, '']);
  assert.is(odd.headers.get('warning'), '299 - "nothing reads the key: there is no source mqqt, did you mean mqtt?"');
  const refused = await key('mqtt', { qos: 7 });
  assert.is(refused.status, 400);
  assert.match(refused.text, 'property qos must be at most 2, not 7');
});

test('two rules that write one file are told of', async () => {
  const rule = (id: string, path: string) => ({ id, sql: 'SELECT * FROM good', actions: [{ file: { path } }] });
  const warning = async (method: string, path: string, body: object) =>
    (await server.request(method, path, { ...body, triggered: false })).headers.get('warning');
  assert.is(await warning('POST', '/rules', rule('w1', 'same.txt')), null);
  const told = '299 - "actions[0].file.path ./same.txt is written by rule w1 as well"';
  assert.is(await warning('POST', '/rules', rule('w2', './same.txt')), told);
  assert.is(await warning('PUT', '/rules/w2', rule('w2', './same.txt')), told);
  assert.is(await warning('PUT', '/rules/w2', rule('w2', 'other.txt')), null);
  const other = '299 - "actions[0].file.path other.txt is written by rule w2 as well"';
  assert.is(await warning('PUT', '/rules/w1', rule('w1', 'other.txt')), other);
  assert.is(await warning('POST', '/rules', rule('w3', 'same.txt')), null);
  for (const id of ['w1', 'w2']) await server.request('DELETE', `/rules/${id}`);
  assert.is(await warning('POST', '/rules', rule('w4', 'other.txt')), null);
});

test.run();
