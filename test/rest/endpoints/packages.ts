/** What clients install: plugins of every kind, services, scripts. */

import {
  emptyArchive,
  nativePlugin,
  noArchive,
  portablePlugin,
  service,
  wasmModule,
} from '../../support/rest/archives.js';
import { badId, badIdReason } from './given.js';
import { type Case, cases, type Given, type Row } from './run.js';

/** A thing is not there, or can't be. */
function unknown(op: string, given: readonly Given[], noun: string, body?: unknown): Case[] {
  const path = op.split(' ')[1] ?? '';
  const at = (id: string) => path.replace('{name}', id);
  const ofName = body === undefined ? undefined : { ...(body as object), name: 'none' };
  return cases(op, given, [at('none'), ofName, 404, `${noun} none is not found`], [at(badId), body, 400, badIdReason]);
}

/** Files that no package can be made of. */
const wrongFiles = (path: string, name: string, more: object = {}): Row[] => [
  [path, { name, ...more }, 400, 'invalid body: file is required'],
  [path, { name, file: 5, ...more }, 400, 'invalid body: file must be a text, not 5'],
  [path, { name, file: 'file:///nosuch/file.zip', ...more }, 400, 'nosuch'],
  [path, { name, file: 'gopher://x/y.zip', ...more }, 400, 'gopher'],
  [path, { name, file: noArchive, ...more }, 400, 'zip'],
  [path, { name, file: emptyArchive, ...more }, 400, 'the archive has no file'],
];
const wrongNames = (path: string, file: string): Row[] => [
  [path, { file }, 400, 'id cannot be empty'],
  [path, { name: 'a b', file }, 400, badIdReason],
  [path, { name: 5, file }, 400, 'invalid body: name must be a text, not 5'],
];

function nativeCases(kind: 'sources' | 'sinks' | 'functions'): Case[] {
  const all = `/plugins/${kind}`;
  const mine = `${all}/rnd`;
  const noun = `${kind} plugin`;
  const body = { name: 'rnd', file: nativePlugin('rnd', '@v2') };
  const given: Given[] = [[`POST ${all}`, body]];
  return [
    ...cases(`GET ${all}/prebuild`, [], [`${all}/prebuild`, undefined, 200, '{}']),
    ...cases(`POST ${all}`, [], [all, body, 201, `${noun} rnd is created`]),
    ...cases(
      `POST ${all}`,
      given,
      [all, body, 400, `${noun} rnd already exists`],
      [all, { ...body, name: 'x', shellParas: 'y' }, 400, 'shellParas must be a list of texts'],
      ...wrongFiles(all, 'x'),
      ...wrongNames(all, body.file),
    ),
    ...cases(`GET ${all}`, given, [all, undefined, 200, '["rnd"]']),
    ...cases(`GET ${all}/{name}`, given, [mine, undefined, 200, '{"name":"rnd","version":"v2"}']),
    ...unknown(`GET ${all}/{name}`, given, noun),
    ...cases(`PUT ${all}/{name}`, given, [mine, body, 200, 'plugin rnd is updated']),
    ...cases(
      `PUT ${all}/{name}`,
      given,
      [mine, { ...body, name: 'other' }, 400, 'name is other, but the path says rnd'],
      ...wrongFiles(mine, 'rnd'),
    ),
    ...unknown(`PUT ${all}/{name}`, given, noun, body),
    ...cases(`DELETE ${all}/{name}`, given, [mine, undefined, 200, `${noun} rnd is deleted`]),
    ...unknown(`DELETE ${all}/{name}`, given, noun),
  ];
}

