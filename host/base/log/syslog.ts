/** Sends log lines to a syslog server (RFC 3164) over UDP or TCP. A server that is not there costs the lines only. */
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { connect, type Socket } from 'node:net';
import { hostname } from 'node:os';
import { errorTable } from '../errors.js';
import type { Level } from './log.js';

const syslogErrors = errorTable('syslog', {
  address: ['config', (given: string) => `basic.syslog.address must be host:port, not ${given}`],
});

export interface SyslogOptions {
  readonly network: 'udp' | 'tcp';
  /** `host:port`; 514 without a port. */
  readonly address: string;
  /** Lines below this level are not sent. */
  readonly level: Level;
  /** Name of the program in the messages. */
  readonly tag: string;
}

const severities: Readonly<Record<Level, number>> = { debug: 7, info: 6, warn: 4, error: 3 };
/** Facility of system daemons. */
const daemon = 3;
const defaultPort = 514;
/** Time between two attempts to reach a TCP server. */
const retryMs = 5000;
/** A TCP server that takes nothing loses lines beyond this. */
const maxWaitingBytes = 1 << 20;
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

export interface Syslog {
  send(level: Level, line: string): void;
  close(): void;
}

/** Opens the way to the server; throws a `config` error when the address can't be read. */
export function openSyslog({ network, address, level, tag }: SyslogOptions): Syslog {
  const { host, port } = addressOf(address);
  const way = network === 'udp' ? new Udp(host, port) : new Tcp(host, port);
  const name = hostname();
  return {
    send: (lineLevel, line) => {
      if (severities[lineLevel] > severities[level]) return;
      way.send(`<${daemon * 8 + severities[lineLevel]}>${timeOf(new Date())} ${name} ${tag}[${process.pid}]: ${line}`);
    },
    close: () => way.close(),
  };
}

function addressOf(address: string): { host: string; port: number } {
  const [, host, port] = /^\[?([^\]]+?)\]?(?::(\d{1,5}))?$/.exec(address) ?? [];
  const number = Number(port ?? defaultPort);
  if (host === undefined || number === 0 || number > 65_535) {
    throw syslogErrors.address(JSON.stringify(address));
  }
  return { host, port: number };
}

/** `Jan  2 03:04:05`, local time, as the protocol has it. */
function timeOf(date: Date): string {
  const two = (n: number) => String(n).padStart(2, '0');
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return `${months[date.getMonth()]} ${String(date.getDate()).padStart(2, ' ')} ${time}`;
}

class Udp {
  readonly #socket: UdpSocket;

  constructor(
    readonly host: string,
    readonly port: number,
  ) {
    this.#socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
    this.#socket.on('error', () => undefined);
    this.#socket.unref();
  }

  send(message: string): void {
    // Failures come to this callback; without it they would end the process.
    this.#socket.send(message, this.port, this.host, () => undefined);
  }

  close(): void {
    this.#socket.close();
  }
}

class Tcp {
  #socket: Socket | undefined;
  #lastAttempt = 0;

  constructor(
    readonly host: string,
    readonly port: number,
  ) {}

  send(message: string): void {
    const socket = this.#socket ?? this.#connect();
    if (socket === undefined || socket.writableLength > maxWaitingBytes) return;
    socket.write(`${message}\n`);
  }

  close(): void {
    this.#socket?.end();
  }

  #connect(): Socket | undefined {
    const now = Date.now();
    if (now - this.#lastAttempt < retryMs) return undefined;
    this.#lastAttempt = now;
    const socket = connect(this.port, this.host);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (this.#socket === socket) this.#socket = undefined;
    });
    socket.unref();
    this.#socket = socket;
    return socket;
  }
}
