import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../../host/base/errors.js';
import { AllowedPaths } from '../../../host/base/files/allowed-paths.js';
import { readFileUri, readUri } from '../../../host/base/files/file-uri.js';
import { addressKind } from '../../../host/base/net/ip-address.js';
import { checkTarget, type FetchOptions, fetchGuarded } from '../../../host/base/net/private-net.js';
import { temporaryFolder } from '../../support/harness.js';

const servers: Server[] = [];

async function serve(handle: RequestListener): Promise<{ base: string; port: number }> {
  const server = createServer(handle).listen(0, '0.0.0.0');
  servers.push(server);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { base: `http://127.0.0.1:${port}`, port };
}

test.after(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
});

async function messageOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    assert.instance(error, HaumeaError);
    return (error as HaumeaError).message;
  }
  throw new Error('expected a failure');
}

const own: FetchOptions = { allowPrivate: ['127.0.0.1'], timeoutMs: 5000 };

test('knows what addresses are not public', () => {
  const kinds: Record<string, string | undefined> = {
    '8.8.8.8': undefined,
    '172.15.255.255': undefined,
    '172.32.0.1': undefined,
    '100.63.0.1': undefined,
    '2606:4700::1111': undefined,
    '127.0.0.1': 'loopback',
    '127.255.0.3': 'loopback',
    '10.1.2.3': 'private',
    '172.16.0.1': 'private',
    '172.31.255.255': 'private',
    '192.168.1.1': 'private',
    '100.64.0.1': 'shared',
    '100.127.255.255': 'shared',
    '100.128.0.0': undefined,
    '169.254.1.1': 'link-local',
    '169.254.169.254': 'metadata',
    '100.100.100.200': 'metadata',
    '0.0.0.0': 'unspecified',
    '224.0.0.1': 'multicast',
    '255.255.255.255': 'reserved',
    '198.19.0.1': 'reserved',
    '::1': 'loopback',
    '::': 'unspecified',
    'fd12::1': 'private',
    'fe80::1%eth0': 'link-local',
    'febf::1': 'link-local',
    'fd00:ec2::254': 'metadata',
    'ff02::1': 'multicast',
    '2001:db8::1': 'reserved',
    '::ffff:127.0.0.1': 'loopback',
    '::ffff:7f00:1': 'loopback',
    '::ffff:8.8.8.8': undefined,
    '::10.0.0.1': 'private',
    '64:ff9b::a9fe:a9fe': 'metadata',
    '2002:c0a8:0101::1': 'private',
    '2002:0808:0808::1': undefined,
    'no address': 'reserved',
  };
  for (const [address, kind] of Object.entries(kinds)) assert.is(addressKind(address), kind, address);
});

test('refuses private targets in every spelling', async () => {
  for (const [host, shown] of [
    ['127.0.0.1', '127.0.0.1 is a loopback'],
    ['0x7f.1', '127.0.0.1 is a loopback'],
    ['2130706433', '127.0.0.1 is a loopback'],
    ['[::1]', '::1 is a loopback'],
    ['[::ffff:10.0.0.1]', '::ffff:a00:1 is a private'],
    ['169.254.169.254', '169.254.169.254 is a metadata'],
    ['localhost', 'localhost ('],
  ] as const) {
    const message = await messageOf(fetchGuarded(`http://${host}:9/x`));
    assert.match(message, shown);
    assert.match(message, 'basic.enablePrivateNet');
  }
});

test('refuses a name when one of its addresses is private', async () => {
  const resolve = async () => [
    { address: '93.184.216.34', family: 4 },
    { address: '10.0.0.7', family: 4 },
  ];
  assert.is(
    await messageOf(fetchGuarded('http://mixed.test/x', { resolve })),
    "can't fetch http://mixed.test/x: mixed.test (10.0.0.7) is a private address; basic.enablePrivateNet allows " +
      'such targets',
  );
  const addresses = await checkTarget(new URL('http://ok.test'), {
    resolve: async () => [{ address: '93.184.216.34', family: 4 }],
  });
  assert.is(addresses.length, 1);
});

