/** What the server says of a message of a stream, which is in the subject that it is acknowledged on. */
export interface Delivered {
  /** Number of the delivery, 1 for the first. */
  readonly count: number;
  /** Number of the message in its stream. */
  readonly sequence: number;
  /** When the stream got the message, epoch ms. */
  readonly time: number;
}

/** Reads `$JS.ACK.[domain.account.]stream.consumer.count.sequence.of consumer.time.pending[.token]`. */
export function deliveredIn(reply: string): Delivered {
  const parts = reply.split('.');
  const at = parts.length === 9 ? 4 : 6;
  return {
    count: Number(parts[at]),
    sequence: Number(parts[at + 1]),
    time: Number(parts[at + 3]?.slice(0, -6)),
  };
}