const functions: Given[] = [
  ['POST /plugins/functions', { name: 'rnd', file: nativePlugin('rnd') }],
  ['POST /plugins/functions', { name: 'two', file: nativePlugin('two'), functions: ['twoA'] }],
];
const register = 'POST /plugins/functions/{name}/register';
const functionCases: readonly Case[] = [
  ...cases(register, functions, [
    '/plugins/functions/rnd/register',
    { functions: ['rndA'] },
    200,
    'function plugin rnd function list is registered',
  ]),
  ...cases(
    register,
    functions,
    ['/plugins/functions/rnd/register', {}, 400, 'functions is required'],
    ['/plugins/functions/rnd/register', { functions: 'a' }, 400, 'functions must be a list of texts'],
    ['/plugins/functions/rnd/register', { functions: ['twoA'] }, 400, 'the function name twoA is taken by'],
    ['/plugins/functions/rnd/register', { functions: ['ABS'] }, 400, 'ABS is taken by a built-in function'],
  ),
  ...unknown(register, functions, 'functions plugin', { functions: ['x'] }),
  ...cases('GET /plugins/udfs', functions, ['/plugins/udfs', undefined, 200, '["rnd","twoA"]']),
  ...cases('GET /plugins/udfs/{name}', functions, [
    '/plugins/udfs/twoA',
    undefined,
    200,
    '{"name":"twoA","plugin":"two"}',
  ]),
  ...unknown('GET /plugins/udfs/{name}', functions, 'function'),
];

const portableBody = { name: 'pp', file: portablePlugin('pp') };
const portable: Given[] = [['POST /plugins/portables', portableBody]];
const wrongPortables = (path: string, name: string): Row[] => [
  ...wrongFiles(path, name),
  [path, { name, file: portablePlugin(name, { language: 'cobol' }) }, 400, 'language must be one of go, python'],
  [path, { name, file: portablePlugin(name, { executable: '' }) }, 400, 'executable is required'],
  [path, { name, file: portablePlugin(name, { executable: 'none.py' }) }, 400, 'the archive has no file none.py'],
  [path, { name, file: portablePlugin(name, { sinks: [] }) }, 400, 'at least one source, sink or function'],
  [path, { name, file: portablePlugin(name, { functions: 'f' }) }, 400, 'functions must be a list of texts'],
  [path, { name, file: portablePlugin(name, { functions: ['abs'] }) }, 400, 'abs is taken by a built-in function'],
];
const portableCases: readonly Case[] = [
  ...cases('POST /plugins/portables', [], ['/plugins/portables', portableBody, 201, 'portable plugin pp is created']),
  ...cases(
    'POST /plugins/portables',
    portable,
    ['/plugins/portables', portableBody, 400, 'portable plugin pp already exists'],
    ...wrongNames('/plugins/portables', portableBody.file),
    ...wrongPortables('/plugins/portables', 'x'),
  ),
  ...cases('GET /plugins/portables/prebuild', [], ['/plugins/portables/prebuild', undefined, 200, '[]']),
  ...cases('GET /plugins/portables', portable, ['/plugins/portables', undefined, 200, '["pp"]']),
  ...cases('GET /plugins/portables/{name}', portable, ['/plugins/portables/pp', undefined, 200, '"version":"v1"']),
  ...unknown('GET /plugins/portables/{name}', portable, 'portable plugin'),
  ...cases('GET /plugins/portables/{name}/status', portable, [
    '/plugins/portables/pp/status',
    undefined,
    200,
    '"status":"',
  ]),
  ...unknown('GET /plugins/portables/{name}/status', portable, 'portable plugin'),
  ...cases('PUT /plugins/portables/{name}', portable, [
    '/plugins/portables/pp',
    portableBody,
    200,
    'portable plugin pp is updated',
  ]),
  ...cases('PUT /plugins/portables/{name}', portable, ...wrongPortables('/plugins/portables/pp', 'pp')),
  ...unknown('PUT /plugins/portables/{name}', portable, 'portable plugin', portableBody),
  ...cases('DELETE /plugins/portables/{name}', portable, [
    '/plugins/portables/pp',
    undefined,
    200,
    'portable plugin pp is deleted',
  ]),
  ...unknown('DELETE /plugins/portables/{name}', portable, 'portable plugin'),
];

