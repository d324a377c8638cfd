/** Fingerprints of PUBLISH packets: a redelivery has the same one, whatever the broker changes in the packet. */

const expiry = 0x02;
const topicAlias = 0x23;
/** Bytes of properties with a fixed length; texts have two bytes of length, pairs twice. */
const fixed: Readonly<Record<number, number>> = { 1: 1, 2: 4, 35: 2 };
const texts: Readonly<Record<number, number>> = { 3: 1, 8: 1, 9: 1, 38: 2 };
const subscription = 0x0b;

/** Packet id of a PUBLISH whose body begins there, of QoS 1 or 2; 0 when it has none. */
export function idOf(bytes: Buffer, body: number): number {
  if (body + 2 > bytes.length) return 0;
  const at = body + 2 + bytes.readUInt16BE(body);
  return at + 2 > bytes.length ? 0 : bytes.readUInt16BE(at);
}

/** Fingerprint of topic, properties and payload; 0 when the packet does not show all of them. */
export function printOf(bytes: Buffer, body: number, end: number, version: 4 | 5): number {
  const topic = body + 2;
  if (topic > end) return 0;
  const afterTopic = topic + bytes.readUInt16BE(body);
  // A topic alias in place of the topic is valid on one connection only.
  if (afterTopic === topic || afterTopic + 2 > end) return 0;
  const hash = new Hash();
  hash.add(bytes, topic, afterTopic);
  let at = afterTopic + 2;
  if (version === 5) {
    at = addProperties(hash, bytes, at, end);
    if (at < 0) return 0;
  }
  hash.add(bytes, at, end);
  return hash.value;
}

/**
 * The end of the properties; -1 when they are malformed. The broker counts down how long a message is good for, and
 * renames topics.
 */
function addProperties(hash: Hash, bytes: Buffer, from: number, end: number): number {
  const length = numberAt(bytes, from, end);
  if (length.end < 0 || length.end + length.value > end) return -1;
  const to = length.end + length.value;
  for (let at = length.end; at < to; ) {
    const next = propertyEnd(bytes, at, to);
    if (next < 0) return -1;
    if (bytes[at] !== expiry && bytes[at] !== topicAlias) hash.add(bytes, at, next);
    at = next;
  }
  return to;
}

function propertyEnd(bytes: Buffer, from: number, end: number): number {
  const kind = bytes[from]!;
  let at = from + 1;
  if (kind === subscription) return numberAt(bytes, at, end).end;
  if (kind in fixed) at += fixed[kind]!;
  else if (kind in texts) {
    for (let left = texts[kind]!; left > 0; left--) {
      if (at + 2 > end) return -1;
      at += 2 + bytes.readUInt16BE(at);
    }
  } else return -1;
  return at > end ? -1 : at;
}

/** A number of one to four bytes of seven bits, lowest first; its end is -1 when it has none. */
function numberAt(bytes: Buffer, from: number, end: number): { value: number; end: number } {
  let value = 0;
  for (let at = from, shift = 0; at < end && shift < 28; shift += 7) {
    const byte = bytes[at++]!;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return { value, end: at };
  }
  return { value: 0, end: -1 };
}

/** Two hashes of 32 bits, of which 52 bits are used; no secret depends on it. */
class Hash {
  #a = 0x9e3779b1 | 0;
  #b = 0x85ebca77 | 0;

  add(bytes: Uint8Array, from: number, to: number): void {
    let a = this.#a;
    let b = this.#b;
    let at = from;
    for (; at + 4 <= to; at += 4) {
      const word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
      a = Math.imul(a ^ word, 0x9e3779b1);
      a ^= a >>> 15;
      b = Math.imul(b + word, 0x85ebca6b);
      b ^= b >>> 13;
    }
    for (; at < to; at++) {
      a = Math.imul(a ^ bytes[at]!, 0x01000193);
      b = Math.imul(b + bytes[at]!, 0xc2b2ae35);
      b ^= b >>> 16;
    }
    // Where one part ends and the next begins counts, too.
    this.#a = Math.imul(a ^ (to - from), 0x27d4eb2f);
    this.#b = Math.imul(b + (to - from), 0x165667b1);
  }

  /** Never 0. */
  get value(): number {
    const a = this.#a ^ (this.#a >>> 16);
    const b = this.#b ^ (this.#b >>> 15);
    return (a >>> 0) * 0x100000 + (b >>> 12) + 1;
  }
}
