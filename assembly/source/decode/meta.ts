// Columns that do not come from the payload: metadata, arrival time, the raw payload.
//
// MQTT messages have topic, qos, messageId, retained and, with MQTT 5, what else the sender says of them; frames carry
// a JSON object.
import * as ctx from '../../batch/context';
import { MEMBER_KEY_LEN, MEMBER_KEY_OFF, MEMBER_SIZE, MEMBER_TAG, span, Tag } from '../../mem/layout';
import { ParseFlag, parseDocument, valuePayload, valueTag } from '../../json/parse';
import { push, stacked, takeObject, taken, unstack } from '../../json/tree';
import { put } from '../columns/batch';
import { parserFor } from './parser';
import { PropertyId, propertyBytes, propertyEnd } from '../framing/properties';
import { blockAt } from '../columns/blocks';
import { Source, Framing } from '../columns/state';
import { useAt, UseKind } from '../columns/use';
import * as message from '../framing/message';

const TOPIC: usize = memory.data<u8>([0x74, 0x6f, 0x70, 0x69, 0x63]);
const QOS: usize = memory.data<u8>([0x71, 0x6f, 0x73]);
const MESSAGE_ID: usize = memory.data<u8>([0x6d, 0x65, 0x73, 0x73, 0x61, 0x67, 0x65, 0x49, 0x64]);
const RETAINED: usize = memory.data<u8>([0x72, 0x65, 0x74, 0x61, 0x69, 0x6e, 0x65, 0x64]);
// properties
const PROPERTIES: usize = memory.data<u8>([0x70, 0x72, 0x6f, 0x70, 0x65, 0x72, 0x74, 0x69, 0x65, 0x73]);
// responseTopic
const RESPONSE_TOPIC: usize = memory.data<u8>([
  0x72, 0x65, 0x73, 0x70, 0x6f, 0x6e, 0x73, 0x65, 0x54, 0x6f, 0x70, 0x69, 0x63,
]);
// correlationData
const CORRELATION_DATA: usize = memory.data<u8>([
  0x63, 0x6f, 0x72, 0x72, 0x65, 0x6c, 0x61, 0x74, 0x69, 0x6f, 0x6e, 0x44, 0x61, 0x74, 0x61,
]);
// contentType
const CONTENT_TYPE: usize = memory.data<u8>([0x63, 0x6f, 0x6e, 0x74, 0x65, 0x6e, 0x74, 0x54, 0x79, 0x70, 0x65]);
// messageExpiryInterval
const MESSAGE_EXPIRY: usize = memory.data<u8>([
  0x6d, 0x65, 0x73, 0x73, 0x61, 0x67, 0x65, 0x45, 0x78, 0x70, 0x69, 0x72, 0x79, 0x49, 0x6e, 0x74, 0x65, 0x72, 0x76,
  0x61, 0x6c,
]);
// payloadFormatIndicator
const PAYLOAD_FORMAT: usize = memory.data<u8>([
  0x70, 0x61, 0x79, 0x6c, 0x6f, 0x61, 0x64, 0x46, 0x6f, 0x72, 0x6d, 0x61, 0x74, 0x49, 0x6e, 0x64, 0x69, 0x63, 0x61,
  0x74, 0x6f, 0x72,
]);

/** Bits of the kinds of columns that are filled here. */
// @ts-ignore: decorator
@lazy const SPECIAL: u32 =
  (1 << UseKind.SELF) | (1 << UseKind.META) | (1 << UseKind.META_ALL) | (1 << UseKind.ARRIVAL);

/** Metadata of the message as an object, built when first asked for. */
let object: u64 = 0;
let objectTag: u8 = Tag.MISSING;

// @ts-ignore: decorator
@inline export function hasSpecial(state: Source): bool {
  return (state.kinds & SPECIAL) != 0;
}

/** Fills the row's columns that do not come from the payload. */
export function putSpecial(state: Source, row: u32): void {
  objectTag = Tag.MISSING;
  const count = state.useCount;
  for (let i: u32 = 0; i < count; i++) {
    const use = useAt(state, i);
    if (!use.refs) continue;
    const block = blockAt(i);
    switch (<i32>use.kind) {
      case UseKind.SELF:
        put(block, row, Tag.BYTES, span(message.payload, <u32>(message.payloadEnd - message.payload)));
        break;
      case UseKind.ARRIVAL:
        put(block, row, Tag.I64, <u64>(<i64>ctx.nowMs));
        break;
      case UseKind.META:
        putMeta(state, block, row, use.name, use.nameLen);
        break;
      case UseKind.META_ALL:
        buildObject(state);
        put(block, row, objectTag, object);
        break;
      default:
        break;
    }
  }
}

