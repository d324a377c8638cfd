/**
 * Messages that an input log keeps to know them when their broker sends them again in a later run. Messages stay on
 * disk for a while after they are out; those that were never stored get a record.
 */
import { idOf, printOf } from '../../../../base/mqtt/publish-print.js';
import type { Origin, Recovered, Redeliveries } from '../../../../connectors/messages/redeliveries.js';
import type { Item } from '../../queue/item.js';

/**
 * First byte of a record, which no packet begins with. Packet id and print follow, and 2 where the message is of QoS 2
 * (left out in earlier releases). A record without a message is followed by ids that the broker has freed.
 */
const record = 0;
const recordBytes = 12;
/** Bytes on disk beyond which sent messages go, and beyond which those whose ids are not free go as well. */
const mostBytes = 64 * 1024 * 1024;
const mostReceivedBytes = 512 * 1024 * 1024;

/** Store in which messages are kept. */
interface Store {
  readonly diskBytes: number;
  keepFrom(message: number): void;
}

/** Remark on an item of the log. */
type Remark = Readonly<Record<string, unknown>>;

export class KnownMessages {
  /** Difference between a message's number in the connection and in the log. */
  #offset = 0;

  constructor(private readonly redeliveries: Redeliveries<Origin>) {}

  /** Remark that is stored with each item. */
  get remark(): Remark {
    const { session, reusesIds } = this.redeliveries;
    return reusesIds ? { session, reusesIds } : { session };
  }

  /** Learns the messages that an earlier run left. */
  recover({ items, lost }: { readonly items: readonly Item[]; readonly lost: number }): void {
    this.redeliveries.count += lost;
    for (const { bytes, ends, messages, values } of items) {
      const session = String(values?.session ?? '');
      if (values?.reusesIds === true) this.redeliveries.reusesIds = true;
      let from = 0;
      for (let i = 0; i < messages; i++) {
        const end = ends?.[i] ?? from;
        this.redeliveries.recover(messageIn(bytes, from, end, this.redeliveries.version), session);
        this.redeliveries.recoverFreed(freedIn(bytes, from, end), session);
        from = end;
      }
    }
  }

  /** Notes the number in the log behind the latest message. */
  at(number: number): void {
    this.#offset = this.redeliveries.count - number;
  }

  /** Lets the store remove messages that can't be sent again. */
  settle(store: Store): void {
    const { settled, firstReceived } = this.redeliveries;
    const { diskBytes } = store;
    const first = Math.min(
      diskBytes > mostBytes ? Number.POSITIVE_INFINITY : settled,
      diskBytes > mostReceivedBytes ? Number.POSITIVE_INFINITY : firstReceived,
    );
    store.keepFrom(first - this.#offset);
  }

  /** Counts an entry of the log that is no message of the connection. */
  numbered(): void {
    this.redeliveries.count++;
  }

  /** Returns records in the place of the messages. */
  recordsOf(item: Item): Item {
    const ends = item.ends ?? new Uint32Array(item.messages);
    const bytes = Buffer.alloc(item.messages * recordBytes);
    let from = 0;
    ends.forEach((end, i) => {
      const { id, print, isExactlyOnce } = messageIn(item.bytes, from, end, this.redeliveries.version);
      bytes[i * recordBytes] = record;
      bytes.writeUInt16BE(id, i * recordBytes + 1);
      bytes.writeDoubleBE(print, i * recordBytes + 3);
      bytes[i * recordBytes + 11] = isExactlyOnce ? 2 : 0;
      from = end;
    });
    return { ...item, bytes, ends: ends.map((_end, i) => (i + 1) * recordBytes), values: this.remark };
  }
}

/** The messages of an item, without records. */
export function packetsIn({ bytes, ends, values }: Item): Buffer {
  // Items that may have records have a remark.
  if (ends === null || values === undefined) return bytes;
  const parts: Buffer[] = [];
  let from = 0;
  for (const end of ends) {
    if (end > from && bytes[from] !== record) parts.push(bytes.subarray(from, end));
    from = end;
  }
  return parts.length === ends.length ? bytes : Buffer.concat(parts);
}

/** Mark that says that the broker has freed the ids. */
export function freedMark(ids: readonly number[]): Buffer {
  const bytes = Buffer.alloc(recordBytes + ids.length * 2);
  bytes[0] = record;
  ids.forEach((id, i) => void bytes.writeUInt16BE(id, recordBytes + i * 2));
  return bytes;
}

function freedIn(bytes: Buffer, from: number, end: number): number[] {
  const ids: number[] = [];
  if (bytes[from] !== record) return ids;
  for (let at = from + recordBytes; at + 2 <= end; at += 2) ids.push(bytes.readUInt16BE(at));
  return ids;
}

/** A message that was too long has no bytes, and no id. */
function messageIn(bytes: Buffer, from: number, end: number, version: 4 | 5): Recovered {
  if (end <= from) return { id: 0, print: 0, isExactlyOnce: false };
  const head = bytes[from]!;
  if (head === record) {
    const isExactlyOnce = end - from >= recordBytes && bytes[from + 11] === 2;
    return { id: bytes.readUInt16BE(from + 1), print: bytes.readDoubleBE(from + 3), isExactlyOnce };
  }
  let body = from + 1;
  while (body < end && (bytes[body]! & 0x80) !== 0) body++;
  body++;
  return { id: idOf(bytes, body), print: printOf(bytes, body, end, version), isExactlyOnce: (head & 4) !== 0 };
}
