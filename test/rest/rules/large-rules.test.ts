/**
 * The largest definitions that are taken: other requests are answered while they are planned. What is larger is refused
 * by its bound.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { request, startServer, type TestServer } from '../../support/harness.js';

let server: TestServer;
test.before(async () => {
  server = await startServer();
  const list = (item: (i: number) => string, count: number) => Array.from({ length: count }, (_, i) => item(i)).join();
  for (const sql of [
    'CREATE STREAM demo () WITH (DATASOURCE="t", TYPE="memory")',
    `CREATE STREAM wide (${list((i) => `c${i} BIGINT`, 4000)}) WITH (DATASOURCE="t", TYPE="memory")`,
    `CREATE STREAM wider (${list((i) => `c${i} BIGINT`, 10_000)}) WITH (DATASOURCE="t", TYPE="memory")`,
  ]) {
    assert.is((await request(server.base, 'POST', '/streams', { sql })).status, 201);
  }
  await ask('POST', '/rules', ruleOf('stored', columns));
});
test.after(async () => void (await server.stop()));

const many = (count: number, item: (i: number) => string, between = ',') =>
  Array.from({ length: count }, (_, i) => item(i)).join(between);
const columns = `SELECT ${many(4096, (i) => `a${i}`)} FROM demo`;
const freshStream = 'CREATE STREAM fresh () WITH (DATASOURCE="t", TYPE="memory")';
const ruleOf = (id: string, sql: string) => ({ id, sql, actions: [{ nop: {} }], triggered: false });

function graphOf(count: number): unknown {
  const nodes: Record<string, unknown> = {
    s: { type: 'source', nodeType: 'memory', props: { datasource: 't' } },
    z: { type: 'sink', nodeType: 'nop', props: {} },
  };
  const edges: Record<string, string[]> = {};
  let before = 's';
  for (let i = 0; i < count; i++) {
    nodes[`f${i}`] = { type: 'operator', nodeType: 'filter', props: { expr: `a${i} > ${i}` } };
    edges[before] = [`f${i}`];
    before = `f${i}`;
  }
  return { nodes, topo: { sources: ['s'], edges: { ...edges, [before]: ['z'] } } };
}

/** Answers to `GET /ping`, one after the other, that came before the answer to a request; and that one. */
async function ask(
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; text: string; pings: number }> {
  let pings = 0;
  let isAnswered = false;
  const answer = request(server.base, method, path, body).finally(() => {
    isAnswered = true;
  });
  // The answer may be there within the turn in which a ping is.
  for (;;) {
    await request(server.base, 'GET', '/ping');
    if (isAnswered) break;
    pings++;
  }
  const { status, text } = await answer;
  return { status, text, pings };
}

/** More than can come between the request and the plan, fewer than come while a thread begins. */
const enough = 5;
/** On a busy machine few come in the time of one request, or none. */
const mostAttempts = 20;

/** Makes the body for an attempt, and what has to be before it. */
type Body = (attempt: number) => unknown;

/** Asks until enough other requests were answered meanwhile. */
async function askBeside(
  method: string,
  path: string,
  body: Body,
  check: (answer: { status: number; text: string }) => void,
): Promise<void> {
  const seen: number[] = [];
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    const answer = await ask(method, path, await body(attempt));
    check(answer);
    seen.push(answer.pings);
    if (answer.pings >= enough) return;
  }
  assert.unreachable(`so many pings were answered meanwhile: ${seen}`);
}

