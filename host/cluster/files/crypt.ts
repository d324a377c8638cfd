/**
 * Files as they stand in NATS: encrypted with the key of the cluster (AES-256-GCM), the name authenticated with them:
 * initialisation vector | bytes | tag.
 */
import { createCipheriv, createDecipheriv, type DecipherGCM, randomBytes } from 'node:crypto';

const ivBytes = 12;
const tagBytes = 16;

export async function* encrypted(
  key: Buffer,
  name: string,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  cipher.setAAD(Buffer.from(name));
  yield iv;
  for await (const piece of pieces) yield cipher.update(piece);
  yield cipher.final();
  yield cipher.getAuthTag();
}

/** Throws at the end when the bytes are not those that were encrypted under the name. */
export async function* decrypted(key: Buffer, name: string, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let decipher: DecipherGCM | undefined;
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of pieces) {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    if (decipher === undefined) {
      if (rest.length < ivBytes) continue;
      decipher = createDecipheriv('aes-256-gcm', key, rest.subarray(0, ivBytes));
      decipher.setAAD(Buffer.from(name));
      rest = rest.subarray(ivBytes);
    }
    // The last bytes may be the tag.
    const end = rest.length - tagBytes;
    if (end <= 0) continue;
    yield decipher.update(rest.subarray(0, end));
    rest = rest.subarray(end);
  }
  if (decipher === undefined || rest.length !== tagBytes) throw new Error(`${name} ends too early`);
  decipher.setAuthTag(rest);
  try {
    yield decipher.final();
  } catch (error) {
    throw new Error(`${name} can't be decrypted: it is damaged, or encrypted with another key`, { cause: error });
  }
}
