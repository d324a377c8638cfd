/** The source sse: how event streams are read, and what it does when they end. */
import type { ServerResponse } from 'node:http';
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { EventReader, type ServerEvent } from '../../../../host/connectors/sse/events.js';
import { sourceContract } from '../../../support/connectors/contract.js';
import { type HttpDouble, openHttp } from '../../../support/connectors/http-server.js';
import { openPlane, passRule } from '../../../support/engine/plane.js';
import { eventually, freePort } from '../../../support/harness.js';

let server: HttpDouble;
/** Streams that are open. */
let open: ServerResponse[] = [];
test.before(async () => {
  server = await openHttp();
});
test.before.each(() => {
  server.received.length = 0;
  open = [];
  server.answer = begin;
});
test.after(() => server.close());

function begin(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
  response.flushHeaders();
  open.push(response);
}

sourceContract(
  test,
  () => ({
    type: 'sse',
    dataSource: '/contract',
    props: { url: server.url },
    refused: [
      [{}, /url is required/],
      [{ url: 'ws://x' }, /url must begin with http/],
      [{ url: 'http://x', timeout: 0 }, /timeout must be at least 1ms/],
      [{ url: 'http://x', events: 5 }, /events must be a list/],
    ],
  }),
  'sse',
);

function eventsOf(text: string, pieceBytes: number) {
  const events: { name: string; data: string }[] = [];
  const reader = new EventReader(
    ({ name, data }) => events.push({ name, data: data.toString() }),
    (reason) => assert.unreachable(reason),
  );
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) reader.read(bytes.subarray(at, at + pieceBytes));
  return { events, reader };
}

test('streams are read as the standard says, however they are cut', () => {
  const text =
    '\ufeff: comment\ndata: one\n\nevent: add\r\ndata:two\r\ndata\r\ndata:  three\r\nid: 7\r\n\r\n' +
    'id: 8\rretry: 250\r\rdata: ä\u2028\nother: x\nid: a\0b\n\nevent: x\n\nretry: 5s\ndata: end of nothing';
  for (const size of [1, 2, 3, 7, 1000]) {
    const { events, reader } = eventsOf(text, size);
    assert.equal(events, [
      { name: 'message', data: 'one' },
      { name: 'add', data: 'two\n\n three' },
      { name: 'message', data: 'ä\u2028' },
    ]);
    assert.equal([reader.lastId, reader.retryMs], ['8', 250]);
  }
});

test('streams at random are read as a plain reader of lines does, however they are cut', () => {
  const line = fc.constantFrom(
    'data:a',
    'data: b',
    'data',
    'data:',
    ':',
    ': c',
    'event: e',
    'event:',
    'id: 1',
    'id',
    '',
  );
  const end = fc.constantFrom('\n', '\r', '\r\n');
  fc.assert(
    fc.property(fc.array(fc.tuple(line, end), { maxLength: 40 }), fc.integer({ min: 1, max: 9 }), (lines, size) => {
      // A line feed behind a carriage return is part of its end.
      const all = lines.map(([text, by], i) => (by === '\r' && lines[i + 1]?.[0] === '' ? [text, '\r\n'] : [text, by]));
      assert.equal(eventsOf(all.flat().join(''), size).events, plainly(all.map(([text]) => text!)));
    }),
  );
});

/** Events of lines, as the standard describes them. */
function plainly(lines: readonly string[]): { name: string; data: string }[] {
  const events: { name: string; data: string }[] = [];
  let [name, data]: [string, string[]] = ['', []];
  for (const line of lines) {
    const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (field === 'data') data.push(value!);
    else if (field === 'event') name = value!;
    else if (line === '') {
      if (data.length > 0) events.push({ name: name === '' ? 'message' : name, data: data.join('\n') });
      [name, data] = ['', []];
    }
  }
  return events;
}

