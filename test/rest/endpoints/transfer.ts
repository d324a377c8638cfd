/** Imports and exports, connections, schemas, uploads. */
import { openBroker } from '../../support/brokers/broker.js';
import { emptyArchive } from '../../support/rest/archives.js';
import { fileUri } from '../../support/rest/given-files.js';
import { badId, badIdReason, rule, runningRule, stream, streamSql } from './given.js';
import { FormBody } from './http.js';
import { type Case, cases, type Given, type Row } from './run.js';

const document = JSON.stringify({ streams: { s: streamSql }, rules: { r: JSON.stringify(rule('r')) } });
const torn = JSON.stringify({ streams: { s: streamSql }, rules: { r: '{"id":"r"' } });
/** What every import refuses. */
const wrongImports = (path: string): Row[] => [
  [path, {}, 400, 'must specify content or file'],
  [path, { content: 5 }, 400, 'content must be a text, not 5'],
  [path, { content: '{}', file: 'file:///x' }, 400, 'both content and file are given'],
  [path, { file: 'file:///nosuch.json' }, 400, 'nosuch.json'],
  [path, { file: 'ftp://x/y.json' }, 400, 'only the schemes'],
  [path, { content: '[]' }, 400, 'the content must be a'],
  [path, { content: '{"streams":5}' }, 400, 'streams'],
  [path, { content: '{"streems":{}}' }, 400, 'streems'],
];

const task: Given[] = [
  ['POST /async/data/import', { content: document }, ({ json }) => json.id],
  ['GET /async/task/{{value}}', undefined, ({ json }) => (json.status === 'finish' ? json.id : undefined)],
];

const imports: readonly Case[] = [
  ...cases('POST /data/import', [], ['/data/import', { content: document }, 200, '"ErrorMsg":""']),
  ...cases('POST /data/import', [], ['/data/import', { content: torn }, 400, '"r":"', 'changes']),
  ...cases(
    'POST /data/import',
    runningRule,
    ['/data/import?dryRun=1', { content: '{}' }, 200, '"ErrorMsg":""'],
    ['/data/import?atomic=1', { content: torn }, 400, '"r":"'],
    ...wrongImports('/data/import'),
    ['/data/import', { content: '{' }, 400, 'the content is no JSON'],
  ),
  ...cases('POST /async/data/import', [], ['/async/data/import', { content: document }, 200, '{"id":"dataImport-']),
  ...cases(
    'POST /async/data/import',
    runningRule,
    ['/async/data/import', '{', 400, 'invalid body: it is no JSON'],
    ['/async/data/import', [], 400, 'a JSON object was expected'],
    ['/async/data/import', {}, 400, 'must specify content or file'],
    ['/async/data/import', { content: 5 }, 400, 'content must be a text, not 5'],
  ),
  ...cases(
    'GET /async/task/{id}',
    task,
    ['/async/task/{{value}}', undefined, 200, '"status":"finish"'],
    ['/async/task/none', undefined, 404, 'task none is not found'],
    [`/async/task/${badId}`, undefined, 400, badIdReason],
  ),
  ...cases('POST /async/task/{id}/cancel', task, ['/async/task/{{value}}/cancel', undefined, 200, 'cancel success']),
  ...cases(
    'POST /async/task/{id}/cancel',
    task,
    ['/async/task/none/cancel', undefined, 404, 'task none is not found'],
    [`/async/task/${badId}/cancel`, undefined, 400, badIdReason],
  ),
  ...cases('GET /data/import/status', [], ['/data/import/status', undefined, 200, '"streams":{}']),
  ...cases('GET /data/export', runningRule, ['/data/export', undefined, 200, '"streams":{"s":']),
  ...cases(
    'POST /data/export',
    [...runningRule, ['POST /rules', rule('q')]],
    ['/data/export', ['r'], 200, '"streams":{"s":'],
  ),
  ...cases(
    'POST /data/export',
    runningRule,
    ['/data/export', ['r', 'none'], 404, 'rule none is not found'],
    ['/data/export', {}, 400, 'a list of rule ids was expected'],
    ['/data/export', [5], 400, 'a list of rule ids was expected'],
  ),
  ...cases('GET /v2/data/export', runningRule, ['/v2/data/export', undefined, 200, 'streams:']),
  ...cases('POST /v2/data/import', [], ['/v2/data/import', { content: 'streams: {}' }, 200, 'success']),
  ...cases(
    'POST /v2/data/import',
    runningRule,
    ['/v2/data/import', { content: 'streams:\n  x: CREATE STREAM' }, 400, 'streams x: '],
    ['/v2/data/import', { content: 'a: [' }, 400, 'the content is no YAML'],
    ...wrongImports('/v2/data/import'),
  ),
  ...cases('POST /ruleset/export', runningRule, ['/ruleset/export', undefined, 200, '"streams":{"s":']),
  ...cases(
    'POST /ruleset/import',
    [],
    ['/ruleset/import', { content: document }, 200, 'imported 1 streams, 0 tables and 1 rules'],
  ),
  ...cases(
    'POST /ruleset/import',
    runningRule,
    ...wrongImports('/ruleset/import').filter(([, , , says]) => says !== 'streems'),
    ['/ruleset/import', { content: '{' }, 400, 'the content is no JSON'],
  ),
];