const changed = () => ruleOf('stored', `${columns} WHERE a0 > 1`);
const worst: Readonly<Record<string, [method: string, path: string, body: Body, expected: RegExp]>> = {
  'a rule of 4,096 columns': ['POST', '/rules/validate', () => ruleOf('v', columns), /"valid":true/],
  'a rule whose star is 4,000 columns': [
    'POST',
    '/rules/validate',
    () => ruleOf('v', 'SELECT * FROM wide'),
    /"valid":true/,
  ],
  'a rule whose star is too many': [
    'POST',
    '/rules/validate',
    () => ruleOf('v', 'SELECT * FROM wider'),
    /^the rule reads more than 4096 columns of a stream/,
  ],
  'a list of 20,000 values': [
    'POST',
    '/rules/validate',
    () => ruleOf('v', `SELECT a FROM demo WHERE a IN (${many(20_000, String)})`),
    /"valid":true/,
  ],
  'a derived table of 3,000 columns': [
    'POST',
    '/rules/validate',
    () => ruleOf('v', `SELECT * FROM (SELECT ${many(3000, (i) => `a${i}`)} FROM demo) AS t`),
    /"valid":true/,
  ],
  'a graph of 200 nodes': [
    'POST',
    '/rules/validate',
    () => ({ id: 'g', graph: graphOf(200), triggered: false }),
    /"valid":true/,
  ],
  'the explanation of a rule': ['GET', '/rules/stored/explain', () => undefined, /"op":"ProjectPlan/],
  'a dry run': ['PUT', '/rules/stored?dryRun=true', changed, /"isNew":false/],
  'an update': ['PUT', '/rules/stored', changed, /was updated successfully/],
  'a new rule': ['POST', '/rules', (i) => ruleOf(`created${i}`, columns), /was created successfully/],
  'a rule test': [
    'POST',
    '/ruletest',
    (i) => ({ id: `test${i}`, sql: columns, mockSource: { demo: { data: [{ a0: 1 }], loop: false } } }),
    /"port"/,
  ],
};

for (const [what, [method, path, body, expected]] of Object.entries(worst)) {
  test(`other requests are answered during ${what}`, async () => {
    await askBeside(method, path, body, ({ text }) => assert.match(text.slice(0, 200), expected));
  });
}

test('a large rule of a function that a user brought is planned as a small one', async () => {
  const script = { id: 'twice', script: 'function twice(x) { return 2 * x; }', isAgg: false };
  assert.is((await request(server.base, 'POST', '/udf/javascript', script)).status, 201);
  const sql = `SELECT ${many(400, (i) => `twice(a${i}) AS verylongname${i}`)} FROM demo`;
  const { text } = await ask('POST', '/rules/validate', ruleOf('v', sql));
  assert.match(text, /"valid":true/);
  const unknown = await ask('POST', '/rules/validate', ruleOf('v', sql.replace('twice(a1)', 'twyce(a1)')));
  assert.match(unknown.text, /^unknown function twyce, did you mean twice\?/);
});

test('an import of many rules lets requests in between', async () => {
  const rule = (i: number) => JSON.stringify(ruleOf(`m${i}`, `SELECT a, b + ${i} AS c FROM demo WHERE a > ${i}`));
  const rules = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`m${i}`, rule(i)]));
  const body = () => ({ content: JSON.stringify({ rules }) });
  await askBeside('POST', '/data/import?partial=1', body, ({ status }) => assert.is(status, 200));
});

const single: Readonly<Record<string, [path: string, body: unknown, status: number, answer: RegExp]>> = {
  'an import': [
    '/data/import?partial=1',
    { content: JSON.stringify({ rules: { i0: JSON.stringify(ruleOf('i0', columns)) } }) },
    200,
    /"ErrorMsg":""/,
  ],
  'a dry run of an import with a new stream': [
    '/data/import?partial=1&dryRun=1',
    {
      content: JSON.stringify({
        streams: {
          demo: 'CREATE STREAM demo (a1 BIGINT) WITH (DATASOURCE="other", TYPE="memory")',
          fresh: freshStream,
        },
        rules: { i1: JSON.stringify(ruleOf('i1', `${columns}, fresh`.replace('demo, fresh', 'fresh'))) },
      }),
    },
    200,
    /"ErrorMsg":""/,
  ],
  'an import that is refused': [
    '/data/import?partial=1',
    { content: JSON.stringify({ rules: { i2: JSON.stringify(ruleOf('i2', columns.replace('demo', 'dem0'))) } }) },
    400,
    /i2.*dem0/,
  ],
  'a ruleset': [
    '/ruleset/import',
    {
      content: JSON.stringify({
        streams: { fresh: freshStream },
        rules: { i3: JSON.stringify(ruleOf('i3', columns.replace('demo', 'fresh'))) },
      }),
    },
    200,
    /imported 1 streams, 0 tables and 1 rules/,
  ],
  YAML: [
    '/v2/data/import',
    { content: `rules:\n  i4:\n    sql: ${columns}\n    triggered: false\n    actions:\n      - nop: {}\n` },
    200,
    /success/,
  ],
};
for (const [what, [path, body, status, expected]] of Object.entries(single)) {
  test(`other requests are answered while the one large rule of ${what} is planned`, async () => {
    await askBeside(
      'POST',
      path,
      () => body,
      (answer) => {
        assert.match(answer.text.slice(0, 1000), expected);
        assert.is(answer.status, status);
      },
    );
  });
}