test('an event beyond the bound is skipped and told, and those behind it are read', () => {
  const events: ServerEvent[] = [];
  const told: string[] = [];
  const reader = new EventReader(
    (event) => events.push(event),
    (reason) => told.push(reason),
  );
  reader.read(Buffer.from('id: 1\ndata: '));
  for (let i = 0; i < 20; i++) reader.read(Buffer.alloc(1 << 20, 'x'));
  reader.read(Buffer.from('\ndata: more\n\n'));
  reader.read(Buffer.from(`data: ${'y'.repeat(16 << 20)}\n\ndata: z\n\n`));
  assert.equal(
    events.map(({ data }) => data.length),
    [16 << 20, 1],
  );
  assert.equal(told, ['an event with more than 16777216 bytes was skipped']);
  assert.is(reader.lastId, '1');
});

/** A rule from the stream to a memory of messages. */
async function start(props: Record<string, unknown>, port = server.port) {
  const collector = await openHttp();
  const { plane } = await openPlane();
  const source = { type: 'sse', dataSource: '/feed?x=1', props: { url: `http://127.0.0.1:${port}/`, ...props } };
  const rule = passRule(source, [{ type: 'rest', props: { url: collector.url, method: 'post' } }]);
  await plane.start(rule);
  const metrics = () => plane.status(rule.run)!.metrics;
  return {
    bodies: collector.bodies,
    collector,
    metrics,
    status: () => metrics().source_demo_0_connection_status,
    close: async () => {
      await plane.close();
      await collector.close();
    },
  };
}

test('after the end of a stream it asks for what came behind the last event', async () => {
  const rule = await start({ token: 'secret', headers: { 'X-Plant': 7 } });
  await eventually('the connection', () => open.length === 1);
  open[0]!.write('id: 41\ndata: {"a":1}\n\nretry: 30\ndata: {"a":2}\n\ndata: {"a":');
  await eventually('two events', () => rule.collector.bodies.length === 2);
  open[0]!.end();
  await eventually('the next connection', () => open.length === 2);
  const [first, second] = server.received;
  assert.equal([first?.url, first?.headers.accept], ['/feed?x=1', 'text/event-stream']);
  assert.equal([first?.headers.authorization, first?.headers['x-plant']], ['Bearer secret', '7']);
  assert.is(first?.headers['last-event-id'], undefined);
  assert.is(second?.headers['last-event-id'], '41');
  open[1]!.write('data: {"a":3}\n\n');
  await eventually('the third', () => rule.collector.bodies.length === 3);
  assert.equal(rule.collector.bodies, ['{"a":1}', '{"a":2}', '{"a":3}']);
  await rule.close();
});

test('only events of the wanted names are taken', async () => {
  const rule = await start({ events: ['temp'] });
  await eventually('the connection', () => open.length === 1);
  open[0]!.write('data: {"a":1}\n\nevent: temp\ndata: {"a":2}\n\n');
  await eventually('the event', () => rule.collector.bodies.length === 1);
  assert.equal(rule.collector.bodies, ['{"a":2}']);
  await rule.close();
});

test('answers that are no event stream are named', async () => {
  server.answer = (response) => response.end('{}');
  const rule = await start({});
  const text = () => String(rule.metrics().source_demo_0_last_exception ?? '');
  await eventually('the reason', () => /no event stream/.test(text()));
  server.answer = (response) => {
    response.statusCode = 503;
    response.end();
  };
  await eventually('the status', () => /status 503/.test(text()));
  server.answer = begin;
  await eventually('the connection', () => rule.status() === 1);
  await rule.close();
});

test('a server that does not answer keeps no rule from stopping; one that comes late is found', async () => {
  server.answer = () => {};
  const hanging = await start({});
  await eventually('the question', () => server.received.length === 1);
  const began = performance.now();
  await hanging.close();
  assert.ok(performance.now() - began < 2000);
  server.answer = begin;
  const port = await freePort();
  const rule = await start({}, port);
  await eventually('the failed attempt', () => rule.status() === -1);
  const late = await openHttp(port);
  late.answer = begin;
  await eventually('the connection', () => rule.status() === 1);
  await rule.close();
  await late.close();
});

test('a silent connection is taken for lost where that is wanted', async () => {
  const rule = await start({ idleTimeout: 50 });
  await eventually('another connection', () => open.length > 1);
  assert.match(String(rule.metrics().source_demo_0_last_exception), /silent for 50 ms/);
  await rule.close();
});

test.run();