/** Answers the checks of connections. */
export const broker = await openBroker();
/** Nobody listens on the port of this address. */
const nobody = 'tcp://127.0.0.1:1';
const mqtt = (id: string, props: object = { server: nobody }) => ({ id, typ: 'mqtt', props });
const connection: Given[] = [['POST /connections', mqtt('c')]];
const connectionInUse: Given[] = [
  ...connection,
  stream,
  ['POST /rules', rule('r', { actions: [{ mqtt: { connectionSelector: 'c', topic: 'a' } }] })],
];
const wrongConnections = (path: string, id: string): Row[] => [
  [path, { id, props: {} }, 400, 'typ is required'],
  [path, { id, typ: 5 }, 400, 'typ must be a text, not 5'],
  [path, { id, typ: 'nosuch', props: {} }, 400, 'unknown connection type nosuch'],
  [path, { id, typ: 'mqtt', props: 'text' }, 400, 'props must be an object'],
  [path, mqtt(id, { server: 'http://a b' }), 400, 'server'],
];
const connections: readonly Case[] = [
  ...cases('POST /connections', [], ['/connections', mqtt('c'), 201, 'success']),
  ...cases(
    'POST /connections',
    connection,
    ['/connections', mqtt('c'), 400, 'connection c already exists'],
    ['/connections', mqtt('a b'), 400, badIdReason],
    ['/connections', { typ: 'mqtt', props: {} }, 400, 'id cannot be empty'],
    ...wrongConnections('/connections', 'x'),
  ),
  ...cases('GET /connections', connection, ['/connections', undefined, 200, '"id":"c"']),
  ...cases(
    'GET /connections/{id}',
    connection,
    ['/connections/c', undefined, 200, '"isNamed":true'],
    ['/connections/none', undefined, 400, 'connection none is not found'],
    [`/connections/${badId}`, undefined, 400, badIdReason],
  ),
  ...cases('PUT /connections/{id}', connection, ['/connections/c', mqtt('c', { server: 'tcp://h:2' }), 200, 'success']),
  ...cases(
    'PUT /connections/{id}',
    connection,
    ['/connections/none', mqtt('none'), 400, 'connection none is not found'],
    ['/connections/c', mqtt('other'), 400, 'id is other, but the path says c'],
    [`/connections/${badId}`, mqtt('c'), 400, badIdReason],
    ...wrongConnections('/connections/c', 'c'),
  ),
  ...cases('PUT /connections/{id}', connectionInUse, [
    '/connections/c',
    mqtt('c'),
    400,
    "connection c can't be changed due to rule references: r",
  ]),
  ...cases('DELETE /connections/{id}', connection, ['/connections/c', undefined, 200, 'success']),
  ...cases(
    'DELETE /connections/{id}',
    connection,
    ['/connections/none', undefined, 200, 'success'],
    [`/connections/${badId}`, undefined, 400, badIdReason],
  ),
  ...cases('DELETE /connections/{id}', connectionInUse, [
    '/connections/c',
    undefined,
    400,
    "connection c can't be dropped due to rule references: r",
  ]),
  ...['sources', 'sinks', 'lookups'].flatMap((owner) => {
    const path = `/metadata/${owner}/connection`;
    return cases(
      `POST ${path}/{name}`,
      [],
      [`${path}/mqtt`, { server: broker.url }, 200, ''],
      [`${path}/nosuch`, {}, 400, 'nosuch is not known'],
      [`${path}/memory`, {}, 400, "memory doesn't support ping connection"],
      [`${path}/mqtt`, { server: nobody }, 400, 'ECONNREFUSED'],
      [`${path}/mqtt`, { connectionSelector: 'none' }, 400, 'connection none is not found'],
      [`${path}/mqtt`, { connectionSelector: 5 }, 400, 'connectionSelector must be a text'],
      [`${path}/${badId}`, {}, 400, badIdReason],
    );
  }),
];

