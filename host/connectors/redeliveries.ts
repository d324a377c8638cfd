/**
 * What a broker sends again in a session. It has to repeat each message that it has no acknowledgement for when a
 * connection begins, with the same packet id and the flag DUP, although the message may be at work here, in a log, or
 * its acknowledgement under way. Such a packet is taken out of the connection and left as the acknowledgement that it
 * is to become, in its place.
 *
 * A message that is new is never taken for a redelivery: a packet without DUP is new, except for what a broker that was
 * killed has forgotten to have sent, and so is one whose topic, payload or properties are others.
 *
 * With QoS 2 the broker says when an id is free (PUBREL): until then no other message can have it, so the same message
 * under the same id is a redelivery. With QoS 1 an id whose acknowledgement has arrived is forgotten: the broker has
 * answered a ping that was sent behind it. One case is left: an equal message under the same id, first sent on a
 * connection that broke, while the acknowledgement of the one before was under way. It takes a broker that gives an id
 * again at once, where others count up to 65,535; from such a broker only what was not acknowledged is taken for
 * redelivered.
 */
import { createHash, randomUUID } from 'node:crypto';
import { isNamed, PacketReader, publish } from './packet-reader.js';
import { idOf, printOf } from './publish-print.js';
import { idIn, received } from './receipts.js';

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
  readonly isExactlyOnce: boolean;
}

/** A packet that came again, in the bytes of the connection, and what stands for it. */
interface Replaced {
  readonly at: number;
  readonly end: number;
  readonly mark: Uint8Array;
}

/** A message that a log of an earlier run has, by what the log keeps of it; id 0: it only counts. */
export interface Recovered {
  readonly id: number;
  readonly print: number;
  readonly isExactlyOnce: boolean;
}

const connack = 2;
const pubrel = 6;
/** Stand for messages that came again. */
const puback = 0x40;
const pubrec = 0x50;
const dup = 8;
/** Of QoS 2. */
const exactlyOnce = 4;
/** An id that was given so many messages ago may be given again. */
const longAgo = 32_768;
const nothing: readonly Uint8Array[] = [];

export class Redeliveries<O extends Origin> {
  /** In the order in which they came; what the broker can't send again is not here. */
  readonly #known = new Map<number, Known<O>>();
  /** The same of QoS 2: until the broker has freed the id. */
  readonly #received = new Map<number, Known<O>>();
  /** Answers to the broker that has freed them, until that is safe. */
  readonly #freeing = new Map<Known<O>, () => void>();
  /** In the order of the connection. */
  #passed: Passed[] = [];
  /** Of these the kernel has taken so many. */
  #named = 0;
  /** The last one with each id, of those that it has not taken. */
  readonly #passedLast = new Map<number, Passed>();
  readonly #reader: PacketReader;
  #replaced: Replaced[] = [];
  /** Of the packet that has begun the kernel has nothing, since it may be a redelivery. */
  #isHeld = false;
  /** All that has come on this connection so far is known, or marked as redelivered. */
  #mayFallBack = false;
  #connection = 0;
  /** Number behind the last message that was acknowledged on this connection, and when it was pinged. */
  #acknowledged = 0;
  #asked = 0;
  /** Messages so far. */
  count = 0;
  /** Messages that came again and were not passed on. */
  redelivered = 0;
  /** Names the session in logs, with that of client and broker before it. */
  session: string;
  readonly #of: string;
  /** The broker gives an id again as soon as it has its acknowledgement. */
  reusesIds = false;
  /** Called when the broker has begun a new session: what was known counts no more. */
  onForgotten: () => void = () => {};
  /** Called when the broker has acknowledgements for sure. */
  onSettled: () => void = () => {};
  /** Makes it safe that the broker has freed an id, and calls back then. */
  keepFreed: (id: number, kept: () => void) => void = (_id, kept) => kept();

