/** Log lines on their way to a syslog server. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Log } from '../../../host/base/log/log.js';
import { openSyslog } from '../../../host/base/log/syslog.js';
import { freePort, within } from '../../support/harness.js';

const form = (severity: number, line: string) =>
  new RegExp(`^<${24 + severity}>[A-Z][a-z]{2} [ \\d]\\d \\d\\d:\\d\\d:\\d\\d \\S+ haumea\\[\\d+\\]: ${line}`);

test('lines go out over UDP, from the level set on', async () => {
  const server = createSocket('udp4');
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  const syslog = openSyslog({
    network: 'udp',
    address: `127.0.0.1:${server.address().port}`,
    level: 'warn',
    tag: 'haumea',
  });
  const log = new Log({
    level: 'debug',
    console: false,
    fileName: 'x',
    hasTimestamp: true,
    rotateSizeBytes: 0,
    rotateMs: 0,
    maxAgeMs: 0,
    rotateCount: 0,
    also: syslog.send,
  });
  log.info('too quiet');
  log.warn('watch out', { password: 'x' });
  const [message] = (await within(3000, 'a message', once(server, 'message'))) as [Buffer];
  assert.match(message.toString(), form(4, 'level=warn msg="watch out" password=\\*{6}$'));
  log.close();
  syslog.close();
  server.close();
});

test('lines go out over TCP, and a server that is not there harms nothing', async () => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const syslog = openSyslog({ network: 'tcp', address: `127.0.0.1:${port}`, level: 'debug', tag: 'haumea' });
  syslog.send('debug', 'hello');
  const [socket] = await within(3000, 'a connection', once(server, 'connection'));
  const [data] = (await within(3000, 'a line', once(socket, 'data'))) as [Buffer];
  assert.match(data.toString(), form(7, 'hello\n$'));
  syslog.close();
  socket.destroy();
  server.close();
  const nobody = openSyslog({ network: 'tcp', address: `127.0.0.1:${await freePort()}`, level: 'debug', tag: 'x' });
  for (let i = 0; i < 100; i++) nobody.send('error', 'lost');
  nobody.close();
});

test('an address that can not be read is refused', () => {
  assert.throws(
    () => openSyslog({ network: 'udp', address: 'host:99999', level: 'info', tag: 'x' }),
    /basic\.syslog\.address must be host:port/,
  );
});

test.run();
