/** Rules: definitions, life cycle, tags. */
import { badId, badIdReason, rule, runningRule, stoppedRule, stream, table, versionedRule } from './given.js';
import { type Case, cases, type Given } from './run.js';

const definition = 'create rule error: ';
/** What is wrong with a definition, whatever asks for it, and what is said about it. */
const wrongRules: readonly (readonly [body: unknown, says: string])[] = [
  [rule('x', { sql: 'SELECT a FROM none' }), 'none'],
  [rule('x', { sql: 'SELECT FROM s' }), 'FROM'],
  [rule('x', { sql: 'SELECT nosuch(a) FROM s' }), 'nosuch'],
  [rule('x', { sql: '' }), 'sql'],
  [rule('x', { sql: 5 }), 'sql'],
  [rule('x', { actions: [] }), 'actions'],
  [rule('x', { actions: {} }), 'actions'],
  [rule('x', { actions: [{}] }), 'action'],
  [rule('x', { actions: [{ nosuch: {} }] }), 'nosuch'],
  [rule('x', { actions: [{ nop: 5 }] }), 'nop'],
  [rule('x', { options: { qos: -7 } }), 'qos'],
  [rule('x', { options: [] }), 'options'],
  [rule('x', { tags: 'x' }), 'tags'],
];

const updatedRule: Given[] = [...runningRule, ['PUT /rules/r', rule('r', { sql: 'SELECT a + 1 AS a FROM s' })]];

const definitions: readonly Case[] = [
  ...cases('POST /rules', [stream], ['/rules', rule('r'), 201, 'Rule r was created successfully.']),
  ...cases(
    'POST /rules',
    runningRule,
    ['/rules', rule('r'), 400, `${definition}rule r already exists`],
    ...wrongRules.map(([body, says]) => ['/rules', body, 400, says] as const),
    ['/rules', rule('a b'), 400, badIdReason],
    ['/rules', rule(''), 400, 'the rule id is missing'],
    ['/rules', { ...rule('x'), id: null }, 400, 'the rule id is missing'],
    ['/rules', {}, 400, definition],
    ['/rules', [rule('x')], 400, definition],
  ),
  ...cases(
    'GET /rules',
    [],
    ['/rules', undefined, 200, '[]'],
    ['/rules?limit=none', undefined, 400, 'limit is "none", expected a whole number from 1'],
  ),
  ...cases('GET /rules', runningRule, ['/rules', undefined, 200, '"id":"r"']),
  ...cases(
    'POST /rules/validate',
    [stream],
    ['/rules/validate', rule('x'), 200, '{"valid":true,"sources":["s"]}'],
    ...wrongRules.map(([body, says]) => ['/rules/validate', body, 422, says] as const),
    ['/rules/validate', '{', 400, 'invalid body: it is no JSON'],
    ['/rules/validate', '', 400, 'invalid body: it is empty'],
  ),
  ...cases(
    'GET /rules/{id}',
    versionedRule,
    ['/rules/r', undefined, 200, '"sql":"SELECT a FROM s"'],
    ['/rules/none', undefined, 404, 'describe rule error: rule none is not found'],
    [`/rules/${badId}`, undefined, 400, badIdReason],
  ),
  ...cases('PUT /rules/{id}', [stream], ['/rules/r', rule('r'), 200, 'Rule r was updated successfully.']),
  ...cases('PUT /rules/{id}', [stream], ['/rules/r', { ...rule('r'), id: null }, 200, 'Rule r was updated']),
  ...cases('PUT /rules/{id}', versionedRule, ['/rules/r', rule('r', { version: '3' }), 200, 'Rule r was updated']),
  ...cases('PUT /rules/{id}', versionedRule, ['/rules/r', rule('r', { version: '2.0' }), 200, 'Rule r was updated']),
  // A rule without a version takes any.
  ...cases('PUT /rules/{id}', runningRule, ['/rules/r', rule('r', { version: '0' }), 200, 'Rule r was updated']),
  ...cases(
    'PUT /rules/{id}',
    versionedRule,
    ['/rules/r', rule('r', { version: '2' }), 400, 'the version 2 must be greater than 2'],
    // Versions are texts.
    ['/rules/r', rule('r', { version: '10' }), 400, 'the version 10 must be greater than 2'],
    ['/rules/r', rule('r', { version: 3 }), 400, 'version must be a text, not 3'],
    ['/rules/r', rule('r'), 400, 'must be greater than 2'],
    [`/rules/${badId}`, rule('r'), 400, badIdReason],
  ),
  ...cases(
    'PUT /rules/{id}',
    runningRule,
    ...wrongRules.map(([body, says]) => ['/rules/r', { ...(body as object), id: 'r' }, 400, says] as const),
  ),
  ...cases('DELETE /rules/{id}', runningRule, ['/rules/r', undefined, 200, 'Rule r is dropped.']),
  ...cases(
    'DELETE /rules/{id}',
    runningRule,
    ['/rules/none', undefined, 400, 'delete rule error: rule none is not found'],
    [`/rules/${badId}`, undefined, 400, badIdReason],
  ),
];

