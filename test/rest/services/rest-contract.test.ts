/** What a schema says of requests over HTTP: names, numbers, paths, queries, bodies and answers. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startServer } from '../../support/harness.js';
import { RowsThrough } from '../../support/rest/rows-through.js';
import { installService } from '../../support/services/install.js';

const asked: string[] = [];
let answer: (response: ServerResponse, line: string) => void = () => {};
const shop = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString();
  asked.push(`${request.method} ${request.url}${body === '' ? '' : ` ${body}`}`);
  answer(response, `${request.url}`);
}).listen(0, '127.0.0.1');
await new Promise((resolve) => shop.once('listening', resolve));
const { port } = shop.address() as AddressInfo;
const server = await startServer({ env: { KUIPER__BASIC__ENABLEPRIVATENET: 'true' } });
test.after(async () => {
  await server.stop();
  shop.close();
  shop.closeAllConnections();
});
const rule = new RowsThrough(server);
const json = (value: unknown) => (response: ServerResponse) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));

const books = `syntax = "proto3"; package books;
import "google/api/annotations.proto";
import "google/protobuf/empty.proto";
import "google/protobuf/struct.proto";
import "common/shelf.proto";
enum Kind { NOVEL = 0; POEM = 1; }
message Book {
  int64 book_id = 1; string author_name = 2; string base64_img = 3 [json_name = "base64_img"];
  Kind book_kind = 4; map<string, int32> page_counts = 5; google.protobuf.DoubleValue list_price = 6;
}
message Ref { string shelf_name = 1; int64 book = 2; }
message Wanted { string text = 1; common.Page page = 2; repeated string tags = 3; int32 left_out = 4; }
message Put { string shelf_name = 1; Book book = 2; bool is_new = 3; }
message Found { repeated Book books = 1; int64 total_count = 2; }
service Books {
  rpc addBook(Book) returns (Book) {}
  rpc getBook(Ref) returns (Book) { option (google.api.http) = { get: "/v1/{shelf_name=shelves/*}/books/{book}" }; }
  rpc deleteBook(Ref) returns (google.protobuf.Empty) {
    option (google.api.http) = { delete: "/v1/{shelf_name}/books/{book}" };
  }
  rpc search(Wanted) returns (Found) { option (google.api.http) = { get: "/v1/books:search" }; }
  rpc putBook(Put) returns (Book) {
    option (google.api.http) = { put: "/v1/{shelf_name}" body: "book" };
  }
  rpc patchBook(Put) returns (Book) {
    option (google.api.http) = { patch: "/v1/{shelf_name}" body: "*" };
  }
  rpc look(Ref) returns (google.protobuf.Empty) {
    option (google.api.http) = { custom: { kind: "HEAD" path: "/v1/{shelf_name}" } };
  }
  rpc titles(Ref) returns (Found) {
    option (google.api.http) = { get: "/v1/{shelf_name}/all" response_body: "books" };
  }
  rpc raw(google.protobuf.StringValue) returns (google.protobuf.Value) {}
}`;
const shelf = 'syntax = "proto3"; package common; message Page { int32 page_size = 1; string from_key = 2; }';

test.before(async () => {
  const one = { address: `http://127.0.0.1:${port}/api/`, protocol: 'rest' };
  await installService(server, 'books', {
    interfaces: { one: { ...one, schemaType: 'protobuf', schemaFile: 'books.proto' } },
    schemas: { 'books.proto': books, 'common/shelf.proto': shelf },
  });
});
test.before.each(() => {
  asked.length = 0;
});

const made = {
  book_id: 20210519,
  author_name: 'Conan Doyle',
  base64_img: 'aGk=',
  book_kind: 'POEM',
  page_counts: { a: 1 },
  list_price: 2.5,
};

test('names in JSON are in lowerCamelCase unless the schema has another one, wide numbers are texts', async () => {
  answer = json({ bookId: '9007199254740993', author_name: 'x', bookKind: 'POEM', listPrice: null, more: 1 });
  const select = "SELECT addBook(made) AS r, cast(addBook(made).book_id, 'string') AS id FROM s";
  const [{ r, id }] = (await rule.results(select, [{ made }])) as [{ r: Record<string, unknown>; id: string }];
  assert.equal(asked, [
    'POST /api/addBook {"bookId":"20210519","authorName":"Conan Doyle","base64_img":"aGk=","bookKind":"POEM",' +
      '"pageCounts":{"a":1},"listPrice":2.5}',
  ]);
  assert.is(id, '9007199254740993');
  assert.equal([r.author_name, r.book_kind, 'more' in r], ['x', 1, false]);
});

const sent: readonly (readonly [call: string, line: string])[] = [
  ["getBook('shelves/a', 7).book_id", 'GET /api/v1/shelves/a/books/7'],
  ["deleteBook('b c', 7)", 'DELETE /api/v1/b%20c/books/7'],
  [
    "search(object_construct('text', 'a&b', 'page', object_construct('page_size', 5), 'tags', array_create('x', 'y')))",
    'GET /api/v1/books:search?text=a%26b&page.page_size=5&tags=x&tags=y',
  ],
  ["putBook('s', object_construct('author_name', 'x'), true)", 'PUT /api/v1/s?is_new=true {"authorName":"x"}'],
  [
    "patchBook('s', object_construct('author_name', 'x'), false)",
    'PATCH /api/v1/s {"book":{"authorName":"x"},"isNew":false}',
  ],
  ["look('s', 1)", 'HEAD /api/v1/s?book=1'],
  [`raw('{"name":"a"}')`, 'POST /api/raw {"name":"a"}'],
];
for (const [call, line] of sent) {
  test(`${call} is ${line}`, async () => {
    answer = json({});
    await rule.results(`SELECT ${call} AS r FROM s`, [{ a: 1 }]);
    assert.equal(asked, [line]);
  });
}

test('the body of an answer may be a field of the message, and any JSON', async () => {
  answer = json([{ bookId: 1 }, { bookId: '2' }]);
  assert.equal(await rule.results("SELECT titles('s', 1) AS r FROM s", [{ a: 1 }]), [
    { r: { books: [{ book_id: 1 }, { book_id: 2 }] } },
  ]);
  assert.equal(await rule.results("SELECT raw('1') AS r FROM s", [{ a: 1 }]), [
    { r: [{ bookId: 1 }, { bookId: '2' }] },
  ]);
});

test('what stands in a path leads nowhere else', async () => {
  for (const [call, reason] of [
    ["getBook('shelves/..', 1)", 'getBook: shelf_name must not lead to another path, it is shelves/..'],
    ["getBook('other', 1)", 'getBook: shelf_name must begin with shelves/, it is other'],
    ["deleteBook('', 1)", 'deleteBook: shelf_name is empty, it stands in the path'],
    ["getBook(object_construct('book', 1))", 'getBook: shelf_name is missing'],
  ] as const) {
    assert.equal(await rule.results(`SELECT ${call} AS r FROM s`, [{ a: 1 }]), [`function ${reason}`]);
  }
  assert.equal(asked, []);
});

test('answers in chunks, without a length and behind other answers are read; compressed ones are refused', async () => {
  answer = (response, line) => {
    if (line.endsWith('/cut')) {
      response.socket?.end(
        'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{"a":1}',
      );
    } else if (line.endsWith('/zip')) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end('x');
    } else if (line.endsWith('/odd')) response.socket?.end('SSH-2.0-x\r\n\r\n');
    else {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"a":');
      setImmediate(() => response.end('2}'));
    }
  };
  // Without a list of functions there is one, named as the interface.
  const web = { address: `http://127.0.0.1:${port}`, protocol: 'rest', schemaless: true };
  await installService(server, 'free', { interfaces: { web } });
  const rows = ['/cut', '/chunks', '/zip', '/odd', '/chunks'].map((path) => ({ path }));
  const results = await rule.results("SELECT web('get', path).a AS a FROM s", rows);
  assert.match(String(results.splice(3, 1)), /^function web: the answer is not one of HTTP\/1\.1: .*Expected HTTP/);
  assert.equal(results, [{ a: 1 }, { a: 2 }, 'function web: the answer is compressed, which was not agreed', { a: 2 }]);
});

test('what goes to a connection that the service has ended is sent again, where twice is once', async () => {
  const seen = new WeakSet<object>();
  answer = (response) => {
    const { socket } = response;
    if (socket === null || seen.has(socket)) {
      socket?.destroy();
      return;
    }
    seen.add(socket);
    json({ a: 1 })(response);
  };
  const web = { address: `http://127.0.0.1:${port}`, protocol: 'rest', schemaless: true };
  await installService(server, 'free', { interfaces: { web: { ...web, options: { concurrency: 1 } } } });
  const rows = ['put', 'put', 'post'].map((verb, n) => ({ verb, n }));
  const results = await rule.results("SELECT web(verb, '/x', n).a AS a FROM s", rows);
  assert.equal(results.slice(0, 2), [{ a: 1 }, { a: 1 }]);
  assert.match(String(results[2]), /^function web: 127\.0\.0\.1:\d+: /);
  assert.equal(asked, ['PUT /x 0', 'PUT /x 1', 'PUT /x 1', 'POST /x 2']);
});

test('a service that is too busy is asked again when it says so', async () => {
  const web = { address: `http://127.0.0.1:${port}`, protocol: 'rest', schemaless: true };
  const options = { retryCount: 3, retryInterval: '1ms' };
  await installService(server, 'free', { interfaces: { web: { ...web, options } } });
  let left = 2;
  answer = (response) => {
    if (left-- > 0) response.writeHead(left === 1 ? 429 : 503, { 'retry-after': '0' }).end();
    else json({ a: 3 })(response);
  };
  assert.equal(await rule.results("SELECT web('post', '/x', 1).a AS a FROM s", [{ n: 1 }]), [{ a: 3 }]);
  assert.is(asked.length, 3);
});

test.run();