// @ts-ignore: decorator
@inline function isKey(name: usize, len: u32, key: usize, keyLen: u32): bool {
  return len == keyLen && memory.compare(name, key, keyLen) == 0;
}

function putMeta(state: Source, block: usize, row: u32, name: usize, len: u32): void {
  if (state.framing == Framing.MQTT) {
    if (len == 5 && load<u32>(name) == load<u32>(TOPIC) && load<u8>(name, 4) == load<u8>(TOPIC, 4))
      return put(block, row, Tag.STR, span(message.topic, message.topicLen));
    if (isKey(name, len, QOS, 3)) return put(block, row, Tag.I64, message.qos);
    if (isKey(name, len, MESSAGE_ID, 9)) return put(block, row, Tag.I64, message.packetId);
    if (isKey(name, len, RETAINED, 8)) return put(block, row, Tag.BOOL, <u64>message.retained);
  }
  buildObject(state);
  if (objectTag == Tag.OBJECT) {
    let member = <usize>(<u32>object);
    for (let n = <u32>(object >> 32); n > 0; n--, member += MEMBER_SIZE) {
      if (isKey(name, len, <usize>load<u32>(member, MEMBER_KEY_OFF), load<u32>(member, MEMBER_KEY_LEN))) {
        return put(block, row, load<u8>(member, MEMBER_TAG), load<u64>(member));
      }
    }
  }
  put(block, row, Tag.NULL, 0);
}

function buildObject(state: Source): void {
  if (objectTag != Tag.MISSING) return;
  objectTag = Tag.NULL;
  object = 0;
  if (state.framing != Framing.MQTT) {
    const len = <u32>(message.extraEnd - message.extra);
    if (len == 0) {
      objectTag = Tag.OBJECT;
      return;
    }
    if (parseDocument(message.extra, len, ctx.scratch, ParseFlag.INTS, <i32>state.maxDepth, 0)) {
      objectTag = valueTag;
      object = valuePayload;
    }
    parserFor(state);
    return;
  }
  const height = stacked;
  if (!pushProperties()) return unstack(height);
  push(Tag.STR, span(message.topic, message.topicLen), TOPIC, 5);
  push(Tag.I64, message.qos, QOS, 3);
  push(Tag.I64, message.packetId, MESSAGE_ID, 9);
  push(Tag.BOOL, <u64>message.retained, RETAINED, 8);
  if (!takeObject(ctx.scratch, height)) return;
  objectTag = Tag.OBJECT;
  object = taken;
}

// @ts-ignore: decorator
@inline function bigEndian(p: usize): u32 {
  return <u32>bswap<u16>(load<u16>(p));
}

/** Puts on the stack what the properties of MQTT 5 say of the message; false when memory is exhausted. */
function pushProperties(): bool {
  const from = message.extra;
  const to = message.extraEnd;
  const below = stacked;
  for (let p = from; p < to; p = propertyEnd(p, to)) {
    if (load<u8>(p) != PropertyId.USER) continue;
    const key = propertyBytes(p + 1);
    const keyEnd = key + bigEndian(p + 1);
    if (!push(Tag.STR, span(keyEnd + 2, bigEndian(keyEnd)), key, bigEndian(p + 1))) return false;
  }
  if (stacked > below) {
    if (!takeObject(ctx.scratch, below)) return false;
    push(Tag.OBJECT, taken, PROPERTIES, 10);
  }
  for (let p = from; p < to; p = propertyEnd(p, to)) {
    switch (<i32>load<u8>(p)) {
      case PropertyId.RESPONSE_TOPIC:
        push(Tag.STR, span(propertyBytes(p + 1), bigEndian(p + 1)), RESPONSE_TOPIC, 13);
        break;
      case PropertyId.CORRELATION_DATA:
        push(Tag.BYTES, span(propertyBytes(p + 1), bigEndian(p + 1)), CORRELATION_DATA, 15);
        break;
      case PropertyId.CONTENT_TYPE:
        push(Tag.STR, span(propertyBytes(p + 1), bigEndian(p + 1)), CONTENT_TYPE, 11);
        break;
      case PropertyId.MESSAGE_EXPIRY:
        push(Tag.I64, <u64>bswap<u32>(load<u32>(p + 1)), MESSAGE_EXPIRY, 21);
        break;
      case PropertyId.PAYLOAD_FORMAT:
        push(Tag.I64, load<u8>(p + 1), PAYLOAD_FORMAT, 22);
        break;
      default:
        break;
    }
  }
  return true;
}
