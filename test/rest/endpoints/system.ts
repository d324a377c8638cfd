/** The server itself, batches, metrics, metadata, traces, test rules. */
import { badId, badIdReason, rule, runningRule, stoppedRule, stream } from './given.js';
import { type Case, cases, type Given, type Row } from './run.js';

const batch = '/batch/req';
const batchPart = {
  method: 'POST',
  path: '/streams',
  body: '{"sql":"CREATE STREAM x (a BIGINT) WITH (TYPE=\\"memory\\")"}',
};

const server: readonly Case[] = [
  ...cases('GET /', [], ['/', undefined, 200, '"upTimeSeconds":']),
  ...cases('POST /', [], ['/', undefined, 200, '"upTimeSeconds":']),
  ...cases('GET /planes', [], ['/planes', undefined, 200, '[']),
  ...cases('GET /overview', runningRule, ['/overview', undefined, 200, '"messagesIn":']),
  ...cases('GET /ping', [], ['/ping', undefined, 200, '']),
  ...cases('GET /reports', [], ['/reports', undefined, 200, '"name":"nightly/first","kind":"bench"']),
  ...cases(
    'GET /reports/{name}',
    [],
    ['/reports/nightly%2Ffirst', undefined, 200, '"report":{"results":[]},"samples":[]'],
    ['/reports/none', undefined, 404, 'report none is not found'],
    ['/reports/..%2FsqliteKV.db', undefined, 404, 'report ../sqliteKV.db is not found'],
  ),
  ...cases('GET /losses', [], ['/losses', undefined, 200, '"name":"gone-']),
  ...cases(
    'DELETE /losses/{id}',
    [['GET /losses', undefined, (answer) => answer.json[0]?.id]],
    ['/losses/{{value}}', undefined, 200, ' is acknowledged.'],
  ),
  ...cases(
    'DELETE /losses/{id}',
    [],
    ['/losses/none', undefined, 404, 'loss none is not found'],
    [`/losses/${badId}`, undefined, 400, badIdReason],
  ),
  ...cases('GET /openapi.json', [], ['/openapi.json', undefined, 200, '"openapi":"3.1.0"']),
  ...cases('PATCH /configs', [], ['/configs', { debug: false, timezone: 'UTC' }, 204, '']),
  ...cases('PATCH /configs', [], ['/configs', { unknown: 1 }, 204, '']),
  ...cases(
    'PATCH /configs',
    [],
    ['/configs', { debug: 'yes' }, 400, 'debug must be true or false, not "yes"'],
    ['/configs', { consoleLog: 1 }, 400, 'consoleLog must be true or false, not 1'],
    ['/configs', { logLevel: 'loud' }, 400, 'logLevel must be one of debug'],
    ['/configs', { timezone: 'Mars/Olympus' }, 400, 'timezone'],
    ['/configs', { timezone: 5 }, 400, 'timezone must be a text, not 5'],
    ['/configs', { metricsDumpConfig: [] }, 400, 'metricsDumpConfig must be an object'],
  ),
  ...cases(`POST ${batch}`, [], [batch, [batchPart, { method: 'GET', path: '/nosuch' }], 200, '"code":201']),
  ...cases(`POST ${batch}`, [], [batch, [{ method: 'a b', path: '/' }], 200, '{"code":0,"error":"invalid method']),
  ...cases(
    `POST ${batch}`,
    [],
    [batch, {}, 400, 'a list of requests was expected'],
    [batch, [batchPart, 5], 400, 'request 1 must be an object with method, path and body'],
    [batch, [batchPart, { method: 5, path: '/' }], 400, 'method of request 1 must be a text'],
    [batch, [batchPart, { method: 'GET', path: {} }], 400, 'path of request 1 must be a text'],
    [batch, [batchPart, { path: '/', body: {} }], 400, 'body of request 1 must be a text'],
  ),
];

