/** Key and properties of an encryption of messages by AES. */

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
export const ivBytes: Readonly<Record<AesMode, number>> = { gcm: 12, cfb: 16 };

/** Why that is no key, in base64; undefined when it is one. */
export function aesKeyReason(key: string): string | undefined {
  const bytes = bytesOf(key);
  return keyBytes.some((size) => size === bytes?.length) ? undefined : 'must be 16, 24 or 32 bytes in base64';
}

/** Why that is no iv for the mode; undefined when it is one, or is missing. */
export function ivReason({ mode, iv }: AesProps): string | undefined {
  const size = ivBytes[mode];
  return iv === '' || bytesOf(iv)?.length === size
    ? undefined
    : `iv must be ${size} bytes in base64 with the mode ${mode}`;
}

/** Why the properties can't be used for encryption; undefined when they can. */
export function aesReason(props: AesProps): string | undefined {
  const { mode, iv, aad } = props;
  const reason = ivReason(props);
  if (reason !== undefined || aad === '') return reason;
  if (bytesOf(aad) === undefined) return 'aad must be base64';
  if (mode !== 'gcm') return `aad needs the mode gcm, not ${mode}`;
  // It is not sent then.
  return iv === '' ? 'aad needs iv: nobody could decrypt the messages without it' : undefined;
}

/** The bytes of a text in base64; undefined when it is none. */
function bytesOf(text: string): Buffer | undefined {
  return /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0 ? Buffer.from(text, 'base64') : undefined;
}
