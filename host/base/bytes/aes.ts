/** Encryption of messages by AES, in the layout that eKuiper gives them. */
import { type CipherGCMTypes, createCipheriv, randomBytes } from 'node:crypto';

export type AesMode = 'gcm' | 'cfb';

export interface AesProps {
  mode: AesMode;
  /** Base64; empty: each message has its own. */
  iv: string;
  /** Base64; what is authenticated beside the message, with gcm. */
  aad: string;
  /** With `aad`: length that the tag is filled up to by zeros. */
  tagsize: number;
}

const keyBytes = [16, 24, 32] as const;
const ivBytes: Readonly<Record<AesMode, number>> = { gcm: 12, cfb: 16 };
const tagBytes = 16;

/** Why that is no key, in base64; undefined when it is one. */
export function aesKeyReason(key: string): string | undefined {
  const bytes = bytesOf(key);
  return keyBytes.some((size) => size === bytes?.length) ? undefined : 'must be 16, 24 or 32 bytes in base64';
}

/** Why the properties can't be used; undefined when they can. */
export function aesReason({ mode, iv, aad }: AesProps): string | undefined {
  const size = ivBytes[mode];
  if (iv !== '' && bytesOf(iv)?.length !== size) return `iv must be ${size} bytes in base64 with the mode ${mode}`;
  if (aad === '') return undefined;
  if (bytesOf(aad) === undefined) return 'aad must be base64';
  if (mode !== 'gcm') return `aad needs the mode gcm, not ${mode}`;
  // It is not sent then.
  return iv === '' ? 'aad needs iv: nobody could decrypt the messages without it' : undefined;
}

/**
 * Encrypts messages: the iv, the text and with gcm its tag. With `aad` both sides know the iv, and the tag stands
 * before the text.
 */
export function aesCipher(key: string, { mode, iv, aad, tagsize }: AesProps): (message: Uint8Array) => Buffer {
  const secret = Buffer.from(key, 'base64');
  const given = iv === '' ? undefined : Buffer.from(iv, 'base64');
  if (mode === 'cfb') {
    const name = `aes-${secret.length * 8}-cfb`;
    return (message) => {
      const own = given ?? randomBytes(ivBytes.cfb);
      const cipher = createCipheriv(name, secret, own);
      return Buffer.concat([own, cipher.update(message), cipher.final()]);
    };
  }
  const name = `aes-${secret.length * 8}-gcm` as CipherGCMTypes;
  const beside = Buffer.from(aad, 'base64');
  const filling = Buffer.alloc(Math.max(0, tagsize - tagBytes));
  return (message) => {
    const own = given ?? randomBytes(ivBytes.gcm);
    const cipher = createCipheriv(name, secret, own);
    if (beside.length === 0) return Buffer.concat([own, cipher.update(message), cipher.final(), cipher.getAuthTag()]);
    cipher.setAAD(beside);
    const text = Buffer.concat([cipher.update(message), cipher.final()]);
    return Buffer.concat([cipher.getAuthTag(), filling, text]);
  };
}

/** The bytes of a text in base64; undefined when it is none. */
function bytesOf(text: string): Buffer | undefined {
  return /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0 ? Buffer.from(text, 'base64') : undefined;
}
