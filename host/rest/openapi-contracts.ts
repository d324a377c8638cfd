/** What routes take and give, by method and path; a route's own contract comes before this table. */
import {
  anything,
  bytes,
  type Contract,
  either,
  integer,
  list,
  Media,
  map,
  none,
  object,
  objectOfAnything,
  orNull,
  ref,
  type Schema,
  type Shape,
  string,
  text,
} from './contract.js';

const names = list(string);
const form = 'multipart/form-data';

function made(request: Contract['request']): Contract {
  return { request, answers: { 201: text }, isKept: true };
}
function changed(request: Contract['request']): Contract {
  return { request, answers: { 200: text }, isKept: true };
}
function gives(shape: Shape, query?: Contract['query']): Contract {
  return { query, answers: { 200: shape } };
}
const done: Contract = { answers: { 200: text } };
const keptDone: Contract = { ...done, isKept: true };
const empty: Contract = { answers: { 200: none } };
const keptEmpty: Contract = { ...empty, isKept: true };
const check: Contract = { request: ref('Properties'), ...empty };
/** A route that answers 404 when nothing has the id; the others call that a mistake in the request. */
function orMissing(contract: Contract): Contract {
  return { ...contract, errors: [400, 404] };
}

/** JSON as a file to keep. */
const asFile = (shape: Schema) => new Media(bytes, shape);

function sources(kind: 'streams' | 'tables', details: string): Record<string, Contract> {
  const filter = kind === 'tables' ? { kind: 'scan or lookup' } : undefined;
  return {
    [`POST /${kind}`]: made(ref('Statement')),
    [`GET /${kind}`]: gives(names, filter),
    [`GET /${details}`]: gives(ref('StreamDetails'), filter),
    [`GET /${kind}/:id`]: gives(ref('StreamDescription')),
    [`GET /${kind}/:id/schema`]: gives(ref('StreamSchema')),
    [`PUT /${kind}/:id`]: changed(ref('Statement')),
    [`DELETE /${kind}/:id`]: orMissing({ ...keptDone, query: { force: 'true drops it although rules use it' } }),
  };
}

function keys(owner: string): Record<string, Contract> {
  return {
    [`GET /metadata/${owner}/yaml/:name`]: gives(map(ref('Properties'))),
    [`PUT /metadata/${owner}/:name/confKeys/:confKey`]: {
      request: ref('Properties'),
      answers: { 200: text },
      isKept: true,
    },
    [`DELETE /metadata/${owner}/:name/confKeys/:confKey`]: keptEmpty,
    [`GET /metadata/${owner}`]: gives(list(either(string, objectOfAnything)), {
      kind: 'lookup lists those for lookups',
    }),
    [`GET /metadata/${owner}/:name`]: gives(objectOfAnything),
  };
}

function plugins(kind: string): Record<string, Contract> {
  return {
    [`POST /plugins/${kind}`]: made(ref('Package')),
    [`GET /plugins/${kind}`]: gives(list(either(string, objectOfAnything))),
    [`GET /plugins/${kind}/:name`]: orMissing(gives(objectOfAnything)),
    [`PUT /plugins/${kind}/:name`]: orMissing(changed(ref('Package'))),
    [`DELETE /plugins/${kind}/:name`]: orMissing({ ...keptDone, query: { stop: '1 ends the server afterwards' } }),
  };
}

const importing = { request: ref('ImportRequest'), requestIsOptional: false };
const importQuery = {
  partial: '1 keeps what the document does not name',
  stop: '1 ends the server afterwards',
  atomic: '1 changes nothing when an item is refused',
};

const exportQuery = { secrets: 'omit leaves passwords and keys out' };