  /** @param of names client and broker */
  constructor(
    of: string,
    maxMessageBytes: number,
    readonly version: 4 | 5,
  ) {
    this.#of = `${createHash('sha256').update(of).digest('hex').slice(0, 16)} `;
    this.session = this.#newSession();
    this.#reader = new PacketReader(maxMessageBytes, {
      wants: (head) => isNamed(head) || head >> 4 === connack,
      packet: (input, at, body, end) => this.#packet(input, at, body, end),
      // The kernel names it.
      tooLong: (head) => {
        if (isNamed(head)) this.#pass({ id: 0, print: 0, isExactlyOnce: false });
      },
    });
  }

  #newSession(): string {
    return this.#of + randomUUID();
  }

  /** Takes the next bytes of the connection, and returns what is to be passed on of them, valid as long as they are. */
  sift(bytes: Uint8Array): readonly Uint8Array[] {
    this.#replaced = [];
    const wasHeld = this.#isHeld;
    const piece = this.#reader.read(bytes);
    if (piece === undefined) return wasHeld ? nothing : [bytes];
    const { input, before, rest } = piece;
    const out: Uint8Array[] = [];
    let from = wasHeld ? 0 : before;
    for (const { at, end, mark } of this.#replaced) {
      if (at > from) out.push(input.subarray(from, at));
      out.push(mark);
      from = end;
    }
    this.#isHeld = rest < input.length && this.#mayBeRepeated(input[rest]!);
    const to = this.#isHeld ? rest : input.length;
    if (to > from) out.push(input.subarray(from, to));
    return out;
  }

  #mayBeRepeated(head: number): boolean {
    if (!isNamed(head)) return false;
    return (head & (dup | exactlyOnce)) !== 0 || this.#mayFallBack;
  }

  #packet(input: Buffer, at: number, body: number, end: number): void {
    const head = input[at]!;
    if (head >> 4 !== publish) {
      this.#begins(((input[body] ?? 0) & 1) !== 0);
      return;
    }
    const id = idOf(input, body);
    const print = printOf(input, body, end, this.version);
    const isExactlyOnce = (head & exactlyOnce) !== 0;
    if (this.#isRepeated(head, id, print)) {
      const mark = Buffer.from([isExactlyOnce ? pubrec : puback, 2, id >> 8, id & 255]);
      this.#replaced.push({ at, end, mark });
    } else this.#pass({ id, print, isExactlyOnce });
  }

  /** The kernel gets it. */
  #pass(passed: Passed): void {
    this.#passed.push(passed);
    this.#passedLast.set(passed.id, passed);
  }

  #isRepeated(head: number, id: number, print: number): boolean {
    const isAgain = (head & dup) !== 0;
    if ((head & exactlyOnce) !== 0) return this.#isReceived(id, print, isAgain);
    return isAgain ? this.#isKnown(id, print) : this.#isFallenBack(id, print);
  }

  /** A message of QoS 2 whose id is not free. */
  #isReceived(id: number, print: number, isAgain: boolean): boolean {
    const passed = this.#passedLast.get(id);
    const known = passed === undefined ? this.#received.get(id) : undefined;
    const before = passed?.isExactlyOnce === false ? undefined : (passed ?? known);
    // Who says that it is sent again need not show it: an alias stands for a topic on one connection alone.
    const isSame = before?.print === print || (isAgain && before !== undefined && (print === 0 || before.print === 0));
    if (isAgain || known === undefined || known.connection === this.#connection) {
      if (!isAgain && !isSame) this.#mayFallBack = false;
      return isSame;
    }
    this.#mayFallBack = this.#mayFallBack && isSame && print !== 0;
    return this.#mayFallBack;
  }

  #isKnown(id: number, print: number): boolean {
    if (print === 0) return false;
    const passed = this.#passedLast.get(id);
    if (passed !== undefined) return passed.print === print;
    const known = this.#known.get(id);
    if (known?.print !== print) return false;
    if (!known.isAcknowledged) return true;
    return !this.reusesIds && this.count - known.number < longAgo;
  }

  /**
   * Whether a broker that was killed has gone back to what it had on disk, and sends once more, as if for the first
   * time, what it sent before. An id without acknowledgement can't be given to another message meanwhile. It does so
   * before anything that is new.
   */
  #isFallenBack(id: number, print: number): boolean {
    if (!this.#mayFallBack) return false;
    const known = print === 0 || this.#passedLast.has(id) ? undefined : this.#known.get(id);
    this.#mayFallBack = known?.print === print && known.connection !== this.#connection;
    return this.#mayFallBack && !known!.isAcknowledged;
  }

  #begins(hasSession: boolean): void {
    this.#mayFallBack = hasSession;
    if (hasSession) return;
    this.#known.clear();
    this.#received.clear();
    this.#dropPassed();
    this.session = this.#newSession();
    this.onForgotten();
  }

  /** A new connection: what had not come to the kernel will come again. */
  reset(): void {
    this.#dropPassed();
    this.#reader.reset();
    this.#isHeld = false;
    this.#mayFallBack = false;
    this.#connection++;
    this.#acknowledged = 0;
    this.#asked = 0;
  }

  #dropPassed(): void {
    this.#passed = [];
    this.#named = 0;
    this.#passedLast.clear();
  }

  /** The kernel has taken messages; these receipts are owed for them. */
  taken(receipts: Uint32Array, origin: O | undefined): void {
    for (const receipt of receipts) {
      const id = idIn(receipt);
      const passed = this.#passed[this.#named++];
      if (passed !== undefined && this.#passedLast.get(passed.id) === passed) this.#passedLast.delete(passed.id);
      this.#note(id, (receipt & received) !== 0, passed?.id === id ? passed.print : 0, origin);
    }
    if (this.#named > 1024 || this.#named >= this.#passed.length) {
      this.#passed = this.#passed.slice(this.#named);
      this.#named = 0;
    }
    forgetBefore(this.#known, this.count - longAgo);
    // A broker that has not freed an id after so many has forgotten it.
    forgetBefore(this.#received, this.count - longAgo);
  }

  #note(id: number, isExactlyOnce: boolean, print: number, origin: O | undefined): void {
    const before = this.#known.get(id);
    if (before?.connection === this.#connection && this.count - before.number < longAgo) this.reusesIds = true;
    const number = this.count++;
    this.#keep(id, isExactlyOnce, { print, number, origin, connection: this.#connection, isAcknowledged: false });
  }

  /** An id stands for one message, and the messages stand in the order in which they came. */
  #keep(id: number, isExactlyOnce: boolean, known: Known<O>): void {
    this.#known.delete(id);
    this.#received.delete(id);
    (isExactlyOnce ? this.#received : this.#known).set(id, known);
  }

  /** Takes a message that a log of an earlier run has. */
  recover({ id, print, isExactlyOnce }: Recovered, session: string): void {
    const number = this.count++;
    if (!this.#recoversFrom(session)) return;
    const known = this.#known.get(id) ?? this.#received.get(id);
    if (id === 0 || (known?.connection ?? -1) >= 0) return;
    this.#keep(id, isExactlyOnce, { print, number, origin: undefined, connection: -1, isAcknowledged: true });
    // What was forgotten already may stand in a file beside what was not.
    forgetBefore(this.#received, this.count - longAgo);
  }

  /** Takes ids that the broker had freed, as a log of an earlier run has them. */
  recoverFreed(ids: readonly number[], session: string): void {
    if (!this.#recoversFrom(session)) return;
    for (const id of ids) if (this.#received.get(id)?.connection === -1) this.#received.delete(id);
  }

  #recoversFrom(session: string): boolean {
    if (!session.startsWith(this.#of)) return false;
    if (session === this.session) return true;
    // What comes now is of a session that is known better.
    if (this.#connection > 0) return false;
    this.#known.clear();
    this.#received.clear();
    this.session = session;
    return true;
  }

  /** The receipt that a packet which came out of `sift` stands for; 0: it is another packet. */
  redeliveredIn(packet: Uint8Array): number {
    if ((packet[0] !== puback && packet[0] !== pubrec) || packet.length < 4) return 0;
    return (packet[0] === pubrec ? received : 0) | (packet[2]! << 8) | packet[3]!;
  }

  /** What a message waits for that came again; undefined: for nothing. */
  originOf(receipt: number): O | undefined {
    this.redelivered++;
    const known = (receipt & received) !== 0 ? this.#received : this.#known;
    return known.get(idIn(receipt))?.origin;
  }

  /** The id that the broker frees with a packet; 0: it is another packet. */
  freedIn(packet: Uint8Array): number {
    return packet[0]! >> 4 === pubrel && packet.length >= 4 ? (packet[2]! << 8) | packet[3]! : 0;
  }

  /**
   * The broker has freed an id: calls back when that is safe, unless the connection is another one then. What stands
   * for nothing needs no log, and the same again no second entry: a broker may say either as fast as it likes.
   */
  freed(id: number, answer: () => void): void {
    const known = this.#received.get(id);
    if (known === undefined) {
      answer();
      return;
    }
    const connection = this.#connection;
    const isUnderWay = this.#freeing.has(known);
    this.#freeing.set(known, () => connection === this.#connection && answer());
    if (isUnderWay) return;
    this.keepFreed(id, () => {
      if (this.#received.get(id) === known) this.#received.delete(id);
      this.#freeing.get(known)?.();
      this.#freeing.delete(known);
    });
  }

  /** These receipts are sent. */
  acknowledged(receipts: Uint32Array): void {
    for (const receipt of receipts) {
      const known = this.#known.get(receipt);
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
    forgetBefore(this.#known, this.#asked);
    this.onSettled();
  }

  /** Number of the first message that the broker may send again, with QoS 1. */
  get settled(): number {
    return firstOf(this.#known) ?? this.count;
  }

  /** Number of the first message of QoS 2 whose id is not free. */
  get firstReceived(): number {
    return firstOf(this.#received) ?? this.count;
  }
}

type Numbered = { readonly number: number };

function forgetBefore(messages: Map<number, Numbered>, number: number): void {
  for (const [id, known] of messages) {
    if (known.number >= number) return;
    messages.delete(id);
  }
}

function firstOf(messages: ReadonlyMap<number, Numbered>): number | undefined {
  for (const { number } of messages.values()) return number;
  return undefined;
}