const bytecode = wasmModule('addUp');
const wasm: Given[] = [['POST /plugins/wasm', { name: 'w', bytecode }]];
const wasmCases: readonly Case[] = [
  ...cases('POST /plugins/wasm', [], ['/plugins/wasm', { name: 'w', bytecode }, 201, '"functions":["addUp"]']),
  ...cases(
    'POST /plugins/wasm',
    wasm,
    ['/plugins/wasm', { name: 'w', bytecode }, 400, 'wasm plugin w already exists'],
    ['/plugins/wasm', { name: 'x', bytecode }, 400, 'the function name addUp is taken by wasm plugin w'],
    ['/plugins/wasm', { name: 'x', bytecode: wasmModule('abs') }, 400, 'abs is taken by a built-in function'],
    ['/plugins/wasm', { name: 'x', bytecode: wasmModule() }, 400, 'the module exports no functions'],
    ['/plugins/wasm', { name: 'x', bytecode: 'AAAA' }, 400, 'invalid wasm module'],
    ['/plugins/wasm', { name: 'x', bytecode: '!' }, 400, 'bytecode must be base64'],
    ['/plugins/wasm', { name: 'x', bytecode: 5 }, 400, 'bytecode must be a text, not 5'],
    ['/plugins/wasm', { name: 'x', bytecode, file: 'file:///x' }, 400, 'file and bytecode are both given'],
    ['/plugins/wasm', { name: 'x' }, 400, 'file or bytecode is required'],
    ['/plugins/wasm', { name: 'x', file: 'file:///nosuch' }, 400, 'nosuch'],
    ...wrongNames('/plugins/wasm', ''),
  ),
  ...cases('GET /plugins/wasm', wasm, ['/plugins/wasm', undefined, 200, '[{"name":"w","functions":["addUp"]}]']),
  ...cases('GET /plugins/wasm/{name}', wasm, ['/plugins/wasm/w', undefined, 200, '"functions":["addUp"]']),
  ...unknown('GET /plugins/wasm/{name}', wasm, 'wasm plugin'),
  ...cases('PUT /plugins/wasm/{name}', wasm, [
    '/plugins/wasm/w',
    { name: 'w', bytecode: wasmModule('addMore') },
    200,
    'wasm plugin w is updated',
  ]),
  ...cases('PUT /plugins/wasm/{name}', wasm, ['/plugins/wasm/w', { name: 'w', bytecode: 'AAAA' }, 400, 'invalid wasm']),
  ...unknown('PUT /plugins/wasm/{name}', wasm, 'wasm plugin', { name: 'none', bytecode }),
  ...cases('DELETE /plugins/wasm/{name}', wasm, ['/plugins/wasm/w', undefined, 200, 'wasm plugin w is deleted']),
  ...unknown('DELETE /plugins/wasm/{name}', wasm, 'wasm plugin'),
];

const shopBody = { name: 'shop', file: service('shop', 'itemPrice') };
const shop: Given[] = [['POST /services', shopBody]];
const wrongServices = (path: string, name: string): Row[] => [
  ...wrongFiles(path, name),
  [path, { name, file: service(name, 'f', { protocol: 'carrier pigeon' }) }, 400, 'protocol'],
  [path, { name, file: service(name, 'f', { address: 5 }) }, 400, 'address'],
  [path, { name, file: service(name, 'f', { schemaFile: 'none.proto' }) }, 400, 'none.proto'],
  [path, { name, file: service(name, 'abs') }, 400, 'abs is taken by a built-in function'],
];
const serviceCases: readonly Case[] = [
  ...cases('POST /services', [], ['/services', shopBody, 201, 'service shop is created']),
  ...cases(
    'POST /services',
    shop,
    ['/services', shopBody, 400, 'service shop already exists'],
    ['/services', { name: 'x', file: service('x', 'itemPrice') }, 400, 'itemPrice is taken by service shop'],
    ...wrongNames('/services', shopBody.file),
    ...wrongServices('/services', 'y'),
  ),
  ...cases('GET /services', shop, ['/services', undefined, 200, '["shop"]']),
  ...cases('GET /services/functions', shop, ['/services/functions', undefined, 200, '"FuncName":"itemPrice"']),
  ...cases('GET /services/functions/{name}', shop, [
    '/services/functions/itemPrice',
    undefined,
    200,
    '"ServiceName":"shop"',
  ]),
  ...unknown('GET /services/functions/{name}', shop, 'function'),
  ...cases('GET /services/{name}', shop, ['/services/shop', undefined, 200, '"Interfaces":{"pricing"']),
  ...unknown('GET /services/{name}', shop, 'service'),
  ...cases('GET /services/{name}/status', shop, ['/services/shop/status', undefined, 200, '"breaker":"closed"']),
  ...unknown('GET /services/{name}/status', shop, 'service'),
  ...cases('PUT /services/{name}', shop, ['/services/shop', shopBody, 200, 'service shop is updated']),
  ...cases('PUT /services/{name}', shop, ...wrongServices('/services/shop', 'shop')),
  ...unknown('PUT /services/{name}', shop, 'service', shopBody),
  ...cases('DELETE /services/{name}', shop, ['/services/shop', undefined, 200, 'service shop is deleted']),
  ...unknown('DELETE /services/{name}', shop, 'service'),
];

