/** Messages of which a function of the host makes JSON: their rows, errors, metadata and acknowledgements. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { HostColumns, StreamSpec } from '../../../kernels/api.js';
import type { ColumnUse } from '../../../kernels/plan/ir.js';
import { drive, encode, linked } from '../../support/kernel/drive.js';
import { field, lines, mqtt, publish } from '../../support/kernel/streams.js';

const fn = 70_000;
const decoder = { fn, errorsBeginWith: 'stream s: decode: ' };
const meta = (key: string): ColumnUse => ({ kind: 'meta', key });

/** A kernel with a stream of coded messages that gives columns, with errors in the place of rows. */
function setUp(spec: Partial<StreamSpec>, uses: ColumnUse[], decode: (message: string) => string | null | Error) {
  const driver = drive();
  const { kernel } = driver;
  const calls: number[] = [];
  driver.hostFunctions.set(spec.decoder?.fn ?? fn, (columns: HostColumns) => {
    calls.push(columns.count);
    columns.errorsBeginWith = 'stream s: ';
    for (let k = 0; k < columns.count; k++) {
      const made = decode(Buffer.from(columns.get(0, k) as Uint8Array).toString('latin1'));
      if (made instanceof Error) columns.fail(k, made.message);
      else columns.set(k, made);
    }
  });
  const stream = kernel.openStream({ ...lines, decoder, ...spec, format: 'coded' });
  const names = Object.fromEntries(
    uses.map((use, i) => [use.kind === 'meta' ? use.key : 'name' in use ? use.name : '', i]),
  );
  const columns = kernel.useColumns(stream, uses);
  const plan = encode(names, { sendError: true, framing: 'messages' });
  const node = kernel.addNode({ stream }, linked(plan, { columnMap: columns, sendError: true }));
  return { driver, kernel, stream, calls, rows: () => driver.of(node) };
}

test('the function gets all messages of the input in one call, its texts are decoded', () => {
  const { driver, stream, rows, calls } = setUp({}, [field('a')], (text) => `{"a":${text}}`);
  driver.feed(stream, '1\n"two"\n[3]\n\n');
  assert.equal(calls, [4]);
  assert.equal(rows().slice(0, 3), ['{"a":1}', '{"a":"two"}', '{"a":[3]}']);
  assert.match(rows()[3]!, /^stream s: decode: invalid JSON at byte 5: /);
});

test('declared types hold for what comes out', () => {
  const schema: StreamSpec['schema'] = [{ name: 'a', type: { type: 'bigint' } }];
  const use: ColumnUse = { kind: 'field', name: 'a', type: { type: 'bigint' } };
  const { driver, stream, rows } = setUp({ schema, strict: true }, [use], (text) => text);
  driver.feed(stream, '{"a":7}\n{"a":"x"}\n{"b":1}\n');
  assert.is(rows()[0], '{"a":7}');
  assert.match(rows()[1]!, /^stream s: decode: a has wrong type/);
  assert.match(rows()[2]!, /^stream s: decode: .*a/);
});

test('a message may be a list of rows, or null: none', () => {
  const { driver, stream, rows } = setUp({}, [field('a')], (text) => (text === '-' ? null : text));
  driver.feed(stream, '[{"a":1},{"a":2}]\n-\n[]\n{"a":3}\n5\n[{"a":4},5]\n{"a":6}\n');
  assert.equal(rows(), [
    '{"a":1}',
    '{"a":2}',
    '{"a":3}',
    'stream s: decode: the payload is neither an object nor a list of objects',
    rows()[4]!,
    '{"a":6}',
  ]);
  assert.match(rows()[4]!, /^stream s: decode: .*an element of the list is not an object/);
});

test('lists longer than a batch are given out whole, each message is read once', () => {
  const list = (from: number, count: number) =>
    `[${Array.from({ length: count }, (_, i) => `{"a":${from + i},"t":"${'x'.repeat(200)}${i}"}`).join(',')}]`;
  const made = [list(0, 700), list(700, 5000), list(5700, 1), list(5701, 1024), '{"a":6725}'];
  const { driver, stream, rows, calls } = setUp({}, [field('a'), field('t')], (text) => made[Number(text)]!);
  driver.feed(stream, '0\n1\n2\n3\n4\n');
  assert.equal(calls, [5]);
  assert.is(rows().length, 6726);
  for (const [i, row] of rows().entries()) assert.ok(row.startsWith(`{"a":${i}`), `${i}: ${row.slice(0, 20)}`);
  driver.feed(stream, '2\n');
  assert.ok(rows()[6726]!.startsWith('{"a":5700'));
});