test(
  'other requests are answered while a trace of a large rule begins, and while it starts with another ' + 'stream',
  async () => {
    const stream = 'CREATE STREAM changing () WITH (DATASOURCE="t", TYPE="memory")';
    await ask('POST', '/streams', { sql: stream });
    const rule = { ...ruleOf('traced', columns.replace('demo', 'changing')), triggered: true };
    assert.is((await ask('POST', '/rules', rule)).status, 201);
    const done = ({ status, text }: { status: number; text: string }) => assert.is(status, 200, text);
    await askBeside('POST', '/rules/traced/trace/start', () => ({ strategy: 'always' }), done);
    const withOtherStream = async (i: number) => {
      done(await ask('POST', '/rules/traced/stop'));
      done(await ask('PUT', '/streams/changing', { sql: stream.replace('"t"', `"u${i}"`) }));
    };
    await askBeside('POST', '/rules/traced/start', withOtherStream, done);
  },
);

test('other requests are answered while much YAML is read', async () => {
  const uploads = many(40_000, (i) => `  u${i}: {name: u${i}, content: abc}`, '\n');
  const content = `uploads:\n${uploads}\nwrong: {}`;
  await askBeside(
    'POST',
    '/v2/data/import',
    () => ({ content }),
    ({ status, text }) => {
      assert.is(status, 400);
      assert.match(text, /the content has an unknown map wrong/);
    },
  );
});

const refused: Readonly<Record<string, [path: string, body: unknown, reason: string]>> = {
  columns: [
    '/rules/validate',
    ruleOf('v', `SELECT ${many(40_000, (i) => `a${i}`)} FROM demo`),
    'more than 4096 columns in SELECT',
  ],
  'values of a list': [
    '/rules/validate',
    ruleOf('v', `SELECT a FROM demo WHERE a IN (${many(20_001, String)})`),
    'more than 20000 values in IN (…)',
  ],
  'columns of a stream': [
    '/streams',
    { sql: `CREATE STREAM w (${many(10_001, (i) => `c${i} BIGINT`)}) WITH (DATASOURCE="t", TYPE="memory")` },
    'more than 10000 columns of a stream or table',
  ],
  nodes: ['/rules/validate', { id: 'g', graph: graphOf(1000) }, 'graph.nodes has 1002 nodes, 1000 are allowed'],
  actions: [
    '/rules/validate',
    { ...ruleOf('v', 'SELECT a FROM demo'), actions: Array(201).fill({ nop: {} }) },
    'rule v has 201 actions, 200 are allowed',
  ],
  'values of a body': [
    '/rules/validate',
    { ...ruleOf('v', 'SELECT a FROM demo'), tags: Array(250_000).fill('a') },
    'invalid body: it has more than 250000 values',
  ],
  'values of an import': [
    '/data/import',
    { content: JSON.stringify({ rules: {}, streams: Array(250_000).fill(1) }) },
    'the content has more than 250000 values',
  ],
};
for (const [what, [path, body, reason]] of Object.entries(refused)) {
  test(`too many ${what} are refused by their bound`, async () => {
    const { status, text } = await request(server.base, 'POST', path, body);
    assert.ok(status === 400 || status === 422, `${status}`);
    assert.ok(text.includes(reason), text.slice(0, 200));
  });
}

test.run();