test('refuses other schemes and texts that are no URL', async () => {
  assert.match(await messageOf(fetchGuarded('ftp://x/y')), 'the scheme ftp is not allowed');
  assert.match(await messageOf(fetchGuarded('file:///etc/passwd')), 'the scheme file is not allowed');
  assert.match(await messageOf(fetchGuarded('nothing')), 'this is no URL');
});

test('connects to the checked address without asking for the name again', async () => {
  const { port } = await serve((request, response) => response.end(`host ${request.headers.host}`));
  let asked = 0;
  const resolve = async () => {
    asked++;
    return [{ address: asked === 1 ? '127.0.0.1' : '127.0.0.9', family: 4 }];
  };
  const { bytes, sizeBytes } = await fetchGuarded(`http://rebind.test:${port}/`, { ...own, resolve });
  assert.is(bytes.toString(), `host rebind.test:${port}`);
  assert.is(sizeBytes, bytes.length);
  assert.is(asked, 1);
});

test('follows redirects and checks each target', async () => {
  const { base, port } = await serve((request, response) => {
    const targets: Record<string, string> = {
      '/a': '/b',
      '/b': '/c?x=1',
      '/private': `http://127.0.0.2:${port}/c`,
      '/metadata': 'http://169.254.169.254/latest',
      '/file': 'file:///etc/passwd',
      '/loop': '/loop',
    };
    const to = targets[request.url as string];
    if (to === undefined) response.end(`at ${request.url}`);
    else response.writeHead(302, { location: to }).end();
  });
  const fetched = await fetchGuarded(`${base}/a`, own);
  assert.is(fetched.bytes.toString(), 'at /c?x=1');
  assert.is(fetched.url, `${base}/c?x=1`);
  assert.match(await messageOf(fetchGuarded(`${base}/private`, own)), '127.0.0.2 is a loopback address');
  assert.match(await messageOf(fetchGuarded(`${base}/metadata`, own)), 'is a metadata address');
  assert.match(await messageOf(fetchGuarded(`${base}/file`, { allowPrivate: true })), 'the scheme file is not allowed');
  assert.match(await messageOf(fetchGuarded(`${base}/loop`, own)), 'more than 5 redirects');
});

test('ends at the size limit, announced or not', async () => {
  const { base } = await serve((request, response) => {
    if (request.url === '/announced') response.writeHead(200, { 'content-length': 5000 });
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(1000))) if (request.url === '/announced') break;
      if (request.url === '/announced') response.end(Buffer.alloc(4000));
    };
    response.on('drain', more);
    more();
  });
  assert.match(await messageOf(fetchGuarded(`${base}/announced`, { ...own, maxBytes: 4999 })), 'more than 4999 bytes');
  assert.match(
    await messageOf(fetchGuarded(`${base}/endless`, { ...own, maxBytes: 100_000 })),
    'more than 100000 bytes',
  );
  assert.is((await fetchGuarded(`${base}/announced`, { ...own, maxBytes: 5000 })).sizeBytes, 5000);
});

test('ends at the time limit while connected and while reading', async () => {
  const { base } = await serve((request, response) => {
    if (request.url === '/slow') response.write('x');
  });
  for (const path of ['/silent', '/slow']) {
    const started = performance.now();
    const message = await messageOf(fetchGuarded(`${base}${path}`, { ...own, timeoutMs: 100 }));
    assert.match(message, 'no complete answer within 100 ms');
    assert.ok(performance.now() - started < 2000);
  }
  const resolve = () => new Promise<never>(() => {});
  assert.match(await messageOf(fetchGuarded('http://slow.test', { timeoutMs: 50, resolve })), 'within 50 ms');
});

test('can be cancelled', async () => {
  const { base } = await serve((_request, response) => void response.write('x'));
  const abort = new AbortController();
  const fetching = messageOf(fetchGuarded(base, { ...own, signal: abort.signal }));
  abort.abort();
  assert.match(await fetching, 'the request was cancelled');
  assert.match(await messageOf(fetchGuarded(base, { ...own, signal: abort.signal })), 'the request was cancelled');
});

