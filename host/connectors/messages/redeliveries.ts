/**
 * Finds the redeliveries of an MQTT broker in a session. When a connection begins, the broker has to repeat each
 * message that has no acknowledgement, with the same packet id and the flag DUP. Such a message may still be at work
 * here or in a log, or its acknowledgement may be under way. Its packet is taken out of the connection, and replaced by
 * the acknowledgement that the broker waits for.
 *
 * A new message is never taken for a redelivery. A packet without DUP is new, unless a broker that was killed has
 * forgotten that it sent the message before. A packet with another topic, payload or other properties is new, too.
 *
 * With QoS 2 the broker says when an id is free (PUBREL). Until then no other message can have the id, so the same
 * message under the same id is a redelivery. With QoS 1 an id is forgotten once its acknowledgement has arrived: the
 * broker has answered a ping that was sent behind it.
 *
 * One case is left: an equal message under the same id, first sent on a connection that broke, while the
 * acknowledgement of the message before was under way. Only a broker that reuses an id at once can cause it; other
 * brokers count up to 65,535 first. From a broker that reuses ids, only messages without acknowledgement are taken for
 * redeliveries.
 */
import { createHash, randomUUID } from 'node:crypto';
import { isNamed, PacketReader, publish } from '../../base/mqtt/packet-reader.js';
import { idOf, printOf } from '../../base/mqtt/publish-print.js';
import { idIn, received } from './receipts.js';

/** The input that a message belongs to; the message is acknowledged when all results of that input are safe. */
export interface Origin {
  readonly isSafe: boolean;
}

interface Known<O> {
  /** Fingerprint of topic, properties and payload; 0 when unknown. */
  readonly print: number;
  /** Number of messages that were counted before this one. */
  readonly number: number;
  /** Input that the message belongs to; undefined when an earlier run had made the message safe. */
  readonly origin: O | undefined;
  /** Number of the connection that brought the message; -1 for an earlier run. */
  readonly connection: number;
  isAcknowledged: boolean;
}

/** A message that the kernel has not taken yet. */
interface Passed {
  readonly id: number;
  readonly print: number;
  readonly isExactlyOnce: boolean;
}

/** A redelivered packet, by its place in the input, and the acknowledgement that replaces it. */
interface Replaced {
  readonly at: number;
  readonly end: number;
  readonly mark: Uint8Array;
}

/** A message that the log of an earlier run holds; with id 0 the message is only counted. */
export interface Recovered {
  readonly id: number;
  readonly print: number;
  readonly isExactlyOnce: boolean;
}

const connack = 2;
const pubrel = 6;
/** First bytes of the packets that replace redelivered messages: of QoS 1 (PUBACK) and of QoS 2 (PUBREC). */
const puback = 0x40;
const pubrec = 0x50;
const dup = 8;
/** Bit in the first byte of a PUBLISH packet of QoS 2. */
const exactlyOnce = 4;
/** Number of messages after which a broker may reuse a packet id. */
const longAgo = 32_768;
const nothing: readonly Uint8Array[] = [];

