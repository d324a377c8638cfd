/**
 * What a broker sends again in a session. It has to repeat each message that it has no acknowledgement for when a
 * connection begins,
 * with the same packet id and the flag DUP, although the message may be at work here, in a log, or its acknowledgement
 * under way.
 * Such a packet is taken out of the connection and left as the acknowledgement that it is to become, in its place.
 *
 * A message that is new is never taken for a repetition: a packet without DUP is new, except for what a broker that was
 * killed has
 * forgotten to have sent, and so is one whose topic, payload or properties are others. An id whose acknowledgement has
 * arrived is forgotten: the broker has answered a ping that was sent behind it. One
 * case is left: an equal message under the same id, first sent on a connection that broke, while the acknowledgement of
 * the one before
 * was under way. It takes a broker that gives an id again at once, where others count up to 65,535; from such a broker
 * only
 * what was not acknowledged is taken for repeated.
 */
import { createHash, randomUUID } from 'node:crypto';
import { idOf, printOf } from './publish-print.js';

/** What a message waits for before its acknowledgement. */
export interface Origin {
  readonly isSafe: boolean;
}

interface Known<O> {
  /** Of its content; 0: unknown. */
  readonly print: number;
  /** Messages before it. */
  readonly number: number;
  /** Undefined: an earlier run had it safe. */
  readonly origin: O | undefined;
  /** The connection on which it came; -1: that of an earlier run. */
  readonly connection: number;
  isAcknowledged: boolean;
}

/** A message that the kernel has not taken yet. */
interface Passed {
  readonly id: number;
  readonly print: number;
}

const connack = 2;
const publish = 3;
const puback = 0x40;
const dup = 8;
/** Topic and properties beside the payload; as the kernel has it. */
const maxHeaderBytes = 131_072;
/** An id that was given so many messages ago may be given again. */
const longAgo = 32_768;
const nothing: readonly Uint8Array[] = [];

export class Repetitions<O extends Origin> {
  /** In the order in which they came; what the broker can't send again is not here. */
  readonly #known = new Map<number, Known<O>>();
  /** In the order of the connection. */
  #passed: Passed[] = [];
  /** Of these the kernel has taken so many. */
  #named = 0;
  /** The begin of a packet, as far as it came, and how much is needed to go on. */
  #parts: Buffer[] = [];
  #partBytes = 0;
  #needed = 0;
  /** Of these bytes the kernel has none, since they may be a repetition. */
  #isHeld = false;
  /** All that has come on this connection so far is known, or marked as repeated. */
  #mayFallBack = false;
  /** Bytes of a packet that is not looked at, still to come. */
  #skip = 0;
  #connection = 0;
  /** Number behind the last message that was acknowledged on this connection, and when it was pinged. */
  #acknowledged = 0;
  #asked = 0;
  /** Messages so far. */
  count = 0;
  /** Messages that came again and were not handed on. */
  repeated = 0;
  /** Names the session in logs, with that of client and broker before it. */
  session: string;
  readonly #of: string;
  /** The broker gives an id again as soon as it has its acknowledgement. */
  reusesIds = false;
  /** Called when the broker has begun a new session: what was known counts no more. */
  onForgotten: () => void = () => {};
  /** Called when the broker has acknowledgements for sure. */
  onSettled: () => void = () => {};

  /** @param of names client and broker */
  constructor(
    of: string,
    private readonly maxMessageBytes: number,
    readonly version: 4 | 5,
  ) {
    this.#of = `${createHash('sha256').update(of).digest('hex').slice(0, 16)} `;
    this.session = this.#newSession();
  }

