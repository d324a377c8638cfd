/**
 * Archives and addresses that mean harm, for every kind of thing that takes them: refused, and nothing is left of them.
 */
import { readdirSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startControlPlane } from '../../support/rest/control-plane.js';
import { fileUri } from '../../support/rest/given-files.js';
import { writeZip, type ZipItem } from '../../support/rest/zip-writer.js';

const guarded = await startControlPlane();
const plane = await startControlPlane(undefined, { KUIPER__BASIC__ENABLEPRIVATENET: 'true' });

/** What an archive of each kind must hold. */
const kinds: readonly (readonly [path: string, items: (name: string) => ZipItem[]])[] = [
  ['/schemas/protobuf', (name) => [{ name: `${name}.proto`, content: 'message A {}' }]],
  ['/services', (name) => [{ name: `${name}.json`, content: JSON.stringify({ interfaces: { i: restInterface } }) }]],
  [
    '/plugins/portables',
    (name) => [
      { name: `${name}.json`, content: '{"language": "python", "executable": "run.py", "functions": ["f"]}' },
      { name: 'run.py', content: 'pass' },
    ],
  ],
  ...(['sources', 'sinks', 'functions'] as const).map(
    (kind) => [`/plugins/${kind}`, (name: string) => [{ name: `${name}.so` }, { name: `${name}.yaml` }]] as const,
  ),
];
const restInterface = {
  address: 'http://127.0.0.1:1',
  protocol: 'rest',
  schemaless: true,
  functions: [{ name: 'cost' }],
};

/** Entries that make an otherwise good archive one that is refused. */
const hostile: readonly (readonly [what: string, items: readonly ZipItem[], reason: RegExp])[] = [
  ['leaves the folder', [{ name: '../evil', content: 'x' }], /leaves the folder/],
  ['leaves a folder below', [{ name: 'good/a/../../../evil', content: 'x' }], /leaves the folder/],
  ['leaves by backslashes', [{ name: '..\\evil', content: 'x' }], /leaves the folder/],
  ['is absolute', [{ name: '/tmp/evil', content: 'x' }], /absolute/],
  ['is on a drive', [{ name: 'C:evil', content: 'x' }], /absolute/],
  ['is a link', [{ name: 'good/link', content: '/etc', mode: 0o120777 }], /links and devices/],
  ['is a device', [{ name: 'good/null', mode: 0o020666 }], /links and devices/],
  ['is there twice', [{ name: 'good/a' }, { name: 'good/./a' }], /twice/],
  [
    'is file and folder',
    [
      { name: 'good/a', content: 'x' },
      { name: 'good/a/b', content: 'x' },
    ],
    /a file/,
  ],
  ['is encrypted', [{ name: 'good/a', content: 'x', announced: { flags: 0x801 } }], /encrypted/],
  ['is packed in an unknown way', [{ name: 'good/a', content: 'x', announced: { method: 99 } }], /method 99/],
  ['is a bomb', [{ name: 'good/zeros', content: Buffer.alloc(4 << 20) }], /more than 200 to 1/],
  ['announces too much', [{ name: 'good/a', content: 'x', announced: { size: 0xfffffff0 } }], /more than \d+ bytes/],
  [
    'shares its bytes',
    [
      { name: 'good/a', content: Buffer.alloc(3000, 'ab'), isStored: true },
      ...Array.from({ length: 9 }, (_, i): ZipItem => {
        return { name: `good/b${i}`, content: Buffer.alloc(3000, 'ab'), isStored: true, sharesData: true };
      }),
    ],
    /overlap/,
  ],
];

/** What is found out only while an entry is unpacked. */
const lying: readonly (readonly [what: string, items: readonly ZipItem[], reason: RegExp])[] = [
  ['has another checksum', [{ name: 'good/a', content: 'text', announced: { crc: 1 } }], /checksum/],
  ['is longer than announced', [{ name: 'good/a', content: 'text', announced: { size: 1 } }], /.+/],
  ['is shorter than announced', [{ name: 'good/a', content: 'text', announced: { size: 9 } }], /.+/],
];