const alone = 'this server is not part of a cluster: it was started without --cluster';
const cluster: readonly Case[] = [
  ...cases('GET /cluster', [], ['/cluster', undefined, 404, alone]),
  ...cases('POST /cluster/nodes/{name}/drain', [], ['/cluster/nodes/n/drain', undefined, 404, alone]),
  ...cases('DELETE /cluster/nodes/{name}/drain', [], ['/cluster/nodes/n/drain', undefined, 404, alone]),
];

const noList = 'there is no list of servers: ';
const fleet: readonly Case[] = [
  ...['/fleet', '/fleet/servers', '/fleet/rules', '/fleet/differences'].flatMap((path) =>
    cases(`GET ${path}`, [], [path, undefined, 404, noList]),
  ),
  ...cases('POST /fleet/push', [], ['/fleet/push', { content: '{}' }, 404, noList]),
  ...cases(
    'POST /fleet/push',
    [],
    ['/fleet/push', [], 400, 'a JSON object was expected'],
    ['/fleet/push', { content: '{}', skipAway: 'no' }, 400, 'skipAway must be true or false'],
    ['/fleet/push?dryRun=perhaps', { content: '{}' }, 400, 'dryRun is "perhaps", expected true or false'],
  ),
];

const dumping = (enable: boolean): Given => ['PATCH /configs', { metricsDumpConfig: { enable } }];
/** An answer waits for the copy under way, so that one is there however full the disk becomes. */
const dumped: readonly Given[] = [dumping(true), ['GET /metrics/dump']];
const metrics: readonly Case[] = [
  ...cases('GET /metrics', runningRule, ['/metrics', undefined, 200, '# TYPE ']),
  ...cases('GET /metrics/dump/check', dumped, ['/metrics/dump/check', undefined, 200, 'enabled']),
  ...cases(
    'GET /metrics/dump',
    dumped,
    ['/metrics/dump', undefined, 200, ''],
    ['/metrics/dump?startTime=soon', undefined, 400, 'startTime must be seconds since the epoch, not "soon"'],
    ['/metrics/dump?endTime=-1', undefined, 400, 'endTime must be seconds since the epoch, not "-1"'],
    ['/metrics/dump?startTime=1&endTime=2', undefined, 400, 'no metrics were kept at this time'],
  ),
  ...cases('GET /metrics/dump', [dumping(false)], ['/metrics/dump', undefined, 400, 'metrics dump is not enabled']),
  ...cases('GET /metrics/dump/check', [dumping(false)], ['/metrics/dump/check', undefined, 200, 'disabled']),
];

function metadataOf(owner: 'sources' | 'sinks' | 'connections'): Case[] {
  const all = `/metadata/${owner}`;
  const key = `${all}/mqtt/confKeys/k`;
  const given: Given[] = [[`PUT ${key}`, { qos: 1, password: 'hidden' }]];
  const form = `${all}/{name}/confKeys/{confKey}`;
  const refused: Row[] = [
    [`${all}/nosuch/confKeys/k`, undefined, 400, `no such ${owner.slice(0, -1)}: nosuch`],
    [`${all}/mqtt/confKeys/none`, undefined, 400, 'none of mqtt is not found'],
    [`${all}/mqtt/confKeys/${badId}`, undefined, 400, badIdReason],
    [`${all}/${badId}/confKeys/k`, undefined, 400, badIdReason],
  ];
  return [
    ...cases(`GET ${all}`, [], [all, undefined, 200, '"name":"mqtt"']),
    ...cases(
      `GET ${all}/{name}`,
      [],
      [`${all}/mqtt`, undefined, 200, '"properties":'],
      [`${all}/nosuch`, undefined, 400, `no such ${owner.slice(0, -1)}: nosuch`],
      [`${all}/${badId}`, undefined, 400, badIdReason],
    ),
    ...cases(
      `GET ${all}/yaml/{name}`,
      given,
      [`${all}/yaml/mqtt`, undefined, 200, '"k":{"qos":1,"password":"******"}'],
      [`${all}/yaml/nosuch`, undefined, 400, 'nosuch'],
      [`${all}/yaml/${badId}`, undefined, 400, badIdReason],
    ),
    ...cases(`PUT ${form}`, given, [key, { qos: 2 }, 200, '']),
    ...cases(
      `PUT ${form}`,
      given,
      [key, [], 400, 'a JSON object was expected'],
      [`${all}/mqtt/confKeys/${badId}`, {}, 400, badIdReason],
      [`${all}/${badId}/confKeys/k`, {}, 400, badIdReason],
    ),
    ...cases(`DELETE ${form}`, given, [key, undefined, 200, '']),
    ...cases(`DELETE ${form}`, given, ...refused),
  ];
}

