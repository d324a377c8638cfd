/** Reads request bodies with limits on each and on all together, so that clients can't fill the memory. */
import type { IncomingMessage } from 'node:http';

/** Larger than any import of definitions that makes sense. */
export const maxBodyBytes = 64 << 20;
/** Bytes of all bodies that are being received at the same time. */
export const maxHeldBytes = 256 << 20;

/** Thrown when a body is larger than allowed; answered with 413. */
export class BodyTooLarge extends Error {}

/** Thrown when other bodies have taken the memory there is; answered with 503. */
export class TooManyBodies extends Error {}

let held = 0;

/**
 * Resolves with the whole body; rejects with `BodyTooLarge` as soon as the limit is passed.
 * @param grow is told of the bytes as they come; what it throws ends the reading
 */
export async function readBody(
  request: IncomingMessage,
  limit = maxBodyBytes,
  grow: (bytes: number) => void = () => {},
): Promise<Buffer> {
  const announced = announcedBytes(request);
  if (announced > limit) throw new BodyTooLarge(`the body has ${announced} bytes, ${limit} are allowed`);
  const chunks: Buffer[] = [];
  let size = 0;
  // The parser calls with the head, and takes the body that came along when this call has returned.
  if (request.readableLength < announced) await undefined;
  const whole = wholeBody(request, announced);
  if (whole !== undefined) {
    checkHeld(held + whole.length);
    grow(whole.length);
    return whole;
  }
  try {
    // The connection is needed for the answer to what is refused on the way.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length;
      held += chunk.length;
      if (size > limit) throw new BodyTooLarge(`the body has more than ${limit} bytes`);
      checkHeld(held);
      grow(chunk.length);
      chunks.push(chunk);
    }
  } finally {
    held -= size;
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}

function checkHeld(bytes: number): void {
  if (bytes > maxHeldBytes) throw new TooManyBodies('too many large bodies at the same time, try again later');
}

/** Length of the body as its head says, 0 when it doesn't. */
export function announcedBytes(request: IncomingMessage): number {
  return Number(request.headers['content-length'] ?? 0);
}

/** A short body, which is there with the head of its request, is taken at once; undefined for others. */
function wholeBody(request: IncomingMessage, announced: number): Buffer | undefined {
  if (announced === 0 || request.readableLength !== announced) return undefined;
  const body = request.read() as Buffer | null;
  // The request ends, as one does of which all was read.
  request.resume();
  return body ?? undefined;
}