test('a failed element of a long list fails its message alone', () => {
  const list = `[${'{"a":1},'.repeat(3000)}2]`;
  const { driver, stream, rows } = setUp({}, [field('a')], (text) => (text === 'l' ? list : '{"a":5}'));
  driver.feed(stream, 'x\nl\nx\n');
  assert.is(rows().length, 3);
  assert.match(rows()[1]!, /not an object/);
});

test('what the function says is the error of the message, and counted', () => {
  const { driver, kernel, stream, rows } = setUp({}, [field('a')], (text) =>
    text === 'bad' ? new Error('function f of p: too short') : `{"a":"${text}"}`,
  );
  driver.feed(stream, 'one\nbad\ntwo\n');
  assert.equal(rows(), ['{"a":"one"}', 'stream s: function f of p: too short', '{"a":"two"}']);
  const counters = kernel.streamCounters(stream);
  assert.equal([counters.messages, counters.decodeErrors, counters.exceptions], [3, 1, 1]);
  assert.is(counters.lastException, 'stream s: function f of p: too short');
});

test('more messages than a batch has rows take several calls', () => {
  const { driver, stream, rows, calls } = setUp({}, [field('a')], (text) => `{"a":${text}}`);
  driver.feed(stream, Array.from({ length: 2500 }, (_, i) => `${i}\n`).join(''));
  assert.equal(calls, [1024, 1024, 452]);
  assert.equal(
    rows(),
    Array.from({ length: 2500 }, (_, i) => `{"a":${i}}`),
  );
});

test('messages of MQTT keep topic and id, other packets are handed on, ids are named behind their rows', () => {
  const uses = [field('a'), meta('topic'), meta('messageId')];
  const { driver, stream, rows, calls } = setUp(mqtt, uses, (text) => text);
  const long = `[${Array.from({ length: 3000 }, () => '{"a":1}').join(',')}]`;
  driver.onOutput = () => {
    // The rows of a long list are not out yet.
    if (driver.rows < 3001) assert.equal(driver.acknowledged, []);
  };
  const pingresp = Buffer.from([0xd0, 0]);
  const input = Buffer.concat([
    publish('t/1', '{"a":0}', { qos: 1, id: 11 }),
    publish('t/2', long, { qos: 1, id: 12 }),
    pingresp,
    publish('t/3', '{"a":2}'),
  ]);
  driver.feed(stream, input);
  assert.equal(calls, [2, 1]);
  assert.is(rows().length, 3002);
  assert.is(rows()[0], '{"a":0,"messageId":11,"topic":"t/1"}');
  assert.is(rows()[3000], '{"a":1,"messageId":12,"topic":"t/2"}');
  assert.is(rows()[3001], '{"a":2,"messageId":0,"topic":"t/3"}');
  assert.equal(driver.acknowledged, [11, 12]);
  assert.equal(
    driver.packets.map((packet) => [...packet]),
    [[0xd0, 0]],
  );
});

test('topics of aliases stay those of their messages', () => {
  const { driver, stream, rows } = setUp({ ...mqtt, mqttVersion: 5 }, [field('a'), meta('topic')], (text) => text);
  const alias = Buffer.from([0x23, 0, 1]);
  const long = `[${Array.from({ length: 1500 }, () => '{"a":1}').join(',')}]`;
  const input = Buffer.concat([
    publish('first', '{"a":0}', { properties: alias }),
    publish('', long, { properties: alias }),
    publish('', '{"a":2}', { properties: alias }),
    publish('second', '{"a":3}', { properties: alias }),
    publish('', '{"a":4}', { properties: alias }),
  ]);
  driver.feed(stream, input);
  const topics = rows().map((row) => (JSON.parse(row) as { topic: string }).topic);
  assert.equal([...new Set(topics.slice(0, 1502))], ['first']);
  assert.equal(topics.slice(1502), ['second', 'second']);
});