const metadata: readonly Case[] = [
  ...metadataOf('sources'),
  ...metadataOf('sinks'),
  ...metadataOf('connections'),
  ...cases('GET /metadata/functions', [], ['/metadata/functions', undefined, 200, '"name":"avg"']),
  ...cases('GET /metadata/operators', [], ['/metadata/operators', undefined, 200, '"name":"filter"']),
  ...cases(
    'GET /metadata/resources',
    [['PUT /metadata/sinks/mqtt/confKeys/k', { qos: 1 }]],
    ['/metadata/resources', undefined, 200, '"sinks":[{"k":"mqtt"}]'],
  ),
  ...cases(
    'GET /metadata/resource',
    [['PUT /metadata/sources/mqtt/confKeys/k', { qos: 1, sourceType: 'stream' }]],
    ['/metadata/resource', undefined, 200, '"k":{"qos":1,"sourceType":"stream"}'],
    ['/metadata/resource?sourceType=stream', undefined, 200, '{"mqtt":{"k":{"qos":1,"sourceType":"stream"}}}'],
    ['/metadata/resource?sourceType=none', undefined, 200, '{}'],
  ),
];

const traced: Given[] = [
  ['PUT /metadata/sources/simulator/confKeys/rows', { data: [{ a: 7 }], interval: 10, loop: true }],
  ['POST /streams', { sql: 'CREATE STREAM s (a BIGINT) WITH (TYPE="simulator", CONF_KEY="rows")' }],
  ['POST /rules', rule('r')],
  ['POST /rules/r/trace/start', { strategy: 'always' }],
  ['GET /trace/rule/r', undefined, ({ json }) => json?.[0]],
  ['POST /rules/r/trace/stop'],
];
const trace: readonly Case[] = [
  ...cases('POST /rules/{id}/trace/start', runningRule, ['/rules/r/trace/start', { strategy: 'head' }, 200, '']),
  ...cases('POST /rules/{id}/trace/start', runningRule, ['/rules/r/trace/start', { strategy: null }, 200, '']),
  ...cases(
    'POST /rules/{id}/trace/start',
    runningRule,
    ['/rules/r/trace/start', { strategy: 4 }, 400, 'strategy must be "always" or "head"'],
    ['/rules/none/trace/start', {}, 400, 'rule none is not found'],
    [`/rules/${badId}/trace/start`, {}, 400, badIdReason],
  ),
  ...cases('POST /rules/{id}/trace/start', stoppedRule, ['/rules/r/trace/start', {}, 400, 'rule r is not running']),
  ...cases('POST /rules/{id}/trace/stop', runningRule, ['/rules/r/trace/stop', undefined, 200, '']),
  ...cases(
    'POST /rules/{id}/trace/stop',
    runningRule,
    ['/rules/none/trace/stop', undefined, 400, 'rule none is not found'],
    [`/rules/${badId}/trace/stop`, undefined, 400, badIdReason],
  ),
  ...cases(
    'GET /trace/rule/{id}',
    traced,
    ['/trace/rule/r?limit=1', undefined, 200, '["'],
    ['/trace/rule/none', undefined, 200, '[]'],
    ['/trace/rule/r?limit=x', undefined, 400, 'limit is "x", expected a whole number from 0'],
    [`/trace/rule/${badId}`, undefined, 400, badIdReason],
  ),
  ...cases(
    'GET /trace/{id}',
    traced,
    ['/trace/{{value}}', undefined, 200, '"Name":"s"'],
    ['/trace/none', undefined, 404, 'trace none is not found'],
    [`/trace/${badId}`, undefined, 400, badIdReason],
  ),
  ...cases(
    'POST /tracer',
    [],
    ['/tracer', { action: 'stop' }, 200, 'success'],
    ['/tracer', { action: 'dance' }, 400, 'action is "dance", expected start or stop'],
    ['/tracer', { action: 'start', collector_url: 7 }, 400, 'collector_url must be a text'],
    ['/tracer', { action: 'start', service_name: [], collector_url: 'x' }, 400, 'service_name must be a text'],
    ['/tracer', { action: 'start', collector_url: 'ftp://x' }, 400, 'collector_url'],
  ),
];

