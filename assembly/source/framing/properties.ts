// Properties of MQTT 5 PUBLISH packets (MQTT 5.0, section 3.3.2.3).
import { isUtf8 } from '../../text/utf8';

export const TOPIC_ALIAS: u32 = 0x23;

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
    case 0x01: // payload format
      q = p + 2;
      break;
    case 0x02: // message expiry
      q = p + 5;
      break;
    case 0x23: // topic alias
      q = p + 3;
      break;
    case 0x03: // content type
    case 0x08: // response topic
      return textEnd(p + 1, end, true);
    case 0x09: // correlation data
      return textEnd(p + 1, end, false);
    case 0x0b: {
      // subscription identifier
      q = p + 1;
      while (q < end && q < p + 4 && load<u8>(q) & 0x80) q++;
      if (q >= end || load<u8>(q) & 0x80) return 0;
      q++;
      break;
    }
    case 0x26: // user property
      q = textEnd(p + 1, end, true);
      return q ? textEnd(q, end, true) : 0;
    default:
      return 0;
  }
  return q <= end ? q : 0;
}
