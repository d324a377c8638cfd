/** Bodies and questions that no honest client sends: each has a precise answer, and the server goes on. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer } from '../support/harness.js';

let server: TestServer;
test.before(async () => {
  server = await startServer();
  const sql = 'CREATE STREAM quiet () WITH (TYPE="memory", DATASOURCE="quiet", SHARED="true")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
});
test.after(async () => {
  await server.stop();
});

/** Names that every JavaScript object has. */
const memberNames = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'];

/** As JSON: an object literal would set the prototype. */
const withMember = (name: string, value: string) => `{${JSON.stringify(name)}:${value}}`;

test('configuration keys may have properties of any name', async () => {
  for (const name of memberNames) {
    const path = `/metadata/sources/mqtt/confKeys/${name}`;
    const answer = await server.request('PUT', path, withMember(name, '{"qos":1}'));
    assert.is(answer.status, 200, `${name}: ${answer.text}`);
    const { text } = await server.request('GET', '/metadata/sources/yaml/mqtt');
    assert.ok(text.includes(`"${name}":${withMember(name, '{"qos":1}')}`), `${name}: ${text}`);
    assert.is((await server.request('DELETE', path)).status, 200, name);
  }
});

test('sinks may have properties of any name', async () => {
  for (const name of memberNames) {
    const rule = `{"id":"r","sql":"SELECT * FROM quiet","actions":[{"nop":${withMember(name, '"secret"')}}]}`;
    const answer = await server.request('POST', '/rules', rule);
    assert.is(answer.status, 201, `${name}: ${answer.text}`);
    await eventually(
      `the start of the rule with ${name}`,
      async () => (await server.request('GET', '/rules/r/status')).json.status === 'Running',
    );
    assert.is((await server.request('DELETE', '/rules/r')).status, 200);
  }
});

const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

test(
  'bodies nested without measure are refused, by operations that walk through them and those that do ' + 'not',
  async () => {
    const requests: [method: string, path: string][] = [
      ['PUT', '/metadata/sources/mqtt/confKeys/deep'],
      ['POST', '/rules'],
      ['POST', '/connections'],
      ['POST', '/data/import'],
      ['PATCH', '/configs'],
    ];
    for (const [method, path] of requests) {
      for (const body of [deep(100_000), `${'['.repeat(100_000)}${']'.repeat(100_000)}`]) {
        const { status, text } = await server.request(method, path, body);
        assert.is(status, 400, `${method} ${path}: ${text.slice(0, 200)}`);
        assert.match(text, /"invalid body: it is nested deeper than 1000 levels"|"error":\d+,"message":".*deeper/);
      }
    }
    const within = await server.request('PUT', '/metadata/sources/mqtt/confKeys/deep', { text: '[{'.repeat(5000) });
    assert.is(within.status, 200, 'brackets within texts do not count');
    assert.is((await server.request('DELETE', '/metadata/sources/mqtt/confKeys/deep')).status, 200);
  },
);

test('JSON nested without measure within the texts of an import is refused, and nothing changes', async () => {
  const before = (await server.request('GET', '/data/export')).text;
  for (const content of [
    { rules: { r: `{"id":"r","sql":"SELECT * FROM quiet","actions":[{"nop":${deep(50_000)}}]}` } },
    { sourceConfig: { mqtt: `{"k":${deep(50_000)}}` } },
    { connectionConfig: { c: deep(50_000) } },
  ]) {
    const { status, text } = await server.request('POST', '/data/import?partial=1', {
      content: JSON.stringify(content),
    });
    assert.is(status, 400, text.slice(0, 300));
    assert.match(text, /nested (too deeply|deeper than)/);
  }
  assert.is((await server.request('GET', '/data/export')).text, before);
});

test('a parameter given twice counts once', async () => {
  for (const path of ['/data/import?partial=1&partial=0', '/data/import?partial=1&stop=0&stop=1&stop=0']) {
    assert.is((await server.request('POST', path, { content: '{}' })).status, 200);
  }
  assert.is((await server.request('GET', '/tables?kind=scan&kind=lookup')).status, 200);
  const batched = await server.request('POST', '/batch/req', [
    { method: 'POST', path: '/data/import?partial=1&partial=0', body: '{"content":"{}"}' },
  ]);
  assert.is(batched.json[0].code, 200, batched.text);
});

test('ids without measure are refused, and not quoted as a whole', async () => {
  for (const [method, path] of [
    ['POST', '/rules'],
    ['POST', '/udf/javascript'],
    ['GET', `/rules/${'x'.repeat(5000)}`],
  ] as const) {
    const body = method === 'POST' ? { id: 'x'.repeat(1 << 20), sql: 'SELECT', script: 'x' } : undefined;
    const { status, text } = await server.request(method, path, body);
    assert.is(status, 400);
    assert.match(text, /characters, 1000 are allowed"\}$/);
    assert.ok(text.length < 1000, `${text.length} characters`);
  }
});

/**
 * A graph in which each filter gives its rows to those that `next` names by number; the first begins, -1 is the sink.
 */
function graphOf(count: number, next: (i: number) => number[]): object {
  const nameOf = (i: number) => (i < 0 || i >= count ? 'sink' : `f${i}`);
  const filters = Array.from({ length: count }, (_, i) => i);
  return {
    id: 'graph',
    graph: {
      nodes: {
        source: { type: 'source', nodeType: 'memory', props: { datasource: 'x' } },
        sink: { type: 'sink', nodeType: 'nop', props: {} },
        ...Object.fromEntries(
          filters.map((i) => [nameOf(i), { type: 'operator', nodeType: 'filter', props: { expr: `a > ${i}` } }]),
        ),
      },
      topo: {
        sources: ['source'],
        edges: { source: ['f0'], ...Object.fromEntries(filters.map((i) => [nameOf(i), next(i).map(nameOf)])) },
      },
    },
  };
}

test('graphs without measure are refused or taken, soon', async () => {
  for (const [count, next, reason] of [
    [10_000, (i) => [i + 1], /graph\.nodes has 10002 nodes, 1000 are allowed/],
    [900, (i) => [i + 1], /the rule needs more than \d+ intermediate results/],
    [900, (i) => [(i + 1) % 900, ...(i === 5 ? [-1] : [])], /the edges of sink, f0, .* and 881 more run in a circle/],
    [200, () => Array.from({ length: 200 }, () => -1), /has 40001 edges, 5000 are allowed/],
    // Two ways on at each of 25 forks.
    [75, (i) => (i % 3 === 0 ? [i + 1, i + 2] : i % 3 === 1 ? [i + 2] : [i + 1]), /takes one input, not f1, f2/],
  ] as [number, (i: number) => number[], RegExp][]) {
    // A request that takes long fails.
    const { status, text } = await server.request('POST', '/rules', graphOf(count, next));
    assert.is(status, 400);
    assert.match(text, reason);
  }
});

test.run();