const testRule = { id: 'tr', sql: 'SELECT a FROM s', mockSource: { s: { data: [{ a: 1 }], interval: 5 } } };
const tested: Given[] = [stream, ['POST /ruletest', testRule]];
const ruleTests: readonly Case[] = [
  ...cases('POST /ruletest', [stream], ['/ruletest', testRule, 200, '{"id":"tr","port":']),
  ...cases(
    'POST /ruletest',
    [stream],
    ['/ruletest', { ...testRule, id: undefined }, 400, 'the id of the test rule is missing'],
    ['/ruletest', { ...testRule, id: 5 }, 400, 'id must be a text, not 5'],
    ['/ruletest', { ...testRule, id: 'a b' }, 400, badIdReason],
    ['/ruletest', { ...testRule, sql: 'SELECT a FROM none' }, 400, 'none'],
    ['/ruletest', { ...testRule, mockSource: [] }, 400, 'mockSource must be an object'],
    ['/ruletest', { ...testRule, mockSource: { s: { data: 5 } } }, 400, 'mockSource.s'],
    ['/ruletest', { ...testRule, mockSource: { s: { data: [], loop: 'yes' } } }, 400, 'loop must be true or false'],
    ['/ruletest', { ...testRule, sinkProps: 'x' }, 400, 'sinkProps must be an object'],
  ),
  ...cases('POST /tickets', [], ['/tickets', undefined, 201, '"expiresIn":30']),
  ...cases('POST /ruletest/{id}/start', tested, ['/ruletest/tr/start', undefined, 200, 'Test rule tr was started']),
  ...cases(
    'POST /ruletest/{id}/start',
    tested,
    ['/ruletest/none/start', undefined, 404, 'test rule none is not found'],
    [`/ruletest/${badId}/start`, undefined, 400, badIdReason],
  ),
  ...cases(
    'GET /ruletest/{id}/events',
    [stream],
    ['/ruletest/none/events', undefined, 404, 'test rule none is not found'],
    [`/ruletest/${badId}/events`, undefined, 400, badIdReason],
  ),
  ...cases('DELETE /ruletest/{id}', tested, ['/ruletest/tr', undefined, 200, 'Test rule tr was stopped.']),
  ...cases('DELETE /ruletest/{id}', [], [`/ruletest/${badId}`, undefined, 400, badIdReason]),
];

export const system: readonly Case[] = [...server, ...cluster, ...fleet, ...metrics, ...metadata];
export const traces: readonly Case[] = [...trace, ...ruleTests];

/** Orders that end the server. */
export const ends: readonly Case[] = [
  ...cases('POST /stop', [], ['/stop', undefined, 200, 'stop success']),
  ...cases('GET /stop', [], ['/stop', undefined, 200, 'stop success']),
];
