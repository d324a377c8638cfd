/** What makes messages of a sink unreadable on their way: compression, then encryption. */
import { aesReason } from '../base/bytes/aes-props.js';
import { compressionNames } from '../base/bytes/compression.js';
import { field, type Parsed, parse, type Spec } from '../base/fields/field.js';

export const sealProps = {
  compression: field
    .string()
    .oneOf('', ...compressionNames)
    .default('')
    .doc('Compression of each message'),
  compressionProps: field
    .object({
      level: field.int().min(1).max(9).doc('From 1, the fastest, to 9, the smallest'),
      windowSize: field.int().doc('Accepted for compatibility').unlisted(),
    })
    .doc('How messages are compressed'),
  encryption: field
    .string()
    .oneOf('', 'aes')
    .default('')
    .doc('Encryption of each message, by the key basic.aesKey of the configuration'),
  encProps: field
    .object({
      mode: field.string().oneOf('gcm', 'cfb').default('gcm').doc('Mode of the cipher'),
      iv: field
        .string()
        .default('')
        .doc('Base64: 12 bytes with gcm, 16 with cfb, for all messages; each has its own without it, which is safer'),
      aad: field.string().default('').doc('Base64: what is authenticated besides, with gcm; needs iv'),
      tagsize: field.int().min(0).max(64).default(0).doc('With aad: bytes that the tag is filled up to'),
    })
    .check(aesReason)
    .doc('How messages are encrypted: iv, text, tag; with aad the tag and the text'),
};

/** How messages of a sink are sealed. */
export interface Seal {
  readonly compression: Exclude<Parsed<typeof sealProps>['compression'], ''> | undefined;
  readonly level: number | undefined;
  /** Properties of the AES encryption; undefined without it. */
  readonly encryption: Parsed<typeof sealProps>['encProps'] | undefined;
}

/** The seal of a sink by its properties; undefined where there is none, or where the names mean something else. */
export function sealOf(spec: Spec, props: Readonly<Record<string, unknown>>): Seal | undefined {
  const isCompressed = spec.compression === sealProps.compression;
  const isEncrypted = spec.encryption === sealProps.encryption;
  const own = { ...(!isCompressed && { compression: '' }), ...(!isEncrypted && { encryption: '' }) };
  const { compression, compressionProps, encryption, encProps } = parse(sealProps, { ...props, ...own });
  if (compression === '' && encryption === '') return undefined;
  return {
    compression: compression === '' ? undefined : compression,
    level: compressionProps.level,
    encryption: encryption === '' ? undefined : encProps,
  };
}

/** Tells whether the sink encrypts what it makes of the messages by itself. */
export function encryptsItself({ compression, encryption }: Spec, props: Readonly<Record<string, unknown>>): boolean {
  if (encryption === undefined || compression === sealProps.compression || encryption.declared.isUnused === true) {
    return false;
  }
  return typeof props.encryption === 'string' && props.encryption !== '';
}