test('rows before broken bytes are given out', () => {
  const { driver, stream, rows } = setUp(mqtt, [field('a')], (text) => text);
  const input = Buffer.concat([publish('t', '{"a":1}'), publish('t', '{"a":2}'), Buffer.from([0x00, 0x00])]);
  assert.throws(() => driver.feed(stream, input), /a packet has a reserved type/);
  assert.equal(rows(), ['{"a":1}', '{"a":2}']);
});

test('however the input is cut, the rows are the same; an unfinished line is a message at the end', () => {
  const text = Array.from({ length: 40 }, (_, i) => `${i}`.padStart((i % 7) + 1, ' ')).join('\n');
  for (const chunk of [1, 3, 50]) {
    const { driver, kernel, stream, rows } = setUp({}, [field('a')], (line) => `{"a":${line}}`);
    driver.feed(stream, text, 1000, chunk);
    kernel.endInput(stream, 1000);
    assert.equal(
      rows(),
      Array.from({ length: 40 }, (_, i) => `{"a":${i}}`),
    );
  }
});

test('texts without room are errors, and nothing of them is kept', () => {
  const { driver, kernel, stream, rows } = setUp({}, [field('a')], (text) => `{"a":"${'y'.repeat(Number(text))}"}`);
  driver.feed(stream, '10\n');
  const before = kernel.memory().inUse;
  driver.feed(stream, '30000000\n10\n');
  assert.match(rows()[1]!, /longer than a value may be/);
  assert.is(rows()[2], rows()[0]);
  driver.feed(stream, '9000000\n');
  assert.is(rows()[3]!.length, 9_000_000 + 8);
  driver.feed(stream, '10\n');
  assert.ok(kernel.memory().inUse - before < 1 << 20, `${kernel.memory().inUse - before} bytes more`);
});

test('a message that was read in part goes on in another kernel, where the function has another number', () => {
  const first = setUp({}, [field('a')], (text) => `{"a":${text}}`);
  first.driver.feed(first.stream, '1\n23');
  const saved: Uint8Array[] = [];
  first.kernel.saveNode(first.stream, (bytes) => saved.push(bytes.slice()));
  const second = setUp({ decoder: { ...decoder, fn: fn + 1 } }, [field('a')], (text) => `{"a":${text}}`);
  let bytes = Buffer.concat(saved);
  const report = second.kernel.loadNode(second.stream, (into) => {
    const length = Math.min(into.length, bytes.length);
    into.set(bytes.subarray(0, length));
    bytes = bytes.subarray(length);
    return length;
  });
  assert.equal([report.loaded, report.failed], [1, []]);
  second.driver.feed(second.stream, '4\n');
  assert.equal(second.rows(), ['{"a":234}']);
});

test('a stream of coded messages needs a decoder, others have none', () => {
  const { kernel } = drive();
  assert.throws(() => kernel.openStream({ ...lines, format: 'coded' }), /need a decoder/);
  assert.throws(() => kernel.openStream({ ...lines, decoder }), /need a decoder/);
});

// ---- payloads in a column --------------------------------------------------------------------------------------

/** A kernel with a stream of messages whose column `d` has others, of which `within` makes JSON. */
function withPayloads(uses: ColumnUse[], within?: (payload: string) => string | Error, spec: Partial<StreamSpec> = {}) {
  const { driver, rows, ...rest } = setUp(
    { ...spec, decoder: { fn: 0, errorsBeginWith: 'stream s: ', payload: { field: 'd', fn: within ? fn : 0 } } },
    uses,
    () => null,
  );
  const calls: number[] = [];
  driver.hostFunctions.set(fn, (columns: HostColumns) => {
    calls.push(columns.count);
    for (let k = 0; k < columns.count; k++) {
      const made = within?.(Buffer.from(columns.get(0, k) as Uint8Array).toString()) ?? '';
      if (made instanceof Error) columns.fail(k, made.message);
      else columns.set(k, made);
    }
  });
  const sent = (...messages: unknown[]) => {
    const texts = messages.map((one) => `${typeof one === 'string' ? one : JSON.stringify(one)}\n`);
    driver.feed(rest.stream, texts.join(''));
    return rows();
  };
  return { ...rest, rows, sent, calls };
}

