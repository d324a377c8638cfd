/**
 * The wire form of SP: a hello of eight bytes each way, then frames. A frame is its length in eight bytes, big endian,
 * and its body; over ipc a byte 1 stands before it.
 */
import { spErrors } from './errors.js';

/** Numbers of the protocols that we speak. */
const spProtocols = { pair: 16, push: 80, pull: 81, req: 48, rep: 49 } as const;

export type SpProtocol = keyof typeof spProtocols;

const helloBytes = 8;
/** Longest message that is taken, bytes. */
const maxMessageBytes = 16 << 20;
const ipcMark = 1;

export function helloOf(protocol: SpProtocol): Buffer {
  const hello = Buffer.from([0, 0x53, 0x50, 0, 0, 0, 0, 0]);
  hello.writeUInt16BE(spProtocols[protocol], 4);
  return hello;
}

/** What stands before the body of a message. */
export function frameHead(bytes: number, isIpc: boolean): Buffer {
  const head = Buffer.alloc(isIpc ? 9 : 8);
  if (isIpc) head[0] = ipcMark;
  head.writeUInt32BE(bytes, head.length - 4);
  return head;
}

/** A message of ipc in one piece. */
export function ipcFrame(header: Buffer, body: Buffer): Buffer {
  const bytes = header.length + body.length;
  const frame = Buffer.allocUnsafe(9 + bytes);
  frame[0] = ipcMark;
  frame.writeUInt32BE(0, 1);
  frame.writeUInt32BE(bytes, 5);
  header.copy(frame, 9);
  body.copy(frame, 9 + header.length);
  return frame;
}

/** Cuts what comes from the other side into its hello and messages. */
export class SpReader {
  #parts: Buffer[] = [];
  #bytes = 0;
  /** Bytes that the next step takes: the hello, a head, a message. */
  #need = helloBytes;
  /** Bytes of the message under way; undefined before its head is there. */
  #length: number | undefined;
  #isGreeted = false;

  constructor(
    private readonly isIpc: boolean,
    /** Protocol that the other side must speak. */
    private readonly peer: SpProtocol,
    private readonly greeted: () => void,
    private readonly take: (message: Buffer) => void,
  ) {}

  /** Throws when the other side does not keep to the protocol. */
  read(bytes: Buffer): void {
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes < this.#need) return;
    const whole = this.#parts.length === 1 ? bytes : Buffer.concat(this.#parts);
    const headBytes = this.isIpc ? 9 : 8;
    let at = 0;
    while (whole.length - at >= this.#need) {
      const begin = at;
      at += this.#need;
      if (this.#length !== undefined) {
        this.#length = undefined;
        this.#need = headBytes;
        this.take(whole.subarray(begin, at));
      } else if (this.#isGreeted) {
        this.#length = this.#lengthAt(whole, begin);
        this.#need = this.#length;
      } else {
        this.#greet(whole.subarray(begin, at));
        this.#need = headBytes;
      }
    }
    this.#parts = at < whole.length ? [whole.subarray(at)] : [];
    this.#bytes = whole.length - at;
  }

  #greet(hello: Buffer): void {
    const isHello = hello[0] === 0 && hello[1] === 0x53 && hello[2] === 0x50 && hello[3] === 0;
    if (!isHello) throw spErrors.connection('the other side does not speak SP (nng)');
    const protocol = hello.readUInt16BE(4);
    if (protocol !== spProtocols[this.peer]) {
      throw spErrors.connection(
        `the other side speaks protocol ${protocol}, not ${this.peer} (${spProtocols[this.peer]})`,
      );
    }
    this.#isGreeted = true;
    this.greeted();
  }

  #lengthAt(bytes: Buffer, at: number): number {
    if (this.isIpc && bytes[at] !== ipcMark)
      throw spErrors.connection('the other side has sent a frame of no known kind');
    const from = this.isIpc ? at + 1 : at;
    const length = bytes.readUInt32BE(from) * 2 ** 32 + bytes.readUInt32BE(from + 4);
    if (length > maxMessageBytes) {
      throw spErrors.connection(`a message has ${length} bytes, more than ${maxMessageBytes}`);
    }
    return length;
  }
}
