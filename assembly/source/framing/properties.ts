// Properties of MQTT 5 PUBLISH packets (MQTT 5.0, section 3.3.2.3).
import { isUtf8 } from '../../text/utf8';

export namespace PropertyId {
  export const PAYLOAD_FORMAT: i32 = 0x01;
  export const MESSAGE_EXPIRY: i32 = 0x02;
  export const CONTENT_TYPE: i32 = 0x03;
  export const RESPONSE_TOPIC: i32 = 0x08;
  export const CORRELATION_DATA: i32 = 0x09;
  export const SUBSCRIPTION: i32 = 0x0b;
  export const TOPIC_ALIAS: i32 = 0x23;
  export const USER: i32 = 0x26;
}

/** First byte of a length-prefixed field. */
// @ts-ignore: decorator
@inline export function propertyBytes(p: usize): usize {
  return p + 2;
}

/** Position after the text of two length bytes at `p`, 0 when it is not inside or not UTF-8. */
function textEnd(p: usize, end: usize, isText: bool): usize {
  if (p + 2 > end) return 0;
  const q = p + 2 + bswap<u16>(load<u16>(p));
  if (q > end || (isText && !isUtf8(p + 2, q))) return 0;
  return q;
}

/** Position after the property at `p`, 0 when it is malformed or not allowed in PUBLISH. */
export function propertyEnd(p: usize, end: usize): usize {
  let q: usize = 0;
  switch (<i32>load<u8>(p)) {
    case PropertyId.PAYLOAD_FORMAT:
      q = p + 2;
      break;
    case PropertyId.MESSAGE_EXPIRY:
      q = p + 5;
      break;
    case PropertyId.TOPIC_ALIAS:
      q = p + 3;
      break;
    case PropertyId.CONTENT_TYPE:
    case PropertyId.RESPONSE_TOPIC:
      return textEnd(p + 1, end, true);
    case PropertyId.CORRELATION_DATA:
      return textEnd(p + 1, end, false);
    case PropertyId.SUBSCRIPTION: {
      q = p + 1;
      while (q < end && q < p + 4 && load<u8>(q) & 0x80) q++;
      if (q >= end || load<u8>(q) & 0x80) return 0;
      q++;
      break;
    }
    case PropertyId.USER:
      q = textEnd(p + 1, end, true);
      return q ? textEnd(q, end, true) : 0;
    default:
      return 0;
  }
  return q <= end ? q : 0;
}