test('payloads of JSON are decoded in the kernel: their columns win, lists are rows, keys may be escaped', () => {
  const { sent, calls } = withPayloads([field('a'), field('b')]);
  const d = JSON.stringify({ b: 2, a: 3 });
  const rows = sent(
    { a: 1, d },
    { d: '{ }', a: 5 },
    `{"\\u0064":"{\\"b\\":\\"\\u00e9\\"}","a":1}`,
    { a: 6, d: Buffer.from(d).toString('base64') },
    `{"d":"{}","a":7,"d":"{\\"b\\":8}"}`,
    [{ a: 1, d: '[{"b":1},{"b":2}]' }, { a: 2 }, { a: 3, d: '[]' }, { d: '[{"a":9}]' }],
    { a: 2 },
    { a: 3, d: '' },
  );
  assert.equal(rows.slice(0, -1), [
    '{"a":3,"b":2}',
    '{"a":5}',
    '{"a":1,"b":"é"}',
    '{"a":3,"b":2}',
    '{"a":7,"b":8}',
    '{"a":1,"b":1}',
    '{"a":1,"b":2}',
    '{"a":9}',
  ]);
  assert.is(
    rows.at(-1),
    'stream s: the payload in d: invalid JSON at byte 0: the text ends where a value was expected',
  );
  assert.equal(calls, []);
});

test('what is wrong with a message or its payload is an error of the message alone', () => {
  const { sent, kernel, stream } = withPayloads([field('a')]);
  const rows = sent(
    '{"a":1',
    '{"d":"{}"} x',
    '5',
    '[{"d":"{}"},5]',
    { d: 5 },
    { d: '7.5' },
    { d: '[{"a":1},2]' },
    { d: '{"a":' },
    { d: '{} x' },
    { d: '{"a":1}' },
  );
  const json = 'invalid JSON at byte';
  assert.equal(
    rows,
    [
      `${json} 6: ',' or '}' was expected`,
      `${json} 11: text after the object`,
      'the payload is neither an object nor a list of objects',
      `${json} 12: an element of the list is not an object`,
      'the payload in d is neither text nor bytes',
      'the payload in d: neither an object nor a list of objects',
      'the payload in d: neither an object nor a list of objects',
      `the payload in d: ${json} 5: the text ends where a value was expected`,
      `the payload in d: ${json} 3: text after the object`,
    ]
      .map((text) => `stream s: ${text}`)
      .concat('{"a":1}'),
  );
  assert.is(kernel.streamCounters(stream).messages, 10);
});

test('payloads of another format go to its function in one call, however many messages and rows there are', () => {
  const { sent, calls } = withPayloads([field('a'), field('b')], (text) =>
    text === '-3' ? new Error('no number') : `{"b":${text}}`,
  );
  const list = Array.from({ length: 1500 }, (_, a) => ({ a, d: `-${a + 4}` }));
  const rows = sent({ a: 'x', d: '-1' }, { a: 'y', d: '-3' }, list, { a: 'z', d: '-2' });
  assert.equal(calls, [1024, 479]);
  assert.equal(rows, [
    '{"a":"x","b":-1}',
    'no number',
    ...list.map(({ a, d }) => `{"a":${a},"b":${d}}`),
    '{"a":"z","b":-2}',
  ]);
});

test('a payload with more rows than a batch is given out whole, and bounded in what it repeats', () => {
  const { sent, rows } = withPayloads([field('a'), field('b')]);
  const list = Array.from({ length: 3000 }, (_, b) => ({ b }));
  sent({ a: 'x', d: JSON.stringify(list) });
  assert.equal(
    rows(),
    list.map(({ b }) => `{"a":"x","b":${b}}`),
  );
  sent({ a: 'y'.repeat(100_000), d: `[${'{},'.repeat(1000)}{}]` });
  assert.match(rows()[3000]!, /^stream s: .*its rows take more room than a value may/);
});

test.run();
