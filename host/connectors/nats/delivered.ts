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
  let dots = 0;
  for (let at = reply.indexOf('.'); at >= 0; at = reply.indexOf('.', at + 1)) places[dots++] = at;
  const at = dots === 8 ? 3 : 5;
  const part = (i: number) => reply.slice(places[i]! + 1, places[i + 1]);
  return {
    count: Number(part(at)),
    sequence: Number(part(at + 1)),
    time: Number(part(at + 3).slice(0, -6)),
  };
}

/** Places of the dots, used again for each message. */
const places: number[] = [];