export const contracts: Readonly<Record<string, Contract>> = {
  'GET /': gives(ref('Information')),
  'POST /': gives(ref('Information')),
  'GET /ping': empty,
  'GET /losses': gives(ref('Losses')),
  'DELETE /losses/:id': orMissing(keptDone),
  'POST /stop': done,
  'GET /stop': done,
  'PATCH /configs': { request: ref('Configs'), answers: { 204: none } },
  'POST /batch/req': { request: ref('BatchRequests'), answers: { 200: ref('BatchAnswers') } },
  'GET /openapi.json': gives(objectOfAnything),
  'GET /metrics': gives(text),
  'GET /metrics/dump': {
    answers: { 200: 'application/gzip' },
    errors: [400],
    query: { startTime: 'seconds since the epoch', endTime: 'seconds since the epoch' },
  },
  'GET /metrics/dump/check': done,
  ...sources('streams', 'streamdetails'),
  ...sources('tables', 'tabledetails'),
  ...keys('sources'),
  ...keys('sinks'),
  ...keys('connections'),
  'POST /metadata/sources/connection/:name': check,
  'POST /metadata/sinks/connection/:name': check,
  'POST /metadata/lookups/connection/:name': check,
  'GET /metadata/functions': gives(anything),
  'GET /metadata/operators': gives(anything),
  'GET /metadata/resources': gives(objectOfAnything),
  'GET /metadata/resource': gives(objectOfAnything, { sourceType: 'what the property sourceType of a key says' }),
  'POST /rules': made(ref('Rule')),
  'GET /rules': gives(ref('RuleList'), { trouble: 'true adds what is wrong with each rule now' }),
  'POST /rules/validate': { request: ref('Rule'), answers: { 200: ref('Validation'), 422: text } },
  'GET /rules/status/all': gives(ref('RuleStates')),
  'GET /rules/usage/cpu': gives(either(map(integer), string)),
  'GET /rules/:id': orMissing(gives(ref('Rule'))),
  'PUT /rules/:id': {
    ...changed(ref('Rule')),
    query: { dryRun: 'true changes nothing and answers with what would be kept, lost and begin empty' },
    answers: { 200: [text, ref('UpdatePreview')] },
  },
  'DELETE /rules/:id': keptDone,
  'POST /rules/:id/start': orMissing(keptDone),
  'POST /rules/:id/stop': orMissing(keptDone),
  'POST /rules/:id/restart': orMissing(keptDone),
  'GET /rules/:id/status': orMissing(gives(ref('RuleStatus'))),
  'GET /v2/rules/:id/status': orMissing(gives(ref('RuleStatus'))),
  'PUT /rules/:id/reset_state': orMissing({ request: objectOfAnything, ...done }),
  'GET /rules/:id/topo': orMissing(gives(ref('Topology'))),
  'GET /rules/:id/explain': orMissing(gives(text)),
  'GET /rules/:id/schema': orMissing(gives(ref('OutputSchema'))),
  'GET /rules/:id/scantables': orMissing(gives(ref('ScanTableRows'))),
  'PUT /rules/:id/tags': orMissing({ request: ref('Tags'), ...keptEmpty }),
  'PATCH /rules/:id/tags': orMissing({ request: ref('Tags'), ...keptEmpty }),
  'DELETE /rules/:id/tags': orMissing({ request: ref('Tags'), ...keptEmpty }),
  'GET /rules/tags/match': { request: ref('Tags'), requestIsOptional: true, answers: { 200: ref('TagMatch') } },
  'POST /rules/bulkstart': { request: ref('Tags'), answers: { 200: ref('BulkResults') } },
  'POST /rules/bulkstop': { request: ref('Tags'), answers: { 200: ref('BulkResults') } },
  'GET /connections': gives(list(ref('Connection')), { forceAll: 'true adds those made by rules' }),
  'POST /connections': made(ref('ConnectionDefinition')),
  'GET /connections/:id': gives(ref('Connection')),
  'PUT /connections/:id': changed(ref('ConnectionDefinition')),
  'DELETE /connections/:id': keptDone,
  'GET /schemas/:type': gives(names),
  'POST /schemas/:type': made(ref('SchemaDefinition')),
  'GET /schemas/:type/:name': gives(ref('SchemaDescription')),
  'PUT /schemas/:type/:name': changed(ref('SchemaDefinition')),
  'DELETE /schemas/:type/:name': keptDone,
  'PUT /schemas/:type/:name/upload': {
    request: form,
    answers: { 200: ref('SchemaDescription'), 201: ref('SchemaDescription') },
    errors: [400, 415],
    isKept: true,
  },
  ...plugins('sources'),
  ...plugins('sinks'),
  ...plugins('functions'),
  ...plugins('portables'),
  'GET /plugins/sources/prebuild': gives(map(anything)),
  'GET /plugins/sinks/prebuild': gives(map(anything)),
  'GET /plugins/functions/prebuild': gives(map(anything)),
  'GET /plugins/portables/:name/status': orMissing(gives(objectOfAnything)),
  'POST /plugins/functions/:name/register': orMissing(changed(object({ functions: names }, true))),
  'GET /plugins/udfs': gives(either(names, list(object({ name: string, plugin: string, kind: string }))), {
    details: 'true gives each function with its plugin and the kind of that',
  }),
  'GET /plugins/udfs/:name': orMissing(gives(object({ name: string, plugin: string }))),
  'POST /plugins/wasm': { request: ref('Package'), answers: { 201: ref('WasmPlugin') }, isKept: true },
  'GET /plugins/wasm': gives(list(ref('WasmPlugin'))),
  'GET /plugins/wasm/:name': orMissing(gives(ref('WasmPluginDescription'))),
  'PUT /plugins/wasm/:name': orMissing(changed(ref('Package'))),
  'DELETE /plugins/wasm/:name': orMissing(keptDone),
  'POST /services': made(ref('Package')),
  'GET /services': gives(names),
  'GET /services/:name': orMissing(gives(objectOfAnything)),
  'PUT /services/:name': orMissing(changed(ref('Package'))),
  'DELETE /services/:name': orMissing(keptDone),
  'GET /services/functions': gives(list(ref('ServiceFunction'))),
  'GET /services/functions/:name': orMissing(gives(ref('ServiceFunction'))),
  'POST /udf/javascript': made(ref('Script')),
  'GET /udf/javascript': gives(names),
  'GET /udf/javascript/:id': gives(ref('ScriptDescription')),
  'PUT /udf/javascript/:id': changed(ref('Script')),
  'DELETE /udf/javascript/:id': orMissing(keptDone),
  'POST /config/uploads': made(ref('Upload')),
  'GET /config/uploads': gives(names),
  'DELETE /config/uploads/:fileName': done,
  'POST /data/import': { ...importing, query: importQuery, answers: { 200: ref('ImportResult') }, isKept: true },
  'POST /async/data/import': { ...importing, query: importQuery, answers: { 200: object({ id: string }) } },
  'GET /async/task/:id': orMissing(gives(ref('Task'))),
  'POST /async/task/:id/cancel': orMissing(done),
  'GET /data/import/status': gives(ref('ImportStatus')),
  'GET /data/export': gives(asFile(ref('ExportDocument')), exportQuery),
  'POST /data/export': orMissing({
    query: exportQuery,
    request: names,
    answers: { 200: asFile(ref('ExportDocument')) },
  }),
  'GET /v2/data/export': gives(bytes, exportQuery),
  'POST /v2/data/import': { ...importing, ...keptDone },
  'POST /ruleset/import': { ...importing, ...keptDone },
  'POST /ruleset/export': gives(asFile(ref('Ruleset')), exportQuery),
  'POST /rules/:id/trace/start': { request: objectOfAnything, ...empty },
  'POST /rules/:id/trace/stop': empty,
  'GET /trace/rule/:id': gives(orNull(names), { limit: 'most ids given' }),
  'GET /trace/:id': orMissing(gives(ref('Span'))),
  'POST /tracer': { request: objectOfAnything, ...done },
  'POST /ruletest': {
    request: ref('RuleTest'),
    answers: { 200: new Media(text, ref('RuleTestCreated')), 400: ref('RuleTestRefused') },
  },
  'POST /tickets': { answers: { 201: object({ ticket: string, expiresIn: integer }) } },
  'POST /ruletest/:id/start': orMissing(done),
  'DELETE /ruletest/:id': done,
};
