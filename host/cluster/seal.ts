/** Definitions with secrets as they stand in NATS: encrypted with the key of the cluster (AES-256-GCM). */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { clusterErrors } from './errors.js';

const mark = 'haumea-sealed:1:';
const ivBytes = 12;
const tagBytes = 16;

export class Seal {
  constructor(private readonly key: Buffer | undefined) {}

  get hasKey(): boolean {
    return this.key !== undefined;
  }

  /** Tells one key from another without telling the key. */
  get fingerprint(): string | undefined {
    return this.key && createHmac('sha256', this.key).update('haumea cluster key').digest('hex').slice(0, 16);
  }

  /** Encrypts a value; it opens under the same name alone. Throws without a key. */
  close(name: string, text: string): string {
    if (this.key === undefined) throw clusterErrors.noKey(name);
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', this.key, iv);
    cipher.setAAD(Buffer.from(name));
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return mark + Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64');
  }

  /** Decrypts a value; one that is not encrypted stays as it is. Throws when it can't. */
  open(name: string, text: string): string {
    if (!isSealed(text)) return text;
    if (this.key === undefined) throw clusterErrors.sealed(name);
    const bytes = Buffer.from(text.slice(mark.length), 'base64');
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.key, bytes.subarray(0, ivBytes));
      decipher.setAAD(Buffer.from(name));
      decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
      const body = bytes.subarray(ivBytes + tagBytes);
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
    } catch (error) {
      throw clusterErrors.damaged(name, { cause: error });
    }
  }
}

export function isSealed(text: string): boolean {
  return text.startsWith(mark);
}