const proto = 'syntax = "proto3"; message M { string a = 1; }';
const at = '/schemas/protobuf';
const schema: Given[] = [[`POST ${at}`, { name: 'p', content: proto, version: '2' }]];
const noText = fileUri('q.proto', Buffer.from([0xff, 0xfe]));
const wrongSchemas = (path: string, name: string, version: string): Row[] => [
  [path, { name, version }, 400, 'content or file is required'],
  [path, { name, version, content: 5 }, 400, 'content must be a text, not 5'],
  [path, { name, version, content: 'a', file: 'file:///b' }, 400, 'content and file are both given'],
  [path, { name, version, file: 'file:///nosuch.proto' }, 400, 'nosuch.proto'],
  [path, { name, version, file: emptyArchive }, 400, `the archive has no file ${name}.proto`],
  [path, { name, version, file: noText }, 400, 'is no text in UTF-8'],
];
const upload = (content: string, version: string, field = 'file') =>
  new FormBody({ field, name: 'x.proto', content }, { version });
const schemas: readonly Case[] = [
  ...cases('POST /schemas/{type}', [], [at, { name: 'p', content: proto }, 201, 'protobuf schema p is created']),
  ...cases(
    'POST /schemas/{type}',
    schema,
    [at, { name: 'p', content: proto }, 400, 'schema p already registered'],
    [at, { content: proto }, 400, 'name is required'],
    [at, { name: 'a b', content: proto }, 400, badIdReason],
    ['/schemas/thrift', { name: 'x', content: 'a' }, 400, 'unknown schema type thrift'],
    ['/schemas/custom', { name: 'x' }, 400, 'soFile is required'],
    [`/schemas/${badId}`, { name: 'x', content: 'a' }, 400, badIdReason],
    ...wrongSchemas(at, 'x', ''),
  ),
  ...cases(
    'GET /schemas/{type}',
    schema,
    [at, undefined, 200, '["p"]'],
    ['/schemas/thrift', undefined, 400, 'unknown schema type thrift'],
    [`/schemas/${badId}`, undefined, 400, badIdReason],
  ),
  ...cases(
    'GET /schemas/{type}/{name}',
    schema,
    [`${at}/p`, undefined, 200, '"version":"2"'],
    [`${at}/none`, undefined, 400, 'schema none is not found'],
    ['/schemas/thrift/p', undefined, 400, 'unknown schema type thrift'],
    [`${at}/${badId}`, undefined, 400, badIdReason],
  ),
  ...cases('PUT /schemas/{type}/{name}', schema, [
    `${at}/p`,
    { content: proto, version: '3' },
    200,
    'protobuf schema p is updated',
  ]),
  ...cases(
    'PUT /schemas/{type}/{name}',
    schema,
    [`${at}/p`, { content: proto, version: '1' }, 400, 'it must be greater'],
    [`${at}/p`, { content: proto }, 400, 'without a version: it must be greater'],
    [`${at}/p`, { name: 'other', content: proto }, 400, 'name is other, but the path says p'],
    ['/schemas/thrift/p', { content: proto }, 400, 'unknown schema type thrift'],
    [`${at}/${badId}`, { content: proto }, 400, badIdReason],
    ...wrongSchemas(`${at}/p`, 'p', '3'),
  ),
  ...cases('PUT /schemas/{type}/{name}/upload', [], [`${at}/p/upload`, upload(proto, '1'), 201, '"name":"p"']),
  ...cases('PUT /schemas/{type}/{name}/upload', schema, [`${at}/p/upload`, upload(proto, '3'), 200, '"name":"p"']),
  ...cases(
    'PUT /schemas/{type}/{name}/upload',
    schema,
    [`${at}/p/upload`, upload(proto, '1'), 400, 'it must be greater'],
    [`${at}/p/upload`, upload(proto, '3', 'other'), 400, 'the form has no field file'],
    [`${at}/p/upload`, { content: proto }, 415, 'multipart/form-data was expected'],
    ['/schemas/thrift/p/upload', upload(proto, '3'), 400, 'unknown schema type thrift'],
    [`${at}/${badId}/upload`, upload(proto, '3'), 400, badIdReason],
  ),
  ...cases('DELETE /schemas/{type}/{name}', schema, [`${at}/p`, undefined, 200, 'protobuf schema p is deleted']),
  ...cases(
    'DELETE /schemas/{type}/{name}',
    schema,
    [`${at}/none`, undefined, 400, 'schema none is not found'],
    ['/schemas/thrift/p', undefined, 400, 'unknown schema type thrift'],
    [`${at}/${badId}`, undefined, 400, badIdReason],
  ),
];

