/** The source and the lookup table httppull against a server. */
import { gzipSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { compressions } from '../../../host/base/bytes/compression.js';
import { AllowedPaths } from '../../../host/base/files/allowed-paths.js';
import { silent } from '../../../host/base/log/log.js';
import { openPrivateNet } from '../../../host/base/net/reach.js';
import { askedPart, loadConnector } from '../../../host/connectors/index.js';
import { payloadsOf } from '../../../host/connectors/messages/frames.js';
import type { SourceContext } from '../../../host/connectors/running.js';
import { sourceContract } from '../../support/connectors/contract.js';
import { type HttpDouble, openHttp } from '../../support/connectors/http-server.js';
import { eventually, freePort } from '../../support/harness.js';

type Props = Record<string, unknown>;

let server: HttpDouble;
// Each test has its own: a source that was stopped may still have a request under way.
test.before.each(async () => {
  server = await openHttp();
});
test.after.each(() => server.close());

sourceContract(
  test,
  () => ({
    type: 'httppull',
    dataSource: '/contract',
    props: { url: server.url, interval: 10 },
    refused: [
      [{ url: 'tcp://h' }, /url must begin with http/],
      [{ interval: 0 }, /interval must be at least 1ms/],
      [{ responseType: 'all' }, /responseType must be one of code, body/],
      [{ compression: 'lz4' }, /compression must be one of/],
      [{ states: 'x' }, /states must be an object/],
      [{ nextLink: 'link', nextCursor: 'next' }, /nextLink and nextCursor exclude each other/],
    ],
  }),
  'httppull',
);

/** A source by itself, with what it wrote and told. */
async function pull(props: Props, dataSource = '') {
  const { source } = await loadConnector('source', 'httppull');
  const written: string[] = [];
  const told = { exceptions: [] as string[], losses: [] as string[] };
  const flow = { isFull: false, resume: () => {} };
  const context = {
    name: 'demo',
    dataSource,
    log: silent,
    paths: AllowedPaths.any(),
    get isFull() {
      return flow.isFull;
    },
    ready: () =>
      new Promise<void>((resolve) => {
        flow.resume = () => {
          flow.isFull = false;
          resolve();
        };
      }),
    write: (bytes: Uint8Array) => {
      written.push(...payloadsOf(bytes).map((payload) => Buffer.from(payload).toString()));
      return true;
    },
    exception: (reason: string) => told.exceptions.push(reason),
    sendError: () => {},
    disconnected: (reason: string) => told.losses.push(reason),
  } as unknown as SourceContext;
  const made = source!.create({ url: server.url, interval: 5, ...props }, context);
  const has = (count: number) => eventually(`${count} messages`, () => written.length >= count);
  return { made, written, told, flow, has };
}

test('asks the address with the path at each interval, and takes the answers as they are', async () => {
  let count = 0;
  server.answer = (response) => response.end(`[{"n":${++count}}]`);
  const props = { method: 'post', body: '{"a":1}', headers: { 'X-A': 'b' } };
  const { made, written, has } = await pull(props, 'data/now?x=1');
  await made.open();
  await has(3);
  await made.close();
  assert.equal(written.slice(0, 3), ['[{"n":1}]', '[{"n":2}]', '[{"n":3}]']);
  const [{ method, url, headers, body }] = server.received as [HttpDouble['received'][number]];
  assert.equal([method, url, body], ['POST', '/data/now?x=1', '{"a":1}']);
  assert.equal([headers['x-a'], headers['content-type']], ['b', 'application/json']);
});

test('an answer equal to the last one is left out where that is asked for', async () => {
  const answers = ['{"a":1}', '{"a":1}', '{"a":2}', '{"a":2}', '{"a":1}'];
  server.answer = (response, _request, number) => response.end(answers[Math.min(number, 5) - 1]);
  const { made, written, has } = await pull({ incremental: true });
  await made.open();
  await has(3);
  await made.close();
  assert.equal(written, ['{"a":1}', '{"a":2}', '{"a":1}']);
});

test('states go into the request, come from the answer, and are what a checkpoint keeps', async () => {
  server.answer = (response, { url }) => {
    const from = Number(new URL(url, 'http://h').searchParams.get('from'));
    response.end(JSON.stringify([{ id: from, from: from + 1 }]));
  };
  const props = { url: `${server.url}/?from={{.from}}`, states: { from: 5 } };
  const first = await pull(props);
  await first.made.open();
  await first.has(2);
  await first.made.close();
  const position = first.made.position?.() as { states: Props };
  assert.equal(position, { states: { from: 5 + first.written.length } });
  const second = await pull(props);
  second.made.seek?.(position);
  await second.made.open();
  await second.made.close();
  assert.is(JSON.parse(second.written[0]!)[0].id, position.states.from);
});

/** The addresses of the first requests. */
const asked = (count: number) => server.received.slice(0, count).map(({ url }) => url);

test('pages are asked for by the addresses in the header Link, then the first one again', async () => {
  server.answer = (response, { url }) => {
    const page = Number(new URL(url, 'http://h').searchParams.get('page') ?? 1);
    const next = `</a?page=1>; rel="first", </a?page=${page + 1}>; title=x; rel="last next"`;
    if (page < 3) response.setHeader('Link', next);
    response.end(JSON.stringify([{ page }]));
  };
  const { made, written, has, told } = await pull({ nextLink: 'link', incremental: true }, 'a');
  await made.open();
  await eventually('all pages twice', () => server.received.length >= 6);
  await has(3);
  await made.close();
  assert.equal(asked(4), ['/a', '/a?page=2', '/a?page=3', '/a']);
  assert.equal(written, ['[{"page":1}]', '[{"page":2}]', '[{"page":3}]']);
  assert.equal(told.exceptions, []);
});

test('a cursor goes into the request, and into the checkpoint', async () => {
  const texts: Readonly<Record<string, string>> = {
    '': '{"meta":{"next":"a+/="}}',
    'a+/=': '{"meta":{"next":7}}',
    7: '{}',
  };
  server.answer = (response, { url }) => response.end(texts[new URL(url, 'http://h').searchParams.get('c') ?? '']);
  const props = { url: `${server.url}/?c={{.cursor}}`, nextCursor: 'meta.next', states: { from: 1 } };
  const { made, flow, has } = await pull(props);
  flow.isFull = false;
  await made.open();
  const position = made.position!();
  assert.equal(position, { states: { from: 1 }, page: { cursor: 'a+/=' } });
  await has(3);
  await made.close();
  assert.equal(asked(3), ['/?c=', '/?c=a%2B%2F%3D', '/?c=7']);
  server.received.length = 0;
  const second = await pull(props);
  second.made.seek!(position);
  await second.made.open();
  await second.made.close();
  assert.equal(asked(1), ['/?c=a%2B%2F%3D']);
});

test('pages elsewhere, pages again and pages without end are named, and the first one comes again', async () => {
  const cases: [string, Props, RegExp][] = [
    ['{"next":"http://other.invalid/"}', {}, /another server, other.invalid/],
    ['{"next":"/same"}', {}, /the next page is the same/],
    ['{"next":"/x?COUNT"}', { maxPages: 3 }, /more than maxPages, 3, pages/],
  ];
  for (const [text, props, reason] of cases) {
    server.answer = (response, _request, number) => response.end(text.replace('COUNT', String(number)));
    const { made, told } = await pull({ nextLink: 'next', ...props });
    await made.open();
    await eventually('the reason', () => told.exceptions.length > 0);
    await made.close();
    assert.match(told.exceptions[0]!, reason);
  }
});

test('without states nothing is kept', async () => {
  const { made } = await pull({});
  assert.is(made.position, undefined);
});

test('a failing answer is counted, and asked again at the next interval', async () => {
  server.answer = (response, _request, number) => {
    response.statusCode = number === 1 ? 404 : number === 2 ? 500 : 200;
    response.end('{"a":1}');
  };
  const { made, told, has } = await pull({});
  await made.open();
  await has(1);
  await made.close();
  assert.equal(told.exceptions, ['status 404: {"a":1}', 'status 500: {"a":1}']);
  assert.equal(told.losses, []);
});

test('the code in an answer counts where the property says so', async () => {
  server.answer = (response, _request, number) => response.end(`{"code":${number === 1 ? 500 : 200}}`);
  const { made, written, told, has } = await pull({ responseType: 'body' });
  await made.open();
  await has(1);
  await made.close();
  assert.is(written[0], '{"code":200}');
  assert.match(told.exceptions[0] ?? '', /^code 500/);
});

test('a server that is absent fails the attempt, one that goes ends the connection', async () => {
  const port = await freePort();
  const absent = await pull({ url: `http://127.0.0.1:${port}` });
  await absent.made.open().then(
    () => assert.unreachable(),
    (error) => assert.match(error.message, /ECONNREFUSED/),
  );
  const other = await openHttp(port);
  await absent.made.open();
  await absent.has(1);
  await other.close();
  await eventually('the loss', () => absent.told.losses.length > 0);
  await absent.made.close();
});

test('nothing is asked while the sinks are full', async () => {
  const { made, flow, has } = await pull({});
  await made.open();
  await has(1);
  flow.isFull = true;
  await eventually('the wait', () => flow.resume.toString().includes('isFull'));
  const asked = server.received.length;
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.is(server.received.length, asked);
  flow.resume();
  await eventually('the next request', () => server.received.length > asked);
  await made.close();
});

test('compressed answers are read, said or not', async () => {
  server.answer = (response, _request, number) => {
    if (number > 1) response.setHeader('Content-Encoding', 'gzip');
    response.end(gzipSync('{"a":1}'));
  };
  const { made, written, has } = await pull({ compression: 'gzip' });
  await made.open();
  await has(2);
  await made.close();
  assert.equal(written.slice(0, 2), ['{"a":1}', '{"a":1}']);
});

test('answers that are compressed by zstd are read, said or not', async () => {
  server.answer = (response, _request, number) => {
    if (number > 1) response.setHeader('Content-Encoding', 'zstd');
    response.end(compressions.zstd.compress(Buffer.from('{"a":1}')));
  };
  const { made, written, has } = await pull({ compression: 'zstd', bodyType: '', tlsMinVersion: '' });
  await made.open();
  await has(2);
  await made.close();
  assert.equal(written.slice(0, 2), ['{"a":1}', '{"a":1}']);
});

test('redirects are followed, without headers to another server', async () => {
  // The other server is on this machine.
  openPrivateNet(true);
  const other = await openHttp();
  other.answer = (response) => response.end('{"there":1}');
  server.answer = (response) => response.writeHead(302, { Location: `${other.url}/there` }).end();
  const { made, has } = await pull({ headers: { Authorization: 'secret' } });
  await made.open();
  await has(1);
  await made.close();
  assert.equal([other.received[0]?.url, other.received[0]?.headers.authorization], ['/there', undefined]);
  await other.close();
});

test('a table finds the rows of a batch by one request', async () => {
  server.answer = (response) => response.end('[{"id":1,"v":"a"},{"id":2,"v":"b"},{"id":1,"v":"c"},{"v":"d"}]');
  const part = askedPart('httppull');
  await part.load();
  const context = {
    dataSource: 'table',
    log: silent,
    paths: AllowedPaths.any(),
    shared: <T>(_key: string, make: () => T) => make(),
  };
  const lookup = part.create({ url: server.url }, context);
  const request = { names: ['id'], keys: [[1, 7, 2n]], count: 3, fields: ['v'] };
  const answer = await lookup.ask(request, new AbortController().signal);
  assert.equal(
    [answer.of, answer.columns.v],
    [
      [0, 0, 2],
      ['a', 'c', 'b'],
    ],
  );
  assert.equal(
    server.received.map(({ url }) => url),
    ['/table'],
  );
  server.answer = (response) => response.writeHead(404).end();
  await lookup.ask(request, new AbortController().signal).then(
    () => assert.unreachable(),
    (error) => assert.match(error.message, /status 404/),
  );
  await lookup.close();
});

test.run();
