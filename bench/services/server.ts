/**
 * The services of the benchmark, on bare sockets, so that they take little of the machine: each answers all calls with
 * the same bytes. They read as much of a request as they need to know its end.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net';

type Serve = (socket: Socket) => void;

const http: Serve = (socket) => {
  const body = '{"price": 1.5, "stock": "7"}';
  const answer = Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  let rest = '';
  socket.on('data', (chunk) => {
    rest += chunk.toString('latin1');
    const end = rest.indexOf('\r\n\r\n');
    const size = Number(/content-length: (\d+)/.exec(rest)?.[1]);
    if (end < 0 || rest.length < end + 4 + size) return;
    rest = '';
    socket.write(answer);
  });
};

/** Answers each stream at its end: headers, a message, and `grpc-status`. */
const grpc: Serve = (socket) => {
  const literal = (name: string, value: string) =>
    Buffer.concat([Buffer.of(0, name.length), Buffer.from(name), Buffer.of(value.length), Buffer.from(value)]);
  const status200 = Buffer.of(0x88);
  const headers = Buffer.concat([status200, literal('content-type', 'application/grpc')]);
  const message = Buffer.concat([Buffer.of(0, 0, 0, 0, 11, 9), doubleBytes(1.5), Buffer.of(0x10, 7)]);
  const trailers = literal('grpc-status', '0');
  socket.write(frame(4, 0, 0, Buffer.alloc(0)));
  // Room for all requests of the run.
  socket.write(frame(8, 0, 0, Buffer.of(0x7f, 0, 0, 0)));
  let rest: Buffer = Buffer.alloc(0);
  let hasPreface = false;
  socket.on('data', (chunk) => {
    rest = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
    if (!hasPreface) {
      if (rest.length < 24) return;
      rest = rest.subarray(24);
      hasPreface = true;
    }
    const out: Buffer[] = [];
    while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
      const [type, flags, id] = [rest[3], rest[4]!, rest.readUInt32BE(5)];
      if (type === 4 && (flags & 1) === 0) out.push(frame(4, 1, 0, Buffer.alloc(0)));
      if (type === 0 && (flags & 1) === 1) {
        out.push(frame(1, 4, id, headers), frame(0, 0, id, message), frame(1, 5, id, trailers));
      }
      rest = rest.subarray(9 + rest.readUIntBE(0, 3));
    }
    if (out.length > 0) socket.write(Buffer.concat(out));
  });
};

function frame(type: number, flags: number, id: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, payload]);
}

function doubleBytes(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
}

/** Bytes of a value of a request: an integer, a short text, or the head of a short list. */
function sizeOf(head: number): number {
  if ((head & 0xe0) === 0xa0) return 1 + (head & 31);
  return head === 0xcc ? 2 : head === 0xcd ? 3 : head === 0xce ? 5 : 1;
}

/** End of a request `[0, id, method, [item, count]]`; undefined when it is not there yet. */
function endOfRequest(bytes: Buffer, begin: number): number | undefined {
  // The heads of both lists are values of one byte here.
  const values = 7;
  let end = begin;
  for (let n = 0; n < values; n++) {
    const head = bytes[end];
    if (head === undefined) return undefined;
    end += sizeOf(head);
  }
  return end <= bytes.length ? end : undefined;
}

const rpc: Serve = (socket) => {
  const result = Buffer.concat([
    Buffer.from([0xc0, 0x82, 0xa5]),
    Buffer.from('price'),
    Buffer.from([0xcb]),
    doubleBytes(1.5).reverse(),
    Buffer.from([0xa5]),
    Buffer.from('stock'),
    Buffer.from([0x07]),
  ]);
  let rest: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    const bytes = Buffer.concat([rest, chunk as Buffer]);
    const out: Buffer[] = [];
    let begin = 0;
    for (let end = endOfRequest(bytes, 0); end !== undefined; end = endOfRequest(bytes, begin)) {
      const id = begin + 2;
      out.push(Buffer.of(0x94, 1), bytes.subarray(id, id + sizeOf(bytes[id]!)), result);
      begin = end;
    }
    rest = bytes.subarray(begin);
    if (out.length > 0) socket.write(Buffer.concat(out));
  });
};

const kinds: Readonly<Record<string, Serve>> = { rest: http, grpc, 'msgpack-rpc': rpc };
const serve = kinds[process.argv[2] ?? ''];
if (serve === undefined) throw new Error(`there is no service ${process.argv[2]}`);
const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => {});
  serve(socket);
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit());