/** What every question and order about one rule refuses. */
function unknownRule(op: string, body?: unknown): Case[] {
  const path = op.split(' ')[1] ?? '';
  return cases(
    op,
    runningRule,
    [path.replace('{id}', 'none'), body, 404, 'rule none is not found'],
    [path.replace('{id}', badId), body, 400, badIdReason],
  );
}

/** A stream that is gone since the rule was stopped. */
const orphaned: Given[] = [...stoppedRule, ['DELETE /streams/s?force=true']];
const scanned: Given[] = [
  stream,
  table,
  ['POST /rules', rule('r', { sql: 'SELECT s.a, t.a AS c FROM s INNER JOIN t ON s.a = t.a' })],
];
const feeding: Given[] = [
  ['PUT /metadata/sources/simulator/confKeys/rows', { data: [{ a: 7 }], interval: 5, loop: true }],
  ['POST /streams', { sql: 'CREATE STREAM sim (a BIGINT) WITH (TYPE="simulator", CONF_KEY="rows")' }],
  ...scanned,
  ['POST /rules', rule('feed', { sql: 'SELECT a FROM sim', actions: [{ memory: { topic: 'u' } }] })],
  [
    'GET /rules/r/status',
    undefined,
    ({ text }) => (/"source_t_0_records_in_total":[1-9]/.test(text) ? 'fed' : undefined),
  ],
  ['POST /rules/feed/stop'],
];

const lifeCycle: readonly Case[] = [
  ...cases('POST /rules/{id}/start', stoppedRule, ['/rules/r/start', undefined, 200, 'Rule r was started']),
  ...cases('POST /rules/{id}/start', runningRule, ['/rules/r/start', undefined, 200, 'Rule r was started']),
  ...unknownRule('POST /rules/{id}/start'),
  ...cases('POST /rules/{id}/stop', runningRule, ['/rules/r/stop', undefined, 200, 'Rule r was stopped.']),
  ...unknownRule('POST /rules/{id}/stop'),
  ...cases('POST /rules/{id}/restart', runningRule, ['/rules/r/restart', undefined, 200, 'Rule r was restarted']),
  ...unknownRule('POST /rules/{id}/restart'),
  ...cases('GET /rules/{id}/status', runningRule, ['/rules/r/status', undefined, 200, '"status":"Running"']),
  ...cases('GET /rules/{id}/status', stoppedRule, ['/rules/r/status', undefined, 200, '"status":"Stopped']),
  ...unknownRule('GET /rules/{id}/status'),
  ...cases('GET /v2/rules/{id}/status', runningRule, ['/v2/rules/r/status', undefined, 200, '"status":"Running"']),
  ...unknownRule('GET /v2/rules/{id}/status'),
  ...cases('GET /rules/status/all', runningRule, ['/rules/status/all', undefined, 200, '"r":{"status":"Running"']),
  ...cases('GET /rules/usage/cpu', runningRule, ['/rules/usage/cpu', undefined, 200, '"r":']),
  ...cases(
    'PUT /rules/{id}/reset_state',
    runningRule,
    ['/rules/r/reset_state', { type: 9, params: {} }, 400, 'unknown type 9, expected 1'],
    ['/rules/r/reset_state', { type: 1, params: { streamName: 'none' } }, 400, 'rule r has no stream "none"'],
    ['/rules/r/reset_state', { type: 1, params: { streamName: 's' } }, 400, 'keeps no place that could be reset'],
  ),
  ...cases(
    'PUT /rules/{id}/reset_state',
    [
      ['POST /config/uploads', { name: 'later', content: '[]' }],
      ['PUT /metadata/sources/file/confKeys/later', { path: 'uploads', interval: '1h' }],
      ['POST /streams', { sql: 'CREATE STREAM f () WITH (TYPE="file", DATASOURCE="later", CONF_KEY="later")' }],
      ['POST /rules', rule('f', { sql: 'SELECT * FROM f' })],
    ],
    ['/rules/f/reset_state', { type: 1, params: { streamName: 'f', input: { messages: 7 } } }, 200, 'Rule f reads'],
    [
      '/rules/f/reset_state',
      { type: 1, params: { streamName: 'f', input: { messages: 'x' } } },
      400,
      'must be a number',
    ],
  ),
  ...cases('PUT /rules/{id}/reset_state', stoppedRule, [
    '/rules/r/reset_state',
    { type: 1, params: { streamName: 's' } },
    400,
    'rule r is not running',
  ]),
  ...unknownRule('PUT /rules/{id}/reset_state', { type: 1, params: {} }),
  ...cases('GET /rules/{id}/versions', updatedRule, ['/rules/r/versions', undefined, 200, '[{"number":1,"until":']),
  ...unknownRule('GET /rules/{id}/versions'),
  ...cases(
    'GET /rules/{id}/versions/{number}',
    updatedRule,
    ['/rules/r/versions/1', undefined, 200, '"rule":{"id":"r"'],
    ['/rules/r/versions/2', undefined, 404, 'rule r has no version 2'],
    ['/rules/none/versions/1', undefined, 404, 'rule none is not found'],
    [`/rules/${badId}/versions/1`, undefined, 400, badIdReason],
  ),
  ...cases('GET /rules/{id}/topo', runningRule, ['/rules/r/topo', undefined, 200, '"sources":["source_s"]']),
  ...cases('GET /rules/{id}/topo', stoppedRule, ['/rules/r/topo', undefined, 400, 'rule r was never started']),
  ...unknownRule('GET /rules/{id}/topo'),
  ...cases('GET /rules/{id}/explain', stoppedRule, ['/rules/r/explain', undefined, 200, 's']),
  ...cases('GET /rules/{id}/explain', orphaned, ['/rules/r/explain', undefined, 400, 'explain rules error: ']),
  ...unknownRule('GET /rules/{id}/explain'),
  ...cases('GET /rules/{id}/schema', runningRule, [
    '/rules/r/schema',
    undefined,
    200,
    '"a":{"hasIndex":true,"index":0',
  ]),
  ...cases('GET /rules/{id}/schema', stoppedRule, ['/rules/r/schema', undefined, 400, 'rule r is not running']),
  ...unknownRule('GET /rules/{id}/schema'),
  ...cases('GET /rules/{id}/scantables', runningRule, [
    '/rules/r/scantables',
    undefined,
    400,
    'rule r has no scan table',
  ]),
  ...cases('GET /rules/{id}/scantables', stoppedRule, ['/rules/r/scantables', undefined, 400, 'rule r is not running']),
  ...unknownRule('GET /rules/{id}/scantables'),
  ...cases('GET /rules/{id}/errors', runningRule, ['/rules/r/errors', undefined, 200, '[]']),
  ...unknownRule('GET /rules/{id}/errors'),
  ...cases('POST /rules/{id}/start', orphaned, ['/rules/r/start', undefined, 400, 'stream s is not known', 'changes']),
];

