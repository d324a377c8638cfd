/** Columns of messages that have messages of another format, as far as the host has to know them. */
import type { MessageDecoder } from './define.js';

const base64Text = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * What the first payload in a column of a message needs before it can be decoded: all of a message have one schema.
 *
 * @param json the message as JSON
 */
export function payloadNeeds(
  json: Uint8Array,
  field: string,
  needs: NonNullable<MessageDecoder['needs']>,
): ReturnType<typeof needs> {
  try {
    const value: unknown = JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.length).toString());
    const row: unknown = Array.isArray(value) ? value[0] : value;
    const payload = (row as Readonly<Record<string, unknown>> | null)?.[field];
    return typeof payload === 'string' ? needs(bytesOf(payload)) : undefined;
  } catch {
    // A message that can't be decoded fails where it is.
    return undefined;
  }
}

/** Bytes are base64 in JSON; what is none is text. */
function bytesOf(text: string): Buffer {
  const packed = text.replace(/[\r\n]/g, '');
  return base64Text.test(packed) ? Buffer.from(packed, 'base64') : Buffer.from(text);
}
