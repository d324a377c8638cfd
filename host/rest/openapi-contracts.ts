/** What routes take and give, by method and path; a route's own contract comes before this table. */
import {
  anything,
  bytes,
  type Contract,
  either,
  integer,
  list,
  map,
  none,
  object,
  objectOfAnything,
  orNull,
  ref,
  type Shape,
  string,
  text,
} from './contract.js';

const names = list(string);
const form = 'multipart/form-data';

function made(request: Contract['request']): Contract {
  return { request, answers: { 201: text } };
}
function changed(request: Contract['request']): Contract {
  return { request, answers: { 200: text } };
}
function gives(shape: Shape, query?: Contract['query']): Contract {
  return { query, answers: { 200: shape } };
}
const done: Contract = { answers: { 200: text } };
const empty: Contract = { answers: { 200: none } };

function sources(kind: 'streams' | 'tables', details: string): Record<string, Contract> {
  const filter = kind === 'tables' ? { kind: 'scan or lookup' } : undefined;
  return {
    [`POST /${kind}`]: made(ref('Statement')),
    [`GET /${kind}`]: gives(names, filter),
    [`GET /${details}`]: gives(ref('StreamDetails'), filter),
    [`GET /${kind}/:id`]: gives(ref('StreamDescription')),
    [`GET /${kind}/:id/schema`]: gives(ref('StreamSchema')),
    [`PUT /${kind}/:id`]: changed(ref('Statement')),
    [`DELETE /${kind}/:id`]: { ...done, query: { force: 'true drops it although rules use it' } },
  };
}

function keys(owner: string): Record<string, Contract> {
  return {
    [`GET /metadata/${owner}/yaml/:name`]: gives(map(ref('Properties'))),
    [`PUT /metadata/${owner}/:name/confKeys/:confKey`]: { request: ref('Properties'), ...empty },
    [`DELETE /metadata/${owner}/:name/confKeys/:confKey`]: empty,
    [`GET /metadata/${owner}`]: gives(list(either(string, objectOfAnything)), {
      kind: 'lookup lists those for lookups',
    }),
    [`GET /metadata/${owner}/:name`]: gives(objectOfAnything),
    [`POST /metadata/${owner}/connection/:name`]: { request: ref('Properties'), ...empty },
  };
}

function plugins(kind: string): Record<string, Contract> {
  return {
    [`POST /plugins/${kind}`]: made(ref('Package')),
    [`GET /plugins/${kind}`]: gives(list(either(string, objectOfAnything))),
    [`GET /plugins/${kind}/:name`]: gives(objectOfAnything),
    [`PUT /plugins/${kind}/:name`]: changed(ref('Package')),
    [`DELETE /plugins/${kind}/:name`]: { ...done, query: { stop: '1 ends the server afterwards' } },
    [`GET /plugins/${kind}/prebuild`]: gives(map(anything)),
  };
}

const importing = { request: ref('ImportRequest'), requestIsOptional: false };
const importQuery = {
  partial: '1 keeps what the document does not name',
  stop: '1 ends the server afterwards',
  atomic: '1 changes nothing when an item is refused',
};