const wrongTags: readonly (readonly [body: unknown, says: string])[] = [
  [{}, 'invalid body: tags is missing'],
  [{ tags: 'x' }, 'invalid body: tags must be a list of texts'],
  [{ tags: [1] }, 'invalid body: tags must be a list of texts'],
  [{ keys: {} }, 'invalid body: keys must be a list of texts'],
  [[], 'invalid body: a JSON object with tags was expected'],
];
const tagsOf = (op: string, path: string, given: readonly Given[]) =>
  cases(op, given, ...wrongTags.map(([body, says]) => [path, body, 400, says] as const));

const tags: readonly Case[] = [
  ...['PUT', 'PATCH', 'DELETE'].flatMap((method) => [
    ...cases(`${method} /rules/{id}/tags`, versionedRule, ['/rules/r/tags', { tags: ['x', 'z'] }, 200, '']),
    ...tagsOf(`${method} /rules/{id}/tags`, '/rules/r/tags', versionedRule),
    ...unknownRule(`${method} /rules/{id}/tags`, { tags: ['x'] }),
  ]),
  ...cases('GET /rules/tags/match', versionedRule, ['/rules/tags/match', { tags: ['x', 'y'] }, 200, '{"rules":["r"]}']),
  ...cases('GET /rules/tags/match', versionedRule, ['/rules/tags/match', { keys: ['x', 'z'] }, 200, '{}']),
  ...tagsOf('GET /rules/tags/match', '/rules/tags/match', versionedRule),
  ...['bulkstart', 'bulkstop'].flatMap((order) => [
    ...cases(`POST /rules/${order}`, versionedRule, [`/rules/${order}`, { tags: ['x'] }, 200, '"success":true']),
    ...cases(`POST /rules/${order}`, versionedRule, [`/rules/${order}`, { tags: ['none'] }, 400, 'no matching rules']),
    ...tagsOf(`POST /rules/${order}`, `/rules/${order}`, versionedRule),
  ]),
  ...cases(
    'POST /rules/bulkstart',
    [...orphaned, ['PUT /rules/r/tags', { tags: ['x'] }]],
    ['/rules/bulkstart', { tags: ['x'] }, 200, '"success"'],
  ),
];

/** What scan tables of running rules hold. */
const scanTables: readonly Case[] = [
  ...cases('GET /rules/{id}/scantables', feeding, [
    '/rules/r/scantables',
    undefined,
    200,
    '{"emitter":"t","content":{"a":7}}',
  ]),
  ...cases('GET /rules/{id}/scantables', scanned, [
    '/rules/r/scantables',
    undefined,
    400,
    'the scan tables of rule r hold nothing',
  ]),
];

export const rules: readonly Case[] = [...definitions, ...lifeCycle, ...scanTables, ...tags];
