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
  head.writeBigUInt64BE(BigInt(bytes), isIpc ? 1 : 0);
  return head;
}

/** Cuts what comes from the other side into its hello and messages. */
export class SpReader {
  #parts: Buffer[] = [];
  #bytes = 0;
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
    for (;;) {
      const need = this.#length ?? (this.#isGreeted ? (this.isIpc ? 9 : 8) : helloBytes);
      if (this.#bytes < need) return;
      const piece = this.#cut(need);
      if (this.#length !== undefined) {
        this.#length = undefined;
        this.take(piece);
      } else if (this.#isGreeted) this.#length = this.#lengthIn(piece);
      else this.#greet(piece);
    }
  }

  #cut(count: number): Buffer {
    const whole = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    const rest = whole.subarray(count);
    this.#parts = rest.length > 0 ? [rest] : [];
    this.#bytes = rest.length;
    return whole.subarray(0, count);
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

  #lengthIn(head: Buffer): number {
    if (this.isIpc && head[0] !== ipcMark)
      throw spErrors.connection('the other side has sent a frame of no known kind');
    const length = head.readBigUInt64BE(this.isIpc ? 1 : 0);
    if (length > BigInt(maxMessageBytes)) {
      throw spErrors.connection(`a message has ${length} bytes, more than ${maxMessageBytes}`);
    }
    return Number(length);
  }
}