export const contracts: Readonly<Record<string, Contract>> = {
  'GET /': gives(ref('Information')),
  'POST /': gives(ref('Information')),
  'GET /ping': empty,
  'POST /stop': done,
  'GET /stop': done,
  'PATCH /configs': { request: ref('Configs'), answers: { 200: none, 204: none } },
  'POST /batch/req': { request: ref('BatchRequests'), answers: { 200: ref('BatchAnswers') } },
  'GET /openapi.json': gives(objectOfAnything),
  'GET /metrics': gives(text),
  'GET /metrics/dump': {
    answers: { 200: 'application/gzip' },
    query: { startTime: 'seconds since the epoch', endTime: 'seconds since the epoch' },
  },
  'GET /metrics/dump/check': done,
  ...sources('streams', 'streamdetails'),
  ...sources('tables', 'tabledetails'),
  ...keys('sources'),
  ...keys('sinks'),
  ...keys('connections'),
  'POST /metadata/lookups/connection/:name': { request: ref('Properties'), ...empty },
  'GET /metadata/functions': gives(anything),
  'GET /metadata/operators': gives(anything),
  'GET /metadata/resources': gives(objectOfAnything),
  'GET /metadata/resource': gives(objectOfAnything, { sourceType: 'name of a source' }),
  'POST /rules': made(ref('Rule')),
  'GET /rules': gives(ref('RuleList')),
  'POST /rules/validate': { request: ref('Rule'), answers: { 200: ref('Validation'), 422: text } },
  'GET /rules/status/all': gives(ref('RuleStates')),
  'GET /rules/usage/cpu': gives(either(map(integer), string)),
  'GET /rules/:id': gives(ref('Rule')),
  'PUT /rules/:id': changed(ref('Rule')),
  'DELETE /rules/:id': done,
  'POST /rules/:id/start': done,
  'POST /rules/:id/stop': done,
  'POST /rules/:id/restart': done,
  'GET /rules/:id/status': gives(ref('RuleStatus')),
  'GET /v2/rules/:id/status': gives(ref('RuleStatus')),
  'PUT /rules/:id/reset_state': { request: objectOfAnything, ...done },
  'GET /rules/:id/topo': gives(ref('Topology')),
  'GET /rules/:id/explain': gives(text),
  'GET /rules/:id/schema': gives(ref('OutputSchema')),
  'GET /rules/:id/scantables': gives(ref('ScanTableRows')),
  'GET /rules/:rule/scantables': gives(ref('ScanTableRows')),
  'PUT /rules/:id/tags': { request: ref('Tags'), ...empty },
  'PATCH /rules/:id/tags': { request: ref('Tags'), ...empty },
  'DELETE /rules/:id/tags': { request: ref('Tags'), ...empty },
  'GET /rules/tags/match': { request: ref('Tags'), requestIsOptional: true, answers: { 200: ref('TagMatch') } },
  'POST /rules/bulkstart': { request: ref('Tags'), answers: { 200: ref('BulkResults') } },
  'POST /rules/bulkstop': { request: ref('Tags'), answers: { 200: ref('BulkResults') } },
  'GET /connections': gives(list(ref('Connection')), { forceAll: 'true adds those made by rules' }),
  'POST /connections': made(ref('ConnectionDefinition')),
  'GET /connections/:id': gives(ref('Connection')),
  'PUT /connections/:id': changed(ref('ConnectionDefinition')),
  'DELETE /connections/:id': done,
  'GET /schemas/:type': gives(names),
  'POST /schemas/:type': made(ref('SchemaDefinition')),
  'GET /schemas/:type/:name': gives(ref('SchemaDescription')),
  'PUT /schemas/:type/:name': changed(ref('SchemaDefinition')),
  'DELETE /schemas/:type/:name': done,
  'PUT /schemas/:type/:name/upload': {
    request: form,
    answers: { 200: ref('SchemaDescription'), 201: ref('SchemaDescription'), 415: ref('Error') },
  },
  ...plugins('sources'),
  ...plugins('sinks'),
  ...plugins('functions'),
  ...plugins('portables'),
  'GET /plugins/portables/:name/status': gives(objectOfAnything),
  'POST /plugins/functions/:name/register': changed(object({ functions: names }, true)),
  'GET /plugins/udfs': gives(names),
  'GET /plugins/udfs/:name': gives(object({ name: string, plugin: string })),
  'POST /plugins/wasm': { request: ref('Package'), answers: { 201: ref('WasmPlugin'), 409: ref('Error') } },
  'GET /plugins/wasm': gives(list(ref('WasmPlugin'))),
  'DELETE /plugins/wasm/:name': { answers: { 200: text, 204: none } },
  'POST /services': made(ref('Package')),
  'GET /services': gives(names),
  'GET /services/:name': gives(objectOfAnything),
  'PUT /services/:name': changed(ref('Package')),
  'DELETE /services/:name': done,
  'GET /services/functions': gives(list(ref('ServiceFunction'))),
  'GET /services/functions/:name': gives(ref('ServiceFunction')),
  'POST /udf/javascript': made(ref('Script')),
  'GET /udf/javascript': gives(names),
  'GET /udf/javascript/:id': gives(ref('Script')),
  'PUT /udf/javascript/:id': changed(ref('Script')),
  'DELETE /udf/javascript/:id': done,
  'POST /config/uploads': made(ref('Upload')),
  'GET /config/uploads': gives(names),
  'DELETE /config/uploads/:fileName': done,
  'POST /data/import': { ...importing, query: importQuery, answers: { 200: ref('ImportResult') } },
  'POST /async/data/import': { ...importing, query: importQuery, answers: { 200: object({ id: string }) } },
  'GET /async/task/:id': gives(ref('Task')),
  'POST /async/task/:id/cancel': { answers: { 200: anything } },
  'GET /data/import/status': gives(ref('ImportStatus')),
  'GET /data/export': gives(ref('ExportDocument')),
  'POST /data/export': { request: names, answers: { 200: ref('ExportDocument') } },
  'GET /v2/data/export': gives(bytes),
  'POST /v2/data/import': { ...importing, ...done },
  'POST /ruleset/import': { ...importing, ...done },
  'POST /ruleset/export': gives(ref('Ruleset')),
  'POST /rules/:id/trace/start': { request: objectOfAnything, requestIsOptional: true, ...empty },
  'POST /rules/:id/trace/stop': empty,
  'GET /trace/rule/:id': gives(orNull(names), { limit: 'most ids given' }),
  'GET /trace/:id': gives(ref('Span')),
  'POST /tracer': { request: objectOfAnything, answers: { 200: anything } },
  'POST /ruletest': {
    request: ref('RuleTest'),
    answers: { 200: ref('RuleTestCreated'), 400: ref('RuleTestRefused') },
  },
  'POST /ruletest/:id/start': done,
  'DELETE /ruletest/:id': done,
};