const files = '/config/uploads';
const file: Given[] = [[`POST ${files}`, { name: 'x.txt', content: 'hello' }]];
const uploads: readonly Case[] = [
  ...cases(`POST ${files}`, [], [files, { name: 'x.txt', content: 'hello' }, 201, '/uploads/x.txt']),
  ...cases(`POST ${files}`, [], [files, upload('x', '', 'uploadFile'), 201, '/uploads/x.proto']),
  ...cases(
    `POST ${files}`,
    file,
    [files, upload('x', '', 'other'), 400, 'the form has no field uploadFile'],
    [files, { name: 'y' }, 400, 'content or file is required'],
    [files, { content: 'a' }, 400, 'name "" is required'],
    [files, { name: 5, content: 'a' }, 400, 'name must be a text, not 5'],
    [files, { name: '../y', content: 'a' }, 400, 'part that begins with a dot'],
    [files, { name: 'a//y', content: 'a' }, 400, 'has a folder without a name'],
    [files, { name: 'a\u0000y', content: 'a' }, 400, 'has control characters'],
    [files, { name: 'y'.repeat(300), content: 'a' }, 400, 'part longer than 255 bytes'],
    [files, { name: 'y', content: 'a', file: 'b' }, 400, 'content and file are both given'],
    [files, { name: 'y', file: 'file:///nosuch' }, 400, 'nosuch'],
  ),
  ...cases(`GET ${files}`, file, [files, undefined, 200, '/uploads/x.txt"']),
  ...cases(`DELETE ${files}/{fileName}`, file, [`${files}/x.txt`, undefined, 200, 'ok']),
  ...cases(
    `DELETE ${files}/{fileName}`,
    file,
    [`${files}/none.txt`, undefined, 400, 'file none.txt is not found'],
    [`${files}/..%2Fhaumea.lock`, undefined, 400, 'must not'],
  ),
];

export const transfer: readonly Case[] = imports;
export const stored: readonly Case[] = [...connections, ...schemas, ...uploads];