/** Everything that is kept beside the definitions. */
function files(): string[] {
  const names = readdirSync(plane.data, { recursive: true }) as string[];
  return names.filter((name) => /^(schemas|services|uploads|plugins\/\w+)\//.test(name)).sort();
}

for (const [path, items] of kinds) {
  const isUnpacked = !/sources|sinks|functions/.test(path);
  test(`${path} refuses archives with an entry that means harm`, async () => {
    const before = files();
    for (const [what, extra, reason] of [...hostile, ...(isUnpacked ? lying : [])]) {
      // The order of entries must not matter.
      for (const list of [
        [...items('good'), ...extra],
        [...extra, ...items('good')],
      ]) {
        const answer = await plane.request('POST', path, { name: 'good', file: fileUri('good.zip', writeZip(list)) });
        assert.equal([answer.status, answer.json.error], [400, 1000], what);
        assert.match(answer.json.message, /invalid zip archive/, what);
        assert.match(answer.json.message, reason, what);
      }
    }
    assert.equal((await plane.request('GET', path)).json, []);
    assert.equal(files(), before);
    assert.is(
      (await plane.request('POST', path, { name: 'good', file: fileUri('good.zip', writeZip(items('good'))) })).status,
      201,
    );
    await plane.request('DELETE', `${path}/good`);
    assert.equal(
      files().filter((name) => name.includes('good')),
      [],
    );
  });

  test(`${path} refuses what is no archive of its kind, and archives cut short`, async () => {
    const whole = writeZip(items('good'));
    const isSchema = path.startsWith('/schemas');
    for (const bytes of [Buffer.alloc(0), whole.subarray(0, 40), whole.subarray(0, -4), whole.subarray(20)]) {
      // A schema may be the text itself, so that only what begins as an archive is taken for one.
      if (isSchema && !bytes.subarray(0, 2).equals(Buffer.from('PK'))) continue;
      const answer = await plane.request('POST', path, { name: 'good', file: fileUri('good.zip', bytes) });
      assert.equal([answer.status, answer.json.error], [400, 1000], `${bytes.length} bytes`);
    }
    for (const missing of items('good')) {
      if (path === '/plugins/functions' && missing.name === 'good.yaml') continue;
      const rest = items('good').filter(({ name }) => name !== missing.name);
      const file = fileUri('good.zip', writeZip([...rest, { name: 'other.txt', content: 'x' }]));
      const answer = await plane.request('POST', path, { name: 'good', file });
      assert.equal([answer.status, answer.json.error], [400, 1000], missing.name);
      assert.match(answer.json.message, `no file ${missing.name}`);
    }
    assert.equal((await plane.request('GET', path)).json, []);
  });
}

/** A server that answers in the way of the path. */
const misbehaving = createServer(({ url = '' }, response) => behave(url, response)).listen(0, '127.0.0.1');
const far = `http://127.0.0.1:${await new Promise<number>((resolve) => {
  misbehaving.once('listening', () => resolve((misbehaving.address() as AddressInfo).port));
})}`;

function behave(url: string, response: ServerResponse): void {
  const redirects: Record<string, string> = {
    '/loop': '/loop',
    '/to-file': 'file:///etc/hostname',
    '/to-ftp': 'ftp://127.0.0.1/x',
    '/to-nowhere': 'http://[broken',
  };
  const target = redirects[url];
  if (target !== undefined) response.writeHead(302, { location: target }).end();
  else if (url === '/short')
    response.writeHead(200, { 'content-length': '100' }).write('ten bytes.', () => cut(response));
  else if (url === '/torn') response.writeHead(200).write('ten bytes.', () => cut(response));
  else if (url === '/packed') response.writeHead(200, { 'content-encoding': 'gzip' }).end('text');
  else if (url === '/huge') response.writeHead(200, { 'content-length': String(1 << 30) }).write('x');
  else if (url === '/gone') cut(response);
  else response.writeHead(500).end('no');
}

function cut(response: ServerResponse): void {
  response.socket?.destroy();
}

const fetched: readonly (readonly [way: string, reason: RegExp])[] = [
  ['/loop', /more than 5 redirects/],
  ['/to-file', /scheme file is not allowed/],
  ['/to-ftp', /scheme ftp is not allowed/],
  ['/to-nowhere', /no URL/],
  ['/short', /can't fetch/],
  ['/torn', /can't fetch/],
  ['/packed', /content encoding gzip/],
  ['/huge', /more than \d+ bytes/],
  ['/gone', /can't fetch/],
  ['/failing', /status 500/],
];

for (const [way, reason] of fetched) {
  test(`a server that answers ${way} gives no file`, async () => {
    const before = files();
    for (const path of ['/config/uploads', '/schemas/protobuf', '/plugins/portables', '/plugins/wasm', '/services']) {
      const answer = await plane.request('POST', path, { name: 'far', file: far + way });
      assert.equal([answer.status, answer.json.error], [400, 1000], path);
      assert.match(answer.json.message, reason, path);
    }
    for (const path of ['/data/import', '/v2/data/import', '/ruleset/import']) {
      const answer = await plane.request('POST', path, { file: far + way });
      assert.is(answer.status, 400, path);
      assert.match(answer.json.message, reason, path);
    }
    assert.equal(files(), before);
  });
}

const privateHosts = [
  '127.0.0.1',
  'localhost',
  '127.1',
  '0x7f.1',
  '2130706433',
  '0.0.0.0',
  '[::1]',
  '[::ffff:127.0.0.1]',
];

test('without enablePrivateNet no spelling of a private address is fetched from, by anything', async () => {
  const { port } = misbehaving.address() as AddressInfo;
  for (const host of [...privateHosts, '10.0.0.1', '169.254.169.254', '192.168.1.1', '[fd00::1]']) {
    for (const path of [...kinds.map(([kind]) => kind), '/config/uploads', '/plugins/wasm', '/data/import']) {
      const answer = await guarded.request('POST', path, { name: 'far', file: `http://${host}:${port}/x` });
      assert.equal([answer.status, answer.json.error], [400, 1000], `${path} ${host}`);
      assert.match(answer.json.message, /enablePrivateNet allows such targets/, `${path} ${host}`);
    }
  }
});

test.after(async () => {
  misbehaving.closeAllConnections();
  misbehaving.close();
  await plane.close();
  await guarded.close();
});

test.run();