  #newSession(): string {
    return this.#of + randomUUID();
  }

  /** Takes the next bytes of the connection, and returns what is to be handed on of them, valid as long as they are. */
  sift(bytes: Uint8Array): readonly Uint8Array[] {
    let input = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let from = 0;
    if (this.#parts.length > 0) {
      this.#parts.push(Buffer.from(input));
      const before = this.#partBytes;
      this.#partBytes += input.length;
      if (this.#partBytes < this.#needed) return this.#isHeld ? nothing : [bytes];
      input = Buffer.concat(this.#parts, this.#partBytes);
      from = this.#isHeld ? 0 : before;
      this.#parts = [];
      this.#partBytes = 0;
    }
    const out: Uint8Array[] = [];
    const rest = this.#packets(input, (at, end, marker) => {
      if (at > from) out.push(input.subarray(from, at));
      out.push(marker);
      from = end;
    });
    this.#isHeld = rest < input.length && isRepeated(input[rest]!, this.#mayFallBack);
    if (rest < input.length) {
      this.#parts = [Buffer.from(input.subarray(rest))];
      this.#partBytes = input.length - rest;
    }
    const to = this.#isHeld ? rest : input.length;
    if (to > from) out.push(input.subarray(from, to));
    return out;
  }

  /** Looks at all whole packets; returns where the first begins that is not whole. */
  #packets(input: Buffer, replace: (at: number, end: number, marker: Uint8Array) => void): number {
    let at = Math.min(this.#skip, input.length);
    this.#skip -= at;
    while (at < input.length) {
      const head = input[at]!;
      let length = 0;
      let body = at + 1;
      for (let shift = 0; ; shift += 7) {
        const byte = input[body++];
        if (byte === undefined) {
          this.#needed = body - at;
          return at;
        }
        length |= (byte & 0x7f) << shift;
        if (byte < 0x80 || shift === 21) break;
      }
      const end = body + length;
      const isMessage = head >> 4 === publish && (head & 6) !== 0;
      const isTooLong = isMessage && length > this.maxMessageBytes + maxHeaderBytes;
      if (isTooLong || !(isMessage || head >> 4 === connack)) {
        // The kernel leaves it out, but names it.
        if (isTooLong) this.#passed.push({ id: 0, print: 0 });
        this.#skip = Math.max(0, end - input.length);
        at = Math.min(end, input.length);
        continue;
      }
      if (end > input.length) {
        this.#needed = end - at;
        return at;
      }
      if (isMessage) {
        const id = idOf(input, body);
        const print = printOf(input, body, end, this.version);
        if ((head & dup) !== 0 ? this.#isKnown(id, print) : this.#isFallenBack(id, print))
          replace(at, end, Buffer.from([puback, 2, id >> 8, id & 255]));
        else this.#passed.push({ id, print });
      } else if (head >> 4 === connack) this.#begins(((input[body] ?? 0) & 1) !== 0);
      at = end;
    }
    return at;
  }

  #isKnown(id: number, print: number): boolean {
    if (print === 0) return false;
    for (let i = this.#passed.length - 1; i >= this.#named; i--) {
      if (this.#passed[i]!.id === id) return this.#passed[i]!.print === print;
    }
    const known = this.#known.get(id);
    if (known?.print !== print) return false;
    if (!known.isAcknowledged) return true;
    return !this.reusesIds && this.count - known.number < longAgo;
  }

  /**
   * Whether a broker that was killed has gone back to what it had on disk, and sends once more, as if for the first
   * time, what it sent
   * before. An id without acknowledgement can't be given to another message meanwhile. It does so before anything that
   * is new.
   */
  #isFallenBack(id: number, print: number): boolean {
    if (!this.#mayFallBack) return false;
    const isHere = this.#passed.some((passed, i) => i >= this.#named && passed.id === id);
    const known = print === 0 || isHere ? undefined : this.#known.get(id);
    this.#mayFallBack = known?.print === print && known.connection !== this.#connection;
    return this.#mayFallBack && !known!.isAcknowledged;
  }

  #begins(hasSession: boolean): void {
    this.#mayFallBack = hasSession;
    if (hasSession) return;
    this.#known.clear();
    this.#passed = [];
    this.#named = 0;
    this.session = this.#newSession();
    this.onForgotten();
  }

  /** A new connection: what had not come to the kernel will come again. */
  reset(): void {
    this.#passed = [];
    this.#named = 0;
    this.#parts = [];
    this.#partBytes = 0;
    this.#isHeld = false;
    this.#skip = 0;
    this.#mayFallBack = false;
    this.#connection++;
    this.#acknowledged = 0;
    this.#asked = 0;
  }

  /** The kernel has taken messages with these ids. */
  taken(packetIds: Uint16Array, origin: O | undefined): void {
    for (const id of packetIds) {
      const passed = this.#passed[this.#named++];
      this.#note(id, passed?.id === id ? passed.print : 0, origin);
    }
    if (this.#named > 1024 || this.#named >= this.#passed.length) {
      this.#passed = this.#passed.slice(this.#named);
      this.#named = 0;
    }
    this.#forgetBefore(this.count - longAgo);
  }

  #note(id: number, print: number, origin: O | undefined): void {
    const before = this.#known.get(id);
    if (before !== undefined) {
      if (before.connection === this.#connection && this.count - before.number < longAgo) this.reusesIds = true;
      // They stand in the order in which they came.
      this.#known.delete(id);
    }
    const number = this.count++;
    this.#known.set(id, { print, number, origin, connection: this.#connection, isAcknowledged: false });
  }

  /** Takes a message that a log of an earlier run has, by what the log keeps of it; id 0: it only counts. */
  recover(id: number, print: number, session: string): void {
    const number = this.count++;
    if (!session.startsWith(this.#of)) return;
    if (session !== this.session) {
      // What comes now is of a session that is known better.
      if (this.#connection > 0) return;
      this.#known.clear();
      this.session = session;
    }
    if (id === 0 || (this.#known.get(id)?.connection ?? -1) >= 0) return;
    this.#known.delete(id);
    this.#known.set(id, { print, number, origin: undefined, connection: -1, isAcknowledged: true });
  }

  /** The id that a packet which came out of `sift` stands for; 0: it is another packet. */
  repeatedIn(packet: Uint8Array): number {
    return packet[0] === puback && packet.length >= 4 ? (packet[2]! << 8) | packet[3]! : 0;
  }

  /** What a message waits for that came again; undefined: for nothing. */
  originOf(id: number): O | undefined {
    this.repeated++;
    return this.#known.get(id)?.origin;
  }

  /** Their acknowledgements are sent. */
  acknowledged(packetIds: Uint16Array): void {
    for (const id of packetIds) {
      const known = this.#known.get(id);
      if (known === undefined) continue;
      known.isAcknowledged = true;
      if (known.number >= this.#acknowledged) this.#acknowledged = known.number + 1;
    }
  }

  /** The broker is asked whether it has all acknowledgements so far. */
  asked(): void {
    this.#asked = this.#acknowledged;
  }

  /** It has. */
  answered(): void {
    this.#forgetBefore(this.#asked);
    this.onSettled();
  }

  #forgetBefore(number: number): void {
    for (const [id, known] of this.#known) {
      if (known.number >= number) return;
      this.#known.delete(id);
    }
  }

  /** Number of the first message that the broker may send again. */
  get settled(): number {
    for (const { number } of this.#known.values()) return number;
    return this.count;
  }
}

function isRepeated(head: number, maySayNothing: boolean): boolean {
  return head >> 4 === publish && (head & 6) !== 0 && ((head & dup) !== 0 || maySayNothing);
}
