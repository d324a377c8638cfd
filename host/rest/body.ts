/** Reads request bodies with a limit, so that a client can't fill the memory. */
import type { IncomingMessage } from 'node:http';

/** Larger than any import of definitions that makes sense. */
export const maxBodyBytes = 64 << 20;

/** Thrown when a body is larger than allowed; answered with 413. */
export class BodyTooLarge extends Error {}

/** Resolves with the whole body; rejects with `BodyTooLarge` as soon as the limit is passed. */
export async function readBody(request: IncomingMessage, limit = maxBodyBytes): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > limit) throw new BodyTooLarge(`the body has ${announced} bytes, ${limit} are allowed`);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw new BodyTooLarge(`the body has more than ${limit} bytes`);
    chunks.push(chunk);
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}