const scripts = '/udf/javascript';
const areaBody = { id: 'area', script: 'function area(x, y) { return x * y; }' };
const area: Given[] = [[`POST ${scripts}`, areaBody]];
const wrongScripts = (path: string, id: string): Row[] => [
  [path, { id }, 400, 'script is required'],
  [path, { id, script: 5 }, 400, 'script must be a text, not 5'],
  [path, { id, script: 'function (' }, 400, 'the script is no JavaScript'],
  [path, { id, script: 'const other = 1' }, 400, `the script defines no function ${id}`],
  [path, { ...areaBody, id, isAgg: 'yes' }, 400, 'isAgg must be true or false'],
  [path, { id, script: `var ${id}`, description: [] }, 400, 'description must be a text'],
];
const scriptCases: readonly Case[] = [
  ...cases(`POST ${scripts}`, [], [scripts, areaBody, 201, 'javascript function area is created']),
  ...cases(
    `POST ${scripts}`,
    area,
    [scripts, areaBody, 400, 'javascript function area already exists'],
    [scripts, { script: areaBody.script }, 400, 'id cannot be empty'],
    [scripts, { id: 'a b', script: areaBody.script }, 400, badIdReason],
    [scripts, { id: 'abs', script: 'function abs() {}' }, 400, 'abs is taken by a built-in function'],
    [scripts, { id: '1a', script: 'var a' }, 400, 'a name that JavaScript allows for a function'],
    ...wrongScripts(scripts, 'x'),
  ),
  ...cases(`GET ${scripts}`, area, [scripts, undefined, 200, '["area"]']),
  ...cases(
    `GET ${scripts}/{id}`,
    area,
    [`${scripts}/area`, undefined, 200, '"script":"function area'],
    [`${scripts}/none`, undefined, 400, 'javascript function none is not found'],
    [`${scripts}/${badId}`, undefined, 400, badIdReason],
  ),
  ...cases(`PUT ${scripts}/{id}`, area, [`${scripts}/area`, areaBody, 200, 'javascript function area is updated']),
  ...cases(`PUT ${scripts}/{id}`, [], [`${scripts}/area`, areaBody, 200, 'javascript function area is created']),
  ...cases(
    `PUT ${scripts}/{id}`,
    area,
    [`${scripts}/other`, areaBody, 400, 'id is area, but the path says other'],
    [`${scripts}/${badId}`, areaBody, 400, badIdReason],
    ...wrongScripts(`${scripts}/area`, 'area'),
  ),
  ...cases(`DELETE ${scripts}/{id}`, area, [`${scripts}/area`, undefined, 200, 'javascript function area is deleted']),
  ...cases(
    `DELETE ${scripts}/{id}`,
    area,
    [`${scripts}/none`, undefined, 404, 'javascript function none is not found'],
    [`${scripts}/${badId}`, undefined, 400, badIdReason],
  ),
];

export const plugins: readonly Case[] = [
  ...nativeCases('sources'),
  ...nativeCases('sinks'),
  ...nativeCases('functions'),
  ...functionCases,
  ...portableCases,
  ...wasmCases,
];
export const installed: readonly Case[] = [...serviceCases, ...scriptCases];
