/** Functions over gRPC in rules, against a server of the library grpc-js. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { makeAuthority } from '../../support/certificates.js';
import { freePort, startServer } from '../../support/harness.js';
import { RowsThrough } from '../../support/rest/rows-through.js';
import { failure, type GrpcCall, type GrpcMethods, hasGrpc, startGrpc } from '../../support/services/grpc-server.js';
import { installService } from '../../support/services/install.js';

const schema = `syntax = "proto3"; package shop;
import "google/protobuf/wrappers.proto";
import "google/protobuf/empty.proto";
import "google/protobuf/struct.proto";
enum Size { SMALL = 0; LARGE = 1; }
message Box { int32 width = 1; repeated string labels = 2; }
message All {
  double d = 1; float f = 2; int32 i = 3; int64 l = 4; uint32 u = 5; uint64 ul = 6; sint32 s = 7; sint64 sl = 8;
  fixed32 x = 9; fixed64 xl = 10; sfixed32 sx = 11; sfixed64 sxl = 12; bool b = 13; string t = 14; bytes y = 15;
  Size size = 16; Box box = 17; repeated int32 numbers = 18; repeated Box boxes = 19;
  map<string, int32> counts = 20; map<int32, Box> places = 21; google.protobuf.StringValue note = 22;
  google.protobuf.Struct any = 23; oneof choice { string left = 24; int32 right = 25; } optional int32 maybe = 26;
  repeated string names = 27;
}
message Ask { string item = 1; int32 count = 2; }
message Answer { double price = 1; int64 stock = 2; string seen = 3; }
service Shop {
  rpc Echo(All) returns (All) {}
  rpc Price(Ask) returns (Answer) {}
  rpc Name(google.protobuf.StringValue) returns (google.protobuf.StringValue) {}
  rpc IsOpen(google.protobuf.Empty) returns (google.protobuf.BoolValue) {}
  rpc Forget(Ask) returns (google.protobuf.Empty) {}
  rpc Watch(Ask) returns (stream Answer) {}
}`;

const canRun = await hasGrpc('services over gRPC');
const asked: GrpcCall[] = [];
let price: GrpcMethods[string] = () => ({ price: 1.5, stock: '9007199254740993' });
const methods: GrpcMethods = {
  Echo: (call) => {
    asked.push(call);
    return call.request;
  },
  Price: (call) => {
    asked.push(call);
    return price!(call);
  },
  Name: ({ request }) => ({ value: `${String(request.value)}!` }),
  IsOpen: () => ({ value: true }),
  Forget: () => ({}),
  Watch: () => ({}),
};

if (canRun) {
  const shop = await startGrpc(schema, methods);
  const server = await startServer({ env: { KUIPER__BASIC__ENABLEPRIVATENET: 'true' } });
  test.after(async () => {
    await server.stop();
    shop.kill();
  });
  const rule = new RowsThrough(server);
  const install = (options: object = {}, address = `tcp://127.0.0.1:${shop.port}`) =>
    installService(server, 'shop', {
      interfaces: { one: { address, protocol: 'grpc', schemaType: 'protobuf', schemaFile: 'shop.proto', options } },
      schemas: { 'shop.proto': schema },
    });

  test.before.each(() => {
    asked.length = 0;
  });

  test('a call has arguments, metadata and a deadline; its answer has the types of the schema', async () => {
    await install({ headers: { Authorization: 'Bearer x', 'X-Plant': 'a' }, timeout: '20s' });
    const begin = Date.now();
    const select = "SELECT n, Price(item, n).price AS p, cast(Price(item, n).stock, 'string') AS stock FROM s";
    assert.equal(await rule.results(select, [{ item: 'tea', n: 2 }]), [{ n: 2, p: 1.5, stock: '9007199254740993' }]);
    const [{ request, metadata, deadline }] = asked as [GrpcCall];
    assert.equal(request, { item: 'tea', count: 2 });
    assert.equal([metadata.authorization, metadata['x-plant']], ['Bearer x', 'a']);
    assert.ok(deadline.getTime() > begin + 5000, 'the deadline is that of the option');
  });

  test('every type goes there and comes back', async () => {
    const all = {
      d: 1.25,
      f: 0.1,
      i: -5,
      l: -3000000000,
      u: 4000000000,
      ul: 5000000000,
      s: -7,
      sl: -8000000000,
      x: 9,
      xl: 10000000000,
      sx: -11,
      sxl: -12000000000,
      b: true,
      t: 'täglich',
      y: 'aGk=',
      size: 1,
      box: { width: 3, labels: ['a', 'b'] },
      numbers: [1, -2, 300],
      boxes: [
        { width: 1, labels: [] },
        { width: 2, labels: ['c'] },
      ],
      counts: { a: 1, b: 2 },
      places: { 7: { width: 4, labels: [] } },
      note: 'kept',
      any: { deep: [1, 'two', null, { three: true }] },
      right: 25,
      maybe: 0,
      names: ['x', ''],
    };
    assert.equal(await rule.results('SELECT Echo(all) AS r FROM s', [{ all }]), [{ r: all }]);
    const { request } = asked[0] as GrpcCall;
    assert.equal([request.size, request.y, request.maybe], ['LARGE', 'aGk=', 0]);
    // Names of enums are taken as well, and what does not come has its zero.
    const [{ r }] = (await rule.results('SELECT Echo(all) AS r FROM s', [{ all: { size: 'LARGE' } }])) as [
      { r: object },
    ];
    assert.equal(
      { ...r },
      {
        ...{ d: 0, f: 0, i: 0, l: 0, u: 0, ul: 0, s: 0, sl: 0, x: 0, xl: 0, sx: 0, sxl: 0, b: false, t: '', y: '' },
        ...{ size: 1, numbers: [], boxes: [], counts: {}, places: {}, names: [] },
      },
    );
  });

  test('values that stand for messages are those values', async () => {
    assert.equal(
      await rule.results('SELECT Name(a) AS name, IsOpen() AS open, Forget(a, 1) AS nothing FROM s', [{ a: 'tea' }]),
      [{ name: 'tea!', open: true }],
    );
  });

  test('arguments that do not fit are the error of their row, and nobody is asked', async () => {
    for (const [call, reason] of [
      ["Price('a', 'many')", 'count must be a number, not "many"'],
      ["Price('a', 2.5)", 'count must be a whole number, not 2.5'],
      ["Price('a', 3000000000)", 'count is out of the range of int32: 3000000000'],
      ["Echo(object_construct('y', 'no base 64'))", 'y must be bytes, or a text in base64, not "no base 64"'],
      ["Echo(object_construct('size', 'HUGE'))", 'size must be one of SMALL, LARGE, not "HUGE"'],
      ["Echo(object_construct('box', 5))", 'box must be an object, not 5'],
    ] as const) {
      const name = call.slice(0, call.indexOf('('));
      assert.equal(await rule.results(`SELECT ${call} AS r FROM s`, [{ a: 1 }]), [`function ${name}: ${reason}`]);
    }
    assert.is(asked.length, 0);
  });

  test('what the service refuses is the error of the row, with code and reason', async () => {
    price = ({ request }) => {
      if (request.item === 'tea') throw failure(5, 'no tea: 100 % gone\n');
      return { price: 1 };
    };
    assert.equal(await rule.results('SELECT Price(item, 1).price AS p FROM s', [{ item: 'tea' }, { item: 'milk' }]), [
      'function Price: NOT_FOUND: no tea: 100 % gone ',
      { p: 1 },
    ]);
  });

  test('a service that is not ready is asked again, as often as the option says', async () => {
    await install({ retryCount: 3, retryInterval: '1ms' });
    let fails = 2;
    price = () => {
      if (fails-- > 0) throw failure(14, 'not yet');
      return { price: 5 };
    };
    assert.equal(await rule.results("SELECT Price('a', 1).price AS p FROM s", [{ a: 1 }]), [{ p: 5 }]);
    assert.is(asked.length, 3);
    asked.length = 0;
    price = () => {
      throw failure(3, 'never');
    };
    const [refused] = await rule.results("SELECT Price('a', 1).price AS p FROM s", [{ a: 1 }]);
    assert.is(refused, 'function Price: INVALID_ARGUMENT: never');
    assert.is(asked.length, 1, 'what is refused is not asked again');
  });

  test('a call without an answer fails in time, and an answer that is too large is refused', async () => {
    await install({ timeout: '100ms', maxMessageSize: 1000 });
    price = ({ request }) =>
      request.item === 'slow' ? new Promise(() => {}) : { price: 1, seen: 'x'.repeat(Number(request.count)) };
    assert.equal(
      await rule.results('SELECT Price(item, n).price AS p FROM s', [
        { item: 'slow', n: 1 },
        { item: 'long', n: 2000 },
        { item: 'fine', n: 1 },
      ]),
      ['function Price: no answer within 100 ms', 'function Price: the answer has more than 1000 bytes', { p: 1 }],
    );
    assert.equal(await rule.results('SELECT Price(item, 1).price AS p FROM s', [{ item: 'x'.repeat(2000) }]), [
      'function Price: the message has more than 1000 bytes',
    ]);
  });

  test('messages of megabytes, many calls at once, and more than the server takes together', async () => {
    await install({ concurrency: 1000 });
    price = ({ request }) => ({
      price: Number(request.count ?? 0),
      seen: String(request.item).length > 10 ? request.item : '',
    });
    const long = 'x'.repeat(1 << 20);
    const rows = [{ item: long, n: 0 }, ...Array.from({ length: 2000 }, (_, n) => ({ item: 'a', n: n + 1 }))];
    const results = await rule.results(
      'SELECT Price(item, n).price AS p, length(Price(item, n).seen) AS l FROM s',
      rows,
    );
    assert.equal(results[0], { p: 0, l: 1 << 20 });
    assert.equal(
      results.slice(1),
      rows.slice(1).map(({ n }) => ({ p: n, l: 0 })),
    );
  });

  test('a server that is not there is the error of each row, and asked again when it is back', async () => {
    const port = await freePort();
    await install({ breakerFailures: 0 }, `tcp://127.0.0.1:${port}`);
    price = () => ({ price: 7 });
    const select = "SELECT Price('a', n).price AS p FROM s";
    const [down] = await rule.results(select, [{ n: 1 }]);
    assert.match(String(down), new RegExp(`function Price: 127\\.0\\.0\\.1:${port}: .*ECONNREFUSED`));
    const late = await startGrpc(schema, methods, { port });
    assert.equal(await rule.results(select, [{ n: 1 }]), [{ p: 7 }]);
    late.kill();
    assert.match(String((await rule.results(select, [{ n: 1 }]))[0]), /function Price: /);
    const again = await startGrpc(schema, methods, { port });
    assert.equal(await rule.results(select, [{ n: 1 }]), [{ p: 7 }]);
    again.kill();
  });

  test('TLS: certificates are checked against those that the options give', async () => {
    const authority = makeAuthority('shop');
    const secure = await startGrpc(schema, methods, { tls: authority.server() });
    price = () => ({ price: 8 });
    const address = `https://127.0.0.1:${secure.port}`;
    const select = "SELECT Price('a', 1).price AS p FROM s";
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    await install({ rootCARaw: base64(authority.cert) }, address);
    assert.equal(await rule.results(select, [{ n: 1 }]), [{ p: 8 }]);
    await install({ insecureSkipVerify: true }, address);
    assert.equal(await rule.results(select, [{ n: 1 }]), [{ p: 8 }]);
    await install({ rootCARaw: base64(makeAuthority('other').cert) }, address);
    assert.match(String((await rule.results(select, [{ n: 1 }]))[0]), /function Price: .*certificate/);
    secure.kill();
  });

  test('a method that streams is no function of rules', async () => {
    const sql = 'CREATE STREAM one (a STRING) WITH (TYPE="memory", DATASOURCE="o")';
    await server.request('POST', '/streams', { sql });
    const refused = await server.request('POST', '/rules', {
      id: 'no',
      sql: 'SELECT Watch(a, 1) AS w FROM one',
      actions: [{ nop: {} }],
    });
    assert.is(refused.status, 400);
    assert.match(refused.json.message, /Watch \(service shop\) can't be called in rules/);
  });
}

test.run();