test('reports failures of the other side without user and password', async () => {
  const { base } = await serve((request, response) => {
    if (request.url === '/zipped') response.writeHead(200, { 'content-encoding': 'gzip' }).end('x');
    else if (request.url === '/cut') {
      response.writeHead(200, { 'content-length': 10 });
      response.write('x', () => response.destroy());
    } else response.writeHead(404).end();
  });
  const withUser = base.replace('//', '//me:hunter2@');
  assert.is(await messageOf(fetchGuarded(`${withUser}/none`, own)), `can't fetch ${base}/none: status 404 Not Found`);
  assert.match(await messageOf(fetchGuarded(`${base}/zipped`, own)), 'unexpected content encoding gzip');
  assert.match(await messageOf(fetchGuarded(`${base}/cut`, own)), "can't fetch");
});

test('writes a file complete or not at all', async () => {
  const { base } = await serve((request, response) => {
    response
      .writeHead(200, { 'content-type': 'application/zip' })
      .end(request.url === '/big' ? Buffer.alloc(999) : 'ok');
  });
  const folder = temporaryFolder();
  const file = join(folder, 'got');
  const { contentType, sizeBytes, bytes } = await fetchGuarded(`${base}/small`, { ...own, file });
  assert.equal([contentType, sizeBytes, bytes.length], ['application/zip', 2, 0]);
  await messageOf(fetchGuarded(`${base}/big`, { ...own, file, maxBytes: 500 }));
  assert.is(readFileSync(file, 'utf8'), 'ok', 'a failure leaves the old file');
  assert.equal(readdirSync(folder), ['got'], 'nothing half written is left');
  await messageOf(fetchGuarded(`${base}/big`, { ...own, file: join(folder, 'other'), maxBytes: 500 }));
  assert.not.ok(existsSync(join(folder, 'other')));
});

test('reads files by URI, external ones only when allowed', async () => {
  const folder = temporaryFolder();
  const uploads = join(folder, 'uploads');
  mkdirSync(uploads);
  writeFileSync(join(uploads, 'a b.txt'), 'inside');
  writeFileSync(join(folder, 'secret'), 'outside');
  symlinkSync(join(folder, 'secret'), join(uploads, 'link'));
  const closed = { paths: new AllowedPaths({ base: uploads, folders: [], own: [], isOpen: false }) };
  const open = { paths: AllowedPaths.any() };
  const uri = (path: string) => pathToFileURL(path).href;
  assert.is((await readFileUri(uri(join(uploads, 'a b.txt')), closed)).toString(), 'inside');
  assert.is((await readFileUri(uri(join(folder, 'secret')), open)).toString(), 'outside');
  for (const path of ['/secret', '/uploads/link', '/uploads/../secret', '/uploads/%2e%2e/secret']) {
    assert.match(await messageOf(readFileUri(`file://${folder}${path}`, closed)), 'access is denied');
  }
  assert.match(await messageOf(readFileUri(uri(folder), open)), 'not a regular file');
  assert.match(
    await messageOf(readFileUri('file:///nosuch/x', open)),
    "can't read file:///nosuch/x: there is no such file",
  );
  assert.match(await messageOf(readFileUri('file://host/x', open)), 'the path must be absolute');
  assert.match(await messageOf(readFileUri('http://x/y', open)), 'this is no file URI');
  assert.match(await messageOf(readFileUri('file:///a%zz', open)), 'not correctly encoded');
  assert.match(
    await messageOf(readFileUri(uri(join(folder, 'secret')), { ...open, maxBytes: 6 })),
    'more than 6 bytes',
  );
});

test('reads what a URI of any allowed scheme names', async () => {
  const { base } = await serve((_request, response) => response.end('by http'));
  const file = join(temporaryFolder(), 'x');
  writeFileSync(file, 'by file');
  const options = { ...own, paths: AllowedPaths.any() };
  assert.is((await readUri(`${base}/x`, options)).toString(), 'by http');
  assert.is((await readUri(pathToFileURL(file).href, options)).toString(), 'by file');
  assert.match(await messageOf(readUri('ftp://x/y', options)), 'only the schemes http, https and file');
});

test.run();
