/** Encryption of messages by AES, in the layout that eKuiper gives them. */
import { type CipherGCMTypes, createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { type AesProps, ivBytes } from './aes-props.js';

const tagBytes = 16;

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

/**
 * Decrypts text as eKuiper stores it: the iv, which with gcm is left out if it is given, the text and with gcm its tag.
 * A tag that is filled up stands before the text. Throws when gcm finds that key or text are wrong.
 */
export function aesDecrypted(key: string, { mode, iv, aad, tagsize }: AesProps, bytes: Uint8Array): Buffer {
  const secret = Buffer.from(key, 'base64');
  const given = iv === '' ? undefined : Buffer.from(iv, 'base64');
  if (mode === 'cfb') {
    if (bytes.length < ivBytes.cfb) throw new Error('the encrypted text is too short');
    const cipher = createDecipheriv(`aes-${secret.length * 8}-cfb`, secret, given ?? bytes.subarray(0, ivBytes.cfb));
    return Buffer.concat([cipher.update(bytes.subarray(ivBytes.cfb)), cipher.final()]);
  }
  const sealed = given === undefined ? bytes.subarray(ivBytes.gcm) : bytes;
  const isFilled = tagsize > tagBytes;
  if (sealed.length < (isFilled ? tagsize : tagBytes)) throw new Error('the encrypted text is too short');
  const [tag, text] = isFilled
    ? [sealed.subarray(0, tagBytes), sealed.subarray(tagsize)]
    : [sealed.subarray(-tagBytes), sealed.subarray(0, -tagBytes)];
  const name = `aes-${secret.length * 8}-gcm` as CipherGCMTypes;
  const cipher = createDecipheriv(name, secret, given ?? bytes.subarray(0, ivBytes.gcm));
  cipher.setAuthTag(tag);
  if (aad !== '') cipher.setAAD(Buffer.from(aad, 'base64'));
  return Buffer.concat([cipher.update(text), cipher.final()]);
}
