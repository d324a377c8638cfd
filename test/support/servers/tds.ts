/**
 * A small imitation of a SQL Server: it lets everybody in and answers statements as a test says, by the tokens of the
 * protocol (MS-TDS).
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** Values of one of these types. */
export interface TdsColumn {
  readonly name: string;
  readonly type: 'int' | 'bigint' | 'nvarchar' | 'bit' | 'datetime2';
}

export type TdsAnswer =
  | { readonly columns: readonly TdsColumn[]; readonly rows: readonly (readonly (null | number | bigint | string)[])[] }
  | { readonly changed: number }
  | { readonly error: number; readonly message: string };

export interface TdsDouble {
  readonly url: string;
  /** Statements that came, with what stands in their parameters. */
  readonly statements: string[];
  answer: (statement: string) => TdsAnswer;
  close(): Promise<void>;
}

const u16 = (value: number) => Buffer.from([value & 255, value >> 8]);
const wide = (text: string) => Buffer.from(text, 'utf16le');
const short = (text: string) => Buffer.concat([Buffer.from([text.length]), wide(text)]);
const long = (text: string) => Buffer.concat([u16(text.length), wide(text)]);
const done = (count = 0) => {
  const token = Buffer.alloc(13);
  token[0] = 0xfd;
  token[1] = count > 0 ? 0x10 : 0;
  token.writeUInt32LE(count, 5);
  return token;
};

export async function openTds(): Promise<TdsDouble> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    let waiting = Buffer.alloc(0);
    let message = Buffer.alloc(0);
    socket.on('data', (data) => {
      waiting = Buffer.concat([waiting, data]);
      while (waiting.length >= 8 && waiting.length >= waiting.readUInt16BE(2)) {
        const length = waiting.readUInt16BE(2);
        message = Buffer.concat([message, waiting.subarray(8, length)]);
        const [type, status] = waiting;
        waiting = waiting.subarray(length);
        if ((status! & 1) === 0) continue;
        socket.write(packet(answerTo(double, type!, message)));
        message = Buffer.alloc(0);
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const double: TdsDouble = {
    url: `sqlserver://user:secret@127.0.0.1:${port}?database=test`,
    statements: [],
    answer: () => ({ changed: 0 }),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return double;
}

function packet(payload: Buffer): Buffer {
  const head = Buffer.from([4, 1, 0, 0, 0, 0, 1, 0]);
  head.writeUInt16BE(payload.length + 8, 2);
  return Buffer.concat([head, payload]);
}

function answerTo(double: TdsDouble, type: number, message: Buffer): Buffer {
  // Before the login: version, and no encryption.
  if (type === 0x12) {
    return Buffer.from([0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff, 16, 0, 0, 0, 0, 0, 2]);
  }
  if (type === 0x10) {
    const body = Buffer.concat([Buffer.from([1, 0x74, 0, 0, 4]), short('double'), Buffer.from([16, 0, 0, 0])]);
    return Buffer.concat([Buffer.from([0xad]), u16(body.length), body, done()]);
  }
  const text = message.toString('utf16le', type === 1 ? message.readUInt32LE(0) : 0);
  const statement = type === 1 ? text : procedureText(message);
  if (/^set /i.test(statement.trim())) return done();
  double.statements.push(statement);
  return tokensOf(double.answer(statement));
}

/** The texts of a call of sp_executesql: all that is readable in it. */
function procedureText(message: Buffer): string {
  const from = message.readUInt32LE(0) + 4;
  const even = message.toString('utf16le', from);
  const odd = message.toString('utf16le', from + 1);
  const readable = (text: string) => text.replace(/[^\x20-\x7e]+/g, ' ').trim();
  return `${readable(even)} ${readable(odd)}`;
}

function tokensOf(answer: TdsAnswer): Buffer {
  if ('changed' in answer) return done(answer.changed);
  if ('error' in answer) {
    const { error, message } = answer;
    const number = Buffer.alloc(4);
    number.writeUInt32LE(error);
    const body = Buffer.concat([
      number,
      Buffer.from([1, 16]),
      long(message),
      short('double'),
      short(''),
      Buffer.alloc(4),
    ]);
    const failed = done();
    failed[1] = 2;
    return Buffer.concat([Buffer.from([0xaa]), u16(body.length), body, failed]);
  }
  const { columns, rows } = answer;
  const collation = Buffer.from([0x09, 0x04, 0xd0, 0x00, 0x34]);
  const types = {
    int: Buffer.from([0x26, 4]),
    bigint: Buffer.from([0x26, 8]),
    bit: Buffer.from([0x68, 1]),
    nvarchar: Buffer.concat([Buffer.from([0xe7]), u16(8000), collation]),
    datetime2: Buffer.from([0x2a, 7]),
  };
  const metadata = columns.map(({ name, type }) => Buffer.concat([Buffer.alloc(4), u16(9), types[type], short(name)]));
  const values = rows.map((row) =>
    Buffer.concat([Buffer.from([0xd1]), ...row.map((value, i) => bytesOf(columns[i]!.type, value))]),
  );
  return Buffer.concat([Buffer.from([0x81]), u16(columns.length), ...metadata, ...values, done(rows.length)]);
}

function bytesOf(type: TdsColumn['type'], value: null | number | bigint | string): Buffer {
  if (value === null) return type === 'nvarchar' ? u16(0xffff) : Buffer.from([0]);
  if (type === 'nvarchar') return Buffer.concat([u16(String(value).length * 2), wide(String(value))]);
  if (type === 'bit') return Buffer.from([1, Number(value)]);
  if (type === 'datetime2') return time(String(value));
  const bytes = Buffer.alloc(type === 'int' ? 4 : 8);
  if (type === 'int') bytes.writeInt32LE(Number(value));
  else bytes.writeBigInt64LE(BigInt(value));
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

/** Time of day in units of 100 ns, then days since the year 1. */
function time(text: string): Buffer {
  const [, day, hours, minutes, seconds, fraction = ''] = /^(\S+)T(\d+):(\d+):(\d+)(?:\.(\d+))?$/.exec(text)!;
  const bytes = Buffer.alloc(9);
  bytes[0] = 8;
  const whole = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  bytes.writeUIntLE(whole * 1e7 + Number(fraction.padEnd(7, '0')), 1, 5);
  bytes.writeUIntLE((Date.parse(`${day}T00:00:00Z`) - Date.parse('0001-01-01T00:00:00Z')) / 86_400_000, 6, 3);
  return bytes;
}