export class Redeliveries<O extends Origin> {
  /** Messages of QoS 1 that the broker may send again, by packet id, in order of arrival. */
  readonly #known = new Map<number, Known<O>>();
  /** Messages of QoS 2 whose id the broker has not freed, by packet id, in order of arrival. */
  readonly #received = new Map<number, Known<O>>();
  /** Answers to PUBREL packets, by message, that wait until the freed id is kept. */
  readonly #freeing = new Map<Known<O>, () => void>();
  /** Messages that went to the kernel and may not be taken yet, in order of arrival. */
  #passed: Passed[] = [];
  /** Number of entries at the start of `#passed` that the kernel has taken. */
  #named = 0;
  /** The latest message with each packet id, of those that the kernel has not taken. */
  readonly #passedLast = new Map<number, Passed>();
  readonly #reader: PacketReader;
  #replaced: Replaced[] = [];
  /** The packet that has begun is withheld from the kernel, since it may be a redelivery. */
  #isHeld = false;
  /**
   * All messages on this connection so far were known or had DUP, so a broker that was killed may be repeating old
   * ones.
   */
  #mayFallBack = false;
  #connection = 0;
  /** Number behind the last message acknowledged on this connection: now, and when the broker was last pinged. */
  #acknowledged = 0;
  #asked = 0;
  /** Number of messages so far, redeliveries left out. */
  count = 0;
  /** Number of redelivered messages that were not passed on. */
  redelivered = 0;
  /** Name of the session in logs; begins with `#of`. */
  session: string;
  readonly #of: string;
  /** The broker reuses a packet id as soon as it has the acknowledgement. */
  reusesIds = false;
  /** Called when the broker has begun a new session, after all known messages were forgotten. */
  onForgotten: () => void = () => {};
  /** Called when the broker has certainly received the acknowledgements that it was asked about. */
  onSettled: () => void = () => {};
  /** Keeps safely that the broker has freed an id, then calls `kept`. */
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
      // The kernel leaves the message out, but reports a receipt for it.
      tooLong: (head) => {
        if (isNamed(head)) this.#pass({ id: 0, print: 0, isExactlyOnce: false });
      },
    });
  }

  #newSession(): string {
    return this.#of + randomUUID();
  }

  /** Takes the next bytes of the connection, and returns the parts to pass on, which are valid as long as `bytes`. */
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

  /** Notes a message that goes to the kernel. */
  #pass(passed: Passed): void {
    this.#passed.push(passed);
    this.#passedLast.set(passed.id, passed);
  }

  #isRepeated(head: number, id: number, print: number): boolean {
    const isAgain = (head & dup) !== 0;
    if ((head & exactlyOnce) !== 0) return this.#isReceived(id, print, isAgain);
    return isAgain ? this.#isKnown(id, print) : this.#isFallenBack(id, print);
  }

  /** Whether a packet repeats a message of QoS 2 whose id the broker has not freed. */
  #isReceived(id: number, print: number, isAgain: boolean): boolean {
    const passed = this.#passedLast.get(id);
    const known = passed === undefined ? this.#received.get(id) : undefined;
    const before = passed?.isExactlyOnce === false ? undefined : (passed ?? known);
    // With DUP an unknown fingerprint is enough, since a topic alias is valid on one connection only.
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
   * Whether a broker that was killed has gone back to its state on disk, and repeats a message without DUP. An id
   * without acknowledgement can't be given to another message meanwhile. The broker repeats old messages before it
   * sends new ones.
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

  /** A new connection: the broker sends all messages again that the kernel has not taken. */
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

  /** Notes messages that the kernel has taken, by the receipts that are owed for them. */
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
    // A broker that has not freed an id after that many messages has forgotten it.
    forgetBefore(this.#received, this.count - longAgo);
  }

  #note(id: number, isExactlyOnce: boolean, print: number, origin: O | undefined): void {
    const before = this.#known.get(id);
    if (before?.connection === this.#connection && this.count - before.number < longAgo) this.reusesIds = true;
    const number = this.count++;
    this.#keep(id, isExactlyOnce, { print, number, origin, connection: this.#connection, isAcknowledged: false });
  }

  /** Keeps a message as the only one with its id, behind all that came before. */
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
    // A file of the log may hold forgotten messages beside others that still count.
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
    // A connection has begun since, so the current session is known better than the one in the log.
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

  /**
   * Counts a redelivery and returns the input that its message belongs to; undefined when nothing has to be waited for.
   */
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
   * Takes a PUBREL: calls `answer` when the freed id is kept, unless the connection has changed by then. An unknown id
   * needs no entry in the log, and a repeated PUBREL no second one: a broker may send both as fast as it likes.
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

  /** Notes that the receipts were sent to the broker. */
  acknowledged(receipts: Uint32Array): void {
    for (const receipt of receipts) {
      const known = this.#known.get(receipt);
      if (known === undefined) continue;
      known.isAcknowledged = true;
      if (known.number >= this.#acknowledged) this.#acknowledged = known.number + 1;
    }
  }

  /** Notes that the broker was pinged behind all acknowledgements so far. */
  asked(): void {
    this.#asked = this.#acknowledged;
  }

  /** Notes that the broker has answered the ping, so it has the acknowledgements from before. */
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
